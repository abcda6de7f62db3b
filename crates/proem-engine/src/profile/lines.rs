//! The seven rules: which lines a profile has, in our words.
//!
//! Every line is a template; what is in a slot is a registered name, a number or a [`super::Format`].

use super::grounds::{LineGround, List, NameSlot};
use super::parts::{self, is_contract_part};
use super::signals::AGENTS;
use super::{Adaptation, Baseline, Profile, ProfileRule, Registry, Signals};

/// How many risks are named.
const RISKS: usize = 12;

const BASELINE: &str = "Do all that the task asks and nothing beside it; state the assumptions that the answer rests on, \
                        where its form has room for them.";
const NO_SPECULATION: &str = "Propose no change that the task and the given context do not support.";
const OTHER_WAY: &str = "Take no approach again that has failed; where the form of the answer has room for it, say what \
                         is done differently.";
const RECOVER: &str = "The last result failed: work out the steps that put it right and check every point of the task \
                       before answering; show steps and checklist where the form of the answer has room for them.";
const MISSING_OUTPUT: &str = "After `missing_output`, the answer has the part that was missing in a place of its own: under \
                              the heading `Output`, or in the field that is meant for it.";
const SHORT: &str = "Keep the answer short: what has the greatest effect comes first, and the rest stays out.";
const COMPLIANCE: &str = "Name what compliance demands here, where the form of the answer has room for it.";

/// The profile for these signals, with the lines that hold for every task.
///
/// Names outside their registry are as "1 other", and so do those beyond the most that are named: three agents, twelve
/// risks.
#[must_use]
pub fn adapt(signals: &Signals, agents: &Registry, risks: &Registry) -> Adaptation {
    let mut adapted = adapt_with_grounds(signals, agents, risks, Baseline::Wanted);
    adapted.profile.grounds.clear();
    adapted
}

/// [`adapt`], where the profile says for each line why it is there, as records keep it, and the lines that hold for
/// every task are there only for a prompt that wants them.
#[must_use]
pub fn adapt_with_grounds(signals: &Signals, agents: &Registry, risks: &Registry, baseline: Baseline) -> Adaptation {
    let mut adapted =
        Adaptation { profile: Profile::default(), signals: signals.clone(), rules: Vec::new(), notes: Vec::new() };
    if baseline == Baseline::Wanted {
        let always = [(List::Instructions, BASELINE.to_owned()), (List::Constraints, NO_SPECULATION.to_owned())];
        adapted.add(ProfileRule::Baseline, &Behind::default(), always);
    }
    if signals.recent_failure_count > 0 || !signals.last_failure_subagents.is_empty() {
        let slot = adapted.slot("agent", &signals.last_failure_subagents, agents, AGENTS);
        let whose = if slot == NameSlot::default() { String::new() } else { format!(" of {}", slot.in_words()) };
        let line = format!("Earlier results{whose} failed: deal first with what went wrong there.");
        let behind = Behind { failures: Some(signals.recent_failure_count), slot };
        adapted.add(
            ProfileRule::Failures,
            &behind,
            [(List::Instructions, line), (List::Constraints, OTHER_WAY.to_owned())],
        );
    }
    let (parts, risk_tags): (Vec<String>, Vec<String>) =
        signals.risk_tags.iter().cloned().partition(|risk| is_contract_part(risk) && risks.admits(risk));
    let slot = adapted.slot("risk", &parts, risks, RISKS);
    if slot != NameSlot::default() {
        let parts: Vec<String> = slot.names.iter().map(|part| parts::part_words(part)).collect();
        let line = format!(
            "An earlier answer did not meet the contract at {}: check that before answering.",
            parts.join(", ")
        );
        adapted.add(ProfileRule::Risks, &Behind { failures: None, slot }, [(List::Instructions, line)]);
    }
    let slot = adapted.slot("risk", &risk_tags, risks, RISKS);
    if slot != NameSlot::default() {
        let line = format!("Guard against these known risks: {}.", slot.in_words());
        adapted.add(ProfileRule::Risks, &Behind { failures: None, slot }, [(List::Instructions, line)]);
    }
    let plain = Behind::default();
    if signals.needs_retry {
        let lines = [(List::Instructions, RECOVER.to_owned()), (List::Examples, MISSING_OUTPUT.to_owned())];
        adapted.add(ProfileRule::Retry, &plain, lines);
    }
    if signals.time_sensitive {
        adapted.add(ProfileRule::Time, &plain, [(List::Constraints, SHORT.to_owned())]);
    }
    if signals.compliance_required {
        adapted.add(ProfileRule::Compliance, &plain, [(List::Constraints, COMPLIANCE.to_owned())]);
    }
    if let Some(format) = signals.preferred_format {
        let line = format!("Write the answer as {format}; where its form is set already, write the texts in it so.");
        let slot = NameSlot { names: vec![format.as_str().to_owned()], others: 0 };
        adapted.add(ProfileRule::Format, &Behind { failures: None, slot }, [(List::Instructions, line)]);
    }
    adapted
}

/// The signals behind the lines of a rule.
#[derive(Default)]
struct Behind {
    failures: Option<u64>,
    slot: NameSlot,
}

impl Adaptation {
    fn add(&mut self, rule: ProfileRule, behind: &Behind, lines: impl IntoIterator<Item = (List, String)>) {
        // Parts of a contract and other risks are lines of one rule.
        if self.rules.last() != Some(&rule) {
            self.rules.push(rule);
        }
        for (list, line) in lines {
            let lines = match list {
                List::Instructions => &mut self.profile.instructions,
                List::Constraints => &mut self.profile.constraints,
                List::Examples => &mut self.profile.examples,
            };
            let ground = LineGround {
                list,
                line: u32::try_from(lines.len()).unwrap_or(u32::MAX),
                rule,
                failures: behind.failures,
                names: behind.slot.names.clone(),
                others: behind.slot.others,
            };
            lines.push(line);
            self.profile.grounds.push(ground);
        }
    }

    /// Distinct names for a line: those of the registry, at most `most` of them.
    fn slot(&mut self, what: &str, names: &[String], registry: &Registry, most: usize) -> NameSlot {
        let mut shown: Vec<&str> = Vec::new();
        let mut others: Vec<&str> = Vec::new();
        let mut beyond: Vec<&str> = Vec::new();
        for name in names.iter().map(String::as_str) {
            if [&shown, &others, &beyond].iter().any(|known| known.contains(&name)) {
                continue;
            }
            match (registry.admits(name), shown.len() < most) {
                (true, true) => shown.push(name),
                (true, false) => beyond.push(name),
                (false, _) => others.push(name),
            }
        }
        let words = |count: usize| format!("{count} {what} {}", if count == 1 { "name" } else { "names" });
        if !others.is_empty() {
            self.notes.push(format!("{} not in the registry: counted, but not named", words(others.len())));
        }
        if !beyond.is_empty() {
            self.notes.push(format!("{} beyond the first {most}: counted, but not named", words(beyond.len())));
        }
        let others = u64::try_from(others.len().saturating_add(beyond.len())).unwrap_or(u64::MAX);
        NameSlot { names: shown.into_iter().map(str::to_owned).collect(), others }
    }
}
