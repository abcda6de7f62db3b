//! The files of programs: sources, inputs, and the memory that they leave.

use std::io::Read;
use std::path::{Path, PathBuf};

use proem_guard::show;
use proem_lisp::{Limits, Meter, Value, print_source, read_json, read_memory};
use proem_runtime::files::{self, FileAccess, FileContent};

use crate::error::Error;

/// How many bytes of source a byte of memory may take.
const SOURCE_OF_MEMORY: usize = 4;

/// A source with its name in messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LispSource {
    /// A path, or what else it is.
    pub name: String,
    /// The source.
    pub text: String,
}

impl LispSource {
    /// A source that was typed.
    ///
    /// # Errors
    ///
    /// If there is no form in it.
    pub fn of_expression(text: &str) -> Result<Self, Error> {
        Self::with_forms("expression", text.to_owned())
    }

    /// The source in a file.
    ///
    /// # Errors
    ///
    /// If the file is unreadable, is no text or too long, or has no form in it.
    pub fn of_file(path: &Path, limits: &Limits) -> Result<Self, Error> {
        let name = path.display().to_string();
        let file = files::open_regular(path)
            .map_err(|error| Error::outside(format!("could not read `{}`: {error}", show::terminal_str(&name))))?;
        Self::from_reader(&name, file, limits)
    }

    /// The source that somebody hands over under this name.
    ///
    /// # Errors
    ///
    /// As [`LispSource::of_file`].
    pub fn from_reader(name: &str, from: impl Read, limits: &Limits) -> Result<Self, Error> {
        let shown = show::terminal_str(name);
        let mut bytes = Vec::new();
        let most = u64::try_from(limits.source_bytes).unwrap_or(u64::MAX);
        from.take(most.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|error| Error::outside(format!("could not read `{shown}`: {error}")))?;
        if bytes.len() > limits.source_bytes {
            return Err(Error::invalid(format!(
                "`{shown}` has more than {most} bytes; raise `lisp.source_bytes`, or pass data as an input"
            )));
        }
        if bytes.contains(&0) {
            return Err(Error::invalid(format!("`{shown}` is binary; a program is text in UTF-8")));
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let line = error.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count().saturating_add(1);
            Error::invalid(format!("`{shown}` is not UTF-8 from byte {at} on, in line {line}; convert it"))
        })?;
        Self::with_forms(name, text)
    }

    fn with_forms(name: &str, text: String) -> Result<Self, Error> {
        // Outside of forms nothing goes on over a line's end.
        let is_blank = |line: &str| {
            let code = line.trim_matches(|c: char| c.is_whitespace() || c == ',' || c == '\u{feff}');
            code.is_empty() || code.starts_with(';')
        };
        if text.lines().all(is_blank) {
            let what = if text.trim().is_empty() { "is empty" } else { "has only comments" };
            let name = show::terminal_str(name);
            return Err(Error::invalid(format!("`{name}` {what}; a program has at least one form, such as `(+ 1 2)`")));
        }
        Ok(Self { name: name.to_owned(), text })
    }
}

