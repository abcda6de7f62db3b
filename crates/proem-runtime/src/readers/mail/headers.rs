//! The headers of a message or a part.
//!
//! Lines are told apart here, the library decodes what is in one header. Both are bounded: the library goes back
//! whenever an encoded word (RFC 2047) doesn't end, so what that may cost is known before it starts.

use std::borrow::Cow;

use mail_parser::{ContentType, HeaderName, HeaderValue, MessageParser};

use super::{encoded_words, parts::Chunk};

/// Headers that people read, under the names of their fields.
const FOR_PEOPLE: [(&str, &str); 10] = [
    ("subject", "subject"),
    ("from", "from"),
    ("sender", "sender"),
    ("reply-to", "reply-to"),
    ("to", "to"),
    ("cc", "cc"),
    ("bcc", "bcc"),
    ("comments", "comments"),
    ("keywords", "keywords"),
    ("content-description", "description"),
];

/// Headers that say which mail it is, whose, and what its receiver's server thinks of that.
const OF_ENVELOPE: [&str; 7] = ["message-id", "date", "from", "in-reply-to", "references", "x-unsent", RESULTS];

/// The header that receivers write, and that only they may write.
const RESULTS: &str = "authentication-results";

/// The most headers of an envelope that are read of each name.
const MOST_OF_NAME: usize = 64;

/// Headers of mails, two of which a mail has.
const OF_MAILS: [&str; 16] = [
    "from",
    "to",
    "cc",
    "subject",
    "date",
    "sender",
    "reply-to",
    "received",
    "return-path",
    "delivered-to",
    "message-id",
    "mime-version",
    "content-type",
    "dkim-signature",
    "in-reply-to",
    "references",
];

/// Headers that say what a part is, `content-type` aside.
const OF_PARTS: [&str; 2] = ["content-disposition", "content-transfer-encoding"];

/// The most headers of known names that are read of one message or part.
const MOST_HEADERS: usize = 20_000;

/// The longest header that is decoded, in bytes.
const LONGEST: usize = 64 * 1024;

/// The most encoded words in it: from each that doesn't end the library reads to the header's end.
const MOST_WORDS: usize = 128;

/// How much of a header with parameters is read, in bytes: each is compared with all others.
const LONGEST_PARAMETERS: usize = 4 * 1024;

/// How far a file is looked at for headers, in bytes.
const SAMPLE: usize = 64 * 1024;

/// The header lines of a message or a part.
#[derive(Debug)]
pub(super) struct HeaderBlock<'a> {
    /// Those of known names.
    lines: Vec<HeaderLine<'a>>,
    /// How many known headers follow after as many as are read.
    pub(super) left_out: usize,
}

/// One header with its continuation lines.
#[derive(Debug)]
struct HeaderLine<'a> {
    name: &'a [u8],
    /// Whether blanks are between the name and the colon.
    is_spaced: bool,
    /// The text behind the colon.
    value: &'a [u8],
}

impl HeaderLine<'_> {
    fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }

    fn is_known(&self) -> bool {
        FOR_PEOPLE.iter().any(|(name, _)| self.is(name))
            || OF_MAILS.iter().chain(&OF_PARTS).chain(&OF_ENVELOPE).any(|name| self.is(name))
    }
}

/// A message or one of its parts: an entity of RFC 2045, section 2.4.
#[derive(Debug)]
pub(super) struct MimeEntity<'a> {
    pub(super) block: HeaderBlock<'a>,
    pub(super) body: Chunk<'a>,
}

/// The headers about a part's body.
#[derive(Debug, Default)]
pub(super) struct MimeHeaders<'a> {
    pub(super) content_type: Option<ContentType<'a>>,
    disposition: Option<ContentType<'a>>,
    encoding: String,
    /// Whether a header is there twice and doesn't say the same.
    pub(super) contradict: bool,
}

