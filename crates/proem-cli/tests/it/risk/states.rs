//! Every change is assessed with the files and the past that it is on: the index, the work tree, its commit.

use std::fs;

use serde_json::{Value as Json, json};

use super::scene::{Past, code, shop};
use crate::fixture::Fixture;

/// How many files import the file at a path, in a report.
fn importers(report: &Json, path: &str) -> Json {
    let file = report["files"].as_array().unwrap().iter().find(|file| file["path"] == path);
    let metrics = file.unwrap()["metrics"].as_array().unwrap();
    metrics.iter().find(|metric| metric["name"] == "coupling").unwrap()["value"].clone()
}

fn core() -> Past {
    let mut past = Past::default();
    past.commit((0, "ann@example.org"), "Begin", &[("core.py", &code(9, 1)), ("one.py", "import core\n")]);
    past
}

#[test]
fn what_is_staged_is_assessed_with_the_files_of_the_index() {
    let fixture = core().repository();
    fixture.write("core.py", code(9, 5));
    for path in ["two.py", "three.py"] {
        fixture.write(path, "import core\n");
    }
    fixture.git(&["add", "-A"]);
    let staged = |fixture: &Fixture| fixture.proem(&["risk", "--staged", "--no-model", "--no-record", "--json"]).json();
    let before = staged(&fixture);
    assert_eq!(importers(&before, "core.py"), json!(3.0));
    // The work tree says something else, of more files and of fewer.
    for path in ["one.py", "two.py"] {
        fs::remove_file(fixture.repo.join(path)).unwrap();
    }
    fixture.write("three.py", "import one\n");
    fixture.write("four.py", "import core\n");
    let after = staged(&fixture);
    assert_eq!(importers(&after, "core.py"), json!(3.0));
    assert_eq!(after["files"], before["files"]);
    let tree = fixture.proem(&["risk", "--worktree", "--no-model", "--no-record", "--json"]).json();
    assert_eq!(importers(&tree, "core.py"), json!(1.0));
}

#[test]
fn an_index_in_conflict_is_refused_with_what_to_do() {
    let fixture = core().repository();
    fixture.git(&["checkout", "-q", "-b", "side"]);
    for branch in ["side", "main"] {
        fixture.git(&["checkout", "-q", branch]);
        fixture.write("core.py", branch);
        fixture.git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-a", "-m", branch]);
    }
    fixture.git_command().args(["merge", "-q", "side"]).output().unwrap();
    let run = fixture.proem(&["risk", "--staged"]);
    snapshot!("risk_conflict", super::shown(&run));
}

/// A report without what depends on the command that made it.
fn alone(report: &Json) -> Json {
    let mut report = report.clone();
    for of_the_command in ["commits", "cached"] {
        report["history"][of_the_command] = Json::Null;
    }
    report["change"]["chosen"] = Json::Null;
    report
}

#[test]
fn changes_assessed_together_are_what_they_are_alone() {
    let mut past = shop();
    let page = format!("# {}", code(5, 3));
    for n in 0..12 {
        // The permissions lose their importers one by one, and what is generated changes on the way.
        let attributes = format!("shop/page_{n}.py linguist-generated\n");
        let path = format!("shop/page_{n}.py");
        let files =
            [(path.as_str(), page.as_str()), ("shop/permissions.py", &code(40, n)), (".gitattributes", &attributes)];
        past.commit((310 + n, "bob@example.com"), "Change a page", if n == 6 { &files } else { &files[..2] });
    }
    let fixture = past.repository();
    let proem =
        |args: &[&str]| fixture.proem(&[&["risk", "--no-model", "--no-record", "--json"], args].concat()).json();
    let together = proem(&["HEAD~12..HEAD", "--each"]);
    let together = together.as_array().unwrap();
    assert_eq!(together.len(), 12);
    let mut fan_in = Vec::new();
    for report in together {
        let id = report["change"]["id"].as_str().unwrap();
        assert_eq!(alone(report), alone(&proem(&[id])), "{id}");
        fan_in.push(importers(report, "shop/permissions.py").as_f64().unwrap());
    }
    fan_in.sort_by(f64::total_cmp);
    assert!(fan_in.into_iter().eq((0_u8..12).map(f64::from)));
    // Without the cache, and several named one by one.
    let ids: Vec<&str> = together.iter().take(3).map(|report| report["change"]["id"].as_str().unwrap()).collect();
    let named = proem(&[&["--no-cache"], ids.as_slice()].concat());
    assert!(named.as_array().unwrap().iter().zip(together).all(|(named, one)| alone(named) == alone(one)));
}

#[test]
fn what_init_wrote_is_no_change_until_somebody_edits_it() {
    let fixture = core().repository();
    assert_eq!(fixture.proem(&["init"]).code(), 0);
    let assessed = |more: &[&str]| {
        let args = [&["risk", "--no-model", "--no-record", "--json"], more].concat();
        let report = fixture.proem(&args).json();
        let files = report["files"].as_array().unwrap().iter();
        let paths: Vec<String> = files.map(|file| file["path"].as_str().unwrap().to_owned()).collect();
        (report["change"]["kind"].as_str().unwrap().to_owned(), paths.join(" "))
    };
    let last_commit = ("commit".to_owned(), "core.py one.py".to_owned());
    assert_eq!(assessed(&[]), last_commit);
    fixture.git(&["add", "-A"]);
    assert_eq!(assessed(&[]), last_commit);
    fixture.write("core.py", "import one\n");
    let mine = ("work-tree".to_owned(), "core.py".to_owned());
    assert_eq!(assessed(&[]), mine);
    assert_eq!(assessed(&["--worktree"]), mine);
    fixture.write("proem.toml", "# edited\n");
    assert_eq!(assessed(&[]).1, "core.py proem.toml");
    // A staged file will be committed, whoever wrote it.
    assert!(assessed(&["--staged"]).1.contains("proem.toml"));
}
