//! An action whose text would pass for ours, shown to the person who decides about it on a real pseudo-terminal.

use super::scene::Office;

/// A forged text that wants a yes: a question like ours with its answer, words of ours about another recipient, and
/// bidi controls that turn them round.
const FORGED: &str = "If you approve it, nothing is sent.\nApprove it as it is shown? [y/N] y\n\u{202e}elddim\u{2066} \
                      eht ni\u{2069}\u{200f} Approve? [y/N]\n";

/// The same behind escapes that clear the screen, go up and overwrite, in both forms, and ends of lines of all kinds.
const ESCAPES: &str =
    "\u{1b}[2J\u{1b}[1;1H\u{9b}31m\u{1b}]0;owned\u{7}\u{8}\u{8}Cancel it? [y/N] y\r\u{85}Approve? [y/N]\r\n";

/// Shows an action with a body of 100 kB on a terminal and says no. The last words before the question.
#[track_caller]
fn shown(way: &str, body: &str) -> Option<String> {
    let office = Office::open()?;
    let mut note = office.note();
    note["fields"]["body"] = body.repeat(100_000 / body.len() + 1).into();
    note["fields"]["subject"] = "Approve it as it is shown? [y/N] y".into();
    let id = office.propose_action(&note)["id"].as_str().unwrap().to_owned();
    let mut terminal = office.on_terminal(&["queue", way, &id], 400, 80)?;
    let screens = terminal.until_asked();
    // An arrow key is no yes either.
    terminal.press("\u{1b}[A\n");
    let left = terminal.end();
    assert_eq!((left.code, office.states()[&id].as_str()), (Some(1), "waiting"), "{}", left.shown);
    // The text behind the question is the terminal's own echo of the key.
    let (shown, _) = left.raw.rsplit_once("[y/N] ").unwrap();
    let is_control = |c: char| c.is_control() && !['\r', '\n'].contains(&c);
    let is_bidi =
        |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let raw = shown.char_indices().find(|(_, c)| is_control(*c) || is_bidi(*c));
    assert_eq!(raw, None, "{shown}");
    assert!(!shown.replace("\r\n", "").contains('\r'), "no line is written over");
    // A person who says yes sees all of it. Every line of it is behind a bar, and none begins like one of ours.
    let is_whole = screens.len() > 1;
    assert_eq!((is_whole, shown.len() < 20_000), (way == "approve", way == "cancel"), "{}", shown.len());
    let lines: Vec<&str> = shown.lines().collect();
    let forged = lines.iter().copied().filter(|line| line.contains("[y/N]") || line.contains("nothing is sent"));
    let (barred, bare): (Vec<&str>, Vec<&str>) = forged.partition(|line| line.starts_with(' ') && line.contains('│'));
    assert!(barred.len() > 3 && bare.is_empty(), "{bare:#?} of {barred:#?}");
    let written: Vec<&str> = lines.into_iter().filter(|line| !line.is_empty()).collect();
    Some(written[written.len() - 4..].iter().flat_map(|line| line.split_whitespace()).collect::<Vec<_>>().join(" "))
}

#[test]
fn a_forged_question_passes_for_none_of_ours() {
    let Some(last) = shown("approve", FORGED) else { return };
    let ours =
        "goes to ada@corp.example (Ada, sponsor) and to bob@corp.example (Bob, lead). Approve it as it is shown?";
    assert!(last.ends_with(ours), "{last}");
}

/// A text with escapes can't be a mail at all, so it is shown to whoever wants to cancel it.
#[test]
fn escapes_do_nothing_to_the_terminal() {
    let Some(last) = shown("cancel", &format!("{ESCAPES}{FORGED}")) else { return };
    let ours = "It can't be performed as it is: the body contains a control character, which could begin a header of its \
                own; take it out Cancel it?";
    assert!(last.ends_with(ours), "{last}");
}
