//! Reads signals from files, whatever system wrote them. It needs no project.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

use proem_agents::triage::{
    MalformedSignal, NormalisedSignals, ProjectSignal, SignalPlace, SourceAudience, SourceContext,
    charter::ProjectCharter,
    mail::{MailParts, MailText, normalise_mail},
    normalise, normalise_parts,
};
use proem_engine::run::Time;
use proem_guard::Untrusted;
use proem_runtime::readers::{self, DocumentGap, DocumentKind, DocumentLimits, DocumentOptions, UnreadTail};
use proem_text::{Audience, Label, Source};

use crate::error::Error;

/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// How signals are read.
#[derive(Debug, Clone)]
pub struct NormaliseOptions {
    /// The time of the clock.
    pub now: Time,
    /// The mail servers whose word on a sender is believed, by the names that they give themselves.
    pub mail_servers: Vec<String>,
    /// The circles of readers of sources, where that is not the organisation.
    pub audiences: Vec<SourceAudience>,
}

impl NormaliseOptions {
    /// As a project's file has it.
    #[must_use]
    pub fn of_project(charter: &ProjectCharter, now: Time) -> Self {
        Self { now, mail_servers: charter.mail_servers.clone(), audiences: charter.audiences.clone() }
    }

    /// Reads a file; links are followed.
    ///
    /// # Errors
    ///
    /// If there is no file, or it can't be read or is too large. Whatever it holds is no error.
    pub fn read(&self, path: &Path) -> Result<NormalisedSignals, Error> {
        let file = readers::open(path).map_err(|error| Error::outside(error.to_string()))?;
        self.read_named(file, Some(path))
    }

    /// Reads what somebody hands over.
    ///
    /// # Errors
    ///
    /// If it can't be read or is too large.
    pub fn read_stream(&self, from: impl Read) -> Result<NormalisedSignals, Error> {
        self.read_named(from, None)
    }

    /// Opens a file, whose signals come a part at a time; links are followed.
    ///
    /// # Errors
    ///
    /// As [`NormaliseOptions::read`].
    pub fn open(&self, path: &Path) -> Result<SignalFile<'_>, Error> {
        let file = readers::open(path).map_err(|error| Error::outside(error.to_string()))?;
        self.open_named(file, Some(path))
    }

    /// Opens what somebody hands over, whose signals come a part at a time.
    ///
    /// # Errors
    ///
    /// As [`NormaliseOptions::read_stream`].
    pub fn open_stream(&self, from: impl Read) -> Result<SignalFile<'_>, Error> {
        self.open_named(from, None)
    }

    fn read_named(&self, from: impl Read, name: Option<&Path>) -> Result<NormalisedSignals, Error> {
        Ok(match self.open_named(from, name)?.content {
            SignalContent::Read(found) => found,
            SignalContent::Text(text) => normalise(&text, &self.context()),
        })
    }

    fn open_named(&self, from: impl Read, name: Option<&Path>) -> Result<SignalFile<'_>, Error> {
        let mut bytes = Vec::new();
        let read = from.take(MAX_BYTES.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| Error::outside(format!("could not be read: {error}; check its permissions")))?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(Error::outside(format!("is larger than {MAX_BYTES} bytes; split it")));
        }
        let content = if is_mail(name, &bytes) {
            SignalContent::Read(normalise_mail(&mail_parts(&bytes), &self.context()))
        } else {
            String::from_utf8(bytes).map_or_else(
                |error| SignalContent::Read(not_text(error.utf8_error().valid_up_to(), error.as_bytes())),
                SignalContent::Text,
            )
        };
        Ok(SignalFile { content, context: self.context() })
    }

    fn context(&self) -> SourceContext<'_> {
        SourceContext { now: self.now, mail_servers: &self.mail_servers, audiences: &self.audiences }
    }
}

/// A file that was read, and whose signals are not all made yet.
#[derive(Debug)]
pub struct SignalFile<'o> {
    content: SignalContent,
    context: SourceContext<'o>,
}

#[derive(Debug)]
enum SignalContent {
    Text(String),
    Read(NormalisedSignals),
}

impl SignalFile<'_> {
    /// The signals, a part at a time.
    pub fn parts(&mut self) -> impl Iterator<Item = NormalisedSignals> {
        let (read, text) = match &mut self.content {
            SignalContent::Read(found) => (Some(std::mem::take(found)), None),
            SignalContent::Text(text) => (None, Some(text.as_str())),
        };
        read.into_iter().chain(text.map(|text| normalise_parts(text, self.context)).into_iter().flatten())
    }
}

/// Whether a file is a mail: by its headers, or by its name if it doesn't begin as JSON does.
fn is_mail(name: Option<&Path>, bytes: &[u8]) -> bool {
    let start = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    let is_json = matches!(start.first(), Some(b'{' | b'['));
    let named = name.filter(|name| name.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("eml")));
    !is_json && (named.is_some() || readers::recognise(None, bytes) == DocumentKind::Mail)
}

fn mail_parts(bytes: &[u8]) -> MailParts {
    let source = Source::named("mail/part");
    let limits = DocumentLimits { bytes: bytes.len(), ..DocumentLimits::default() };
    let ask = DocumentOptions { kind: Some(DocumentKind::Mail), limits, ..DocumentOptions::default() };
    let ask = DocumentOptions { source: Some(source.clone()), ..ask };
    let document = readers::extract(bytes, UnreadTail::Nothing, &ask);
    let (headers, beyond) = readers::mail_envelope(bytes, source);
    let mut gaps: Vec<String> = document.gaps.iter().map(gap).collect();
    if beyond > 0 {
        gaps.push(format!("{beyond} headers not read, after the limit"));
    }
    MailParts {
        headers: headers.into_iter().map(|(name, text)| MailText { name: name.to_owned(), text }).collect(),
        texts: document.fields.into_iter().map(|field| MailText { name: field.name, text: field.text }).collect(),
        gaps,
    }
}

fn gap(gap: &DocumentGap) -> String {
    let field = if gap.field.is_empty() { "mail" } else { &gap.field };
    format!("{field} {}: {}", gap.reason.as_str(), gap.about)
}

/// A file that is no text is one malformed signal.
fn not_text(valid: usize, bytes: &[u8]) -> NormalisedSignals {
    let label = Label::from_source(Source::named("signal/malformed")).narrowed_to(Audience::Internal);
    let text = String::from_utf8_lossy(bytes).into_owned();
    let malformed = MalformedSignal {
        place: SignalPlace::default(),
        reason: format!("not UTF-8 from byte {valid} on; JSON is"),
        text: Untrusted::new(text, label),
    };
    NormalisedSignals { malformed: vec![malformed], ..NormalisedSignals::default() }
}

/// Tells signals that came before from those that did not.
#[derive(Debug, Default)]
pub struct SeenSignals(BTreeSet<(String, String)>);

impl SeenSignals {
    /// Whether a signal is the first with its id and revision.
    pub fn is_first(&mut self, signal: &ProjectSignal) -> bool {
        self.0.insert((signal.id.clone(), signal.revision.clone()))
    }
}
