//! Repositories with a past, made by `git fast-import`: the dates, authors and files that metrics need.

use std::fmt::Write as _;

use crate::fixture::Fixture;

/// The beginning of the scenes' time: 2026-01-05 in UTC.
const START: i64 = 1_767_571_200;
/// A day in seconds.
const DAY: i64 = 86_400;
/// The day after the shop's last commit, in milliseconds since 1970: a year of history ends there, whatever today is.
pub(crate) const AFTER_THE_SHOP: i64 = (START + 301 * DAY) * 1_000;

/// A stream for `git fast-import`.
#[derive(Debug, Default)]
pub(crate) struct Past {
    stream: String,
    commits: i64,
}

impl Past {
    /// Adds a commit on that day, with these files and contents.
    pub(crate) fn commit(&mut self, (day, author): (i64, &str), subject: &str, files: &[(&str, &str)]) -> &mut Self {
        self.commits += 1;
        let at = START + day * DAY + self.commits;
        let (name, _) = author.split_once('@').unwrap_or((author, ""));
        let out = &mut self.stream;
        writeln!(out, "commit refs/heads/main\nmark :{}", self.commits).unwrap();
        writeln!(out, "author {name} <{author}> {at} +0000\ncommitter {name} <{author}> {at} +0000").unwrap();
        writeln!(out, "data {}\n{subject}", subject.len()).unwrap();
        if self.commits > 1 {
            writeln!(out, "from :{}", self.commits - 1).unwrap();
        }
        for (path, content) in files {
            writeln!(out, "M 100644 inline {path}\ndata {}\n{content}", content.len()).unwrap();
        }
        self
    }

    /// The repository, checked out.
    pub(crate) fn repository(&self) -> Fixture {
        self.within(Fixture::folder())
    }

    /// The same in a fixture's folder.
    pub(crate) fn within(&self, fixture: Fixture) -> Fixture {
        fixture.git(&["init", "-q", "-b", "main"]);
        fixture.git_with(&["fast-import", "--quiet"], self.stream.as_bytes());
        fixture.git(&["reset", "-q", "--hard", "main"]);
        fixture
    }
}

/// So many lines of code, which differ with `seed`.
pub(crate) fn code(lines: usize, seed: i64) -> String {
    (0..lines).fold(String::new(), |mut out, line| {
        writeln!(out, "value_{line} = {}", seed + line as i64).unwrap();
        out
    })
}

/// A shop whose permissions and sessions change together, with two owners one after the other, twelve importers, few
/// tests and a past incident. Its last commit touches the permissions alone.
pub(crate) fn shop() -> Past {
    let mut past = Past::default();
    for n in 0..12 {
        let content = format!("from shop.permissions import check_permissions\n\n{}", code(5, n));
        past.commit((n, "bob@example.com"), "Add a page", &[(&format!("shop/page_{n}.py"), &content)]);
    }
    for n in 0..30 {
        let author = if n < 24 { "bob@example.com" } else { "alice@example.com" };
        let day = 20 + n * 9;
        let (permissions, session) = (code(40, n), code(20, n));
        let subject = match n {
            9 => "Fix auth timeout after permission check",
            17 => "Fix crash when a role is missing",
            _ => "Change how roles are looked up",
        };
        let mut files = vec![("shop/permissions.py", permissions.as_str())];
        if n % 5 != 4 {
            files.push(("shop/session.py", session.as_str()));
        }
        past.commit((day, author), subject, &files);
        let note = format!("# Notes\n\n{n}\n");
        past.commit((day + 1, "carol@example.com"), "Write notes", &[("docs/notes.md", &note)]);
    }
    past.commit((292, "carol@example.com"), "Add tests of sessions", &[("tests/test_session.py", &code(15, 1))]);
    let changed = code(60, 500);
    past.commit((300, "alice@example.com"), "Rework the permission check", &[("shop/permissions.py", &changed)]);
    past
}