/// The headers, and what follows the first empty line.
///
/// A line that is no header ends them: what follows is body.
pub(super) fn split_headers(chunk: Chunk<'_>) -> MimeEntity<'_> {
    let mut block = HeaderBlock { lines: Vec::new(), left_out: 0 };
    // The header that is being read, and where its value starts.
    let mut open: Option<(HeaderLine<'_>, usize)> = None;
    let mut at = 0_usize;
    for line in chunk.bytes.split_inclusive(|byte| *byte == b'\n') {
        let next = at.saturating_add(line.len());
        if line.trim_ascii().is_empty() {
            at = next;
            break;
        }
        if line.starts_with(b" ") || line.starts_with(b"\t") {
            let Some((header, start)) = &mut open else { break };
            header.value = chunk.bytes.get(*start..next).unwrap_or_default();
        } else {
            let Some((name, before)) = header_name(line) else { break };
            let start = at.saturating_add(before);
            let is_spaced = name.len().saturating_add(1) < before;
            let header = HeaderLine { name, is_spaced, value: chunk.bytes.get(start..next).unwrap_or_default() };
            block.add(open.replace((header, start)).map(|(line, _)| line));
        }
        at = next;
    }
    block.add(open.map(|(line, _)| line));
    MimeEntity { block, body: chunk.after(at) }
}

/// The name of the header that a line starts, and where its value starts.
fn header_name(line: &[u8]) -> Option<(&[u8], usize)> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let name = line.get(..colon)?.trim_ascii_end();
    let is_name = !name.is_empty() && name.len() <= 76 && name.iter().all(u8::is_ascii_graphic);
    is_name.then_some((name, colon.saturating_add(1)))
}

/// Whether a file begins with headers of a mail, and nothing else before an empty line.
pub(super) fn looks_like_some(bytes: &[u8]) -> bool {
    let sample = Chunk::whole(bytes.get(..SAMPLE).unwrap_or(bytes));
    let MimeEntity { block, body } = split_headers(sample);
    let ends = body.bytes.is_empty() || {
        let before = sample.bytes.get(..body.at.unwrap_or_default()).unwrap_or_default();
        before.ends_with(b"\n\n") || before.ends_with(b"\n\r\n")
    };
    let known = OF_MAILS.iter().filter(|name| block.lines.iter().any(|line| line.is(name))).count();
    ends && known >= 2
}

impl<'a> HeaderBlock<'a> {
    fn add(&mut self, header: Option<HeaderLine<'a>>) {
        let Some(line) = header.filter(HeaderLine::is_known) else { return };
        if self.lines.len() < MOST_HEADERS {
            self.lines.push(line);
        } else {
            self.left_out = self.left_out.saturating_add(1);
        }
    }

    /// The headers for people: the field's name and what follows the colon. Each header is a field, also where one is
    /// there twice.
    pub(super) fn for_people(&self) -> impl Iterator<Item = (&'static str, &'a [u8])> {
        self.lines.iter().filter_map(|line| {
            let (_, field) = FOR_PEOPLE.iter().find(|(name, _)| line.is(name))?;
            Some((*field, line.value))
        })
    }

    /// The headers of the envelope as they are there but on one line, and how many there are beyond those read.
    ///
    /// A blank before the colon, which RFC 5322, section 4.5, allows, makes no other header. One that only receivers
    /// write loses its value for it: those that take forged ones away may not have taken it for one.
    pub(super) fn of_envelope(&self) -> (Vec<(&'static str, String)>, usize) {
        let (mut named, mut beyond) = (Vec::new(), 0_usize);
        for line in &self.lines {
            let Some(name) = OF_ENVELOPE.iter().find(|name| line.is(name)) else { continue };
            if named.iter().filter(|(read, _)| read == name).count() >= MOST_OF_NAME {
                beyond = beyond.saturating_add(1);
                continue;
            }
            let value = if *name == RESULTS && line.is_spaced { b"" } else { line.value };
            let value = value.get(..LONGEST).unwrap_or(value);
            let value = String::from_utf8_lossy(value).replace("\r\n", "").replace('\n', "");
            named.push((*name, value.trim_matches([' ', '\t']).to_owned()));
        }
        (named, beyond)
    }

    /// The headers about the body.
    pub(super) fn headers(&self) -> MimeHeaders<'a> {
        let mut headers = MimeHeaders::default();
        let mut first = |name: &str| {
            let mut values = self.lines.iter().filter(|line| line.is(name)).map(|line| line.value);
            let value = values.next();
            headers.contradict |= values.any(|other| Some(other.trim_ascii()) != value.map(<[u8]>::trim_ascii));
            value
        };
        let (kind, disposition, encoding) =
            (first("content-type"), first("content-disposition"), first("content-transfer-encoding"));
        headers.content_type = kind.and_then(parameters);
        headers.disposition = disposition.and_then(parameters);
        headers.encoding = encoding.map(header_text).unwrap_or_default();
        headers
    }
}

impl MimeHeaders<'_> {
    /// The name of the transfer encoding.
    pub(super) fn encoding(&self) -> &str {
        // A comment may follow.
        self.encoding.split(['(', ';', ' ']).next().unwrap_or_default().trim().trim_matches('"')
    }

    /// Whether the part says that it is text, or doesn't say what it is.
    pub(super) fn is_text(&self) -> bool {
        self.content_type.as_ref().is_none_or(|kind| matches!(kind.ctype(), "text" | "message"))
    }

    /// Whether the part says that it is a page.
    pub(super) fn is_page(&self) -> bool {
        self.content_type.as_ref().is_some_and(|kind| kind.subtype().is_some_and(|kind| kind.contains("html")))
    }

    /// Whether it is meant to be saved.
    pub(super) fn is_attachment(&self) -> bool {
        self.disposition.as_ref().is_some_and(|disposition| disposition.ctype() == "attachment")
    }

    /// The character set that the part names.
    pub(super) fn charset(&self) -> Option<&str> {
        self.content_type.as_ref().and_then(|kind| kind.attribute("charset"))
    }

    /// The names of the file that the part is, if it has any.
    pub(super) fn file_name(&self) -> Option<String> {
        let disposition = self.disposition.as_ref().and_then(|disposition| disposition.attribute("filename"));
        let kind = self.content_type.as_ref().and_then(|kind| kind.attribute("name"));
        match (disposition, kind) {
            (Some(a), Some(b)) if a != b => Some(format!("{a}\n{b}")),
            (a, b) => a.or(b).map(str::to_owned),
        }
    }

    /// `application/pdf`, or that the part doesn't give a plain name.
    pub(super) fn media_type(&self) -> String {
        let plain = |name: &str| {
            (1..=64).contains(&name.len())
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+' | b'_'))
        };
        let kind = self.content_type.as_ref().and_then(|kind| Some((kind.ctype(), kind.subtype()?)));
        match kind {
            Some((kind, subtype)) if plain(kind) && plain(subtype) => format!("{kind}/{subtype}"),
            _ => "no known type".to_owned(),
        }
    }
}

