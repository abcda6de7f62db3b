//! The two forms that git's answers come in.

use proem_runtime::{
    Extent,
    git::{StatusKind, Upstream, parse_numstat, parse_status},
};
use proptest::prelude::{any, prop_assert, proptest};

/// One line an entry: letters, path, `<` and the old path.
fn check_status(listing: &str, expected: &[&str], extent: Extent) {
    let parsed = parse_status(listing.replace('|', "\0").as_bytes());
    let entries: Vec<String> = parsed
        .entries
        .iter()
        .map(|entry| {
            let kind = match entry.kind {
                StatusKind::Tracked { staged, unstaged } => format!("{}{}", staged as char, unstaged as char),
                StatusKind::Unmerged => "UU".to_owned(),
                StatusKind::Untracked => "??".to_owned(),
                StatusKind::Ignored => "!!".to_owned(),
            };
            let from = entry.from.as_ref().map(|from| format!("<{}", from.escape_ascii())).unwrap_or_default();
            format!("{kind} {}{from}", entry.path.escape_ascii())
        })
        .collect();
    assert_eq!(entries, expected, "{listing:?}");
    assert_eq!(parsed.extent, extent, "{listing:?}");
}

#[test]
fn status_records() {
    use Extent::{Cut, Whole};
    let (ids, modes) = ("1111111 2222222", "100644 100644 100644");
    let one = |xy: &str, path: &str| format!("1 {xy} N... {modes} {ids} {path}|");
    let two = |xy: &str, path: &str, from: &str| format!("2 {xy} N... {modes} {ids} R100 {path}|{from}|");
    check_status("", &[], Whole);
    check_status(&one(".M", "a b"), &[".M a b"], Whole);
    check_status(&one("A.", "a\nb\u{1b}"), &["A. a\\nb\\x1b"], Whole);
    check_status(&two("R.", "new name", "old name"), &["R. new name<old name"], Whole);
    check_status(&format!("{}{}", two(".R", "x", "y"), one("M.", "z")), &[".R x<y", "M. z"], Whole);
    check_status(&format!("1 .M SC.. {modes} {ids} sub|"), &[".M sub"], Whole);
    check_status(&format!("u UU N... {modes} 100644 {ids} 3333333 both ways|"), &["UU both ways"], Whole);
    check_status("? new file|! ignored|", &["?? new file", "!! ignored"], Whole);
    check_status("# branch.oid (initial)|# stash 3|# anything|", &[], Whole);
    // Cut short at every place that matters, or nothing git writes.
    check_status(&format!("{}1 .M N... 100", one(".M", "a")), &[".M a"], Cut);
    check_status(&format!("{}? b", one(".M", "a")), &[".M a"], Cut);
    check_status(&format!("2 R. N... {modes} {ids} R100 new|ol"), &[], Cut);
    check_status("? |", &[], Cut);
    check_status("?|", &[], Cut);
    check_status("1 XY a|", &[], Cut);
    check_status("1 .M N... 1|", &[], Cut);
    check_status("9 what|? a|", &[], Cut);
    check_status("||", &[], Cut);
}

#[test]
fn bytes_of_a_path_are_kept() {
    assert_eq!(parse_status(b"? a\xff\0").entries[0].path, b"a\xff");
    assert_eq!(parse_numstat(b"1\t2\ta\xff\0").entries[0].path, b"a\xff");
}

#[test]
fn upstream_headers() {
    for (listing, expected) in [
        ("", Upstream::None),
        ("# branch.head main|", Upstream::None),
        ("# branch.upstream origin/main|", Upstream::Gone),
        ("# branch.upstream origin/main|# branch.ab +3 -14|", Upstream::Apart { ahead: 3, behind: 14 }),
    ] {
        assert_eq!(parse_status(listing.replace('|', "\0").as_bytes()).upstream, expected, "{listing}");
    }
    for broken in ["# branch.ab +? -?|", "# branch.ab 1 2|", "# branch.ab +99999999999999999999 -0|"] {
        assert_eq!(parse_status(broken.replace('|', "\0").as_bytes()).extent, Extent::Cut, "{broken}");
    }
}

/// One line an entry: path and counts.
fn check_numstat(listing: &str, expected: &[(&str, Option<(u64, u64)>)], extent: Extent) {
    let parsed = parse_numstat(listing.replace('|', "\0").as_bytes());
    let entries: Vec<_> =
        parsed.entries.iter().map(|entry| (std::str::from_utf8(&entry.path).unwrap(), entry.lines)).collect();
    assert_eq!(entries, expected, "{listing:?}");
    assert_eq!(parsed.extent, extent, "{listing:?}");
}

#[test]
fn numstat_records() {
    use Extent::{Cut, Whole};
    check_numstat("", &[], Whole);
    check_numstat("1\t20\ta b|", &[("a b", Some((1, 20)))], Whole);
    check_numstat("0\t0\ta\tb\nc|", &[("a\tb\nc", Some((0, 0)))], Whole);
    check_numstat("-\t-\timage|", &[("image", None)], Whole);
    check_numstat("1\t0\t|old|new|2\t0\tx|", &[("new", Some((1, 0))), ("x", Some((2, 0)))], Whole);
    check_numstat("1\t0\ta|2\t", &[("a", Some((1, 0)))], Cut);
    check_numstat("1\t0\ta|2\t3\tb", &[("a", Some((1, 0)))], Cut);
    check_numstat("1\t0\t|old|", &[], Cut);
    check_numstat("1\t0\t||new|", &[], Cut);
    check_numstat("1\t-\ta|", &[], Cut);
    check_numstat("+1\t0\ta|", &[], Cut);
    check_numstat("99999999999999999999\t0\ta|", &[], Cut);
    check_numstat("|", &[], Cut);
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in any::<Vec<u8>>()) {
        prop_assert!(parse_status(&bytes).entries.len() <= bytes.len());
        prop_assert!(parse_numstat(&bytes).entries.len() <= bytes.len());
    }
}
