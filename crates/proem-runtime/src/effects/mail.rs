//! The bytes of a mail, made of typed fields.
//!
//! Invariants: the same fields make the same bytes. The bytes are ASCII in lines that end with CRLF and are no longer
//! than [`MAX_LINE`], so that every mail server takes them as they are; what could begin a header or another recipient
//! is refused and never cleaned, since a cleaned text is not what somebody approved.
//!
//! No blind copies are written. Attachments are text, in parts of their own behind the body, with plain names.

mod encoding;
mod envelope;
#[cfg(test)]
mod tests;

use core::fmt;
use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use proem_engine::effect::key::EffectKey;

pub(crate) use envelope::MailEnvelope;

/// The most bytes of a body.
pub const MAX_BODY: usize = 256 * 1024;
/// The most characters of a line of a mail without its end (RFC 5322, 2.1.1).
pub const MAX_LINE: usize = 998;
/// The most recipients of one mail. Servers take at least 100 (RFC 5321, 4.5.3.1.8).
pub const MAX_RECIPIENTS: usize = 100;
/// The most bytes of a subject or a name.
pub const MAX_HEADER_TEXT: usize = 500;
/// The most bytes of an address (RFC 5321, 4.5.3.1.3, without the angle brackets).
pub const MAX_ADDRESS: usize = 254;

/// Characters that end a line or move within it, which a body may have.
const BODY_CONTROLS: &str = "\r\n\t\u{2028}\u{2029}";

/// The most files that go with a mail.
pub const MAX_ATTACHMENTS: usize = 10;
/// The most characters of the name of a file that goes with a mail, so that its header is one line.
pub const MAX_FILE_NAME: usize = 100;

/// An address with the name that is shown for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mailbox {
    /// The name. Empty if there is none.
    pub name: String,
    /// The address: ASCII, one `@`, the domain with at least one dot.
    pub address: String,
}

/// The fields that a mail is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailDraft {
    /// Whom it comes from.
    pub from: Mailbox,
    /// Whom it goes to, in this order.
    pub to: Vec<Mailbox>,
    /// One line, without controls.
    pub subject: String,
    /// Its text.
    pub body: String,
    /// The files that go with it, in this order.
    pub attachments: Vec<MailAttachment>,
    /// When it was written.
    pub date: Timestamp,
}

/// A file that goes with a mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailAttachment {
    /// Its name: ASCII letters, digits, spaces, `.`, `_` and `-`.
    pub name: String,
    /// Its content, in UTF-8.
    pub text: String,
}

/// A part of a mail that is checked by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailField {
    /// The sender's name.
    FromName,
    /// The sender's address.
    From,
    /// A recipient's name.
    ToName,
    /// A recipient's address.
    To,
    /// The line that says what a mail is about.
    Subject,
    /// The text.
    Body,
    /// The name under which an attachment is shown.
    AttachmentName,
    /// The text of an attachment.
    Attachment,
}

impl fmt::Display for MailField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FromName => "the sender's name",
            Self::From => "the sender's address",
            Self::ToName => "a recipient's name",
            Self::To => "a recipient's address",
            Self::Subject => "the subject",
            Self::Body => "the body",
            Self::AttachmentName => "the name of an attachment",
            Self::Attachment => "an attachment",
        })
    }
}