/// Whether decoding it is bounded work.
pub(super) fn is_decodable(value: &[u8]) -> bool {
    value.len() <= LONGEST && value.windows(2).filter(|window| window == b"=?").count() <= MOST_WORDS
}

/// The text of a header: unfolded, its encoded words decoded.
pub(super) fn header_text(value: &[u8]) -> String {
    if !is_decodable(value) {
        return String::from_utf8_lossy(value.trim_ascii()).into_owned();
    }
    let parser = MessageParser::new().header_text(HeaderName::Subject);
    let value = &*encoded_words::rewrite_encoded_words(value);
    let decoded = header_value(&parser, "Subject", value).and_then(HeaderValue::into_text).map(Cow::into_owned);
    decoded.unwrap_or_default().trim().to_owned()
}

/// A header with parameters (RFC 2045, RFC 2231).
fn parameters(value: &[u8]) -> Option<ContentType<'static>> {
    let value = value.get(..LONGEST_PARAMETERS).unwrap_or(value);
    let parser = MessageParser::new().header_content_type(HeaderName::ContentType);
    header_value(&parser, "Content-Type", value)?.into_content_type()
}

/// The value of one header.
fn header_value(parser: &MessageParser, name: &str, value: &[u8]) -> Option<HeaderValue<'static>> {
    let header = [name.as_bytes(), b":", value.trim_ascii(), b"\r\n\r\n"].concat();
    let message = parser.parse_headers(&header)?;
    let root = message.parts.into_iter().next()?;
    root.headers.into_iter().next().map(|header| header.value.into_owned())
}
