//! A repository that would make git run something: it must not.

use std::{fs, time::Duration};

use proem_guard::Untrusted;
use proem_risk::history::ObjectId;
use proem_runtime::{
    Error, gather_facts,
    git::{StateLimits, discover_repository_around, repository_state, tracked_paths},
};
use proem_text::{Label, Source};

use crate::fixture::{Canary, Fixture, gap_lines};

/// A way to run a program, and the plain git command that falls for it.
struct Trap {
    name: &'static str,
    set: fn(&Fixture, &Canary),
    plain: &'static [&'static str],
}

const DIFF: &[&str] = &["diff"];
const STATUS: &[&str] = &["status"];

const TRAPS: &[Trap] = &[
    Trap { name: "file system monitor", set: |f, c| config(f, "core.fsmonitor", c.script()), plain: STATUS },
    Trap { name: "hook", set: |f, c| write_hook(f, ".git/hooks", c), plain: STATUS },
    Trap {
        name: "hooks folder",
        set: |f, c| {
            write_hook(f, "hooks", c);
            config(f, "core.hooksPath", "hooks");
        },
        plain: STATUS,
    },
    Trap { name: "clean filter", set: |f, c| filter(f, "x", "clean", c), plain: DIFF },
    Trap { name: "process filter", set: |f, c| filter(f, "x", "process", c), plain: DIFF },
    Trap { name: "filter with an equals sign", set: |f, c| filter(f, "a=b", "clean", c), plain: DIFF },
    Trap { name: "filter with dots and spaces", set: |f, c| filter(f, "a.b.c", "process", c), plain: DIFF },
    Trap {
        name: "required filter",
        set: |f, c| {
            filter(f, "x", "clean", c);
            config(f, "filter.x.required", "true");
        },
        plain: DIFF,
    },
    Trap { name: "included filter", set: |f, c| include_config(f, "include.path", c), plain: DIFF },
    Trap { name: "included if", set: |f, c| include_config(f, "includeIf.gitdir:**.path", c), plain: DIFF },
    Trap {
        name: "included if on a branch",
        set: |f, c| include_config(f, "includeIf.onbranch:main.path", c),
        plain: DIFF,
    },
    Trap {
        name: "filter of the work tree",
        set: |f, c| {
            attributes(f, "* filter=x\n");
            config(f, "extensions.worktreeConfig", "true");
            f.git(&["config", "--worktree", "filter.x.clean", c.script()]);
        },
        plain: DIFF,
    },
    Trap {
        name: "attributes in the git folder",
        set: |f, c| {
            f.write(".git/info/attributes", "* filter=x\n");
            config(f, "filter.x.clean", c.script());
        },
        plain: DIFF,
    },
    Trap { name: "text conversion", set: |f, c| driver(f, "textconv", c), plain: DIFF },
    Trap { name: "diff driver", set: |f, c| driver(f, "command", c), plain: DIFF },
    Trap { name: "external diff", set: |f, c| config(f, "diff.external", c.script()), plain: DIFF },
    Trap {
        name: "missing object, ext transport",
        set: |f, c| {
            promise(f, &format!("ext::{}", c.script()));
            config(f, "protocol.ext.allow", "always");
        },
        plain: DIFF,
    },
    Trap {
        name: "missing object, ssh command",
        set: |f, c| {
            promise(f, "ssh://localhost/nothing");
            config(f, "core.sshCommand", c.script());
            config(f, "protocol.ssh.allow", "always");
        },
        plain: DIFF,
    },
    Trap {
        name: "missing object, git proxy",
        set: |f, c| {
            promise(f, "git://localhost/nothing");
            config(f, "core.gitProxy", c.script());
            config(f, "protocol.git.allow", "always");
        },
        plain: DIFF,
    },
    Trap {
        name: "missing object, upload pack",
        set: |f, c| {
            promise(f, f.base.join("home").to_str().unwrap());
            config(f, "remote.origin.uploadpack", c.script());
            config(f, "protocol.file.allow", "always");
        },
        plain: DIFF,
    },
    Trap { name: "configuration of a submodule", set: |f, c| submodule(f, c), plain: STATUS },
];

/// Settings that plain git runs only at a terminal or with other commands.
const OTHERS: &[&str] = &[
    "core.pager",
    "pager.status",
    "pager.diff",
    "pager.config",
    "alias.status",
    "alias.diff",
    "alias.rev-parse",
    "core.editor",
    "core.askPass",
    "core.alternateRefsCommand",
    "credential.helper",
    "gpg.program",
    "gpg.ssh.program",
    "interactive.diffFilter",
    "uploadpack.packObjectsHook",
    "merge.x.driver",
    "submodule.sub.update",
];

fn config(fixture: &Fixture, key: &str, value: &str) {
    fixture.git(&["config", key, value]);
}

fn attributes(fixture: &Fixture, text: &str) {
    fixture.write(".gitattributes", text);
}

