//! The output with colours, and the output without.

use rusqlite::Connection;

use crate::fixture::Fixture;
use crate::terminal::scene::{proem, recorded, settled};
use crate::terminal::screen::{WIDE, start, start_on, visible};

/// Everything that shows records.
const VIEWS: [&[&str]; 6] = [
    &["runs", "list"],
    &["runs", "show", "last"],
    &["runs", "diff", "last~1", "last"],
    &["runs", "diff", "last~1"],
    &["stats"],
    &["cost"],
];

#[test]
fn records_are_shown_in_colour() {
    let (_server, fixture) = recorded();
    let mut said = String::new();
    for args in VIEWS {
        let Some(terminal) = start_on(WIDE, proem(&fixture, args)) else { return };
        let left = terminal.end();
        assert_eq!(left.code, Some(0), "{args:?}: {}", left.shown);
        left.is_tidy();
        said.push_str(&format!("$ proem {}\n{}\n", args.join(" "), settled(&fixture, &visible(left.written()))));
    }
    snapshot!("records_in_colour", said);
}

#[test]
fn without_colours_the_same_is_said() {
    let (_server, fixture) = recorded();
    for args in VIEWS {
        let on_terminal = |name: &str, value: &str| {
            let mut command = proem(&fixture, args);
            command.env(name, value);
            Some(start_on(WIDE, command)?.end())
        };
        let Some(plain) = on_terminal("NO_COLOR", "1") else { return };
        let piped = fixture.proem(args);
        assert_eq!(plain.written().replace("\r\n", "\n"), piped.answer(), "{args:?}");
        assert!(!piped.stdout().contains('\u{1b}'), "{args:?}");
        let dumb = on_terminal("TERM", "dumb").unwrap();
        assert_eq!(dumb.raw, plain.written(), "{args:?}: nothing can be taken away there, so nothing is drawn");
        let coloured = on_terminal("COLORTERM", "truecolor").unwrap();
        assert!(coloured.written().contains('\u{1b}'), "{args:?}");
        assert_eq!(coloured.shown, plain.shown, "{args:?}: colours change nothing but colours");
    }
}

#[test]
fn colours_can_be_had_in_a_pipe() {
    let (_server, mut fixture) = recorded();
    fixture.set("CLICOLOR_FORCE", "1");
    for args in VIEWS {
        assert!(fixture.proem(args).answer().contains('\u{1b}'), "{args:?}");
    }
    assert!(!fixture.proem(&["runs", "show", "--json"]).answer().contains('\u{1b}'), "data have no colours");
}

/// Makes what was spent unknown in part.
fn not_known(fixture: &Fixture) {
    let records = Connection::open(fixture.base.join("state/proem/records.db")).unwrap();
    records.execute("UPDATE spend SET unknown = 123, unpriced = 7, attempts = 999", []).unwrap();
}

#[test]
fn lines_fit_a_terminal_of_eighty_columns() {
    let (_server, fixture) = recorded();
    let mut said = String::new();
    for args in [
        &["runs", "list"][..],
        &["runs", "list", "--all"],
        &["runs", "show", "last"],
        &["runs", "show", "last", "--full"],
        &["stats", "--since", "120d"],
        &["cost"],
    ] {
        let Some(terminal) = start(proem(&fixture, args)) else { return };
        let left = terminal.end();
        assert_eq!(left.wrapped(), 0, "{args:?}:\n{}", left.shown);
        if !args.contains(&"show") {
            said.push_str(&format!("$ proem {}\n{}\n\n", args.join(" "), settled(&fixture, &left.shown)));
        }
    }
    snapshot!("records_on_eighty_columns", said);
    not_known(&fixture);
    let Some(terminal) = start(proem(&fixture, &["cost", "--all"])) else { return };
    let left = terminal.end();
    assert!(left.shown.contains("123 unknown  7 unpriced"), "{}", left.shown);
    assert_eq!(left.wrapped(), 0, "{}", left.shown);
}
