//! Sections: the unit that trust, order, caching, budgets and reports are about.

use serde::{Deserialize, Serialize};

/// How much a section may bind the model, highest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// Rules that always hold.
    Constitution,
    /// How to work.
    Rules,
    /// Text that code knows or a person vouched for.
    Trusted,
    /// Text from outside, contained.
    Untrusted,
    /// The task.
    Task,
}

proem_text::word_table! {
    /// The word used in prompt files.
    pub Trust {
        Constitution = "constitution",
        Rules = "rules",
        Trusted = "trusted",
        Untrusted = "untrusted",
        Task = "task",
    }
}

impl Trust {
    pub(crate) const WORDS: [(&'static str, Self); 5] = [
        ("constitution", Self::Constitution),
        ("rules", Self::Rules),
        ("trusted", Self::Trusted),
        ("untrusted", Self::Untrusted),
        ("task", Self::Task),
    ];
}

/// How long a section's bytes stay the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CacheClass {
    /// From run to run, until a file changes.
    Static,
    /// Within one run.
    PerRun,
    /// Not at all.
    Never,
}

proem_text::word_table! {
    /// The word used in prompt files.
    pub CacheClass {
        Static = "static",
        PerRun = "per-run",
        Never = "never",
    }
}

impl CacheClass {
    pub(crate) const WORDS: [(&'static str, Self); 3] =
        [("static", Self::Static), ("per-run", Self::PerRun), ("never", Self::Never)];
}

/// The layers whose sizes are capped, named as `proem.toml` names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// Rules that always hold.
    Constitution,
    /// How to work.
    Rules,
    /// The situation, trusted and untrusted.
    Context,
    /// The repository's own text: its files, rule files, commands and differences.
    Code,
    /// Tools and skills.
    Capabilities,
    /// The task.
    Task,
}

proem_text::word_table! {
    /// The word used in prompt files and configuration.
    pub Layer {
        Constitution = "constitution",
        Rules = "rules",
        Context = "context",
        Code = "code",
        Capabilities = "capabilities",
        Task = "task",
    }
}

impl Layer {
    pub(crate) const WORDS: [(&'static str, Self); 6] = [
        ("constitution", Self::Constitution),
        ("rules", Self::Rules),
        ("context", Self::Context),
        ("code", Self::Code),
        ("capabilities", Self::Capabilities),
        ("task", Self::Task),
    ];
}

/// Whether a section may be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SectionPriority {
    /// It stays whatever the budget: a prompt needs room for it.
    Required,
    /// When the budget asks for it, at this priority (0 to 100).
    Priority(u8),
}

/// How much of a list or text is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rung {
    /// All of it.
    Full,
    /// The parts of an item that matter, as the item itself brings them.
    Parts,
    /// Head and tail of a list, the first line of each text.
    Brief,
    /// The little of an item that matters most, as the item itself brings it.
    Excerpt,
    /// An item's outline, as it brings it itself.
    Outline,
    /// An item's name, with a line about it.
    Named,
    /// Only how much there is.
    Count,
    /// The input is hidden, and so is its place.
    Omitted,
}

proem_text::word_table! {
    /// The word used in prompt files.
    pub Rung {
        Full = "full",
        Parts = "parts",
        Brief = "brief",
        Excerpt = "excerpt",
        Outline = "outline",
        Named = "named",
        Count = "count",
        Omitted = "omitted",
    }
}

impl Rung {
    pub(crate) const WORDS: [(&'static str, Self); 8] = [
        ("full", Self::Full),
        ("parts", Self::Parts),
        ("brief", Self::Brief),
        ("excerpt", Self::Excerpt),
        ("outline", Self::Outline),
        ("named", Self::Named),
        ("count", Self::Count),
        ("omitted", Self::Omitted),
    ];

    /// The share of an input's or an item's worth that is left, in tenths.
    #[must_use]
    pub const fn tenths(self) -> u32 {
        match self {
            Self::Full => 10,
            Self::Parts => 9,
            Self::Brief | Self::Excerpt => 5,
            Self::Outline => 4,
            Self::Named => 2,
            Self::Count => 1,
            Self::Omitted => 0,
        }
    }
}

/// The rungs that an input may take, best first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ladder {
    /// A declared input of the prompt, a list or a text.
    pub input: String,
    /// Its rungs, best first.
    pub rungs: Vec<Rung>,
    /// The climber on the rung.
    pub climber: Climber,
}

impl Ladder {
    /// Whether the input is on it as a whole.
    #[must_use]
    pub const fn is_of_input(&self) -> bool {
        matches!(self.climber, Climber::Input)
    }

    /// The name of the version that is shown on a rung.
    #[must_use]
    pub fn version(&self, rung: Rung) -> Option<&str> {
        let Climber::Version(names) = &self.climber else { return None };
        let at = self.rungs.iter().position(|known| *known == rung)?;
        names.get(at).map(String::as_str)
    }
}

