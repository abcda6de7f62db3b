//! The XML of Cobertura, of which `class` with `filename` and `line` with `number` and `hits` are read.
//!
//! This is no reader of XML at large: a document type may be named but not defined, and the five
//! entities that XML itself has and numbers are all there are.

use alloc::vec::Vec;

use super::{Drafts, lcov, line_at, unreadable_coverage};
use crate::Error;

/// How deep elements may be in each other. Cobertura's own lie seven deep.
const DEEPEST: usize = 64;

pub(super) fn read_cobertura(text: &[u8]) -> Result<Drafts, Error> {
    let mut scanner = XmlScanner { text, at: 0 };
    let mut drafts = Drafts::default();
    let mut open: Vec<&[u8]> = Vec::new();
    let mut file: Option<Vec<u8>> = None;
    let mut is_begun = false;
    while let Some(tag) = scanner.next_tag()? {
        match tag {
            XmlTag::Close(name) => {
                if open.pop() != Some(name) {
                    return Err(
                        scanner.error("a closing tag does not match the last open tag; generate the report again")
                    );
                }
                // Lines belong to the class around them: one behind its end is refused and not given to the last file.
                if name == b"class" {
                    file = None;
                }
            }
            XmlTag::Open(element) => {
                if open.is_empty() {
                    scanner.check_root(&element, is_begun)?;
                    is_begun = true;
                }
                match element.name {
                    b"class" => {
                        let name = element.attribute(b"filename");
                        file = Some(name.ok_or_else(|| scanner.error("`class` needs a `filename`"))?);
                    }
                    b"line" => {
                        let line = element.line();
                        let (number, run) = line
                            .ok_or_else(|| scanner.error("`line` needs a `number` and `hits`, both whole numbers"))?;
                        let path = file.as_ref();
                        let path = path.ok_or_else(|| scanner.error("`line` is outside of a `class`"))?;
                        drafts.file(path).lines.push((number, run));
                    }
                    _ => {}
                }
                if element.is_closed {
                    if element.name == b"class" {
                        file = None;
                    }
                } else {
                    open.push(element.name);
                }
                if open.len() > DEEPEST {
                    return Err(scanner.error("elements are nested too deeply for a Cobertura report"));
                }
            }
        }
    }
    if !is_begun || !open.is_empty() {
        return Err(scanner.error("the report is incomplete; generate it again"));
    }
    Ok(drafts)
}

enum XmlTag<'t> {
    Open(XmlElement<'t>),
    Close(&'t [u8]),
}

struct XmlElement<'t> {
    name: &'t [u8],
    attributes: Vec<(&'t [u8], Vec<u8>)>,
    is_closed: bool,
}

impl XmlElement<'_> {
    fn attribute(&self, name: &[u8]) -> Option<Vec<u8>> {
        self.attributes.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
    }

    fn line(&self) -> Option<(u32, super::LineRun)> {
        let number = core::str::from_utf8(&self.attribute(b"number")?).ok()?.parse().ok()?;
        Some((number, lcov::parse_hits(&self.attribute(b"hits")?)?))
    }
}

struct XmlScanner<'t> {
    text: &'t [u8],
    at: usize,
}

impl<'t> XmlScanner<'t> {
    fn error(&self, expected: &str) -> Error {
        unreadable_coverage(line_at(self.text, self.at), expected)
    }

    fn check_root(&self, root: &XmlElement<'_>, is_begun: bool) -> Result<(), Error> {
        if is_begun {
            return Err(self.error("the file contains a second report; give one at a time"));
        }
        // Clover's root has the same name, but no rates.
        if root.name != b"coverage" || root.attribute(b"line-rate").is_none() {
            return Err(
                self.error("expected `coverage` with a `line-rate`; write the report in the format of Cobertura")
            );
        }
        Ok(())
    }

