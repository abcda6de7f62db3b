//! A policy as a value.

use std::collections::{BTreeMap, BTreeSet};

use proem_guard::check::{Allowlist, FieldRole, HoldMinutes, InternalDomains, Referent};

use super::{canonical, template::TextTemplate};
use crate::effect::{PolicyHash, ReleaseWindow};

/// A minute, in milliseconds.
const MINUTE: i64 = 60_000;

/// How much agents do without asking. Each level does what the one before does, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AutonomyLevel {
    /// They look, and log that they live.
    Monitoring,
    /// They keep their artefacts and tell people inside.
    Artefact,
    /// They comment, write to stakeholders and move tickets.
    Tactical,
}

proem_text::word_table! {
    pub AutonomyLevel {
        // The least first.
        Monitoring = "monitoring",
        Artefact = "artefact",
        Tactical = "tactical",
    }
}

/// The list that an action is on, the mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ActionList {
    /// It goes by itself, at once.
    Auto,
    /// It goes by itself when a person has had this long to stop it.
    Hold(HoldMinutes),
    /// A person says yes first.
    Approval,
    /// It never happens.
    Never,
}

impl ActionList {
    /// The list's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Hold(_) => "hold",
            Self::Approval => "approval",
            Self::Never => "never",
        }
    }
}

/// How an action is performed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EffectRoute {
    /// One mail over SMTP.
    Mail,
    /// As a request to a server, by the declared template of this name.
    Request(String),
    /// Within the store, where nobody outside sees it.
    Inside,
    /// Not at all: it is a proposal to a person, who does it himself.
    Nowhere,
}

/// The type and limits of an action's field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldTerms {
    /// The meaning of its value.
    pub role: FieldRole,
    pub(super) is_required: bool,
    pub(super) is_list: bool,
    /// The most bytes of its value, of a list's each.
    pub max_bytes: usize,
    /// The words that a closed list has. Empty for anything.
    pub one_of: BTreeSet<String>,
    /// The texts that go automatically whatever the request held.
    pub templates: BTreeSet<TextTemplate>,
    /// The name of the file as which a mail has it. `None` for what is no file.
    pub attachment: Option<String>,
}

/// The policy's terms for one action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionTerms {
    /// The list that it is on.
    pub list: ActionList,
    /// The level from which on it goes by itself.
    pub level: AutonomyLevel,
    /// How it is performed.
    pub route: EffectRoute,
    /// The action that it counts as when somebody outside receives it.
    pub external: Option<String>,
    /// The recipients that the action may reach, and the evidence they need.
    pub target: FieldTerms,
    /// Everything else that it says, by name.
    pub fields: BTreeMap<String, FieldTerms>,
}

/// Somebody whom actions may reach.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KnownRecipient {
    /// The mail address or handle.
    pub address: String,
    /// The name that people use.
    pub name: String,
    /// The role in the project.
    pub role: String,
}

/// By how much approvals in a row shorten a hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldSteps {
    /// From how many approvals on it lasts how many minutes at most.
    pub(super) shorter: BTreeMap<u32, u32>,
    /// The fewest minutes of a shortened hold with free text from outside.
    pub(super) untrusted: u32,
}

/// 15, 5 and 1 minutes from 5, 10 and 20 approvals on; 5 minutes with free text from outside (T10 of the rules of effects).
impl Default for HoldSteps {
    fn default() -> Self {
        Self { shorter: BTreeMap::from([(5, 15), (10, 5), (20, 1)]), untrusted: 5 }
    }
}

impl HoldSteps {
    /// The most minutes of a hold after so many approvals. `None` where nothing is shortened.
    pub(super) fn cap(&self, approvals: u32) -> Option<u32> {
        self.shorter.range(..=approvals).map(|(_, minutes)| *minutes).min()
    }
}

