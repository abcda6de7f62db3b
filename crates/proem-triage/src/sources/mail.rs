//! Mails, as somebody who may read files took them apart.
//!
//! Sources: RFC 5322 (headers), RFC 8601 (`Authentication-Results`), RFC 7489 (DMARC).

use proem_guard::{Untrusted, show};
use serde_json::{Map, Value as Json};

use super::{MalformedSignal, NormalisedSignals, SignalPlace, SourceContext, authentication::authentication};
use crate::{
    draft::{DraftKind, DraftSender, IdPart, SignalDraft},
    signal::{SenderAuthentication, SignalKind, SignalSource},
};

/// The most gaps that are told one by one.
const MOST_GAPS: usize = 20;

/// A mail, taken apart.
#[derive(Debug, Default)]
pub struct MailParts {
    /// Its headers as they are there, the topmost first, each on one line: `message-id`, `date`, `from`, `in-reply-to`,
    /// `references`, `x-unsent`, `authentication-results`.
    pub headers: Vec<MailText>,
    /// The texts for a person, decoded: `subject`, `to`, `body[0]`, `attachment[0] name`.
    pub texts: Vec<MailText>,
    /// The unread parts, in words of ours.
    pub gaps: Vec<String>,
}

/// A text of a mail with its name, which is ours.
#[derive(Debug)]
pub struct MailText {
    /// Its place.
    pub name: String,
    /// The text there.
    pub text: Untrusted<String>,
}

/// Reads a mail. A text without sender, date and message id is none.
#[must_use]
pub fn normalise_mail(mail: &MailParts, context: &SourceContext<'_>) -> NormalisedSignals {
    let mut all = NormalisedSignals::default();
    if ["from", "date", "message-id"].into_iter().any(|name| mail.header(name).is_some()) {
        let draft = mail_draft(mail, context);
        let label = super::audience::audience_label(&draft, context.audiences);
        all.signals.push(draft.finish(context.now, &label));
    } else {
        let texts: Vec<&Untrusted<String>> = mail.texts.iter().map(|part| &part.text).collect();
        let reason = "no mail: it has neither `From`, `Date` nor `Message-ID`".to_owned();
        let text = Untrusted::join(&texts, "\n").0;
        all.malformed.push(MalformedSignal { place: SignalPlace::default(), reason, text });
    }
    all
}

impl MailParts {
    fn headers<'m>(&'m self, name: &'m str) -> impl Iterator<Item = String> + 'm {
        self.headers.iter().filter(move |header| header.name == name).map(|header| mail_text(&header.text))
    }

    /// A header, if it is there. The first of several.
    fn header(&self, name: &str) -> Option<String> {
        self.headers(name).next().filter(|value| !value.is_empty())
    }
}

fn mail_text(text: &Untrusted<String>) -> String {
    match show::exact_json(text) {
        Json::String(text) => text,
        _ => String::new(),
    }
}

fn mail_draft(mail: &MailParts, context: &SourceContext<'_>) -> SignalDraft {
    let from: Vec<String> = mail.headers("from").collect();
    let address = match from.as_slice() {
        [one] => single_address(one),
        _ => None,
    };
    let results: Vec<String> = mail.headers("authentication-results").collect();
    let results: Vec<&str> = results.iter().map(String::as_str).collect();
    let authentication = authentication(&results, context.mail_servers, address.as_deref());
    // Outlook writes this header into a mail that it saved and nobody sent.
    let is_draft = mail.header("x-unsent").is_some_and(|value| value.trim() == "1");
    let kind =
        if is_draft { DraftKind::Unknown("draft".to_owned()) } else { DraftKind::Known(SignalKind::EmailReceived) };
    let mut draft = SignalDraft::new(SignalSource::Mail, kind, Vec::new());
    draft.time = mail.header("date").map(Json::from);
    let mut texts = sort_mail_parts(mail, &mut draft);
    draft.summary = texts.remove("subject").and_then(|text| text.as_str().map(str::to_owned));
    let name = texts.remove("from").and_then(|text| text.as_str().map(display_name));
    if let Some(name) = name.filter(|_| !from.is_empty()) {
        let name = Some(name).filter(|name| !name.is_empty());
        if address.is_none() {
            draft.notes.push("sender's address unknown: not one `From` with one address".to_owned());
        }
        draft.sender = Some(DraftSender { account: None, address: address.clone(), name, authentication });
    }
    draft.identity = mail_identity(mail, address.as_deref(), authentication);
    for (name, ours) in [("to", "to"), ("cc", "cc"), ("bcc", "bcc"), ("reply-to", "reply_to")] {
        draft.field(ours, texts.remove(name).unwrap_or_default());
    }
    draft.field("message_id", mail.header("message-id").map_or(Json::Null, Json::from));
    for (name, ours) in [("in-reply-to", "in_reply_to"), ("references", "references")] {
        draft.field(ours, mail.header(name).map_or(Json::Null, Json::from));
    }
    draft.field("authentication_results", results.into_iter().map(Json::from).collect());
    draft.field("other", Json::Object(texts));
    draft.notes.extend(mail.gaps.iter().take(MOST_GAPS).cloned());
    let untold = mail.gaps.len().saturating_sub(MOST_GAPS);
    if untold > 0 {
        draft.notes.push(format!("{untold} more gaps"));
    }
    draft
}

