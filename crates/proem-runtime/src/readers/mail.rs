//! Mails: what a person, or a model that is given the mail, would read of it.
//!
//! Fields are the headers that people read, every text with its transfer encoding and character set
//! undone, and the names of attachments, which the sender chooses like everything else. A part that
//! is no text is a gap.
//!
//! The parts are separated here (RFC 2046), because that has to be bounded before it is done: a mail may hold a hundred
//! thousand mails, one in another. The library decodes headers and parts.

mod encoded_words;
mod headers;
mod parts;
mod transfer;

use mail_parser::ContentType;
use proem_guard::Untrusted;
use proem_text::{Label, Source};

use super::{GapReason, bytes_in_words, charset, collect::Collector, html};
use headers::{MimeEntity, MimeHeaders};
use parts::{Chunk, MultipartBody};

/// How deep parts may be in one another, whatever the limit says: each level recurses.
const DEPTH: usize = 32;

/// Whether a file begins like a mail.
pub(super) fn looks_like_one(bytes: &[u8]) -> bool {
    headers::looks_like_some(without_envelope(Chunk::whole(bytes)).bytes)
}

/// The headers about the mail itself, in their order. Nothing of them is decoded.
///
/// Names are `message-id`, `date`, `from`, `in-reply-to`, `references`, `x-unsent` and `authentication-results`. At
/// most 64 of each name are read, of each 64 KiB. The number says how many more there are. An `authentication-results`
/// with a blank before its colon is empty.
#[must_use]
pub fn mail_envelope(bytes: &[u8], source: Source) -> (Vec<(&'static str, Untrusted<String>)>, usize) {
    let label = Label::from_source(source);
    let (headers, beyond) = headers::split_headers(without_envelope(Chunk::whole(bytes))).block.of_envelope();
    let headers = headers.into_iter().map(|(name, value)| (name, Untrusted::new(value, label.clone())));
    (headers.collect(), beyond)
}

/// Adds the fields of a mail.
pub(super) fn read_mail(bytes: &[u8], collector: &mut Collector<'_>) {
    let chunk = without_envelope(Chunk::whole(bytes));
    let mut message = MailNaming::new(String::new());
    message.read(chunk, 0, collector);
}

/// Without the first line of a mailbox's entry (RFC 4155), `From ann@example.org Mon Jan …`.
fn without_envelope(chunk: Chunk<'_>) -> Chunk<'_> {
    let chunk = chunk.after(chunk.bytes.len().saturating_sub(chunk.bytes.trim_ascii_start().len()));
    if !chunk.bytes.starts_with(b"From ") {
        return chunk;
    }
    let line = chunk.bytes.iter().position(|byte| *byte == b'\n').map_or(chunk.bytes.len(), |at| at.saturating_add(1));
    chunk.after(line)
}

/// Names the fields of one message.
struct MailNaming {
    /// Empty, or `message[0]/`.
    prefix: String,
    bodies: usize,
    attachments: usize,
    messages: usize,
}

/// The type of a part without a declaration (RFC 2046, section 5.1.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Implied {
    Text,
    Message,
}

impl MailNaming {
    const fn new(prefix: String) -> Self {
        Self { prefix, bodies: 0, attachments: 0, messages: 0 }
    }

    /// Reads a whole message, headers for people included.
    fn read(&mut self, chunk: Chunk<'_>, depth: usize, collector: &mut Collector<'_>) {
        let entity = headers::split_headers(chunk);
        let mut left_out = entity.block.left_out;
        for (name, value) in entity.block.for_people() {
            if !collector.has_room() {
                left_out = left_out.saturating_add(1);
                continue;
            }
            let name = format!("{}{name}", self.prefix);
            let text = headers::header_text(value);
            if !headers::is_decodable(value) {
                let about = "a header too long, or with too many encoded words; read without decoding";
                collector.gap(GapReason::TooLong, &name, about);
            }
            let replaced = text.matches(char::REPLACEMENT_CHARACTER).count();
            if replaced > 0 {
                collector.replaced(&name, replaced);
            }
            collector.push(name, text, None);
        }
        if left_out > 0 {
            let name = format!("{}header", self.prefix);
            collector.gap(GapReason::TooMany, &name, format!("{left_out} headers not read, after the limit"));
        }
        self.part(&entity, Implied::Text, depth, collector);
    }

    /// Reads a part: its own headers, and what they say of its body.
    fn part(&mut self, entity: &MimeEntity<'_>, default: Implied, depth: usize, collector: &mut Collector<'_>) {
        let (headers, body) = (entity.block.headers(), entity.body);
        if headers.contradict {
            let name = format!("{}part", self.prefix);
            collector.gap(
                GapReason::Malformed,
                &name,
                "two headers contradict each other about the type of a part; the first was used",
            );
        }
        let kind = PartKind::of(&headers, default);
        if depth >= collector.limits().depth.min(DEPTH) && !matches!(kind, PartKind::Leaf) {
            let name = self.next_body();
            collector.gap(GapReason::TooDeep, &name, "parts are nested too deeply; read as plain text");
            self.plain(name, body, collector);
            return;
        }
        match kind {
            PartKind::Several(multipart) => self.several(body, &multipart, depth, collector),
            PartKind::Message => self.message(&headers, body, depth, collector),
            PartKind::Leaf => self.leaf(&headers, body, collector),
        }
    }

    fn several(&mut self, body: Chunk<'_>, multipart: &MultipartType, depth: usize, collector: &mut Collector<'_>) {
        let found = MultipartBody::split(body, &multipart.boundary, collector.limits().fields);
        if found.parts.is_empty() {
            let name = self.next_body();
            collector.gap(GapReason::Malformed, &name, "a multipart message has no boundary; read as plain text");
            self.plain(name, body, collector);
            return;
        }
        self.around("preamble", found.preamble, collector);
        for part in found.parts {
            self.part(&headers::split_headers(part), multipart.default, depth.saturating_add(1), collector);
        }
        if found.left_out > 0 {
            let about = format!(
                "{} of parts not read, after the first {}",
                bytes_in_words(found.left_out),
                collector.limits().fields
            );
            collector.gap(GapReason::TooMany, &format!("{}part", self.prefix), about);
        }
        self.around("epilogue", found.epilogue, collector);
    }

    /// Text before the first or after the last part, which mail programs don't show.
    fn around(&self, name: &str, chunk: Chunk<'_>, collector: &mut Collector<'_>) {
        if !chunk.bytes.trim_ascii().is_empty() {
            self.plain(format!("{}{name}", self.prefix), chunk, collector);
        }
    }

    /// A mail in a mail.
    fn message(&mut self, headers: &MimeHeaders<'_>, body: Chunk<'_>, depth: usize, collector: &mut Collector<'_>) {
        let prefix = format!("{}message[{}]/", self.prefix, self.messages);
        self.messages = self.messages.saturating_add(1);
        let decoded = transfer::decode_transfer(body, headers.encoding());
        if decoded.is_unknown {
            collector.gap(GapReason::Unknown, &prefix, "unknown transfer encoding; read without decoding");
        }
        Self::new(prefix).read(decoded.chunk(), depth.saturating_add(1), collector);
    }

    fn leaf(&mut self, headers: &MimeHeaders<'_>, body: Chunk<'_>, collector: &mut Collector<'_>) {
        let file = headers.file_name();
        let name = if file.is_some() || headers.is_attachment() || !headers.is_text() {
            let name = format!("{}attachment[{}]", self.prefix, self.attachments);
            self.attachments = self.attachments.saturating_add(1);
            name
        } else {
            self.next_body()
        };
        let is_page = headers.is_page() || file.as_deref().is_some_and(names_a_page);
        collector.push(format!("{name} name"), file.unwrap_or_default(), None);
        if body.bytes.is_empty() {
            return;
        }
        let decoded = transfer::decode_transfer(body, headers.encoding());
        if decoded.is_unknown {
            collector.gap(GapReason::Unknown, &name, "unknown transfer encoding; read without decoding");
        }
        let chunk = decoded.chunk();
        let of_page = || html::declared_charset(chunk.bytes).filter(|_| is_page);
        let declared = headers.charset().map(str::to_owned).or_else(of_page);
        if headers.is_text() {
            // A declared text keeps its place, whatever can be read of it.
            let says_type = headers.content_type.is_some();
            push_text(name, chunk, declared.as_deref(), says_type, collector);
        } else if looks_like_text(chunk.bytes) {
            push_mail_field(name, chunk, declared.as_deref(), collector);
        } else {
            let about = format!("{}, {}", headers.media_type(), bytes_in_words(chunk.bytes.len()));
            collector.gap(GapReason::NotText, &name, about);
        }
    }

    fn next_body(&mut self) -> String {
        let name = format!("{}body[{}]", self.prefix, self.bodies);
        self.bodies = self.bodies.saturating_add(1);
        name
    }

    fn plain(&self, name: String, chunk: Chunk<'_>, collector: &mut Collector<'_>) {
        push_mail_field(name, chunk, None, collector);
    }
}

/// Adds a text. Bytes that nobody can read are there as escapes, so that two such texts differ.
fn push_text(name: String, chunk: Chunk<'_>, declared: Option<&str>, says_type: bool, collector: &mut Collector<'_>) {
    let decoded = charset::decode_charset(chunk.bytes, declared);
    let is_unreadable = charset::is_binary(chunk.bytes, &decoded) || (decoded.unknown && decoded.replaced > 0);
    if !is_unreadable || !says_type {
        push_mail_field(name, chunk, declared, collector);
        return;
    }
    let why = if decoded.unknown { "in an unknown character set" } else { "that are not text" };
    let about = format!("{} {why}; what is no UTF-8 is read as escapes", bytes_in_words(chunk.bytes.len()));
    collector.gap(GapReason::Unknown, &name, about);
    collector.push(name, charset::escape_bytes(chunk.bytes), None);
}

fn push_mail_field(name: String, chunk: Chunk<'_>, declared: Option<&str>, collector: &mut Collector<'_>) {
    if let Some(decoded) = collector.decode(&name, chunk.bytes, declared) {
        let at = chunk.at.zip(decoded.verbatim_from).map(|(at, before)| at.saturating_add(before));
        collector.push(name, decoded.text, at);
    }
}

/// A part that doesn't say that it is text: UTF-8 without control characters is.
fn looks_like_text(bytes: &[u8]) -> bool {
    let is_control = |c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{c}');
    std::str::from_utf8(bytes).is_ok_and(|text| !text.contains(is_control))
}

fn names_a_page(file: &str) -> bool {
    let lower = file.to_ascii_lowercase();
    [".html", ".htm", ".xhtml"].iter().any(|ending| lower.ends_with(ending))
}

/// A content type of several parts.
struct MultipartType {
    /// The boundary between them. Empty if the header names none.
    boundary: Vec<u8>,
    /// The type of each of them without a declaration.
    default: Implied,
}

/// The kind of a part by its headers.
enum PartKind {
    Several(MultipartType),
    Message,
    Leaf,
}

impl PartKind {
    fn of(headers: &MimeHeaders<'_>, default: Implied) -> Self {
        let Some(content_type) = &headers.content_type else {
            return if default == Implied::Message { Self::Message } else { Self::Leaf };
        };
        let subtype = content_type.subtype().unwrap_or_default();
        match content_type.ctype() {
            "multipart" => Self::Several(MultipartType {
                boundary: boundary(content_type),
                default: if subtype == "digest" { Implied::Message } else { Implied::Text },
            }),
            "message" if matches!(subtype, "rfc822" | "global" | "news") => Self::Message,
            _ => Self::Leaf,
        }
    }
}

fn boundary(content_type: &ContentType<'_>) -> Vec<u8> {
    content_type.attribute("boundary").unwrap_or_default().trim_end().as_bytes().to_vec()
}
