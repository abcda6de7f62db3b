//! `proem triage sync` against a scripted server: the guide, the exit codes, and a process that is killed in between.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;

use serde_json::Value as Json;

use crate::fixture::Fixture;
use crate::records::sql;
use crate::source_server::{SourceFault, SourceServer};
use crate::source_worlds::Jira;
use crate::triage_signals::charter_text;

const SECRET: &str = "correct-horse-battery";
const ALL: &str = "SELECT id || ' ' || revision FROM signals ORDER BY 1";

/// A project whose file a person trusted, and a credential.
fn office() -> Fixture {
    let mut fixture = Fixture::folder().unborn();
    fixture.set("NO_COLOR", "1");
    fixture.trust_charter(&charter_text("artefact"));
    fixture.configure("jira-read.txt", SECRET);
    let path = fixture.base.join("config/proem/jira-read.txt");
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    fixture
}

fn source(server: &SourceServer) -> String {
    format!(
        "[effects.credentials]\njira-read = {{ file = \"jira-read.txt\" }}\n\n[sources.tickets]\nsystem = \"jira\"\n\
         url = \"{}\"\nprivate = true\nuser = \"bot@corp.example\"\ncredential = \"jira-read\"\n",
        server.base
    )
}

#[test]
fn the_guide_reads_a_source() {
    let server = SourceServer::start(|_| Jira::sample());
    let fixture = office();
    let address = format!("url = \"{}\"\nprivate = true", server.base);
    let tried = crate::guide::run(&fixture, "sync.md", &[(&address, "url = \"https://corp.atlassian.net\"")]);
    assert_eq!(tried, crate::guide::Tried { files: 1, sessions: 2 });
}

/// Stopped around each write of signals and of a cursor. The next readings find the rest, and nothing twice.
#[test]
fn a_reading_that_is_killed_is_gone_on_with() {
    let server = SourceServer::start(|_| Jira::sample());
    let whole = office();
    whole.configure("config.toml", &source(&server));
    assert_eq!(whole.proem(&["triage", "sync"]).code(), 0);
    let expected = sql(&whole, ALL);
    assert_eq!(expected.len(), 5);
    for place in ["before-intake", "after-intake#2", "before-sync-progress", "after-sync-progress#2"] {
        let mut fixture = office();
        fixture.configure("config.toml", &source(&server));
        fixture.set("PROEM_FAILPOINT", place);
        let killed = fixture.command(env!("CARGO_BIN_EXE_proem")).args(["triage", "sync"]).output().unwrap();
        assert!(killed.status.signal().is_some(), "{place}: {}", String::from_utf8_lossy(&killed.stderr));
        fixture.set("PROEM_FAILPOINT", "");
        let run = fixture.proem(&["triage", "sync"]);
        assert_eq!(run.code(), 0, "{place}: {}", run.stderr());
        assert_eq!(sql(&fixture, ALL), expected, "{place}");
    }
}

#[test]
fn a_source_that_failed_is_named_by_the_command_and_the_doctor() {
    let server = SourceServer::start(|_| Jira::sample());
    let fixture = office();
    fixture.configure("config.toml", &source(&server));
    let doctor = || fixture.proem(&["doctor"]).stdout().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(doctor().contains("`tickets/TES`: never read to its end; run `proem triage sync`"), "{}", doctor());
    server.set_faults(&[(2, SourceFault::Status(401, ""))]);
    let run = fixture.proem(&["triage", "sync", "--json"]);
    assert_eq!(run.code(), 3, "{}", run.transcript());
    let report: Json = serde_json::from_str(run.stdout()).unwrap();
    let failure = report["feeds"][0]["failure"].as_str().unwrap();
    assert!(
        failure.starts_with("page 1 could not be read: the server refused the credential (status 401)"),
        "{failure}"
    );
    assert!(doctor().contains("the last reading broke off: page 1 could not be read"), "{}", doctor());
    server.set_faults(&[]);
    assert_eq!(fixture.proem(&["triage", "sync"]).code(), 0);
    assert!(doctor().contains("`tickets/TES`: read to its end at"), "{}", doctor());
    let used = server.requests();
    assert!(used.iter().all(|(_, credential)| credential.starts_with("Basic ")), "{used:?}");
    // Wrong settings end before anything is asked.
    for (from, to, expected) in [
        ("private = true", "", "is an address of this machine"),
        ("credential = \"jira-read\"", "credential = \"none\"", "`effects.credentials.none` is not set"),
        ("user = \"bot@corp.example\"", "", "`sources.tickets.user` is not set"),
    ] {
        fixture.configure("config.toml", &source(&server).replace(from, to));
        let run = fixture.proem(&["triage", "sync"]);
        assert_eq!(run.code(), 2, "{}", run.transcript());
        assert!(run.stderr().contains(expected) && !run.stderr().contains(SECRET), "{}", run.stderr());
    }
}
