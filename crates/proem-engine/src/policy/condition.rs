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

proem_text::word_table! {
    pub AutomaticCondition {
        Schema = "schema",
        Allowlist = "allowlist",
        Denylist = "denylist",
        Autonomy = "autonomy",
        PromptLeakage = "prompt-leakage",
        ExternalUrls = "external-urls",
        KnownRecipients = "known-recipients",
    }
}

/// One condition with what speaks against it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionResult {
    /// Which one.
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
