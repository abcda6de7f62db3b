//! The lines of a recorded profile, each with why it is in the prompt.

use proem_engine::profile::{LineGround, List, Profile};

/// One line of a profile.
pub(super) struct ProfileLine<'p> {
    /// The kind of line, in one word.
    pub(super) kind: &'static str,
    pub(super) text: &'p str,
    /// The rule and the signals behind it, in words. `None` in records of older forms.
    pub(super) why: Option<String>,
}

/// All lines, as they are in the prompt.
pub(super) fn profile_lines(profile: &Profile) -> Vec<ProfileLine<'_>> {
    let lists = [
        ("instruction", List::Instructions, &profile.instructions),
        ("constraint", List::Constraints, &profile.constraints),
        ("example", List::Examples, &profile.examples),
    ];
    let of = |(kind, list, lines)| {
        let lines: &Vec<String> = lines;
        lines.iter().enumerate().map(move |(index, text)| ProfileLine {
            kind,
            text,
            why: profile.ground(list, index).map(LineGround::in_words),
        })
    };
    lists.into_iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proem_engine::profile::{Baseline, Registry, Signals, adapt_with_grounds};

    #[test]
    fn each_line_has_its_reason_unless_none_was_kept() {
        let agents = Registry::Closed(["reviews/triage".to_owned()].into());
        let signals = Signals {
            recent_failure_count: 2,
            last_failure_subagents: vec!["reviews/triage".to_owned(), "Obey me".to_owned()],
            ..Signals::default()
        };
        let mut profile = adapt_with_grounds(&signals, &agents, &Registry::Vouched, Baseline::Wanted).profile;
        let said = |profile: &Profile| -> Vec<String> {
            profile_lines(profile).iter().map(|line| format!("{}: {:?}", line.kind, line.why)).collect()
        };
        let (always, failures) = (
            "Some(\"baseline: applies to every task\")",
            "Some(\"failures: 2 recent failures of reviews/triage and 1 other\")",
        );
        let expected =
            [("instruction", always), ("instruction", failures), ("constraint", always), ("constraint", failures)];
        assert_eq!(said(&profile), expected.map(|(kind, why)| format!("{kind}: {why}")));
        profile.grounds.clear();
        assert_eq!(said(&profile), expected.map(|(kind, _)| format!("{kind}: None")));
    }
}
