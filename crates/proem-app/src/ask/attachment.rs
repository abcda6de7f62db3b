//! Files that a question is about.

use std::collections::BTreeSet;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use proem_engine::media::{MediaFacts, MediaFault, MediaKind, data_address};
use proem_guard::show;
use proem_runtime::files;

use crate::context::at_mentions;
use crate::error::Error;

/// The most bytes of one file.
const MAX_FILE: usize = 1024 * 1024;

/// The most bytes of all files together.
const MAX_ALL: usize = 4 * 1024 * 1024;

/// The name for a text of no known kind.
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

/// A picture or document that a question is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Its path as it was named.
    pub path: String,
    /// Width, height and bytes, from the file itself.
    pub facts: MediaFacts,
    /// An address that holds it.
    pub address: String,
}

/// The files that a question is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QuestionFiles {
    /// Those that are texts.
    pub texts: Vec<Attachment>,
    /// Those that are pictures or documents, by their first bytes.
    pub pictures: Vec<Picture>,
}

impl Picture {
    /// It with its size, for people.
    pub(super) fn in_words(&self) -> String {
        format!("`{}` ({})", show::terminal_str(&self.path), self.facts.in_words())
    }
}

/// A file that a question is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// Its path as it was named.
    pub path: String,
    /// The name of its language after an opening fence. Empty if it has none.
    pub language: &'static str,
    /// Its content, decoded.
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
/// If one is a folder, no regular file, neither a text nor a picture, or too long, or if all of them together are.
pub fn read_attachments(paths: &[PathBuf]) -> Result<QuestionFiles, Error> {
    let mut read = QuestionFiles::default();
    let (mut texts, mut pictures): (usize, usize) = (0, 0);
    let mut known = BTreeSet::new();
    for path in paths {
        let name = path.to_string_lossy().into_owned();
        if !known.insert(name.clone()) {
            continue;
        }
        let bytes = read_file(path, &name)?;
        if let Some(facts) = picture_facts(&bytes, &name)? {
            pictures = pictures.saturating_add(bytes.len());
            let address = data_address(&bytes).unwrap_or_default();
            read.pictures.push(Picture { path: name, facts, address });
        } else {
            let text = decode_text(bytes, &name)?;
            texts = texts.saturating_add(text.len());
            read.texts.push(Attachment { path: name, language: fence_language(path), text });
        }
        for (all, most, what) in [(texts, MAX_ALL, "files"), (pictures, MediaFacts::MAX_BYTES, "pictures")] {
            if all > most {
                return Err(Error::invalid(format!(
                    "the {what} have more than {most} bytes together; name fewer of them, or only the parts that matter"
                )));
            }
        }
    }
    Ok(read)
}

fn read_file(path: &Path, name: &str) -> Result<Vec<u8>, Error> {
    let shown = show::terminal_str(name);
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::IsADirectory => Error::invalid(format!("`{shown}` is a folder; name the files in it")),
        _ => Error::invalid(format!("could not read `{shown}`: {error}")),
    };
    let mut bytes = Vec::new();
    let most = (MediaFacts::MAX_BYTES as u64).saturating_add(1);
    _ = files::open_regular(path).and_then(|file| file.take(most).read_to_end(&mut bytes)).map_err(failed)?;
    Ok(bytes)
}

/// The facts of a file, if it is a picture or a document.
fn picture_facts(bytes: &[u8], name: &str) -> Result<Option<MediaFacts>, Error> {
    let shown = show::terminal_str(name);
    match MediaFacts::of(bytes) {
        Ok(facts) if bytes.len() > MediaFacts::MAX_BYTES => Err(Error::invalid(format!(
            "`{shown}` ({}) has more than {} bytes; make it smaller",
            facts.kind.as_str(),
            MediaFacts::MAX_BYTES
        ))),
        Ok(facts) => Ok(Some(facts)),
        Err(fault @ MediaFault::Broken(_)) => Err(Error::invalid(format!("`{shown}` {}", fault.in_words()))),
        // An empty text says as much as it has. Of an empty picture something got lost.
        Err(fault @ MediaFault::Empty) if is_called_a_picture(name) => {
            Err(Error::invalid(format!("`{shown}` {}", fault.in_words())))
        }
        Err(MediaFault::Empty | MediaFault::Text | MediaFault::Unknown) => Ok(None),
    }
}

fn is_called_a_picture(name: &str) -> bool {
    let ending = Path::new(name).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    ["png", "jpg", "jpeg", "gif", "webp", "pdf"].iter().any(|known| known.eq_ignore_ascii_case(ending))
}

fn decode_text(bytes: Vec<u8>, name: &str) -> Result<String, Error> {
    let shown = show::terminal_str(name);
    if is_binary_content(&bytes) {
        return Err(Error::invalid(format!(
            "`{shown}` is binary; convert it to text, such as by `strings`, or to a picture; {} supported",
            MediaKind::SUPPORTED
        )));
    }
    if bytes.len() > MAX_FILE {
        return Err(Error::invalid(format!(
            "`{shown}` has more than {MAX_FILE} bytes; put the part that matters on standard input, such as by `grep` or \
             `tail`"
        )));
    }
    String::from_utf8(bytes).map_err(|_| Error::invalid(format!("`{shown}` is not UTF-8; convert it")))
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
