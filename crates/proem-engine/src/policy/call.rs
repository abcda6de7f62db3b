//! The decision about a call of a tool: what its definition and the labels of its arguments say of it.
//!
//! It is asked when the call is planned, so that a person can be asked, and once more right before the call is made.
//! Only the second permit is of any use, since none is stored.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::effect::{ActionHash, PolicyHash, key::EffectKey};
use crate::run::{CallLabel, EffectId, ToolPower, ToolUse};

use super::decision::EffectSwitch;
use super::permit::Permit;

/// The form of the hashed bytes. Raised when a byte changes.
const KEY_FORM: &[u8] = b"proem call key 1";
const CONTENT_FORM: &[u8] = b"proem call content 1";

/// The terms of a tool's definition for its calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallTerms {
    /// Sources that may decide that an effectful call is made.
    pub triggered_by: BTreeSet<String>,
    /// Sources that an argument may come from, by the name of its parameter.
    pub accepts: BTreeMap<String, BTreeSet<String>>,
    /// Whether a parameter takes what must stay hidden.
    pub takes_secrets: bool,
    /// Whether each effect within the call is decided about for itself, under the labels of its arguments.
    pub is_decided_within: bool,
}

/// Whether what a call does can be looked up later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallRecords {
    /// Its texts are recorded, so that a run which breaks off knows what it did.
    Content,
    /// They are not.
    Missing,
}

/// A call that is to be decided about.
#[derive(Debug)]
pub struct CallRequest<'r> {
    /// A tool and the arguments that the model gave it.
    pub call: &'r ToolUse,
    /// The terms of its tool's definition.
    pub terms: &'r CallTerms,
    /// Whether it is recorded.
    pub records: CallRecords,
    /// Whether effects happen.
    pub switch: EffectSwitch,
    /// The key by which it happens once.
    pub key: EffectKey,
    /// The hash of the definitions.
    pub policy: PolicyHash,
}

/// The key by which an effect of a run happens once: two attempts of one call share it.
#[must_use]
pub fn call_key(run: &str, call: &ToolUse, effect: EffectId) -> EffectKey {
    let effect = call.repeats.unwrap_or(effect);
    let hashed = Sha256::new().chain_update(KEY_FORM).chain_update(effect.0.to_be_bytes()).chain_update(run);
    EffectKey::of_bytes(hashed.finalize().into())
}

/// The hash of what a call says: its tool and its arguments.
#[must_use]
pub fn call_content(call: &ToolUse) -> ActionHash {
    let length = u64::try_from(call.tool.len()).unwrap_or(u64::MAX).to_be_bytes();
    let hashed = Sha256::new().chain_update(CONTENT_FORM).chain_update(length).chain_update(&call.tool);
    ActionHash(hashed.chain_update(&call.arguments).finalize().into())
}

/// Permission for a call, its condition, or its refusal.
#[derive(Debug, PartialEq, Eq)]
pub enum CallRuling {
    /// It may be made, once.
    Permit(Permit),
    /// A person has to say so, for these reasons.
    Ask(Vec<CallReason>),
    /// It is not made.
    Refusal(CallReason),
}

/// Why a call doesn't go by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallReason {
    /// An argument comes from where the tool doesn't take it from.
    Argument {
        /// The parameter.
        name: String,
        /// The origin.
        label: CallLabel,
    },
    /// The decision to make the call comes from a source that the tool doesn't take it from.
    Decision(CallLabel),
    /// Something hidden may be in it, and the tool takes nothing hidden.
    Secret,
    /// It would have an effect that nobody could look up.
    NotRecorded,
    /// It would have an effect, and somebody stopped all effects.
    SwitchedOff,
    /// It was refused before, for this reason.
    Refused(String),
}

impl fmt::Display for CallReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument { name, label } => write!(f, "`{name}` may come from {}", label.in_words()),
            Self::Decision(label) => write!(f, "{} may have decided that it is called", label.in_words()),
            Self::Secret => f.write_str(
                "the program holds a hidden value, and the tool has no parameter for one; name a parameter with `_`",
            ),
            Self::NotRecorded => f.write_str(
                "without records of contents only tools with `effect = false` are called; set `records.keep` to \
                 \"content\"",
            ),
            Self::SwitchedOff => f.write_str(
                "effects are off in this project, so only tools with `effect = false` are called; `proem effects on` \
                 lets effects happen again",
            ),
            Self::Refused(why) => f.write_str(why),
        }
    }
}