/// The map that `ctx/name` reads, from a file with a JSON object.
///
/// # Errors
///
/// If the file is unreadable, or holds no JSON object within the limits.
pub fn read_input(path: &Path, limits: &Limits) -> Result<Value, Error> {
    let (name, text) = read_named_text(path, limits)?;
    match read_json(&text, &mut Meter::new(*limits)) {
        // Only an object begins so, after spaces and a byte-order mark.
        Ok(input) if text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']).starts_with('{') => Ok(input),
        Ok(other) => Err(Error::invalid(format!(
            "`{}` holds {}; an input is a JSON object, whose names programs read as `ctx/name`",
            show::terminal_str(&name),
            other.type_phrase()
        ))),
        Err(problem) => Err(Error::invalid(problem.render(&name, &text).trim_end())),
    }
}

/// One input, from a file with any JSON.
///
/// # Errors
///
/// If the file is unreadable, or holds no JSON within the limits. The message doesn't show what is in a file.
pub fn read_value(path: &Path, limits: &Limits) -> Result<Value, Error> {
    let (name, text) = read_named_text(path, limits)?;
    read_json(&text, &mut Meter::new(*limits)).map_err(|problem| {
        let at = problem.diagnostic.span.map_or(0, |span| span.start);
        let line = text.bytes().take(at).filter(|byte| *byte == b'\n').count().saturating_add(1);
        let shown = show::terminal_str(&name);
        Error::invalid(format!("`{shown}` is no JSON from line {line} on; an input of any kind is one JSON value"))
    })
}

/// The text of a file that is one input.
///
/// # Errors
///
/// If the file is unreadable, too long or no text.
pub fn read_input_text(path: &Path, limits: &Limits) -> Result<String, Error> {
    read_named_text(path, limits).map(|(_, text)| text)
}

fn read_named_text(path: &Path, limits: &Limits) -> Result<(String, String), Error> {
    let name = path.display().to_string();
    let text = files::read_text(path, limits.bytes)
        .map_err(|error| Error::outside(format!("could not read `{}`: {error}", show::terminal_str(&name))))?;
    Ok((name, text))
}

/// The file that a memory is kept in, as a source that gives it.
#[derive(Debug)]
pub struct MemoryFile {
    folder: PathBuf,
    name: PathBuf,
    limits: Limits,
    /// Its contents when it was last read or written.
    before: Option<Vec<u8>>,
}

/// The memory that a text gives, which [`print_source`] wrote.
///
/// # Errors
///
/// If it isn't the source of a map.
pub(super) fn read_memory_text(text: &str, limits: &Limits) -> Result<Value, Error> {
    let most = limits.memory_bytes.saturating_mul(SOURCE_OF_MEMORY);
    // A program with little fuel still finds what one with more has kept.
    let limits = Limits { source_bytes: most, fuel: limits.fuel.max(Limits::default().fuel), ..*limits };
    read_memory(text, &limits).map_err(|problems| {
        let excerpts: String = problems.iter().map(|problem| problem.render("memory", text)).collect();
        Error::invalid(excerpts.trim_end())
    })
}

impl MemoryFile {
    /// Reads the memory. A file that isn't there is an empty one. No link is followed.
    ///
    /// # Errors
    ///
    /// If it is unreadable, or isn't the source of a map.
    pub fn open(path: &Path, limits: &Limits) -> Result<(Self, Value), Error> {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let shown = show::terminal_str(&path.display().to_string()).into_string();
        let no_file = || Error::invalid(format!("`{shown}` names no file"));
        let name = PathBuf::from(path.file_name().ok_or_else(no_file)?);
        let folder = std::fs::canonicalize(parent)
            .map_err(|error| Error::outside(format!("could not open the folder of `{shown}`: {error}")))?;
        let most = limits.memory_bytes.saturating_mul(SOURCE_OF_MEMORY);
        let usual = Limits::default();
        // A program with little fuel still finds what one with more has kept.
        let limits = Limits { source_bytes: most, fuel: limits.fuel.max(usual.fuel), ..*limits };
        let mut file = Self { folder, name, limits, before: None };
        file.before = file.read()?;
        let Some(bytes) = file.before.clone() else { return Ok((file, Value::map([]))) };
        let text = String::from_utf8(bytes)
            .map_err(|_| Error::invalid(format!("the memory `{shown}` is not UTF-8; name another file")))?;
        match read_memory(&text, &limits) {
            Ok(memory) => Ok((file, memory)),
            Err(problems) => {
                let excerpts = problems.iter().map(|problem| problem.render(&shown, &text));
                Err(Error::invalid(excerpts.collect::<String>().trim_end()))
            }
        }
    }

    /// Opens the file of a memory that a program began with. A file that has another memory by now is not written over.
    ///
    /// # Errors
    ///
    /// As [`MemoryFile::open`], or if another program has changed the memory.
    pub fn reopen(path: &Path, limits: &Limits, before: &Value) -> Result<Self, Error> {
        let (file, memory) = Self::open(path, limits)?;
        let text = |memory| {
            print_source(memory, &mut Meter::new(*limits)).map_err(|fault| Error::negative(fault.message().to_owned()))
        };
        if text(&memory)? != text(before)? {
            let shown = show::terminal_str(&path.display().to_string()).into_string();
            return Err(Error::negative(format!(
                "the memory is not kept: another program has changed `{shown}` since this run began; start it again"
            )));
        }
        Ok(file)
    }

    /// The file's own path, whatever it was called.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    fn read(&self) -> Result<Option<Vec<u8>>, Error> {
        match files::read_regular(&self.folder.join(&self.name), self.limits.source_bytes)? {
            None => Ok(None),
            Some(FileContent::Whole(bytes)) => Ok(Some(bytes)),
            Some(FileContent::Cut(_)) => Err(Error::invalid(format!(
                "the memory `{}` has more than {} bytes; raise `lisp.memory_bytes`",
                show::terminal_str(&self.name.to_string_lossy()),
                self.limits.source_bytes
            ))),
        }
    }

    /// Writes the memory, for the user alone; what is unchanged is not written.
    ///
    /// # Errors
    ///
    /// If it can't be written so that it can be read again, or another program has changed the file meanwhile.
    pub fn store(&mut self, memory: &Value) -> Result<(), Error> {
        let unkept = |what: String| Error::negative(format!("the memory is not kept: {what}"));
        let text =
            print_source(memory, &mut Meter::new(self.limits)).map_err(|fault| unkept(fault.message().to_owned()))?;
        let bytes = format!("{text}\n").into_bytes();
        let is_empty = memory.unlabelled().entries().next().is_none();
        if self.before.as_ref() == Some(&bytes) || (self.before.is_none() && is_empty) {
            return Ok(());
        }
        if let Err(problems) = read_memory(&text, &self.limits) {
            let first = problems.into_iter().next().map(|problem| problem.diagnostic.message);
            return Err(unkept(first.unwrap_or_default()));
        }
        let shown = show::terminal_str(&self.name.to_string_lossy()).into_string();
        if self.read()? != self.before {
            return Err(unkept(format!("another program has changed `{shown}` meanwhile; run this one again")));
        }
        files::replace_file(&self.folder, &self.name, &bytes, FileAccess::Private)?;
        self.before = Some(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_programs_at_once_the_later_one_changes_no_memory_that_it_has_not_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept.clj");
        let limits = Limits::default();
        let memory = |number: i64| Value::map([(Value::keyword("n"), Value::from(number))]);
        let (mut first, nothing) = MemoryFile::open(&path, &limits).unwrap();
        assert_eq!(nothing.entries().count(), 0);
        let (mut second, _) = MemoryFile::open(&path, &limits).unwrap();
        first.store(&memory(1)).unwrap();
        let refused = second.store(&memory(2)).unwrap_err().to_string();
        assert_eq!(
            refused,
            "the memory is not kept: another program has changed `kept.clj` meanwhile; run this one again"
        );
        // The last writer may go on.
        first.store(&memory(3)).unwrap();
        assert_eq!(MemoryFile::open(&path, &limits).unwrap().1, memory(3));
    }

    #[test]
    fn a_memory_as_large_as_its_limit_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept.clj");
        // More than a source may have, and little fuel.
        let limits = Limits { fuel: 10, ..Limits::default() };
        let text = Value::from("\u{1}\"\\".repeat(100_000));
        let memory = Value::map([(Value::keyword("t"), text)]);
        MemoryFile::open(&path, &limits).unwrap().0.store(&memory).unwrap();
        assert_eq!(MemoryFile::open(&path, &limits).unwrap().1, memory);
    }
}
