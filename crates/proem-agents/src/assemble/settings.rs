//! The user's settings under `[assemble]` in `config.toml` or `proem.toml`.

use std::collections::BTreeMap;

use proem_engine::section::Layer;
use proem_select::mode::Mode;
use proem_select::select::Caps;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most tokens of facts, memories and activity where nobody says.
const CONTEXT_TOKENS: usize = 4000;

/// The share of the input that the repository's texts may have where nobody says, in percent: what the other sections
/// leave of 24,000 tokens, where rules have about 1,300 and facts at most [`CONTEXT_TOKENS`].
const CODE_SHARE: u8 = 75;

/// The keys of `[assemble]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AssembleSettings {
    /// The most tokens of facts about the repository, memories and activity, trusted and untrusted together; 4000
    /// without it. If it is set and `code_share` isn't, it also caps them together with the parts that `code_share`
    /// caps.
    pub max_context_tokens: Option<usize>,
    /// How much is shown of the files that a task needs, at the most.
    pub context: ContextDepth,
    /// The share of the input tokens, in percent, that the repository's own texts may have: its files, rule files,
    /// commands, outline and differences; 75 without it.
    #[serde(deserialize_with = "deserialize_percent")]
    #[schemars(range(min = 0, max = 100))]
    pub code_share: Option<u8>,
    /// The most tools named in a prompt, whether a catalogue has them or not.
    pub max_tools: usize,
    /// The most skills named in a prompt, whether a catalogue has them or not.
    pub max_skills: usize,
    /// The most memories and the most events put into a prompt, each.
    pub max_memories: usize,
    /// The most tools, and the most skills, that selection adds to those named here.
    pub max_results: usize,
    /// The least probability, 0 to 1, with which selection adds one; without it, the calibrated
    /// threshold.
    #[serde(deserialize_with = "deserialize_probability")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub min_score: Option<f64>,
    /// The injection score, 0 to 1, from which a memory or event is left out even if no rule says
    /// so; without it, the policy of the injection scanner alone decides.
    #[serde(deserialize_with = "deserialize_probability")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub injection_min_score: Option<f64>,
    /// Whether a task's mode may be chosen by similarity in meaning if sentences and keywords give none.
    pub semantic_mode: bool,
    /// The tokens kept free for the answer; without it, what the prompt file says.
    pub output_tokens: Option<usize>,
    /// Tools that may be used in every mode.
    pub tools: Vec<String>,
    /// Skills that may be used in every mode.
    pub skills: Vec<String>,
    /// Files that replace the book's constitution and rules, relative to the file that
    /// names them.
    pub paths: BookOverrides,
    /// The most tokens of other layers: constitution, rules, capabilities, task.
    #[schemars(transform = keys_of::<LayerName>)]
    pub layers: BTreeMap<LayerName, usize>,
    /// The differences of one mode.
    #[schemars(transform = keys_of::<Mode>)]
    pub modes: BTreeMap<Mode, ModeSettings>,
}

fn deserialize_percent<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<u8>, D::Error> {
    let value = Option::<u8>::deserialize(deserializer)?;
    match value {
        Some(value) if value > 100 => {
            Err(serde::de::Error::custom(format!("`{value}` is no share; give a whole number from 0 to 100")))
        }
        value => Ok(value),
    }
}

fn deserialize_probability<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let value = Option::<f64>::deserialize(deserializer)?;
    match value {
        Some(value) if !(0.0..=1.0).contains(&value) => {
            Err(serde::de::Error::custom(format!("`{value}` is not a probability; give a number from 0 to 1")))
        }
        value => Ok(value),
    }
}

/// How much is shown of the files that a task needs, least first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ContextDepth {
    /// No file is looked for.
    None,
    /// Their paths, each with a line of why.
    Paths,
    /// Their definitions.
    Outline,
    /// Their relevant parts. Small ones whole.
    #[default]
    Parts,
    /// All of them, as far as the budget allows.
    Full,
}

proem_text::word_table! {
    /// The word for it on the command line and in configuration.
    pub ContextDepth {
        None = "none",
        Paths = "paths",
        Outline = "outline",
        Parts = "parts",
        Full = "full",
    }
}

/// Says in a map's schema which keys it may have.
fn keys_of<K: JsonSchema>(map: &mut schemars::Schema) {
    let mut keys = schemars::schema_for!(K);
    keys.remove("$schema");
    map.insert("propertyNames".to_owned(), keys.to_value());
}

/// Files that replace parts of the book.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BookOverrides {
    /// Instead of the book's constitution.
    pub constitution: Option<String>,
    /// Instead of the book's common rules.
    pub rules: Option<String>,
    /// Instead of the book's rules for planning.
    pub rules_plan: Option<String>,
    /// Instead of the book's rules for acting.
    pub rules_act: Option<String>,
    /// Instead of the book's rules for reviewing.
    pub rules_review: Option<String>,
}

impl BookOverrides {
    /// The partial that each path replaces, with the path.
    #[must_use]
    pub fn named(&self) -> Vec<(&'static str, &str)> {
        let all = [
            ("constitution", &self.constitution),
            ("rules", &self.rules),
            ("rules-plan", &self.rules_plan),
            ("rules-act", &self.rules_act),
            ("rules-review", &self.rules_review),
        ];
        all.into_iter().filter_map(|(name, path)| Some((name, path.as_deref()?))).collect()
    }
}

/// A layer as configuration names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LayerName {
    /// Rules that always hold.
    Constitution,
    /// How to work.
    Rules,
    /// Tools and skills.
    Capabilities,
    /// The task.
    Task,
}

