//! Says why nothing was sent although somebody asked for it: the records are on and can't be kept.

use proem_engine::ledger::{Cap, CapPeriod, CapScope, CapUnit};

/// Whether a run could do without its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Necessity {
    /// Configuration asks for them. The caller may leave them out.
    Configured,
    /// It goes on in them.
    Required,
}

/// `why` the records can't be kept, and what that means: the cap that needs them is named where one does.
#[must_use]
pub fn unsent_reason(why: &str, necessity: Necessity, caps: &[Cap]) -> String {
    let rest = match (necessity, caps.first()) {
        (Necessity::Required, _) => "nothing was sent, because a resumed run must be recorded".to_owned(),
        (_, Some(cap)) => format!(
            "nothing was sent, because a budget is configured ({}), which can't do without records",
            cap_declaration(cap)
        ),
        (_, None) => "nothing was sent, because records are on and could not be written".to_owned(),
    };
    format!("{why}; {rest}")
}

/// The place of a cap's declaration.
fn cap_declaration(cap: &Cap) -> String {
    let scope = match cap.scope {
        CapScope::User => "user",
        CapScope::Project => "project",
        CapScope::Agent => "agent.NAME",
    };
    let key = match (cap.period, cap.unit) {
        (CapPeriod::Day, CapUnit::NanoDollars) => "day",
        (CapPeriod::Month, CapUnit::NanoDollars) => "month",
        (CapPeriod::Run, CapUnit::NanoDollars) => "run",
        (CapPeriod::Day, CapUnit::Tokens) => "day_tokens",
        (CapPeriod::Month, CapUnit::Tokens) => "month_tokens",
        (CapPeriod::Run, CapUnit::Tokens) => "run_tokens",
    };
    // A caller's limit for one run counts as a cap of its project.
    let option = if (scope, key) == ("project", "run") { ", or what the run itself may cost" } else { "" };
    format!("`budget.{scope}.{key}`{option}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_says_what_may_be_done() {
        let cap = |scope, period, unit| vec![Cap { scope, period, unit, most: 1 }];
        let budget = |named: &str| {
            format!("full; nothing was sent, because a budget is configured ({named}), which can't do without records")
        };
        let money = CapUnit::NanoDollars;
        for (necessity, caps, expected) in [
            (
                Necessity::Configured,
                vec![],
                "full; nothing was sent, because records are on and could not be written".to_owned(),
            ),
            (
                Necessity::Required,
                cap(CapScope::User, CapPeriod::Day, money),
                "full; nothing was sent, because a resumed run must be recorded".to_owned(),
            ),
            (Necessity::Configured, cap(CapScope::User, CapPeriod::Day, money), budget("`budget.user.day`")),
            (
                Necessity::Configured,
                cap(CapScope::Project, CapPeriod::Month, CapUnit::Tokens),
                budget("`budget.project.month_tokens`"),
            ),
            (
                Necessity::Configured,
                cap(CapScope::Project, CapPeriod::Run, money),
                budget("`budget.project.run`, or what the run itself may cost"),
            ),
        ] {
            assert_eq!(unsent_reason("full", necessity, &caps), expected);
        }
    }
}
