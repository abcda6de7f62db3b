//! Reads signals from files, whatever system wrote them. It needs no project.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use proem_engine::run::Time;
use proem_guard::Untrusted;
use proem_runtime::readers::{self, DocumentGap, DocumentKind, DocumentLimits, DocumentOptions, UnreadTail};
use proem_text::{Audience, Label, Source};
use proem_triage::{
    LINES_TOGETHER, MalformedSignal, NormalisedSignals, ProjectSignal, SignalPlace, SourceAudience, SourceContext,
    charter::ProjectCharter,
    mail::{MailParts, MailText, normalise_mail},
    normalise_parts,
};

use super::time_limit::{NORMALISE, Taken, in_time, late_reason};
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

    /// Reads a file. Links are followed.
    ///
    /// # Errors
    ///
    /// If there is no file, or it is unreadable or is too large. The contents are never an error.
    pub fn read(&self, path: &Path) -> Result<NormalisedSignals, Error> {
        let file = readers::open_document(path).map_err(|error| Error::outside(error.to_string()))?;
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

    /// Opens a file, whose signals come a part at a time. Links are followed.
    ///
    /// # Errors
    ///
    /// As [`NormaliseOptions::read`].
    pub fn open(&self, path: &Path) -> Result<SignalFile<'_>, Error> {
        let file = readers::open_document(path).map_err(|error| Error::outside(error.to_string()))?;
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
        let mut all = NormalisedSignals::default();
        for part in self.open_named(from, name)?.parts()? {
            all.signals.extend(part.signals);
            all.malformed.extend(part.malformed);
            (all.end, all.search) = (part.end, part.search);
        }
        Ok(all)
    }

    fn open_named(&self, from: impl Read, name: Option<&Path>) -> Result<SignalFile<'_>, Error> {
        let mut bytes = Vec::new();
        let read = from.take(MAX_BYTES.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| Error::outside(format!("could not be read: {error}; check its permissions")))?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(Error::outside(format!("is larger than {MAX_BYTES} bytes; split it")));
        }
        let content = if is_mail(name, &bytes) {
            SignalContent::Read(self.mail(bytes)?)
        } else {
            String::from_utf8(bytes).map_or_else(
                |error| SignalContent::Read(not_text(error.utf8_error().valid_up_to(), error.as_bytes())),
                |text| SignalContent::Text(text.into()),
            )
        };
        Ok(SignalFile { content, options: self })
    }

    /// A mail, which may have been written to be slow.
    fn mail(&self, bytes: Vec<u8>) -> Result<NormalisedSignals, Error> {
        let (bytes, options) = (Arc::new(bytes), self.clone());
        let read = {
            let bytes = Arc::clone(&bytes);
            move |give: &dyn Fn(NormalisedSignals) -> Taken| {
                give(normalise_mail(&mail_parts(&bytes), &options.context()));
            }
        };
        let found = in_time(NORMALISE, read)?.next().flatten();
        Ok(found.unwrap_or_else(|| late(SignalPlace::default(), String::from_utf8_lossy(&bytes).into_owned())))
    }

    fn context(&self) -> SourceContext<'_> {
        SourceContext { now: self.now, mail_servers: &self.mail_servers, audiences: &self.audiences }
    }
}

/// A file that was read, and whose signals are not all made yet.
#[derive(Debug)]
pub struct SignalFile<'o> {
    content: SignalContent,
    options: &'o NormaliseOptions,
}

#[derive(Debug)]
enum SignalContent {
    Text(Arc<str>),
    Read(NormalisedSignals),
}

impl SignalFile<'_> {
    /// The signals, a part at a time. If a part takes longer than it may, the rest of the file is malformed.
    ///
    /// # Errors
    ///
    /// If no thread can be started to read them.
    pub fn parts(&mut self) -> Result<impl Iterator<Item = NormalisedSignals>, Error> {
        let (read, text) = match &mut self.content {
            SignalContent::Read(found) => (Some(std::mem::take(found)), None),
            SignalContent::Text(text) => (None, Some(parts_in_time(text, self.options, NORMALISE)?)),
        };
        Ok(read.into_iter().chain(text.into_iter().flatten()))
    }
}

fn parts_in_time(
    text: &Arc<str>,
    options: &NormaliseOptions,
    limit: Duration,
) -> Result<impl Iterator<Item = NormalisedSignals> + use<>, Error> {
    let (whole, options) = (Arc::clone(text), options.clone());
    let read = move |give: &dyn Fn(NormalisedSignals) -> Taken| {
        _ = normalise_parts(&whole, options.context()).map(give).find(|taken| *taken == Taken::ByNobody);
    };
    let (text, mut lines) = (Arc::clone(text), 0_usize);
    Ok(in_time(limit, read)?.map(move |part| {
        part.inspect(|_| lines = lines.saturating_add(LINES_TOGETHER)).unwrap_or_else(|| {
            let place = SignalPlace { line: (lines > 0).then_some(lines.saturating_add(1)), item: None };
            late(place, text.split_inclusive('\n').skip(lines).collect())
        })
    }))
}

/// The parts that could not be read in time, for a person to look at.
fn late(place: SignalPlace, text: String) -> NormalisedSignals {
    malformed_text(place, late_reason(NORMALISE), text)
}

/// Whether a file is a mail: by its headers, or by its name if it doesn't begin as JSON does.
fn is_mail(name: Option<&Path>, bytes: &[u8]) -> bool {
    let start = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    let is_json = matches!(start.first(), Some(b'{' | b'['));
    let named = name.filter(|name| name.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("eml")));
    !is_json && (named.is_some() || readers::recognise_document(None, bytes) == DocumentKind::Mail)
}