fn filter(fixture: &Fixture, name: &str, kind: &str, canary: &Canary) {
    attributes(fixture, &format!("* filter={name}\n"));
    config(fixture, &format!("filter.{name}.{kind}"), canary.script());
}

fn include_config(fixture: &Fixture, key: &str, canary: &Canary) {
    attributes(fixture, "* filter=x\n");
    fixture.write("included", format!("[filter \"x\"]\nclean = {}\n", canary.script()));
    config(fixture, key, "../included");
}

fn driver(fixture: &Fixture, kind: &str, canary: &Canary) {
    attributes(fixture, "* diff=x\n");
    config(fixture, &format!("diff.x.{kind}"), canary.script());
}

fn write_hook(fixture: &Fixture, folder: &str, canary: &Canary) {
    canary.copy_to(&fixture.repo.join(folder).join("post-index-change"));
}

/// Takes an object of HEAD away and names a place to get it from.
fn promise(fixture: &Fixture, url: &str) {
    config(fixture, "extensions.partialClone", "origin");
    config(fixture, "remote.origin.promisor", "true");
    config(fixture, "remote.origin.url", url);
    let id = fixture.git(&["rev-parse", "HEAD:a.txt"]);
    let (folder, name) = id.trim().split_at(2);
    fs::remove_file(fixture.repo.join(".git/objects").join(folder).join(name)).unwrap();
}

/// A filter: fixed settings reach submodules too, but which filters to override is known only for the repository itself.
fn submodule(fixture: &Fixture, canary: &Canary) {
    fixture.git(&["init", "-q", "sub"]);
    fixture.write("sub/inner", "x");
    fixture.git(&["-C", "sub", "add", "inner"]);
    fixture.git(&["-C", "sub", "commit", "-q", "-m", "inner"]);
    fixture.git(&["add", "sub"]);
    fixture.git(&["commit", "-q", "-m", "with sub"]);
    fixture.write("sub/.gitattributes", "* filter=sub\n");
    fixture.git(&["-C", "sub", "config", "filter.sub.clean", canary.script()]);
    fixture.write("sub/inner", "y");
}

/// A repository whose file changed after `trap` was set.
fn trapped(traps: &[&Trap]) -> (Fixture, Canary) {
    let fixture = Fixture::committed();
    fixture.write("same.txt", "same\n");
    fixture.git(&["add", "same.txt"]);
    fixture.git(&["commit", "-q", "-m", "a file that stays the same"]);
    fixture.write(".proem/private/memory.jsonl", "");
    let canary = fixture.canary("canary");
    for trap in traps {
        (trap.set)(&fixture, &canary);
    }
    fixture.write("a.txt", "two\n");
    // Another time on the same bytes makes plain git write its index anew, however fast all this was.
    let same = fs::File::options().write(true).open(fixture.repo.join("same.txt")).unwrap();
    same.set_modified(std::time::UNIX_EPOCH + Duration::from_hours(24)).unwrap();
    assert!(!canary.was_run(), "the preparations ran it");
    (fixture, canary)
}

/// Calls everything that runs git.
fn run_everything(fixture: &Fixture) {
    let git = fixture.program();
    let minute = Duration::from_mins(1);
    let limits = StateLimits { head: minute, changes: minute, bytes: 1 << 20, paths: 10 };
    let repository = discover_repository_around(&git, &fixture.repo, minute).unwrap().unwrap();
    repository_state(&git, &repository, &limits).unwrap();
    tracked_paths(&git, &fixture.repo, &[".proem/private/memory.jsonl"], minute).unwrap();
    for folder in [".", ".git", ".proem"] {
        gather_facts(&fixture.repo.join(folder), &fixture.options()).unwrap();
    }
}

#[test]
fn each_trap_would_catch_plain_git() {
    for trap in TRAPS {
        let (fixture, canary) = trapped(&[trap]);
        fixture.try_git(trap.plain);
        assert!(canary.was_run(), "{} is no trap for {:?}", trap.name, trap.plain);
    }
}

/// Every git command that an error or a gap advises, as it is there.
fn advised() -> Vec<String> {
    let commit = ObjectId::parse(b"4b825dc642cb6eb9a060e54bf8d69288fbee4904").unwrap();
    let silent = || Untrusted::new(String::new(), Label::from_source(Source::named("git/error")));
    let mut texts = vec![
        Error::TooMuchOutput { command: "config", cap: 1 }.to_string(),
        Error::TooMuchOutput { command: "status", cap: 1 }.to_string(),
        Error::GitFailed { command: "diff", code: None, said: silent() }.to_string(),
        Error::TimedOut { command: "status", limit: Duration::ZERO }.to_string(),
        Error::BrokenRepository { path: ".git".into() }.to_string(),
        Error::NoRevision { revision: "x".to_owned() }.to_string(),
        Error::MissingParent { commit }.to_string(),
        Error::NotFetched { command: "ls-tree" }.to_string(),
    ];
    // A branch that follows one which is not here.
    let fixture = Fixture::committed();
    config(&fixture, "branch.main.remote", "origin");
    config(&fixture, "branch.main.merge", "refs/heads/main");
    config(&fixture, "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*");
    texts.extend(gap_lines(&fixture.gather().gaps));
    let quoted = |text: &String| text.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    texts.iter().flat_map(quoted).filter(|word| word.contains("git ") && word.contains(' ')).collect()
}

