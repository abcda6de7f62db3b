//! A compact form of [`SourceFacts`], for a cache.
//!
//! A version byte, the language's code, flags, and then the fields in order. Numbers are LEB128 (seven bits a byte,
//! least significant first). Texts and lists are preceded by their length. Any deviation is refused.

use core::fmt;

use crate::{
    SourceLanguage,
    source_facts::{Binding, Import, ImportKind, Module, SourceFacts, Use},
};

/// The form's version. Another one is refused, so that the facts are read again.
const VERSION: u8 = 1;

const ERRORS: u8 = 1;
const PACKAGE: u8 = 2;

/// Bytes that are no facts of this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FactsDecodeError;

impl fmt::Display for FactsDecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the stored facts are damaged or of another version; read the source again")
    }
}

impl core::error::Error for FactsDecodeError {}

impl SourceFacts {
    /// The facts as bytes, for [`Self::from_bytes`].
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut flags = 0;
        if self.errors {
            flags |= ERRORS;
        }
        if self.package.is_some() {
            flags |= PACKAGE;
        }
        let mut out = FactsWriter(vec![VERSION, self.language.code(), flags]);
        out.number(self.lines);
        out.number(self.inline_test_lines);
        if let Some(package) = &self.package {
            out.text(package);
        }
        out.list(&self.imports, |out, import| {
            out.text(&import.path);
            out.0.push(ImportKind::ALL.iter().position(|kind| *kind == import.kind).map_or(0, small));
            out.0.push(u8::from(import.test));
            out.text(&import.scope);
            out.list(&import.bindings, |out, binding| {
                out.text(&binding.name);
                out.text(&binding.local);
            });
        });
        out.list(&self.modules, |out, module| {
            out.text(&module.name);
            out.text(&module.scope);
            out.0.push(u8::from(module.test));
            out.0.push(u8::from(module.file.is_some()));
            if let Some(file) = &module.file {
                out.text(file);
            }
        });
        out.list(&self.definitions, |out, name| out.text(name));
        out.list(&self.uses, |out, used| {
            out.text(&used.path);
            out.number(used.calls);
            out.0.push(u8::from(used.test));
        });
        out.0
    }

    /// Reads what [`Self::to_bytes`] wrote.
    ///
    /// # Errors
    ///
    /// [`FactsDecodeError`] for anything else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FactsDecodeError> {
        let mut from = FactsReader(bytes);
        let extracted = from.extracted().ok_or(FactsDecodeError)?;
        if from.0.is_empty() { Ok(extracted) } else { Err(FactsDecodeError) }
    }
}

fn small(position: usize) -> u8 {
    u8::try_from(position).unwrap_or(0)
}

struct FactsWriter(Vec<u8>);

impl FactsWriter {
    fn number(&mut self, mut number: u32) {
        while let [low, ..] = number.to_le_bytes()
            && number >= 0x80
        {
            self.0.push(low | 0x80);
            number >>= 7;
        }
        let [low, ..] = number.to_le_bytes();
        self.0.push(low);
    }

    /// Sources are below 4 GiB, and so is everything that is read from one.
    fn length(&mut self, length: usize) {
        self.number(u32::try_from(length).unwrap_or(u32::MAX));
    }

    fn text(&mut self, text: &str) {
        self.length(text.len());
        self.0.extend_from_slice(text.as_bytes());
    }

    fn list<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.length(items.len());
        for item in items {
            write(self, item);
        }
    }
}

struct FactsReader<'a>(&'a [u8]);

impl FactsReader<'_> {
    fn extracted(&mut self) -> Option<SourceFacts> {
        if self.byte()? != VERSION {
            return None;
        }
        let language = SourceLanguage::of_code(self.byte()?)?;
        let flags = self.byte().filter(|flags| *flags <= ERRORS | PACKAGE)?;
        Some(SourceFacts {
            language,
            errors: flags & ERRORS != 0,
            lines: self.number()?,
            inline_test_lines: self.number()?,
            package: if flags & PACKAGE == 0 { None } else { Some(self.text()?) },
            imports: self.list(Self::import)?,
            modules: self.list(Self::module)?,
            definitions: self.list(Self::text)?,
            uses: self.list(Self::used)?,
        })
    }

    fn import(&mut self) -> Option<Import> {
        Some(Import {
            path: self.text()?,
            kind: ImportKind::ALL.get(usize::from(self.byte()?)).copied()?,
            test: self.flag()?,
            scope: self.text()?,
            bindings: self.list(|from| Some(Binding { name: from.text()?, local: from.text()? }))?,
        })
    }

    fn module(&mut self) -> Option<Module> {
        let (name, scope, test) = (self.text()?, self.text()?, self.flag()?);
        let file = if self.flag()? { Some(self.text()?) } else { None };
        Some(Module { name, scope, file, test })
    }

    fn used(&mut self) -> Option<Use> {
        Some(Use { path: self.text()?, calls: self.number()?, test: self.flag()? })
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn flag(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn number(&mut self) -> Option<u32> {
        let mut number: u64 = 0;
        for shift in [0, 7, 14, 21, 28] {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return u32::try_from(number).ok();
            }
        }
        None
    }

    fn length(&mut self) -> Option<usize> {
        // Nothing takes less than a byte, so a longer list can't follow.
        usize::try_from(self.number()?).ok().filter(|length| *length <= self.0.len())
    }

    fn text(&mut self) -> Option<String> {
        let length = self.length()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let length = self.length()?;
        // Grown as it is read: a false length costs nothing.
        let mut items = Vec::new();
        for _ in 0..length {
            items.push(read(self)?);
        }
        Some(items)
    }
}
