//! The result of an adapter, before it has labels, an id and a revision.
//!
//! Bounds: a signal has at most [`MAX_TEXT`] bytes in one text, [`MAX_BYTES`] in all and [`MAX_VALUES`] values, which
//! keeps it within the bounds of a [`LabelTree`]. The excess is cut or left out, with a note. The revision covers all
//! of it.

use proem_engine::run::Time;
use proem_guard::{LabelList, LabelMap, LabelScalar, LabelTree, Untrusted, credential};
use proem_text::{Label, hex, json::compact};
use serde_json::{Map, Value as Json, json};
use sha2::{Digest, Sha256};

use super::{
    date::{self, SignalTime, TimeFault},
    signal::{ProjectSignal, SenderAuthentication, SignalKind, SignalSender, SignalSource},
};

/// The most bytes of one text.
pub(super) const MAX_TEXT: usize = 512 * 1024;
/// The most bytes of all texts and names.
const MAX_BYTES: usize = 2 * 1024 * 1024;
/// The most bytes of a head: ticket, project, summary, sender.
const MAX_HEAD: usize = 4 * 1024;
/// The most values below the fields.
const MAX_VALUES: usize = 32 * 1024;
/// How deep values of a field may be in one another.
const MAX_DEPTH: usize = 24;
/// The longest name of a value.
const MAX_NAME: usize = proem_guard::label_tree::MAX_NAME_BYTES;
/// The most bytes of a kind's name that Proem has no word for.
const MAX_KIND: usize = 64;

