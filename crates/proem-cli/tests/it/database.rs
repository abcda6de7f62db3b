//! Records in a database: moved there and back by one command, used by every other, and refused with what to do.

use crate::fixture::{Fixture, Run};
use crate::skipped::skip;
use crate::test_server::{TestServer, test_server};

/// The server, if there is one to start.
fn server() -> Option<&'static TestServer> {
    match test_server() {
        Ok(server) => Some(server),
        Err(why) => {
            skip("postgresql", why);
            None
        }
    }
}

/// A new database, by its address.
fn database(server: &TestServer, name: &str, options: &str) -> String {
    server.run("postgres", &format!("CREATE DATABASE {name} {options}")).unwrap();
    address(server, name, "postgres")
}

fn address(server: &TestServer, name: &str, role: &str) -> String {
    format!("postgres:///{name}?host={}&user={role}", server.folder.display())
}

/// A user with two runs in the file.
fn recorded() -> Fixture {
    let fixture = Fixture::folder().committed();
    for task in ["fix the flaky test", "name the colours"] {
        assert_eq!(fixture.proem(&["assemble", task]).code(), 0);
    }
    fixture
}

fn keep_in(fixture: &Fixture, url: &str) {
    fixture.configure("config.toml", &format!("[store]\nurl = \"{url}\"\n"));
}

fn runs(fixture: &Fixture) -> usize {
    let listed = fixture.proem(&["runs", "list", "--any", "--json"]);
    assert_eq!(listed.code(), 0, "{}", listed.transcript());
    listed.json().as_array().unwrap().len()
}

/// A refused command: its exit code, and the words that its message has.
#[track_caller]
fn refused(run: &Run, code: i32, words: &[&str]) {
    assert_eq!(run.code(), code, "{}", run.transcript());
    for word in words {
        assert!(run.stderr().contains(word), "{word}: {}", run.transcript());
    }
}

#[test]
fn one_command_moves_the_records_and_every_other_one_finds_them() {
    let Some(server) = server() else { return };
    let fixture = recorded();
    let url = database(server, "moved", "");
    let copied = fixture.proem(&["store", "copy", "--to", &url]);
    assert_eq!(copied.code(), 0, "{}", copied.transcript());
    assert!(
        copied.stdout().contains("2  runs\n") && copied.stdout().contains("in all, verified"),
        "{}",
        copied.stdout()
    );
    assert!(copied.stderr().contains(&format!("url = \"{url}\"")), "{}", copied.stderr());
    keep_in(&fixture, &url);
    std::fs::remove_file(fixture.base.join("state/proem/records.db")).unwrap();
    assert_eq!(runs(&fixture), 2);
    assert_eq!(fixture.proem(&["assemble", "count the sheep"]).code(), 0);
    assert_eq!(runs(&fixture), 3);
    assert!(!fixture.base.join("state/proem/records.db").exists(), "nothing is recorded in a file");
    let doctor = fixture.proem(&["doctor"]);
    let line = doctor.stdout().lines().find(|line| line.contains(" store ")).unwrap_or_default();
    assert!(line.starts_with("ok") && line.contains("3 runs"), "{line}");
    let status = fixture.proem(&["store", "status"]);
    assert!(status.stdout().contains("database   postgres://postgres@"), "{}", status.stdout());
    let back = fixture.proem(&["store", "copy", "--from", &url]);
    assert_eq!(back.code(), 0, "{}", back.transcript());
    fixture.configure("config.toml", "");
    assert_eq!(runs(&fixture), 3);
    refused(&fixture.proem(&["store", "copy", "--to", &url]), 2, &["has records of its own", "name an empty place"]);
}

