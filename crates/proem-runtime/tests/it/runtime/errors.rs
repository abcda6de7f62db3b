//! The exact texts.

use std::{io, path::PathBuf, time::Duration};

use proem_guard::Untrusted;
use proem_runtime::Error;
use proem_text::{Label, Source};

#[test]
fn every_error_says_what_to_do() {
    let path = || PathBuf::from("/p/f");
    let said = Untrusted::new("secret of others".to_owned(), Label::from_source(Source::named("git/error")));
    for (error, expected) in [
        (
            Error::GitMissing,
            "git was not found in any absolute folder of PATH; install git 2.31 or later, or add its folder to PATH",
        ),
        (
            Error::GitTooOld,
            "this version of git is too old to run safely in other people's repositories; install git 2.31 or later",
        ),
        (
            Error::DubiousOwnership { path: path() },
            "git refuses `/p/f`, which belongs to another user; if you trust its owner, run \
             `git config --global --add safe.directory /p/f`",
        ),
        (
            Error::TimedOut { command: "status", limit: Duration::from_secs(2) },
            "`git status` took longer than the 2000 ms it may take; ignore large files and folders in `.gitignore`, or raise `git.question_seconds` or `git.history_seconds` in your configuration",
        ),
        (
            Error::TooMuchOutput { command: "config", cap: 9 },
            "`git config` printed more than the limit of 9 bytes; run `GIT_ALLOW_PROTOCOL=none GIT_NO_LAZY_FETCH=1 git --no-optional-locks --no-pager -c core.fsmonitor=false -c core.hooksPath=/dev/null -c log.showSignature=false config` to see its output",
        ),
        (
            Error::GitFailed { command: "diff", code: Some(128), said: said.clone() },
            "`git diff` failed with exit code 128; `GIT_ALLOW_PROTOCOL=none GIT_NO_LAZY_FETCH=1 git -c core.fsmonitor=false -c core.hooksPath=/dev/null fsck` finds the damage",
        ),
        (
            Error::GitFailed { command: "diff", code: None, said },
            "`git diff` failed with a signal; `GIT_ALLOW_PROTOCOL=none GIT_NO_LAZY_FETCH=1 git -c core.fsmonitor=false -c core.hooksPath=/dev/null fsck` finds the damage",
        ),
        (
            Error::GitAnswer { command: "config" },
            "the output of `git config` can't be parsed; check which git is on PATH",
        ),
        (
            Error::BrokenRepository { path: path() },
            "git does not recognise `/p/f` as a repository; run `GIT_ALLOW_PROTOCOL=none GIT_NO_LAZY_FETCH=1 git -c core.fsmonitor=false -c core.hooksPath=/dev/null rev-parse --git-dir` there to see why, or remove it",
        ),
        (
            Error::ForeignWorkTree { git_dir: path() },
            "`core.worktree` of `/p/f` points at a folder that the repository is not in; \
             remove the setting if it is not yours",
        ),
        (
            Error::TooManyFiles { path: path(), most: 9 },
            "more than 9 files and folders are below `/p/f`; name a folder in it",
        ),
        (
            Error::Io { doing: "read", path: path(), source: io::ErrorKind::PermissionDenied.into() },
            "could not read `/p/f`: permission denied",
        ),
        (
            Error::NotRegular { path: path(), found: "a socket", wanted: "a regular file" },
            "`/p/f` is a socket, not a regular file; move it elsewhere",
        ),
        (
            Error::Link { path: path() },
            "`/p/f` is a symbolic link, and links are not followed here; replace it with what it points to",
        ),
        (Error::NotBeneath { path: path() }, "`/p/f` is not a path below a folder; leave out `..` and a leading `/`"),
        (Error::Exists { path: path() }, "`/p/f` exists already; remove it first, or choose another name"),
        (
            Error::KeyForm { path: path() },
            "the key in `/p/f` is not 64 hexadecimal digits and a newline; restore it from a backup, or remove it \
             (then data encrypted with it can't be read any more)",
        ),
        (
            Error::TooOpen { path: path(), mode: 0o644, wanted: 0o600 },
            "other users can access `/p/f` (mode 644); run `chmod 600 /p/f`",
        ),
    ] {
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn a_path_can_neither_steer_a_terminal_nor_leave_its_word() {
    for (path, expected) in [
        ("/a b", "run `chmod 600 '/a b'`"),
        ("/a;rm -rf ~", "run `chmod 600 '/a;rm -rf ~'`"),
        ("/it's $(x)", "run `chmod 600 '/it'\\''s $(x)'`"),
        ("/a\u{1b}[2J\u{202e}\n", "run `chmod 600 '/a\\u{1b}[2J\\u{202e}\\n'`"),
    ] {
        let text = Error::TooOpen { path: PathBuf::from(path), mode: 0o644, wanted: 0o600 }.to_string();
        assert!(text.ends_with(expected), "{text}");
        assert!(!text.contains(['\u{1b}', '\u{202e}', '\n']), "{text:?}");
    }
}