fn mail_parts(bytes: &[u8]) -> MailParts {
    let source = Source::named("mail/part");
    let limits = DocumentLimits { bytes: bytes.len(), ..DocumentLimits::default() };
    let ask = DocumentOptions { kind: Some(DocumentKind::Mail), limits, ..DocumentOptions::default() };
    let ask = DocumentOptions { source: Some(source.clone()), ..ask };
    let document = readers::extract(bytes, UnreadTail::Nothing, &ask);
    let (headers, beyond) = readers::mail_envelope(bytes, source);
    let mut gaps: Vec<String> = document.gaps.iter().map(document_gap_line).collect();
    if beyond > 0 {
        gaps.push(format!("{beyond} headers not read, after the limit"));
    }
    MailParts {
        headers: headers.into_iter().map(|(name, text)| MailText { name: name.to_owned(), text }).collect(),
        texts: document.fields.into_iter().map(|field| MailText { name: field.name, text: field.text }).collect(),
        gaps,
    }
}

fn document_gap_line(gap: &DocumentGap) -> String {
    let field = if gap.field.is_empty() { "mail" } else { &gap.field };
    format!("{field} {}: {}", gap.reason.as_str(), gap.about)
}

/// A file that is no text is one malformed signal.
fn not_text(valid: usize, bytes: &[u8]) -> NormalisedSignals {
    let reason = format!("not UTF-8 from byte {valid} on; JSON is");
    malformed_text(SignalPlace::default(), reason, String::from_utf8_lossy(bytes).into_owned())
}

fn malformed_text(place: SignalPlace, reason: String, text: String) -> NormalisedSignals {
    let label = Label::from_source(Source::named("signal/malformed")).narrowed_to(Audience::Internal);
    let malformed = MalformedSignal { place, reason, text: Untrusted::new(text, label) };
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

#[cfg(test)]
mod tests {
    use super::*;
    use proem_triage::SenderAuthentication::{self, DmarcAligned, DmarcUnknown, Unverified};

    const OURS: &str = "Authentication-Results: mx.corp.example; dmarc=pass header.from=corp.example\r\n";
    const FROM: &str = "From: Ann <ann@corp.example>\r\n";

    #[track_caller]
    fn check(headers: &[&str], expected: impl Into<Option<SenderAuthentication>>) {
        let mail = format!("{}Date: Thu, 09 Oct 2025 10:53:20 +0200\r\n\r\nWe ship.\r\n", headers.concat());
        let options = NormaliseOptions {
            now: Time(1_760_000_000_000),
            mail_servers: vec!["mx.corp.example".to_owned()],
            audiences: Vec::new(),
        };
        let found = options.read_stream(mail.as_bytes()).unwrap();
        let sender = found.signals.first().and_then(|signal| signal.sender.as_ref());
        assert_eq!(sender.map(|sender| sender.authentication), expected.into(), "{mail}");
    }

    #[test]
    fn a_header_with_a_blank_before_its_colon_authenticates_nobody() {
        check(&[OURS, FROM], DmarcAligned);
        for blank in [" ", "\t", "  ", " \t "] {
            let forged = OURS.replacen(':', &format!("{blank}:"), 1);
            check(&[&forged, FROM], Unverified);
            check(&[&forged, OURS, FROM], Unverified);
            check(&[OURS, &forged, FROM], DmarcAligned);
            // The same name is read in the same way: this is a second sender.
            check(&[OURS, FROM, &format!("From{blank}: eve@evil.example\r\n")], DmarcUnknown);
        }
        // A line without a name ends the headers, and with them whoever is named below it.
        for broken in ["\r\n :", "\u{b}:", "\u{a0}:"] {
            check(&[&OURS.replacen(':', broken, 1), FROM], None);
        }
    }

    #[test]
    fn only_the_topmost_header_of_a_mail_authenticates() {
        let others = "Authentication-Results: mail.evil.example; spf=pass\r\n";
        check(&[others, OURS, FROM], Unverified);
        check(&[OURS, others, FROM], DmarcAligned);
        check(&["Received: by mx.corp.example\r\n", OURS, FROM, others], DmarcAligned);
        check(&["Authentication-Results: mx.corp.example; none\r\n", OURS, FROM], DmarcUnknown);
        check(&["ARC-", OURS, FROM], Unverified);
        check(&["X-Note: a\r", OURS, FROM], Unverified);
        check(
            &[
                "Authentication-Results: mx.corp.example;\r\n dmarc=pass\r\n\t(all good)\r\n header.from=corp.example\r\n",
                FROM,
            ],
            DmarcAligned,
        );
        check(
            &["Authentication-Results: mx.corp.example; dmarc=pa\rss header.from=corp.example\r\n", FROM],
            Unverified,
        );
    }

    #[test]
    fn a_mail_with_two_senders_has_none() {
        check(&[OURS, FROM, "From: eve@evil.example\r\n"], DmarcUnknown);
        check(&[OURS, "FROM: ann@corp.example, eve@evil.example\r\n"], DmarcUnknown);
        check(&[OURS, "From: =?utf-8?q?ann=40corp.example?= <eve@evil.example>\r\n"], DmarcUnknown);
        check(&[OURS, "From: ann@=?utf-8?q?corp.example?=\r\n"], DmarcUnknown);
        // As many other headers as are read are between them.
        let many = "References: <1@corp.example>\r\n".repeat(70);
        check(&[OURS, FROM, &many, "From: eve@evil.example\r\n"], DmarcUnknown);
        check(&[&many, OURS, FROM], DmarcAligned);
    }
}