/// Why a mail can't be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MailRefusal {
    /// A character that ends a line, ends a text or steers a reader.
    #[error("{field} contains {found}, which could begin a header of its own; take it out")]
    Injection {
        /// The part of the mail with the forbidden character.
        field: MailField,
        /// The kind found, such as `a line break`.
        found: &'static str,
    },
    /// An address that is none.
    #[error("{field} is not a mail address; write it as `name@domain.example` in ASCII")]
    Address {
        /// Which one.
        field: MailField,
    },
    /// A text that is too long.
    #[error("{field} has more than {most} bytes; shorten it")]
    TooLong {
        /// Which one.
        field: MailField,
        /// The most bytes that it may have.
        most: usize,
    },
    /// A name that leads somewhere else.
    #[error("{field} is a path or hidden; name a file without `/`, `\\` and a leading dot")]
    Path {
        /// Which one.
        field: MailField,
    },
    /// A name that not every reader of mails takes as it is.
    #[error(
        "{field} has more than {MAX_FILE_NAME} characters, or others than ASCII letters, digits, spaces, `.`, `_` and \
         `-`; name the file otherwise"
    )]
    FileName {
        /// Which one.
        field: MailField,
    },
    /// Two files of one name.
    #[error("two attachments have one name; name each otherwise")]
    SameName,
    /// Too many files.
    #[error("the mail has more than {MAX_ATTACHMENTS} attachments; send fewer")]
    TooManyAttachments,
    /// Nobody to send it to.
    #[error("the mail has no recipient; name one")]
    NoRecipient,
    /// Too many to send it to.
    #[error("the mail has more than {MAX_RECIPIENTS} recipients; name fewer")]
    TooManyRecipients,
    /// A domain that a message id can't have.
    #[error("`{domain}` can't stand in a message id; configure the domain that mails come from")]
    Domain {
        /// The part behind the `@`, as it was given.
        domain: String,
    },
    /// A date that mails can't write.
    #[error("the year of the mail's date has not four digits; correct the clock")]
    Date,
    /// Bytes that are no mail of ours.
    #[error("the recorded bytes are not a mail that Proem made; propose the action anew")]
    NotOurs,
}

/// The exact bytes of a mail. Its message id is the action's key at `domain`.
///
/// # Errors
///
/// [`MailRefusal`], which names the field.
pub fn write_mail(draft: &MailDraft, key: &EffectKey, domain: &str) -> Result<Vec<u8>, MailRefusal> {
    let id = key.message_id(domain).ok_or_else(|| MailRefusal::Domain { domain: domain.escape_debug().to_string() })?;
    check_mail(draft)?;
    let date = encoding::mail_date(&draft.date.to_zoned(TimeZone::UTC)).ok_or(MailRefusal::Date)?;
    // Quoted-printable never has these two characters in a row, so that no text ends its part.
    let boundary = format!("=_{}", key.to_string().chars().take(32).collect::<String>());
    let kind = if draft.attachments.is_empty() {
        vec![("Content-Type", TEXT.to_owned()), ("Content-Transfer-Encoding", ENCODING.to_owned())]
    } else {
        vec![("Content-Type", format!("multipart/mixed; boundary=\"{boundary}\""))]
    };
    let mut mail = String::new();
    let recipients = draft.to.iter().map(encoding::mailbox_header).collect::<Vec<_>>().join(",\r\n ");
    for (name, value) in [
        ("Message-ID", id),
        ("Date", date),
        ("From", encoding::mailbox_header(&draft.from)),
        ("To", recipients),
        ("Subject", encoding::unstructured_header("Subject: ".len(), &draft.subject)),
        ("MIME-Version", "1.0".to_owned()),
    ]
    .into_iter()
    .chain(kind)
    {
        mail.push_str(name);
        mail.push_str(": ");
        mail.push_str(&value);
        mail.push_str("\r\n");
    }
    mail.push_str("\r\n");
    if draft.attachments.is_empty() {
        mail.push_str(&encoding::encode_quoted_printable(&draft.body));
        return Ok(mail.into_bytes());
    }
    let body = [(None, &draft.body)];
    let files = draft.attachments.iter().map(|MailAttachment { name, text }| (Some(name), text));
    for (name, text) in body.into_iter().chain(files) {
        mail.push_str(&format!("--{boundary}\r\nContent-Type: {TEXT}\r\nContent-Transfer-Encoding: {ENCODING}\r\n"));
        if let Some(name) = name {
            // Checked to hold nothing that would end the quotes.
            mail.push_str(&format!("Content-Disposition: attachment;\r\n filename=\"{name}\"\r\n"));
        }
        // The end of the line before a boundary belongs to the boundary (RFC 2046, 5.1.1).
        mail.push_str(&format!("\r\n{}\r\n", encoding::encode_quoted_printable(text)));
    }
    mail.push_str(&format!("--{boundary}--\r\n"));
    Ok(mail.into_bytes())
}

