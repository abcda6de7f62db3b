//! The seven rules: which lines a profile has, in our words.
//!
//! Every line is a template; what stands in a slot is a registered name, a number or a [`super::Format`].

use super::signals::AGENTS;
use super::{Adapted, Profile, Registry, Rule, Signals};

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

/// The profile for these signals.
///
/// Names outside their registry stand as "1 other", and so do those beyond the most that are named:
/// three agents, twelve risks.
#[must_use]
pub fn adapt(signals: &Signals, agents: &Registry, risks: &Registry) -> Adapted {
    let mut adapted =
        Adapted { profile: Profile::default(), signals: signals.clone(), rules: Vec::new(), notes: Vec::new() };
    adapted
        .add(Rule::Baseline, [(Kind::Instruction, BASELINE.to_owned()), (Kind::Constraint, NO_SPECULATION.to_owned())]);
    if signals.recent_failure_count > 0 || !signals.last_failure_subagents.is_empty() {
        let slot = adapted.slot("agent", &signals.last_failure_subagents, (agents, AGENTS));
        let whose = slot.map_or_else(String::new, |slot| format!(" of {slot}"));
        let line = format!("Earlier results{whose} failed: deal first with what went wrong there.");
        adapted.add(Rule::Failures, [(Kind::Instruction, line), (Kind::Constraint, OTHER_WAY.to_owned())]);
    }
    if let Some(slot) = adapted.slot("risk", &signals.risk_tags, (risks, RISKS)) {
        adapted.add(Rule::Risks, [(Kind::Instruction, format!("Guard against these known risks: {slot}."))]);
    }
    if signals.needs_retry {
        adapted.add(Rule::Retry, [(Kind::Instruction, RECOVER.to_owned()), (Kind::Example, MISSING_OUTPUT.to_owned())]);
    }
    if signals.time_sensitive {
        adapted.add(Rule::Time, [(Kind::Constraint, SHORT.to_owned())]);
    }
    if signals.compliance_required {
        adapted.add(Rule::Compliance, [(Kind::Constraint, COMPLIANCE.to_owned())]);
    }
    if let Some(format) = signals.preferred_format {
        let line = format!("Write the answer as {format}; where its form is set already, write the texts in it so.");
        adapted.add(Rule::Format, [(Kind::Instruction, line)]);
    }
    adapted
}

/// Where a line stands.
#[derive(Clone, Copy)]
enum Kind {
    Instruction,
    Constraint,
    Example,
}

impl Adapted {
    fn add(&mut self, rule: Rule, lines: impl IntoIterator<Item = (Kind, String)>) {
        self.rules.push(rule);
        for (kind, line) in lines {
            match kind {
                Kind::Instruction => self.profile.instructions.push(line),
                Kind::Constraint => self.profile.constraints.push(line),
                Kind::Example => self.profile.examples.push(line),
            }
        }
    }

    /// Distinct names as a list for a line; `None` without any.
    fn slot(&mut self, what: &str, names: &[String], (registry, most): (&Registry, usize)) -> Option<String> {
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
            self.notes.push(format!("{} not registered: only counted", words(others.len())));
        }
        if !beyond.is_empty() {
            self.notes.push(format!("{} beyond the first {most}: only counted", words(beyond.len())));
        }
        let rest = match others.len().saturating_add(beyond.len()) {
            0 => None,
            1 => Some(String::from("1 other")),
            count => Some(format!("{count} others")),
        };
        match (shown.is_empty(), rest) {
            (true, rest) => rest,
            (false, None) => Some(shown.join(", ")),
            (false, Some(rest)) => Some(format!("{} and {rest}", shown.join(", "))),
        }
    }
}