#[test]
fn another_machine_knows_a_project_by_its_name_in_the_records() {
    let Some(server) = server() else { return };
    let url = database(server, "named", "");
    let (one, two) = (recorded(), Fixture::folder().committed());
    let configured = |fixture: &Fixture| {
        let folder = fixture.repo.display();
        fixture.configure(
            "config.toml",
            &format!("[store]\nurl = \"{url}\"\n\n[store.projects]\n\"{folder}\" = \"shop\"\n"),
        );
    };
    configured(&one);
    configured(&two);
    assert_eq!(one.proem(&["assemble", "fix the flaky test"]).code(), 0);
    assert_eq!(runs(&two), 1);
    assert_eq!(two.proem(&["assemble", "name the colours"]).code(), 0);
    assert_eq!(runs(&one), 2);
    assert_eq!(server.run("named", "SELECT DISTINCT project FROM runs").unwrap(), "shop\n");
}

#[test]
fn what_is_wrong_with_a_database_is_said_with_its_place_and_what_to_do() {
    let Some(server) = server() else { return };
    let fixture = recorded();
    let look = |url: &str| {
        keep_in(&fixture, url);
        fixture.proem(&["runs", "list"])
    };
    // Configuration.
    refused(&look("postgres://proem:secret@db.example/records"), 2, &["`store.url` has a password in it", "variable"]);
    assert!(!look("postgres://proem:sEcret@db.example/records").transcript().contains("sEcret"));
    refused(&look("mysql://db.example/records"), 2, &["`store.url` is no address of a database", "postgres://"]);
    refused(&look("postgres://db.example"), 2, &["it names no database"]);
    fixture.configure(
        "config.toml",
        &format!(
            "[store]\nurl = \"{}\"\npassword = {{ variable = \"NOT_SET\" }}\n",
            address(server, "moved", "locked")
        ),
    );
    refused(&fixture.proem(&["runs", "list"]), 2, &["store.password", "set the environment variable NOT_SET"]);
    // The server.
    refused(
        &look("postgres:///records?host=/nowhere/at/all&user=proem"),
        3,
        &["postgres://proem@", "check that it runs"],
    );
    refused(&look(&address(server, "missing", "postgres")), 3, &["does not exist; create it"]);
    server.run("postgres", "CREATE ROLE locked LOGIN PASSWORD 'the right password'").unwrap();
    database(server, "locked", "OWNER locked");
    let mut fixture = recorded();
    fixture.set("DATABASE_PASSWORD", "the wrong password");
    let password = "password = { variable = \"DATABASE_PASSWORD\" }";
    let url = address(server, "locked", "locked");
    fixture.configure("config.toml", &format!("[store]\nurl = \"{url}\"\n{password}\n"));
    let wrong = fixture.proem(&["runs", "list"]);
    refused(&wrong, 3, &["postgres://locked@", "check the role and its password"]);
    assert!(!wrong.transcript().contains("the wrong password"));
    fixture.set("DATABASE_PASSWORD", "the right password");
    assert_eq!(fixture.proem(&["assemble", "fix the flaky test"]).code(), 0);
    assert_eq!(runs(&fixture), 1);
    // The database.
    let latin = database(server, "latin", "ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
    refused(&fixture.proem(&["store", "copy", "--to", &latin]), 3, &["its encoding is `LATIN1`", "ENCODING 'UTF8'"]);
    let closed = database(server, "closed", "");
    server.run("postgres", "ALTER DATABASE closed SET default_transaction_read_only = on").unwrap();
    refused(&fixture.proem(&["store", "copy", "--to", &closed]), 3, &["read-only", "connect to the primary"]);
    server.run("locked", "UPDATE store_form SET form = 99").unwrap();
    refused(&fixture.proem(&["runs", "list"]), 3, &["format version 99", "update Proem"]);
    let doctor = fixture.proem(&["doctor"]);
    assert!(doctor.stdout().contains("format version 99"), "{}", doctor.stdout());
}

#[test]
fn a_project_decides_nothing_about_the_place_of_records() {
    let fixture = recorded();
    fixture.write("proem.toml", "[store]\nurl = \"postgres://elsewhere/records\"\n");
    fixture.trust(&[("proem.toml", "[store]\nurl = \"postgres://elsewhere/records\"\n")]);
    assert_eq!(runs(&fixture), 2);
    let doctor = fixture.proem(&["doctor", "--json"]);
    let said = "`store` is ignored; only your own configuration decides it";
    assert!(doctor.stdout().contains(said), "{}", doctor.stdout());
}