/// The contents of bodies, attachments and mails within the mail go into the draft. The rest comes back by name.
fn sort_mail_parts(mail: &MailParts, draft: &mut SignalDraft) -> Map<String, Json> {
    let (mut rest, mut bodies, mut attachments, mut inner) = (Map::new(), Map::new(), Map::new(), Map::new());
    for MailText { name, text } in &mail.texts {
        let group = if name.starts_with("body[") {
            &mut bodies
        } else if name.starts_with("attachment[") {
            &mut attachments
        } else if name.starts_with("message[") {
            &mut inner
        } else {
            &mut rest
        };
        let text = mail_text(text);
        match group.get_mut(name.as_str()) {
            // A header that is there twice.
            Some(Json::String(before)) => {
                before.push('\n');
                before.push_str(&text);
            }
            _ => _ = group.insert(name.clone(), Json::from(text)),
        }
    }
    if bodies.is_empty() {
        draft.notes.push("body unknown: the mail has no text".to_owned());
    }
    draft.field("body", bodies.remove("body[0]").unwrap_or_default());
    draft.field("bodies", Json::Object(bodies));
    draft.field("attachments", Json::Object(attachments));
    draft.field("forwarded", Json::Object(inner));
    rest
}

/// A mail is told by its message id and its sender's address, and by whether that was proven: nobody who only claims
/// an address makes a revision of a mail that came from it.
fn mail_identity(mail: &MailParts, address: Option<&str>, authentication: SenderAuthentication) -> Vec<IdPart> {
    let is_proven = authentication == SenderAuthentication::DmarcAligned;
    let said = match mail.header("message-id") {
        Some(id) => format!("{id}\n{}", address.unwrap_or_default().to_ascii_lowercase()),
        None => mail.headers.iter().chain(&mail.texts).map(|part| mail_text(&part.text)).collect::<Vec<_>>().join("\n"),
    };
    // A line break makes it no number.
    let word = if is_proven { "aligned" } else { "unproven" };
    vec![IdPart::Word("message"), IdPart::Word(word), IdPart::Said(format!("{said}\n"))]
}

/// The address of a `From` that has one: what is in the angle brackets, or all of it. Quoted texts and comments are
/// names and can hold anything.
fn single_address(from: &str) -> Option<String> {
    let (mut plain, mut quoted, mut comments, mut escaped) = (String::new(), false, 0_usize, false);
    for c in from.chars() {
        match c {
            _ if std::mem::take(&mut escaped) => {}
            '\\' if quoted || comments > 0 => escaped = true,
            '"' if comments == 0 => quoted = !quoted,
            '(' if !quoted => comments = comments.saturating_add(1),
            ')' if !quoted => comments = comments.saturating_sub(1),
            c if !quoted && comments == 0 => plain.push(c),
            _ => {}
        }
    }
    if quoted || comments > 0 {
        return None;
    }
    let address = match (plain.split_once('<'), plain.matches(['<', '>', ',', ';']).count()) {
        (None, 0) => plain.trim(),
        (Some((_, rest)), 2) => rest.trim_end().strip_suffix('>')?.trim(),
        _ => return None,
    };
    let (local, domain) = address.rsplit_once('@')?;
    // A colon begins the members of a group (RFC 5322, section 3.4).
    let is_plain = !local.is_empty() && !domain.is_empty() && !address.contains([':', '\\']);
    let is_plain = is_plain && !address.contains(char::is_whitespace);
    (is_plain && address.matches('@').count() == 1).then(|| address.to_owned())
}

/// The text before the address, without quotes.
fn display_name(from: &str) -> String {
    from.rsplit_once('<').map_or("", |(name, _)| name).trim().trim_matches('"').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_or_none() {
        for (from, expected) in [
            ("ann@corp.example", Some("ann@corp.example")),
            (" Ann <ann@corp.example> ", Some("ann@corp.example")),
            ("\"ceo@corp.example <ceo@corp.example>\" <x@evil.example>", Some("x@evil.example")),
            ("=?utf-8?q?ceo=40corp.example?= <x@evil.example>", Some("x@evil.example")),
            ("ann@corp.example (ceo@corp.example)", Some("ann@corp.example")),
            ("<ceo@corp.example> <x@evil.example>", None),
            ("ceo@corp.example, x@evil.example", None),
            ("ceo@corp.example <x@evil.example", None),
            ("<x@evil.example> ceo@corp.example", None),
            ("ann@corp@evil.example", None),
            ("\"open <x@evil.example>", None),
            ("Team:ann@corp.example", None),
            ("Team: Ann <ann@corp.example>, x@evil.example;", None),
            ("ann@corp(.evil).example", Some("ann@corp.example")),
            ("Ann", None),
            ("@corp.example", None),
            ("", None),
        ] {
            assert_eq!(single_address(from).as_deref(), expected, "{from}");
        }
    }

    #[test]
    fn a_name_is_what_stands_before() {
        for (from, expected) in
            [("\"Ann B\" <a@b.example>", "Ann B"), ("a@b.example", ""), ("A <b> <a@b.example>", "A <b>")]
        {
            assert_eq!(display_name(from), expected, "{from}");
        }
    }
}
