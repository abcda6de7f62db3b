//! Files that a question is about.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use proem_guard::show;
use proem_runtime::files;

use crate::context::at_mentions;
use crate::error::Error;

/// The most bytes of one file.
const MAX_FILE: usize = 1024 * 1024;

/// The most bytes of all files together.
const MAX_ALL: usize = 4 * 1024 * 1024;

/// What a text of no known kind is called.
const PLAIN: &str = "text";

/// The languages that are told to the model, by the ending of a file's name.
const LANGUAGES: [(&str, &[&str]); 28] = [
    ("C", &["c", "h"]),
    ("C++", &["cc", "cpp", "cxx", "hh", "hpp"]),
    ("C#", &["cs"]),
    ("CSS", &["css", "scss"]),
    ("Go", &["go"]),
    ("HTML", &["htm", "html"]),
    ("INI", &["cfg", "conf", "ini"]),
    ("JSON", &["json", "jsonl"]),
    ("Java", &["java"]),
    ("JavaScript", &["cjs", "js", "jsx", "mjs"]),
    ("Kotlin", &["kt", "kts"]),
    ("Lua", &["lua"]),
    ("Markdown", &["markdown", "md"]),
    ("PHP", &["php"]),
    ("Perl", &["pl", "pm"]),
    ("Python", &["py", "pyi"]),
    ("Ruby", &["rb"]),
    ("Rust", &["rs"]),
    ("SQL", &["sql"]),
    ("Scala", &["scala"]),
    ("Swift", &["swift"]),
    ("TOML", &["toml"]),
    ("TypeScript", &["cts", "mts", "ts", "tsx"]),
    ("XML", &["svg", "xml"]),
    ("YAML", &["yaml", "yml"]),
    ("a log", &["log"]),
    ("a patch", &["diff", "patch"]),
    ("shell", &["bash", "fish", "sh", "zsh"]),
];

/// A file that a question is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// Its path as it was named.
    pub path: String,
    /// What it is written in.
    pub language: &'static str,
    /// What it holds.
    pub text: String,
}

impl Attachment {
    /// It with its length, for people.
    pub(super) fn in_words(&self) -> String {
        format!("`{}` ({} bytes)", show::terminal_str(&self.path), self.text.len())
    }
}

/// The files that a question names as `@path`; what is no file there is a word like any other.
#[must_use]
pub fn mentioned_files(question: &str) -> Vec<PathBuf> {
    at_mentions(question).map(PathBuf::from).filter(|path| path.is_file()).collect()
}

/// Reads the files that were named, each once.
///
/// # Errors
///
/// If one is a folder, no regular file, no text, or too long, or if all of them together are.
pub fn read_attachments(paths: &[PathBuf]) -> Result<Vec<Attachment>, Error> {
    let mut read: Vec<Attachment> = Vec::new();
    let mut all: usize = 0;
    for path in paths {
        let one = read_attachment(path)?;
        if read.iter().any(|known| known.path == one.path) {
            continue;
        }
        all = all.saturating_add(one.text.len());
        if all > MAX_ALL {
            return Err(Error::invalid(format!(
                "the files have more than {MAX_ALL} bytes together; name fewer of them, or only the parts that matter"
            )));
        }
        read.push(one);
    }
    Ok(read)
}

fn read_attachment(path: &Path) -> Result<Attachment, Error> {
    let name = path.to_string_lossy().into_owned();
    let shown = show::terminal_str(&name).into_string();
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::IsADirectory => Error::invalid(format!("`{shown}` is a folder; name the files in it")),
        _ => Error::invalid(format!("could not read `{shown}`: {error}")),
    };
    let mut bytes = Vec::new();
    let most = (MAX_FILE as u64).saturating_add(1);
    _ = files::open_regular(path).and_then(|file| file.take(most).read_to_end(&mut bytes)).map_err(failed)?;
    if is_binary_content(&bytes) {
        return Err(Error::invalid(format!("`{shown}` is binary; convert it to text, such as by `strings`")));
    }
    if bytes.len() > MAX_FILE {
        return Err(Error::invalid(format!(
            "`{shown}` has more than {MAX_FILE} bytes; put the part that matters on standard input, such as by `grep` or \
             `tail`"
        )));
    }
    let text = String::from_utf8(bytes).map_err(|_| Error::invalid(format!("`{shown}` is not UTF-8; convert it")))?;
    Ok(Attachment { path: name, language: fence_language(path), text })
}

/// Whether bytes are no text: the first ones hold a zero, as git tells it too.
pub(super) fn is_binary_content(bytes: &[u8]) -> bool {
    bytes.iter().take(8000).any(|byte| *byte == 0)
}

fn fence_language(path: &Path) -> &'static str {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase();
    let known = LANGUAGES.iter().find(|(_, endings)| endings.contains(&ending.as_str()));
    known.map_or(PLAIN, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_told_by_endings() {
        for (path, expected) in
            [("a/b.rs", "Rust"), ("B.PY", "Python"), ("x.tar.gz", "text"), ("Makefile", "text"), (".env", "text")]
        {
            assert_eq!(fence_language(Path::new(path)), expected, "{path}");
        }
    }
}
