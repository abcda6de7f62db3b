//! Takes the filters of a repository's own configuration out of force.
//!
//! A filter is a program that git runs on a file's content, chosen by the repository's
//! attributes. Every `filter.*` key that the repository's configuration sets, included files
//! among it, is set back to what the user's own configuration says, or to empty, which is no
//! filter. (Git can't be told that a key was never set: a repository that sets `process` where the
//! user sets `clean` alone turns that filter off, and its files may count as changed.) The new values go through the environment: `-c` would cut a key like `filter.a=b.clean`
//! at the wrong place.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
};

use crate::{Error, git::Session};

/// A key that only the environment sets: a git that doesn't list it would ignore the overrides too.
const PROBE: &str = "proem.probe";

/// Finds the overrides for the repository that `session` is in.
///
/// # Errors
///
/// [`Error::GitTooOld`] if git doesn't take configuration from the environment; what
/// [`Session::ask`] reports. Without an answer nothing that may run a filter can be run.
pub(crate) fn overrides(session: &mut Session<'_>) -> Result<(), Error> {
    let listing = configuration(session)?;
    let entries = parse_config(&listing).ok_or(Error::GitAnswer { command: "config" })?;
    // An old git ignores what it doesn't know in the environment and says nothing. Then the overrides would be ignored
    // too, and filters run.
    if !entries.iter().any(|entry| entry.scope == b"command" && entry.key == PROBE.as_bytes()) {
        return Err(Error::GitTooOld);
    }
    session.overrides = probe();
    session.overrides.extend(neutralise(&entries));
    Ok(())
}

/// Whether some objects were left at a remote when this repository was cloned.
///
/// # Errors
///
/// As [`overrides`] does, whose question this is too.
pub(crate) fn is_partial(session: &Session<'_>) -> Result<bool, Error> {
    let listing = configuration(session)?;
    let entries = parse_config(&listing).ok_or(Error::GitAnswer { command: "config" })?;
    Ok(entries.iter().any(leaves_objects_behind))
}

/// Whether an entry says that objects were left at a remote. Older versions of git write one of these keys, newer ones
/// the others. Capitals are in the middle of a key alone.
fn leaves_objects_behind(entry: &ConfigEntry<'_>) -> bool {
    let of_remote = entry.key.strip_prefix(b"remote.");
    let says_so = entry.key == b"extensions.partialclone"
        || of_remote.is_some_and(|key| key.ends_with(b".promisor") || key.ends_with(b".partialclonefilter"));
    says_so && entry.value != Some(b"false")
}

/// The variables that make git report whether it takes configuration from the environment.
fn probe() -> Vec<(OsString, OsString)> {
    vec![(OsString::from(PROBE), OsString::from("1"))]
}

/// The whole configuration, as [`parse_config`] reads it. It is asked for in the same words by all, so that git is asked once.
fn configuration(session: &Session<'_>) -> Result<Vec<u8>, Error> {
    let mut probing = session.without_overrides();
    probing.overrides = probe();
    // 129 is git's word for an option that it doesn't know: one too old for `--show-scope`.
    let listing = probing.ask_whole(&["config", "--list", "-z", "--show-scope", "--includes"], &[0, 129])?;
    if listing.code == 0 { Ok(listing.stdout) } else { Err(Error::GitTooOld) }
}

/// One line of a configuration.
#[derive(Debug, PartialEq, Eq)]
struct ConfigEntry<'a> {
    scope: &'a [u8],
    key: &'a [u8],
    /// `None` for a key without a value, which means true.
    value: Option<&'a [u8]>,
}

/// Reads `git config --list -z --show-scope`. `None` if it isn't pairs of scope and entry.
fn parse_config(bytes: &[u8]) -> Option<Vec<ConfigEntry<'_>>> {
    if bytes.is_empty() {
        return Some(Vec::new());
    }
    let mut fields = bytes.strip_suffix(b"\0")?.split(|&byte| byte == 0);
    let mut entries = Vec::new();
    while let Some(scope) = fields.next() {
        let mut parts = fields.next()?.splitn(2, |&byte| byte == b'\n');
        entries.push(ConfigEntry { scope, key: parts.next()?, value: parts.next() });
    }
    Some(entries)
}

fn neutralise(entries: &[ConfigEntry<'_>]) -> Vec<(OsString, OsString)> {
    let mut users: BTreeMap<&[u8], &[u8]> = BTreeMap::new();
    let mut repositorys: BTreeSet<&[u8]> = BTreeSet::new();
    for entry in entries.iter().filter(|entry| entry.key.starts_with(b"filter.")) {
        // A scope that isn't known to be the user's is the repository's.
        if matches!(entry.scope, b"system" | b"global") {
            users.insert(entry.key, entry.value.unwrap_or(b"true"));
        } else {
            repositorys.insert(entry.key);
        }
    }
    let restored = |key: &[u8]| OsStr::from_bytes(users.get(key).copied().unwrap_or_default()).to_owned();
    repositorys.iter().map(|key| (OsString::from_vec(key.to_vec()), restored(key))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(listing: &str, expected: &[(&str, &str)]) {
        let bytes = listing.replace('|', "\0");
        let found = neutralise(&parse_config(bytes.as_bytes()).unwrap());
        let expected: Vec<_> = expected.iter().map(|(k, v)| (OsString::from(k), OsString::from(v))).collect();
        assert_eq!(found, expected, "{listing:?}");
    }

    #[test]
    fn a_partial_clone_is_told_by_any_of_three_keys() {
        let says_so = |listing: &[u8]| parse_config(listing).unwrap().iter().any(leaves_objects_behind);
        for entry in [
            "extensions.partialclone\norigin",
            "remote.Our.Own.promisor\ntrue",
            "remote.origin.promisor",
            "remote.origin.partialclonefilter\nblob:none",
        ] {
            assert!(says_so(format!("local\0{entry}\0").as_bytes()), "{entry}");
        }
        for entry in
            ["remote.origin.promisor\nfalse", "remote.promisor.url\nx", "branch.x.promisor\ntrue", "remote.promisor"]
        {
            assert!(!says_so(format!("local\0{entry}\0").as_bytes()), "{entry}");
        }
    }

    #[test]
    fn what_the_repository_sets_goes_back_to_what_the_user_set() {
        check("", &[]);
        check("global|filter.lfs.clean\ngit-lfs|", &[]);
        check("local|filter.x.clean\nevil|", &[("filter.x.clean", "")]);
        check("local|filter.x.required|", &[("filter.x.required", "")]);
        check("worktree|filter.x.process\nevil\nmore|", &[("filter.x.process", "")]);
        check("unknown|filter.x.smudge\nevil|", &[("filter.x.smudge", "")]);
        check("local|filter.a=b.c.clean\nevil|", &[("filter.a=b.c.clean", "")]);
        check(
            "global|filter.lfs.clean\nold|global|filter.lfs.clean\ngit-lfs|local|filter.lfs.clean\nevil|\
             local|filter.lfs.process\nevil|",
            &[("filter.lfs.clean", "git-lfs"), ("filter.lfs.process", "")],
        );
        check("global|filter.lfs.required|local|filter.lfs.required\nfalse|", &[("filter.lfs.required", "true")]);
        check("local|core.pager\nevil|local|filterx.y\nevil|", &[]);
    }

    #[test]
    fn a_listing_of_another_form_is_refused() {
        for listing in ["local", "local\0", "local\0a\nb\0local\0", "local\0a\nb"] {
            assert_eq!(parse_config(listing.as_bytes()), None, "{listing:?}");
        }
    }
}