/// A signal without labels.
#[derive(Debug)]
pub(super) struct SignalDraft {
    pub(super) source: SignalSource,
    pub(super) kind: DraftKind,
    /// The parts that identify this signal.
    pub(super) identity: Vec<IdPart>,
    /// When, as it was said: a text, or milliseconds since 1970.
    pub(super) time: Option<Json>,
    pub(super) sender: Option<DraftSender>,
    pub(super) ticket: Option<String>,
    pub(super) project: Option<String>,
    pub(super) summary: Option<String>,
    /// By names of ours, each once.
    pub(super) fields: Vec<(&'static str, Json)>,
    pub(super) notes: Vec<String>,
}

/// The event, or the source's name for it.
#[derive(Debug)]
pub(super) enum DraftKind {
    Known(SignalKind),
    Unknown(String),
}

/// One part of an id.
#[derive(Debug)]
pub(super) enum IdPart {
    /// A word of ours.
    Word(&'static str),
    /// The source's word. A short number is kept literally, everything else as a hash: an id holds no text of a
    /// stranger's.
    Said(String),
    /// An id that was made here before, from a line that Proem wrote.
    Whole(String),
}

#[derive(Debug)]
pub(super) struct DraftSender {
    pub(super) account: Option<String>,
    pub(super) address: Option<String>,
    pub(super) name: Option<String>,
    pub(super) authentication: SenderAuthentication,
}

impl SignalDraft {
    pub(super) const fn new(source: SignalSource, kind: DraftKind, identity: Vec<IdPart>) -> Self {
        Self {
            source,
            kind,
            identity,
            time: None,
            sender: None,
            ticket: None,
            project: None,
            summary: None,
            fields: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Adds a field, unless there is nothing in it.
    pub(super) fn field(&mut self, name: &'static str, value: Json) {
        let is_empty = match &value {
            Json::Null => true,
            Json::String(text) => text.is_empty(),
            Json::Array(items) => items.is_empty(),
            Json::Object(fields) => fields.is_empty(),
            _ => false,
        };
        if !is_empty {
            self.fields.push((name, value));
        }
    }

    /// Adds a field that the source names: null says that it was set to nothing. Without a value nothing was said.
    pub(super) fn named_field(&mut self, name: &'static str, value: Option<Json>) {
        match value {
            Some(Json::Null) => self.fields.push((name, Json::Null)),
            Some(value) => self.field(name, value),
            None => {}
        }
    }

    /// The signal. `via` is what its circle, and a file's own label, add to those of the source.
    pub(super) fn finish(mut self, now: Time, via: &Label) -> ProjectSignal {
        let (time, milliseconds) = self.time(now, via);
        let revision = self.revision(&milliseconds);
        let id = self.id();
        let mut building =
            SignalBuilder { source: self.source, via, values: MAX_VALUES, bytes: MAX_BYTES, cut: 0, left_out: 0 };
        let ticket = self.ticket.map(|text| building.head("ticket", text));
        let project = self.project.map(|text| building.head("project", text));
        let summary = self.summary.map(|text| building.head("summary", text));
        let sender = self.sender.map(|sender| SignalSender {
            account: sender.account.map(|text| building.head("sender", text)),
            address: sender.address.map(|text| building.head("sender", text)),
            name: sender.name.map(|text| building.head("sender", text)),
            authentication: sender.authentication,
        });
        let kind = match self.kind {
            DraftKind::Known(kind) => kind,
            DraftKind::Unknown(name) => SignalKind::Unknown(building.outside("type", cut_with_rest(name, MAX_KIND).0)),
        };
        let fields = self.fields.into_iter().filter_map(|(name, value)| {
            let label = building.label(name);
            Some((name, building.tree(value, &label, 0)?))
        });
        let fields: Vec<(&'static str, LabelTree)> = fields.collect();
        for (name, is_unknown) in [
            ("time", time == SignalTime::Missing),
            ("sender", sender.is_none()),
            ("ticket", ticket.is_none() && self.source == SignalSource::Jira),
            ("project", project.is_none() && self.source != SignalSource::Mail && self.source != SignalSource::Outlook),
            ("summary", summary.is_none()),
        ] {
            if is_unknown {
                self.notes.push(format!("{name} unknown"));
            }
        }
        if let SignalTime::Doubtful { fault, .. } = &time {
            self.notes.push(format!("time {}; kept as said", fault.as_str()));
        }
        if building.cut > 0 {
            self.notes.push(format!("bytes cut from the end of long texts: {}", building.cut));
        }
        if building.left_out > 0 {
            self.notes
                .push(format!("values left out, too many, too deep or with too long a name: {}", building.left_out));
        }
        self.notes.sort_unstable();
        self.notes.dedup();
        ProjectSignal {
            source: self.source,
            kind,
            id,
            revision,
            time,
            sender,
            ticket,
            project,
            summary,
            fields: LabelTree::map(fields),
            notes: self.notes,
        }
    }

    /// The time, and what of it the revision is made of.
    fn time(&self, now: Time, via: &Label) -> (SignalTime, Json) {
        let (read, said) = match &self.time {
            None | Some(Json::Null) => return (SignalTime::Missing, Json::Null),
            // A value kept in its original words is a text, even if it was a number.
            Some(Json::String(text)) => {
                (text.parse().ok().map_or_else(|| date::parse_timestamp(text), Ok), text.clone())
            }
            Some(Json::Number(number)) => (number.as_i64().ok_or(TimeFault::Unreadable), number.to_string()),
            Some(other) => (Err(TimeFault::Unreadable), compact(other)),
        };
        let content = read.map_or_else(|_| Json::from(said.as_str()), Json::from);
        let time = read.and_then(|milliseconds| date::believable(milliseconds, now));
        let time = time.map_or_else(
            |fault| {
                let label = self.source.label("time").join(via);
                SignalTime::Doubtful { said: Untrusted::new(cut_with_rest(said, MAX_HEAD).0, label), fault }
            },
            SignalTime::Known,
        );
        (time, content)
    }

    /// The hash of all that the source said, whoever he is said to be authenticated as.
    fn revision(&self, time: &Json) -> String {
        let sender = self.sender.as_ref().map(|sender| json!([sender.account, sender.address, sender.name]));
        let kind = match &self.kind {
            DraftKind::Known(kind) => kind.as_str().to_owned(),
            DraftKind::Unknown(name) => format!("unknown:{name}"),
        };
        let fields: Map<String, Json> =
            self.fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let content = json!({
            "source": self.source.as_str(),
            "type": kind,
            "time": time,
            "sender": sender,
            "ticket": self.ticket,
            "project": self.project,
            "summary": self.summary,
            "fields": fields,
        });
        hex::encode_hex(Sha256::digest(compact(&content)))
    }

    fn id(&self) -> String {
        if let [IdPart::Whole(id)] = self.identity.as_slice() {
            return id.clone();
        }
        let parts = self.identity.iter().map(|part| match part {
            IdPart::Word(word) => (*word).to_owned(),
            IdPart::Said(said) => as_id(said),
            IdPart::Whole(whole) => as_id(whole),
        });
        std::iter::once(self.source.as_str().to_owned()).chain(parts).collect::<Vec<_>>().join(":")
    }
}

/// A short number as it is, all else as the first half of its hash.
fn as_id(said: &str) -> String {
    if (1..=20).contains(&said.len()) && said.bytes().all(|byte| byte.is_ascii_digit()) {
        return said.to_owned();
    }
    let digits = hex::encode_hex(Sha256::digest(said));
    digits.get(..32).unwrap_or_default().to_owned()
}

/// The first bytes of a text, and how many there were beyond them.
fn cut_with_rest(mut text: String, most: usize) -> (String, usize) {
    let all = text.len();
    let kept = credential::uncut_prefix(&text, most).len();
    text.truncate(kept);
    (text, all.saturating_sub(kept))
}

/// Labels what a draft holds, within bounds.
struct SignalBuilder<'l> {
    source: SignalSource,
    via: &'l Label,
    values: usize,
    bytes: usize,
    cut: usize,
    left_out: usize,
}

impl SignalBuilder<'_> {
    fn label(&self, name: &str) -> Label {
        self.source.label(name).join(self.via)
    }

    fn outside(&self, name: &str, text: String) -> Untrusted<String> {
        Untrusted::new(text, self.label(name))
    }

    fn head(&mut self, name: &str, text: String) -> Untrusted<String> {
        let (text, more) = cut_with_rest(text, MAX_HEAD);
        self.cut = self.cut.saturating_add(more);
        self.outside(name, text)
    }

    /// The value with its label. `None` if it is left out.
    fn tree(&mut self, value: Json, label: &Label, depth: usize) -> Option<LabelTree> {
        if self.values == 0 || depth > MAX_DEPTH {
            self.left_out = self.left_out.saturating_add(1);
            return None;
        }
        self.values = self.values.saturating_sub(1);
        let deeper = depth.saturating_add(1);
        let scalar = |scalar| LabelTree::Scalar(Untrusted::new(scalar, label.clone()));
        Some(match value {
            Json::Null => scalar(LabelScalar::Null),
            Json::Bool(value) => scalar(LabelScalar::Bool(value)),
            Json::Number(number) => scalar(LabelScalar::Number(number)),
            Json::String(text) => {
                let (text, more) = cut_with_rest(text, MAX_TEXT.min(self.bytes));
                self.cut = self.cut.saturating_add(more);
                self.bytes = self.bytes.saturating_sub(text.len());
                LabelTree::Outside(Untrusted::new(text, label.clone()))
            }
            Json::Array(items) => {
                let items = items.into_iter().filter_map(|item| self.tree(item, label, deeper));
                LabelTree::List(LabelList::new(label.clone(), items))
            }
            Json::Object(fields) => {
                let fields = fields.into_iter().filter_map(|(name, value)| {
                    if name.len() > MAX_NAME || name.len() > self.bytes {
                        self.left_out = self.left_out.saturating_add(1);
                        return None;
                    }
                    self.bytes = self.bytes.saturating_sub(name.len());
                    Some((name, self.tree(value, label, deeper)?))
                });
                LabelTree::Map(LabelMap::new(label.clone(), fields))
            }
        })
    }
}
