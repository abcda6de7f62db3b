//! Pictures and files that a request brings beside its text.
//!
//! Invariants: a file's type is read off its first bytes, never off its name or what somebody declares. A header is
//! read in bounded steps and never decoded further. Nothing is fetched. A file without readable dimensions counts as
//! much as the model's provider charges at most.

mod header;
mod rules;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

pub use self::rules::{ImageTokens, MediaRules, MediaSupport};

/// The types of files that providers take as parts of a message:
/// <https://platform.claude.com/docs/en/build-with-claude/vision>,
/// <https://developers.openai.com/api/docs/guides/images-vision>.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MediaKind {
    /// A picture without loss.
    #[serde(rename = "image/png")]
    Png,
    /// A photograph, most often.
    #[serde(rename = "image/jpeg")]
    Jpeg,
    /// A picture of few colours. Of an animation providers see the first frame.
    #[serde(rename = "image/gif")]
    Gif,
    /// A picture with or without loss.
    #[serde(rename = "image/webp")]
    Webp,
    /// A document, which providers read page by page.
    #[serde(rename = "application/pdf")]
    Pdf,
}

proem_text::word_table! {
    /// Its MIME type.
    pub MediaKind {
        Png = "image/png",
        Jpeg = "image/jpeg",
        Gif = "image/gif",
        Webp = "image/webp",
        Pdf = "application/pdf",
    }
}

impl MediaKind {
    /// The types in words, for messages.
    pub const SUPPORTED: &'static str = "PNG, JPEG, GIF, WebP and PDF are";

    /// The type that a MIME type names.
    #[must_use]
    pub fn of_type(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(name))
    }

    /// Whether it is a picture.
    #[must_use]
    pub const fn is_image(self) -> bool {
        !matches!(self, Self::Pdf)
    }
}

/// A file's own facts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MediaFacts {
    /// Its type, by its first bytes.
    #[serde(rename = "type")]
    pub kind: MediaKind,
    /// Its length in bytes.
    pub bytes: usize,
    /// Its width in pixels. Absent of a document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
    /// Its height in pixels. Absent of a document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub height: Option<u32>,
    /// The pages of a document, where it lists them uncompressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<u32>,
    /// SHA-256 of its bytes, hexadecimal.
    pub hash: String,
}

/// Why bytes are no file that can be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaFault {
    /// There are none.
    Empty,
    /// It is a text, such as SVG.
    Text,
    /// It is of no type that providers take.
    Unknown,
    /// Its header ends before it says how large the picture is, or says that it is empty.
    Broken(MediaKind),
}

impl MediaFault {
    /// The fault in words, behind the file's name.
    #[must_use]
    pub fn in_words(self) -> String {
        match self {
            Self::Empty => "is empty".to_owned(),
            Self::Text => "is a text and no picture; SVG and other texts are sent as text".to_owned(),
            Self::Unknown => format!("is of no known type; {} supported", MediaKind::SUPPORTED),
            Self::Broken(kind) => {
                format!("begins like {} and has no readable header; it may be cut off", kind.as_str())
            }
        }
    }
}

impl MediaFacts {
    /// The most bytes that any listed provider takes of a file:
    /// <https://developers.openai.com/api/docs/guides/pdf-files> (50 MB a request).
    pub const MAX_BYTES: usize = 50 * 1024 * 1024;

    /// Looks at a file's first bytes.
    ///
    /// # Errors
    ///
    /// [`MediaFault`] if they are no file that can be sent.
    pub fn of(bytes: &[u8]) -> Result<Self, MediaFault> {
        let kind = header::kind_of(bytes)?;
        let facts = |width, height, pages| Self {
            kind,
            bytes: bytes.len(),
            width,
            height,
            pages,
            hash: proem_text::hex::encode_hex(Sha256::digest(bytes)),
        };
        if kind == MediaKind::Pdf {
            return Ok(facts(None, None, header::count_pages(bytes)));
        }
        let (width, height) = header::dimensions(kind, bytes).ok_or(MediaFault::Broken(kind))?;
        Ok(facts(Some(width), Some(height), None))
    }