#[test]
fn what_is_advised_runs_no_more_than_what_we_run() {
    let mut advised = advised();
    advised.retain(|command| !command.starts_with("git "));
    let names = ["config", "fsck", "rev-parse"];
    for name in names {
        assert!(advised.iter().any(|command| command.contains(&format!(" {name}"))), "{name}: {advised:?}");
    }
    for trap in TRAPS {
        let (fixture, canary) = trapped(&[trap]);
        OTHERS.iter().for_each(|key| config(&fixture, key, canary.script()));
        for command in &advised {
            // It may fail, as long as nothing of the repository's is run.
            fixture.try_shell(command);
            assert!(!canary.was_run(), "{}: {command}", trap.name);
        }
    }
}

#[test]
fn no_trap_catches_us() {
    for trap in TRAPS {
        let (fixture, canary) = trapped(&[trap]);
        run_everything(&fixture);
        assert!(!canary.was_run(), "{}", trap.name);
    }
}

#[test]
fn all_settings_at_once_run_nothing() {
    let (fixture, canary) = trapped(&[]);
    for key in OTHERS {
        config(&fixture, key, canary.script());
    }
    for (key, value) in [("core.fsmonitor", canary.script()), ("column.ui", "always"), ("color.ui", "always")] {
        config(&fixture, key, value);
    }
    for key in ["diff.relative", "status.submoduleSummary", "submodule.recurse", "log.showSignature"] {
        config(&fixture, key, "true");
    }
    fixture.write(".git/objects/info/alternates", format!("{}\n", fixture.base.join("home").display()));
    run_everything(&fixture);
    let gathered = fixture.gather();
    let work_tree = gathered.git.unwrap().work_tree.unwrap();
    assert_eq!(work_tree.unstaged.map(|stat| (stat.files, stat.insertions)), Some((1, 1)));
    assert_eq!(gathered.gaps, []);
    assert!(!canary.was_run());
}

#[test]
fn the_environment_runs_nothing() {
    let (mut fixture, canary) = trapped(&[]);
    fixture.set("GIT_EXTERNAL_DIFF", canary.script());
    fixture.try_git(DIFF);
    assert!(canary.was_run(), "no trap");
    let (mut fixture, canary) = trapped(&[]);
    fixture.set("GIT_EXTERNAL_DIFF", canary.script());
    fixture.set("GIT_CONFIG_COUNT", "1");
    fixture.set("GIT_CONFIG_KEY_0", "core.fsmonitor");
    fixture.set("GIT_CONFIG_VALUE_0", canary.script());
    fixture.set("GIT_CONFIG_PARAMETERS", format!("'core.fsmonitor={}'", canary.script()));
    run_everything(&fixture);
    assert!(!canary.was_run());
}

#[test]
fn the_users_own_filter_stays_in_force() {
    for kind in ["clean", "process"] {
        let (fixture, users) = trapped(&[]);
        let evil = fixture.canary("evil");
        let key = format!("filter.lfs.{kind}");
        fixture.git(&["config", "--global", &key, users.script()]);
        attributes(&fixture, "* filter=lfs\n");
        config(&fixture, &key, evil.script());
        run_everything(&fixture);
        assert!(users.was_run(), "{kind}");
        assert!(!evil.was_run(), "{kind}");
    }
}

#[test]
fn filters_that_cannot_be_overridden_leave_a_gap() {
    let (fixture, canary) = trapped(&[]);
    let name = "x".repeat(300_000);
    attributes(&fixture, "* filter=y\n");
    let text = format!("[filter \"{name}\"]\nclean = x\n[filter \"y\"]\nclean = {}\n", canary.script());
    let config = fs::read_to_string(fixture.repo.join(".git/config")).unwrap();
    fixture.write(".git/config", config + &text);
    let gathered = fixture.gather();
    assert!(
        gap_lines(&gathered.gaps)[0].starts_with("upstream and changed files: could not run it"),
        "{:?}",
        gap_lines(&gathered.gaps)
    );
    assert_eq!(gathered.git.unwrap().work_tree.unwrap().changes, None);
    assert!(!canary.was_run());
}

#[test]
fn a_program_in_the_repository_is_never_taken_for_git() {
    let (mut fixture, canary) = trapped(&[]);
    canary.copy_to(&fixture.repo.join("git"));
    let path = std::env::var("PATH").unwrap();
    fixture.set("PATH", format!(".::{path}"));
    run_everything(&fixture);
    assert!(!canary.was_run());
}