impl From<LayerName> for Layer {
    fn from(name: LayerName) -> Self {
        match name {
            LayerName::Constitution => Self::Constitution,
            LayerName::Rules => Self::Rules,
            LayerName::Capabilities => Self::Capabilities,
            LayerName::Task => Self::Task,
        }
    }
}

/// The differences of one mode.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ModeSettings {
    /// Base tools of this mode.
    pub tools: Vec<String>,
    /// Default skills of this mode.
    pub skills: Vec<String>,
    /// Instead of `max_tools`.
    pub max_tools: Option<usize>,
    /// Instead of `max_skills`.
    pub max_skills: Option<usize>,
    /// Instead of `max_context_tokens`.
    pub max_context_tokens: Option<usize>,
}

impl Default for AssembleSettings {
    fn default() -> Self {
        Self {
            max_context_tokens: None,
            context: ContextDepth::default(),
            code_share: None,
            max_tools: 10,
            max_skills: 3,
            max_memories: 3,
            max_results: 5,
            min_score: None,
            injection_min_score: None,
            semantic_mode: true,
            output_tokens: None,
            tools: Vec::new(),
            skills: Vec::new(),
            paths: BookOverrides::default(),
            layers: BTreeMap::new(),
            modes: BTreeMap::new(),
        }
    }
}

impl AssembleSettings {
    fn mode(&self, mode: Mode) -> ModeSettings {
        self.modes.get(&mode).cloned().unwrap_or_default()
    }

    /// The tools of a mode, base tools first up to the cap, sorted; and those over the cap.
    #[must_use]
    pub fn tools(&self, mode: Mode) -> (Vec<String>, Vec<String>) {
        let own = self.mode(mode);
        cap_names(&own.tools, &self.tools, own.max_tools.unwrap_or(self.max_tools))
    }

    /// The skills of a mode, its default skills first up to the cap, sorted; and those over it.
    #[must_use]
    pub fn skills(&self, mode: Mode) -> (Vec<String>, Vec<String>) {
        let own = self.mode(mode);
        cap_names(&own.skills, &self.skills, own.max_skills.unwrap_or(self.max_skills))
    }

    /// The caps of selection in a mode.
    #[must_use]
    pub fn caps(&self, mode: Mode) -> Caps {
        let own = self.mode(mode);
        #[expect(clippy::cast_possible_truncation, reason = "a probability")]
        let min_score = self.min_score.map(|score| score as f32);
        Caps {
            mode,
            tools: own.max_tools.unwrap_or(self.max_tools),
            skills: own.max_skills.unwrap_or(self.max_skills),
            results: self.max_results,
            min_score,
        }
    }

    /// The token cap of each capped layer in a mode, of a prompt that may have `input` tokens.
    #[must_use]
    pub fn layers(&self, mode: Mode, input: Option<usize>) -> BTreeMap<Layer, usize> {
        let mut layers: BTreeMap<Layer, usize> = self.layers.iter().map(|(name, cap)| ((*name).into(), *cap)).collect();
        layers.insert(Layer::Context, self.context_tokens(mode).unwrap_or(CONTEXT_TOKENS));
        let share = usize::from(self.code_share.unwrap_or(CODE_SHARE));
        layers.extend(input.map(|input| (Layer::Code, input.saturating_mul(share) / 100)));
        layers
    }

    /// The cap of facts and of the repository's texts together: who set a cap before there were such texts meant all
    /// that a prompt says of a place.
    #[must_use]
    pub fn context_and_code(&self, mode: Mode) -> Option<usize> {
        self.context_tokens(mode).filter(|_| self.code_share.is_none())
    }

    fn context_tokens(&self, mode: Mode) -> Option<usize> {
        self.mode(mode).max_context_tokens.or(self.max_context_tokens)
    }

    /// The narrower of each cap, and nothing else: what an untrusted file may change.
    #[must_use]
    pub fn restricted_by(mut self, other: &Self) -> Self {
        // A user whose cap holds for both keeps it: a share that somebody else sets would part them.
        let parts_nothing =
            self.code_share.is_some() || Mode::ALL.iter().all(|mode| self.context_tokens(*mode).is_none());
        if parts_nothing {
            self.code_share = lowered_cap(self.code_share, CODE_SHARE, other.code_share);
        }
        self.max_context_tokens = lowered_cap(self.max_context_tokens, CONTEXT_TOKENS, other.max_context_tokens);
        self.context = self.context.min(other.context);
        self.max_tools = self.max_tools.min(other.max_tools);
        self.max_skills = self.max_skills.min(other.max_skills);
        self.max_memories = self.max_memories.min(other.max_memories);
        self.max_results = self.max_results.min(other.max_results);
        self.injection_min_score = match (self.injection_min_score, other.injection_min_score) {
            (Some(own), Some(other)) => Some(own.min(other)),
            (own, other) => own.or(other),
        };
        for mode in self.modes.values_mut() {
            mode.max_tools = mode.max_tools.map(|cap| cap.min(other.max_tools));
            mode.max_skills = mode.max_skills.map(|cap| cap.min(other.max_skills));
            mode.max_context_tokens =
                mode.max_context_tokens.map(|cap| cap.min(other.max_context_tokens.unwrap_or(cap)));
        }
        self
    }
}

/// A cap with a default, and another one's where that is lower.
fn lowered_cap<T: PartialOrd + Copy>(own: Option<T>, default: T, other: Option<T>) -> Option<T> {
    other.filter(|other| *other < own.unwrap_or(default)).or(own)
}

fn cap_names(base: &[String], named: &[String], cap: usize) -> (Vec<String>, Vec<String>) {
    let mut all: Vec<String> = Vec::new();
    for name in base.iter().chain(named) {
        if !all.contains(name) {
            all.push(name.clone());
        }
    }
    let over = all.split_off(cap.min(all.len()));
    all.sort();
    (all, over)
}
