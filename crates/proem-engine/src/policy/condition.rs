//! The seven conditions under which an action goes by itself, by name.

/// The condition for an action to go by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AutomaticCondition {
    /// It has the fields that its policy declares.
    Schema,
    /// A list has it, and everything that it names is in trusted texts or an allowlist.
    Allowlist,
    /// It is never denied.
    Denylist,
    /// The level of now lets it go, on a list of what goes by itself.
    Autonomy,
    /// It doesn't repeat the prompt.
    PromptLeakage,
    /// Its texts lead nowhere that no trusted text leads.
    ExternalUrls,
    /// All receivers are known recipients.
    KnownRecipients,
}

impl AutomaticCondition {
    /// All seven.
    pub const ALL: [Self; 7] = [
        Self::Schema,
        Self::Allowlist,
        Self::Denylist,
        Self::Autonomy,
        Self::PromptLeakage,
        Self::ExternalUrls,
        Self::KnownRecipients,
    ];

    /// As it is written down and printed.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Schema => "schema",
            Self::Allowlist => "allowlist",
            Self::Denylist => "denylist",
            Self::Autonomy => "autonomy",
            Self::PromptLeakage => "prompt-leakage",
            Self::ExternalUrls => "external-urls",
            Self::KnownRecipients => "known-recipients",
        }
    }
}

/// One condition with what speaks against it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionResult {
    /// The condition that was met.
    pub condition: AutomaticCondition,
    /// Why it is not met, in our words. Empty if it is.
    pub against: Vec<String>,
}

impl ConditionResult {
    /// Whether nothing speaks against it.
    #[must_use]
    pub const fn is_met(&self) -> bool {
        self.against.is_empty()
    }
}