/// Decides about a call.
///
/// A tool without effects is called whatever its arguments come from. Any other needs records and effects that nobody
/// has stopped, and for each of its arguments and for the call itself either a declared source or a person's yes.
pub fn decide_call(request: &CallRequest<'_>) -> CallRuling {
    let CallRequest { call, terms, .. } = request;
    if call.power != ToolPower::Free && request.switch != EffectSwitch::On {
        return CallRuling::Refusal(CallReason::SwitchedOff);
    }
    if let Some(why) = &call.refusal {
        return CallRuling::Refusal(CallReason::Refused(why.clone()));
    }
    let labels = &call.labels;
    let is_secret = labels.decision.secret || labels.arguments.values().any(|label| label.secret);
    if is_secret && !terms.takes_secrets {
        return CallRuling::Refusal(CallReason::Secret);
    }
    let permit = || CallRuling::Permit(Permit::new(request.key, call_content(call), request.policy));
    if call.power == ToolPower::Free {
        return permit();
    }
    if request.records == CallRecords::Missing {
        return CallRuling::Refusal(CallReason::NotRecorded);
    }
    if call.approval.is_some() || terms.is_decided_within {
        return permit();
    }
    let nothing = BTreeSet::new();
    let argument = |(name, label): (&String, &CallLabel)| {
        let is_accepted = label.is_within(terms.accepts.get(name).unwrap_or(&nothing));
        (!is_accepted).then(|| CallReason::Argument { name: name.clone(), label: label.clone() })
    };
    let mut reasons: Vec<CallReason> = labels.arguments.iter().filter_map(argument).collect();
    if !labels.decision.is_within(&terms.triggered_by) {
        reasons.push(CallReason::Decision(labels.decision.clone()));
    }
    if reasons.is_empty() { permit() } else { CallRuling::Ask(reasons) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Question, ToolLabels, question_hash};

    fn label(sources: &[&str]) -> CallLabel {
        CallLabel { sources: Some(sources.iter().map(|name| (*name).to_owned()).collect()), secret: false }
    }

    fn call(power: ToolPower, argument: CallLabel, decision: CallLabel) -> ToolUse {
        let labels = ToolLabels { arguments: BTreeMap::from([("to".to_owned(), argument)]), decision };
        let (tool, arguments) = ("send".to_owned(), "{}".to_owned());
        ToolUse { tool, arguments, power, labels, approval: None, repeats: None, refusal: None, grant: None }
    }

    fn ruling(call: &ToolUse, terms: &CallTerms, records: CallRecords) -> CallRuling {
        let key = EffectKey::of_bytes([0; 32]);
        decide_call(&CallRequest { call, terms, records, switch: EffectSwitch::On, key, policy: PolicyHash([0; 32]) })
    }

    #[test]
    fn a_stopped_effect_and_a_refused_call_get_no_permit_whatever_a_person_said() {
        let terms = CallTerms::default();
        let mut call = call(ToolPower::Idempotent, label(&[]), label(&[]));
        call.approval = question_hash(&Question::new("Call it?", ["yes"])).ok();
        let request = |call: &ToolUse, switch: EffectSwitch| {
            let (key, policy) = (EffectKey::of_bytes([0; 32]), PolicyHash([0; 32]));
            decide_call(&CallRequest { call, terms: &terms, records: CallRecords::Content, switch, key, policy })
        };
        for switch in [EffectSwitch::Off, EffectSwitch::Killed] {
            assert_eq!(request(&call, switch), CallRuling::Refusal(CallReason::SwitchedOff));
        }
        let refusal = |why: &str| CallRuling::Refusal(CallReason::Refused(why.to_owned()));
        call.refusal = Some("nobody permitted it".to_owned());
        assert_eq!(request(&call, EffectSwitch::On), refusal("nobody permitted it"));
        call.power = ToolPower::Free;
        assert_eq!(request(&call, EffectSwitch::Killed), refusal("nobody permitted it"));
        call.refusal = None;
        assert!(matches!(request(&call, EffectSwitch::Killed), CallRuling::Permit(_)), "it has no effect");
    }

    #[test]
    fn an_effect_needs_a_declared_source_or_a_person() {
        let terms = CallTerms {
            triggered_by: BTreeSet::from(["ctx/mail".to_owned()]),
            accepts: BTreeMap::from([("to".to_owned(), BTreeSet::from(["ctx/book".to_owned()]))]),
            takes_secrets: false,
            is_decided_within: false,
        };
        let ask = |argument: &[&str], decision: &[&str]| {
            let call = call(ToolPower::Effectful, label(argument), label(decision));
            match ruling(&call, &terms, CallRecords::Content) {
                CallRuling::Permit(_) => Vec::new(),
                CallRuling::Ask(reasons) => reasons.iter().map(ToString::to_string).collect(),
                CallRuling::Refusal(reason) => vec![format!("refused: {reason}")],
            }
        };
        assert_eq!(ask(&[], &[]), Vec::<String>::new());
        assert_eq!(ask(&["ctx/book"], &["ctx/mail"]), Vec::<String>::new());
        assert_eq!(ask(&["ctx/mail"], &["ctx/mail"]), ["`to` may come from `ctx/mail`"]);
        assert_eq!(ask(&["ctx/book"], &["ctx/book"]), ["`ctx/book` may have decided that it is called"]);
        let mut call = call(ToolPower::Idempotent, CallLabel::from(&proem_text::Label::from_many()), label(&["x"]));
        assert!(matches!(ruling(&call, &terms, CallRecords::Content), CallRuling::Ask(reasons) if reasons.len() == 2));
        call.approval = question_hash(&Question::new("Call it?", ["yes"])).ok();
        assert!(matches!(ruling(&call, &terms, CallRecords::Content), CallRuling::Permit(_)));
        assert_eq!(ruling(&call, &terms, CallRecords::Missing), CallRuling::Refusal(CallReason::NotRecorded));
    }

    #[test]
    fn a_tool_without_effects_is_called_without_records_and_never_with_a_secret() {
        let mut free = call(ToolPower::Free, label(&["ctx/mail"]), label(&["ctx/mail"]));
        assert!(matches!(ruling(&free, &CallTerms::default(), CallRecords::Missing), CallRuling::Permit(_)));
        free.labels.decision.secret = true;
        let refused = ruling(&free, &CallTerms::default(), CallRecords::Missing);
        assert_eq!(refused, CallRuling::Refusal(CallReason::Secret));
        let terms = CallTerms { takes_secrets: true, ..CallTerms::default() };
        assert!(matches!(ruling(&free, &terms, CallRecords::Missing), CallRuling::Permit(_)));
    }
}