/// The part of an input that has a rung on its ladder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Climber {
    /// The input as a whole, which the engine shortens.
    Input,
    /// Each item of the list for itself, with a rendering of its own for each rung and a share of the section's
    /// priority.
    Item,
    /// The input as a whole, an object that brings a text for each of these names, the longest first. Templates read
    /// the field `shown`.
    Version(Vec<String>),
}

impl Climber {
    /// The most versions of a text.
    pub(crate) const MAX_VERSIONS: usize = 6;

    /// The rungs of so many versions: the last one is worth nothing.
    pub(crate) fn version_rungs(versions: usize) -> Vec<Rung> {
        let higher = [Rung::Full, Rung::Parts, Rung::Excerpt, Rung::Outline, Rung::Named];
        let higher = higher.into_iter().take(versions.saturating_sub(1));
        higher.chain((versions > 0).then_some(Rung::Omitted)).collect()
    }
}

/// How a section keeps text from outside apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SectionContainment {
    /// The section as a whole is between delimiters; what looks like a heading, a role or a tag in text from outside is
    /// broken with a backslash.
    #[default]
    Neutralised,
    /// The section as a whole is between delimiters, and text from outside is there as it was written.
    Exact,
    /// Each text from outside is between delimiters of its own, as it was written. The words around it are the author's
    /// own.
    Inputs,
}

impl SectionContainment {
    pub(crate) const WORDS: [(&'static str, Self); 3] =
        [("neutralised", Self::Neutralised), ("exact", Self::Exact), ("inputs", Self::Inputs)];
}

/// A section as its prompt file declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionSpec {
    /// Its name, unique in the file.
    pub name: String,
    /// How much it may bind the model.
    pub trust: Trust,
    /// How long its bytes stay the same.
    pub cache: CacheClass,
    /// The layer whose cap it counts towards.
    pub layer: Layer,
    /// Whether it may be left out.
    pub keep: SectionPriority,
    /// The most tokens that it may have. `None` leaves it to its layer and the whole.
    pub budget: Option<usize>,
    /// When it shrinks: one with a lower number is on its last rungs before one with a higher number loses anything.
    pub shrinks: u8,
    /// The inputs that may shrink.
    pub ladders: Vec<Ladder>,
    /// How it keeps text from outside apart.
    pub containment: SectionContainment,
    /// The tag around untrusted content.
    pub tag: proem_guard::Tag,
}

impl SectionSpec {
    /// Its place in a request: constitution, rules, trusted stable context, contained stable
    /// context, capabilities, trusted volatile, contained volatile, task.
    #[must_use]
    pub const fn rank(&self) -> SectionGroup {
        match (self.trust, self.layer, self.cache) {
            (Trust::Constitution, ..) => SectionGroup::Constitution,
            (Trust::Rules, ..) => SectionGroup::Rules,
            (Trust::Task, ..) => SectionGroup::Task,
            (Trust::Trusted, _, CacheClass::Static) => SectionGroup::TrustedStatic,
            (Trust::Trusted, _, CacheClass::PerRun) => SectionGroup::TrustedPerRun,
            (Trust::Untrusted, _, CacheClass::Static) => SectionGroup::UntrustedStatic,
            (Trust::Untrusted, _, CacheClass::PerRun) => SectionGroup::UntrustedPerRun,
            (_, Layer::Capabilities, CacheClass::Never) => SectionGroup::Capabilities,
            (Trust::Trusted, _, CacheClass::Never) => SectionGroup::TrustedVolatile,
            (Trust::Untrusted, _, CacheClass::Never) => SectionGroup::UntrustedVolatile,
        }
    }
}

/// The order of sections in a request. A breakpoint may stand after each stable group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SectionGroup {
    /// Rules that always hold.
    Constitution,
    /// How to work.
    Rules,
    /// Trusted text that stays, approved capabilities among it.
    TrustedStatic,
    /// Trusted text that stays for a run.
    TrustedPerRun,
    /// Contained text that stays.
    UntrustedStatic,
    /// Contained text that stays for a run.
    UntrustedPerRun,
    /// Tools and skills picked for this task.
    Capabilities,
    /// Trusted text that changes.
    TrustedVolatile,
    /// Contained text that changes.
    UntrustedVolatile,
    /// The person's words.
    Task,
}

proem_text::word_table! {
    /// The rank's name in messages.
    pub SectionGroup {
        Constitution = "constitution",
        Rules = "rules",
        TrustedStatic = "trusted, static",
        TrustedPerRun = "trusted, per-run",
        UntrustedStatic = "untrusted, static",
        UntrustedPerRun = "untrusted, per-run",
        Capabilities = "capabilities",
        TrustedVolatile = "trusted, never cached",
        UntrustedVolatile = "untrusted, never cached",
        Task = "task",
    }
}