/// The permissions of agents.
///
/// Settings that a file leaves open are `None` here, so that a file that only narrows another one can leave them open,
/// too.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    pub(super) level: Option<AutonomyLevel>,
    pub(super) actions: BTreeMap<String, ActionTerms>,
    pub(super) never: BTreeSet<String>,
    pub(super) denylist: BTreeSet<String>,
    pub(super) recipients: Option<BTreeSet<KnownRecipient>>,
    pub(super) domains: Option<BTreeSet<String>>,
    /// By the key of the file.
    pub(super) allow: BTreeMap<&'static str, BTreeSet<String>>,
    /// Minutes, by the key of the file.
    pub(super) times: BTreeMap<&'static str, u32>,
    pub(super) holds: Option<HoldSteps>,
    /// Made of the lists above by [`Self::finish`].
    pub(super) allowlist: Allowlist,
    pub(super) internal: InternalDomains,
    pub(super) known: BTreeSet<Referent>,
    pub(super) folded_denied: BTreeSet<String>,
    pub(super) hash: Option<PolicyHash>,
}

/// The keys of times with what they are where nothing is said: 4 h, 7 days, 24 h, 30 minutes.
pub(super) const TIMES: [(&str, u32); 4] =
    [("release_window", 240), ("decision", 10_080), ("approval", 1_440), ("first_hold", 30)];

impl Policy {
    /// The policy that ships, as its file is written.
    #[must_use]
    pub const fn shipped_text() -> &'static str {
        include_str!("../../data/policy.toml")
    }

    /// The level of autonomy where nobody says another one.
    #[must_use]
    pub fn level(&self) -> AutonomyLevel {
        self.level.unwrap_or(AutonomyLevel::Monitoring)
    }

    /// The terms for an action of exactly this name. `None` for one that no list has or that is never taken.
    #[must_use]
    pub fn action(&self, name: &str) -> Option<&ActionTerms> {
        self.actions.get(name)
    }

    /// Every action that may be taken, with its terms, by name.
    pub fn actions(&self) -> impl Iterator<Item = (&str, &ActionTerms)> {
        self.actions.iter().map(|(name, terms)| (name.as_str(), terms))
    }

    /// The names of actions that are never taken.
    pub fn never(&self) -> impl Iterator<Item = &str> {
        self.never.union(&self.denylist).map(String::as_str)
    }

    /// Whom actions may reach.
    pub fn recipients(&self) -> impl Iterator<Item = &KnownRecipient> {
        self.recipients.iter().flatten()
    }

    /// The domains whose addresses are inside.
    pub fn domains(&self) -> impl Iterator<Item = &str> {
        self.domains.iter().flatten().map(String::as_str)
    }

    /// How long after it was due a held action may still go by itself.
    #[must_use]
    pub fn release_window(&self) -> ReleaseWindow {
        ReleaseWindow(self.minutes("release_window") * MINUTE)
    }

    /// How long a person has to decide about an action, in milliseconds.
    #[must_use]
    pub fn decision_time(&self) -> i64 {
        self.minutes("decision") * MINUTE
    }

    /// How long an approval is good, in milliseconds.
    #[must_use]
    pub fn approval_time(&self) -> i64 {
        self.minutes("approval") * MINUTE
    }

    /// The hash of everything that it says, in a form that doesn't depend on how its file is written.
    #[must_use]
    pub fn hash(&self) -> PolicyHash {
        self.hash.unwrap_or_else(|| canonical::policy_hash(self))
    }

    /// The hold of the first automatic action of a type.
    pub(super) fn first_hold(&self) -> HoldMinutes {
        HoldMinutes(u32::try_from(self.minutes("first_hold")).unwrap_or(u32::MAX))
    }

    pub(super) fn hold_steps(&self) -> HoldSteps {
        self.holds.clone().unwrap_or_default()
    }

    fn minutes(&self, key: &str) -> i64 {
        let default = TIMES.iter().find(|(name, _)| *name == key).map_or(0, |(_, minutes)| *minutes);
        i64::from(self.times.get(key).copied().unwrap_or(default))
    }
}
