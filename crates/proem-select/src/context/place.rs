//! Places that a task names: files in stack traces, compiler errors and plain words.
//!
//! Read as Rust's panics and rustc's arrows write them (`src/a.rs:10:5`), Python's tracebacks (`File "a.py", line 3`),
//! the JVM's (`at a.B.c(B.java:7)`), Go's, V8's and gcc's. Invariants: what is read is bounded by [`MOST_BYTES`] and
//! [`MOST_PLACES`]. Every place comes once, in the order of the task.

/// The most bytes of a task that are looked at for places: ten thousand lines of a trace.
pub(super) const MOST_BYTES: usize = 1024 * 1024;

/// The most places that are kept.
pub(super) const MOST_PLACES: usize = 64;

/// The longest path that is taken for one, in bytes.
const LONGEST: usize = 300;

/// A file that a task names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlaceMention {
    /// The path or name as it is there, with `/` between its parts.
    pub path: String,
    /// The line, counted from 1.
    pub line: Option<u32>,
}

/// The places that a text names.
#[must_use]
pub fn named_places(text: &str) -> Vec<PlaceMention> {
    let mut found: Vec<PlaceMention> = Vec::new();
    let mut read: usize = 0;
    for line in text.lines() {
        read = read.saturating_add(line.len());
        if read > MOST_BYTES || found.len() >= MOST_PLACES {
            break;
        }
        let python = python_frame(line);
        let words = line.split(|c: char| c.is_whitespace() || "()[]{}<>\"'`,;".contains(c));
        let places = words.filter(|_| python.is_none()).filter_map(place_of_word);
        for place in python.clone().into_iter().chain(places) {
            if !found.contains(&place) && found.len() < MOST_PLACES {
                found.push(place);
            }
        }
    }
    found
}

/// `File "a/b.py", line 12, in f`.
fn python_frame(line: &str) -> Option<PlaceMention> {
    let rest = line.trim_start().strip_prefix("File \"")?;
    let (path, rest) = rest.split_once("\", line ")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some(PlaceMention { path: path_in_text(path)?, line: digits.parse().ok() })
}

/// `a/b.rs:12:5`, `B.java:7`, `a/b.rs`.
fn place_of_word(word: &str) -> Option<PlaceMention> {
    let word = word.trim_end_matches(['.', ':', '!', '?']).trim_start_matches(['.', '-', '=']).trim_start_matches('/');
    let mut parts = word.split(':');
    let path = path_in_text(parts.next()?)?;
    let line = parts.next().and_then(|line| line.parse().ok()).filter(|line| *line > 0);
    // `Widget.draw` of a frame has the form of a file, too.
    let is_file = line.is_some() || path.rsplit('.').next().is_some_and(|ending| ENDINGS.contains(&ending));
    is_file.then_some(PlaceMention { path, line })
}

/// The endings of file names that people write without a line.
const ENDINGS: [&str; 50] = [
    "rs", "py", "pyi", "js", "ts", "tsx", "jsx", "mjs", "cjs", "java", "go", "c", "h", "cc", "cpp", "hpp", "cs", "rb",
    "php", "kt", "kts", "scala", "swift", "groovy", "gradle", "md", "rst", "txt", "toml", "yaml", "yml", "json", "xml",
    "html", "css", "scss", "sh", "sql", "proto", "lock", "cfg", "ini", "vue", "svelte", "ex", "exs", "hs", "lua", "pl",
    "prompt",
];

/// A path, if a text is one: a name with an ending of letters, behind folders or alone.
fn path_in_text(text: &str) -> Option<String> {
    let text = text.replace('\\', "/");
    let name = text.rsplit('/').next()?;
    let (stem, ending) = name.rsplit_once('.')?;
    let is_name = |c: char| c.is_alphanumeric() || "_-.+@".contains(c);
    let is_path = !stem.is_empty()
        && (1..=10).contains(&ending.len())
        && ending.chars().all(|c| c.is_ascii_alphanumeric())
        && ending.chars().next().is_some_and(|c| c.is_ascii_alphabetic())
        && text.len() <= LONGEST
        && text.chars().all(|c| is_name(c) || c == '/');
    is_path.then_some(text)
}

/// Whether a path of the repository is what a place names: the whole path, or its last parts.
#[must_use]
pub fn is_named_by(path: &str, place: &PlaceMention) -> bool {
    let named = place.path.as_str();
    // A trace has paths of another machine: what both end with has to be all of one of them.
    let ends = |long: &str, short: &str| {
        long.strip_suffix(short).is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    ends(path, named) || (path.contains('/') && ends(named, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let said: Vec<String> = named_places(text)
            .into_iter()
            .map(|place| place.line.map_or(place.path.clone(), |line| format!("{}@{line}", place.path)))
            .collect();
        assert_eq!(said.join(" "), expected, "{text}");
    }

    #[test]
    fn traces_name_places() {
        check("thread 'main' panicked at src/main.rs:12:5:\nboom", "src/main.rs@12");
        check("  --> crates/a/src/lib.rs:3:9", "crates/a/src/lib.rs@3");
        check("  File \"/home/me/app/views.py\", line 31, in get", "/home/me/app/views.py@31");
        check("\tat org.example.Widget.draw(Widget.java:77)", "Widget.java@77");
        check("    at Object.<anonymous> (/srv/app/lib/x.js:10:13)", "srv/app/lib/x.js@10");
        check("goroutine 1:\n\t/go/src/app/main.go:22 +0x1d", "go/src/app/main.go@22");
        check("main.c:10: error: expected ';'", "main.c@10");
        check("see `docs/guide.md`, and README.md.", "docs/guide.md README.md");
        check("no file, e.g. this, in 3.x", "");
        check("a.rs a.rs:2 b\\c.rs", "a.rs a.rs@2 b/c.rs");
    }

    #[test]
    fn a_path_of_another_machine_is_found() {
        let place = |path: &str| PlaceMention { path: path.into(), line: None };
        assert!(is_named_by("app/views.py", &place("/home/me/app/views.py")));
        assert!(is_named_by("app/views.py", &place("views.py")));
        assert!(!is_named_by("app/views.py", &place("my_views.py")));
        assert!(!is_named_by("views.py", &place("/usr/lib/other/views.py")));
    }

    #[test]
    fn a_long_trace_is_bounded() {
        let text: String = (0..10_000).map(|n| format!("at a.b.C{n}.m(C{n}.java:{n})\n")).collect();
        assert_eq!(named_places(&text).len(), MOST_PLACES);
    }
}