/// The type of every part of a mail, and its charset.
const TEXT: &str = "text/plain; charset=utf-8";
const ENCODING: &str = "quoted-printable";

/// Checks the name of a file that goes with a mail.
///
/// # Errors
///
/// [`MailRefusal`] for a name that is a path, is hidden, or could begin a header.
pub fn check_attachment_name(name: &str) -> Result<(), MailRefusal> {
    let field = MailField::AttachmentName;
    check_text(field, name)?;
    let is_path = name.is_empty() || name.starts_with('.') || name.contains(['/', '\\', ':']);
    if is_path {
        return Err(MailRefusal::Path { field });
    }
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" ._-".contains(&byte));
    if is_plain && name.len() <= MAX_FILE_NAME { Ok(()) } else { Err(MailRefusal::FileName { field }) }
}

fn check_mail(draft: &MailDraft) -> Result<(), MailRefusal> {
    check_mailbox(&draft.from, MailField::FromName, MailField::From)?;
    if draft.to.is_empty() {
        return Err(MailRefusal::NoRecipient);
    }
    if draft.to.len() > MAX_RECIPIENTS {
        return Err(MailRefusal::TooManyRecipients);
    }
    for mailbox in &draft.to {
        check_mailbox(mailbox, MailField::ToName, MailField::To)?;
    }
    check_text(MailField::Subject, &draft.subject)?;
    check_body(MailField::Body, &draft.body)?;
    if draft.attachments.len() > MAX_ATTACHMENTS {
        return Err(MailRefusal::TooManyAttachments);
    }
    let mut names = BTreeSet::new();
    for MailAttachment { name, text } in &draft.attachments {
        check_attachment_name(name)?;
        check_body(MailField::Attachment, text)?;
        // Many file systems don't tell capitals apart.
        if !names.insert(name.to_ascii_lowercase()) {
            return Err(MailRefusal::SameName);
        }
    }
    Ok(())
}

fn check_body(field: MailField, text: &str) -> Result<(), MailRefusal> {
    if text.len() > MAX_BODY {
        return Err(MailRefusal::TooLong { field, most: MAX_BODY });
    }
    match text.chars().find_map(|c| if BODY_CONTROLS.contains(c) { None } else { hazard(c) }) {
        Some(found) => Err(MailRefusal::Injection { field, found }),
        None => Ok(()),
    }
}

fn check_mailbox(mailbox: &Mailbox, name: MailField, address: MailField) -> Result<(), MailRefusal> {
    check_text(name, &mailbox.name)?;
    // A control character is named as such before the text is found to be no address.
    check_text(address, &mailbox.address)?;
    if is_address(&mailbox.address) { Ok(()) } else { Err(MailRefusal::Address { field: address }) }
}

fn check_text(field: MailField, text: &str) -> Result<(), MailRefusal> {
    if text.len() > MAX_HEADER_TEXT {
        return Err(MailRefusal::TooLong { field, most: MAX_HEADER_TEXT });
    }
    match text.chars().find_map(hazard) {
        Some(found) => Err(MailRefusal::Injection { field, found }),
        None => Ok(()),
    }
}

/// The hazard of a character that no field may have.
fn hazard(c: char) -> Option<&'static str> {
    match c {
        '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}' => Some("a line break"),
        '\0' => Some("a NUL character"),
        c if c.is_control() => Some("a control character"),
        _ => None,
    }
}

/// Whether it is an address in the form that this room sends to: a dot-atom before the `@`, and a domain of the DNS
/// behind it (RFC 5321, 4.1.2, without quoted strings and address literals).
pub(crate) fn is_address(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let is_atom = |atom: &str| {
        !atom.is_empty() && atom.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&b))
    };
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= MAX_ADDRESS
        && local.len() <= 64
        && local.split('.').all(is_atom)
        && domain.contains('.')
        && domain.split('.').all(is_label)
}