    fn rest(&self) -> &'t [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes);
    }

    /// Goes behind the next `end`.
    fn skip_past(&mut self, end: &[u8]) -> Result<(), Error> {
        let found = self.rest().windows(end.len()).position(|window| window == end);
        let at = found.ok_or_else(|| self.error("a comment or declaration has no end; generate the report again"))?;
        self.skip(at.saturating_add(end.len()));
        Ok(())
    }

    fn next_tag(&mut self) -> Result<Option<XmlTag<'t>>, Error> {
        loop {
            let Some(at) = self.rest().iter().position(|&byte| byte == b'<') else { return Ok(None) };
            self.skip(at);
            let rest = self.rest();
            if rest.starts_with(b"<!--") {
                self.skip(4);
                self.skip_past(b"-->")?;
            } else if rest.starts_with(b"<![CDATA[") {
                self.skip_past(b"]]>")?;
            } else if rest.starts_with(b"<?") {
                self.skip_past(b"?>")?;
            } else if rest.starts_with(b"<!") {
                let end = rest.iter().position(|byte| matches!(byte, b'>' | b'['));
                if end.and_then(|end| rest.get(end)) != Some(&b'>') {
                    return Err(self.error("a DOCTYPE with its own entity definitions is not supported"));
                }
                self.skip_past(b">")?;
            } else {
                return self.tag().map(Some);
            }
        }
    }

    /// The tag at whose `<` the scanner is.
    fn tag(&mut self) -> Result<XmlTag<'t>, Error> {
        self.skip(1);
        if self.rest().starts_with(b"/") {
            self.skip(1);
            let name = self.name()?;
            self.skip_spaces();
            return if self.take(b'>') { Ok(XmlTag::Close(name)) } else { Err(self.error("expected `>`")) };
        }
        let name = self.name()?;
        let mut attributes = Vec::new();
        loop {
            self.skip_spaces();
            if self.take(b'>') {
                return Ok(XmlTag::Open(XmlElement { name, attributes, is_closed: false }));
            }
            if self.take(b'/') {
                let element = XmlElement { name, attributes, is_closed: true };
                return if self.take(b'>') { Ok(XmlTag::Open(element)) } else { Err(self.error("expected `>`")) };
            }
            attributes.push(self.attribute()?);
        }
    }

    fn attribute(&mut self) -> Result<(&'t [u8], Vec<u8>), Error> {
        let name = self.name()?;
        self.skip_spaces();
        if !self.take(b'=') {
            return Err(self.error("an attribute has no value"));
        }
        self.skip_spaces();
        let Some(&quote @ (b'"' | b'\'')) = self.rest().first() else {
            return Err(self.error("an attribute's value needs quotes"));
        };
        self.skip(1);
        let length = self.rest().iter().position(|&byte| byte == quote);
        let length = length.ok_or_else(|| self.error("an attribute's value has no end; generate the report again"))?;
        let value = self.rest().get(..length).and_then(replace_entities);
        let value = value.ok_or_else(|| self.error("an attribute has `<`, or `&` for what is no entity of XML"))?;
        self.skip(length.saturating_add(1));
        Ok((name, value))
    }

    fn name(&mut self) -> Result<&'t [u8], Error> {
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte) || !byte.is_ascii();
        let rest = self.rest();
        let length = rest.iter().position(|byte| !is_name(byte)).unwrap_or(rest.len());
        if length == 0 {
            return Err(self.error("expected a name; `<` in a text is written `&lt;`"));
        }
        self.skip(length);
        Ok(rest.get(..length).unwrap_or_default())
    }

    fn skip_spaces(&mut self) {
        let spaces = self.rest().iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.skip(spaces);
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_there = self.rest().first() == Some(&byte);
        if is_there {
            self.skip(1);
        }
        is_there
    }
}

/// A value with its entities replaced. `None` for others than XML's five and numbers.
fn replace_entities(value: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'<' => return None,
            b'&' => {
                let end = rest.iter().take(12).position(|&byte| byte == b';')?;
                let mut buffer = [0; 4];
                let entity = core::str::from_utf8(rest.get(..end)?).ok()?;
                plain.extend_from_slice(entity_character(entity)?.encode_utf8(&mut buffer).as_bytes());
                rest = rest.get(end.saturating_add(1)..)?;
            }
            other => plain.push(other),
        }
    }
    Some(plain)
}

fn entity_character(entity: &str) -> Option<char> {
    let number = match entity {
        "amp" => return Some('&'),
        "lt" => return Some('<'),
        "gt" => return Some('>'),
        "quot" => return Some('"'),
        "apos" => return Some('\''),
        _ => entity.strip_prefix('#')?,
    };
    let code = match number.strip_prefix('x') {
        Some(digits) => u32::from_str_radix(digits, 16).ok()?,
        None => number.parse().ok()?,
    };
    char::from_u32(code)
}