    /// It in a few words: `image/png, 1,024 × 768, 34,567 bytes`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let size = match (self.width, self.height, self.pages) {
            (Some(width), Some(height), _) => format!(", {width} × {height}"),
            (.., Some(1)) => ", 1 page".to_owned(),
            (.., Some(pages)) => format!(", {pages} pages"),
            _ => String::new(),
        };
        format!("{}{size}, {} bytes", self.kind.as_str(), self.bytes)
    }
}

/// A file as an address that holds it: `data:image/png;base64,…`.
///
/// # Errors
///
/// [`MediaFault`] if the bytes are no file that can be sent.
pub fn data_address(bytes: &[u8]) -> Result<String, MediaFault> {
    let kind = MediaFacts::of(bytes)?.kind;
    Ok(format!("data:{};base64,{}", kind.as_str(), STANDARD.encode(bytes)))
}

/// The place of a request's file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "at", rename_all = "kebab-case")]
pub enum MediaSource {
    /// In the request: the section's text is its bytes in Base64.
    Inline(MediaFacts),
    /// The provider fetches it: the section's text is its `https:` address, which somebody vouched for.
    Remote {
        /// The type that the prompt file declares. A picture if it declares none.
        kind: Option<MediaKind>,
    },
}

impl MediaSource {
    /// Whether it is a picture, as far as that is known.
    #[must_use]
    pub fn is_image(&self) -> bool {
        match self {
            Self::Inline(facts) => facts.kind.is_image(),
            Self::Remote { kind } => kind.is_none_or(MediaKind::is_image),
        }
    }
}

/// A file that was found at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundMedia {
    pub(crate) source: MediaSource,
    /// The text in the request: Base64, or the address.
    pub(crate) text: String,
}

/// The author of a file's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AddressAuthor {
    /// We did, or somebody vouched for it.
    Trusted,
    /// Somebody outside.
    Outside,
}

/// Reads the address of a file. Nothing is fetched.
///
/// # Errors
///
/// In words without what the address says, since that may be from outside.
pub(crate) fn find_media(
    address: &str,
    author: AddressAuthor,
    declared: Option<MediaKind>,
) -> Result<FoundMedia, String> {
    if let Some(rest) = strip_scheme(address, "data:") {
        let (head, text) = rest.split_once(',').ok_or("has no comma before its data")?;
        if !head.to_ascii_lowercase().ends_with(";base64") {
            return Err("is not in Base64; write data:image/png;base64,…".to_owned());
        }
        let bytes = STANDARD.decode(text).map_err(|_| "is not well-formed Base64")?;
        let facts = MediaFacts::of(&bytes).map_err(MediaFault::in_words)?;
        return Ok(FoundMedia { source: MediaSource::Inline(facts), text: text.to_owned() });
    }
    if strip_scheme(address, "https://").is_some_and(|rest| !rest.is_empty()) {
        if author == AddressAuthor::Outside {
            return Err(
                "is a web address from outside, which a provider would fetch; give the file itself, or declare \
                        the input trusted"
                    .to_owned(),
            );
        }
        if address.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err("is no web address: it has spaces".to_owned());
        }
        return Ok(FoundMedia { source: MediaSource::Remote { kind: declared }, text: address.to_owned() });
    }
    Err("is neither a file's data nor an https address; give a file with `--file NAME=FILE`, or data:image/png;base64,…"
        .to_owned())
}

fn strip_scheme<'a>(address: &'a str, scheme: &str) -> Option<&'a str> {
    let (head, rest) = address.split_at_checked(scheme.len())?;
    head.eq_ignore_ascii_case(scheme).then_some(rest)
}

#[cfg(test)]
mod tests;
