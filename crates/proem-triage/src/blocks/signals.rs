//! The signals that a call is about.

use proem_engine::run::Time;
use proem_guard::{LabelTree, Untrusted};

use crate::{
    classify::SignalClassification,
    date::{SignalTime, utc_timestamp},
    signal::{ProjectSignal, SignalKind},
};

/// The most bytes of an address that is told.
const MAX_ADDRESS: usize = 254;

/// The subject of one call.
#[derive(Debug, Clone, Copy)]
pub struct PromptBatch<'b> {
    /// Which call of the cycle it is, in words of ours.
    pub id: &'b str,
    /// The signals that the stage judges together, in the order of arrival.
    pub signals: &'b [PromptSignal<'b>],
}

/// A signal as a prompt is told of it. None of its raw texts is among what is told.
#[derive(Debug, Clone, Copy)]
pub struct PromptSignal<'s> {
    /// The signal, of which only id, closed words, time and the sender's address are told.
    pub signal: &'s ProjectSignal,
    /// Its one line, if that went through everything that `content` went through.
    pub summary: Option<&'s Untrusted<String>>,
    /// The name of its sender.
    pub sender: Option<&'s Untrusted<String>>,
    /// The readable part of its texts.
    pub content: &'s Untrusted<String>,
    /// The name of its ticket, unless that is kept out.
    pub ticket: Option<&'s Untrusted<String>>,
    /// Whether what may be read is suspected: it is told with a mark at each word.
    pub is_flagged: bool,
    /// The suspicion, in words of ours.
    pub suspicion: Option<&'s str>,
    /// Its classification so far. The words in it are treated as text from outside.
    pub classification: Option<&'s SignalClassification>,
    /// Why it needs more than a classification, in words of ours.
    pub why: Option<&'s str>,
}

/// How much is told of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignalDepth {
    /// The signal as it came in.
    Bare,
    /// The signal with its classification.
    Classified,
}

impl PromptBatch<'_> {
    pub(super) fn head(&self, now: Time) -> LabelTree {
        LabelTree::from([
            ("batch_id", self.id.into()),
            ("timestamp", utc_timestamp(now).into()),
            ("signal_count", LabelTree::from(u64::try_from(self.signals.len()).unwrap_or(u64::MAX))),
        ])
    }

    pub(super) fn signals(&self, depth: SignalDepth) -> LabelTree {
        let of = u64::try_from(self.signals.len()).unwrap_or(u64::MAX);
        LabelTree::list((1_u64..).zip(self.signals).map(|(number, signal)| signal.tree([number, of], depth)))
    }
}

impl PromptSignal<'_> {
    /// The block of a signal, numbered as the first of this pair out of the second.
    fn tree(&self, [number, of]: [u64; 2], depth: SignalDepth) -> LabelTree {
        let signal = self.signal;
        let kind = match &signal.kind {
            SignalKind::Unknown(name) => self.text(name),
            kind => kind.as_str().into(),
        };
        let time = match &signal.time {
            SignalTime::Known(time) => utc_timestamp(*time),
            SignalTime::Doubtful { .. } | SignalTime::Missing => "unknown".to_owned(),
        };
        let mut told = vec![
            ("number", LabelTree::from(number)),
            ("of", LabelTree::from(of)),
            ("signal_id", signal.id.as_str().into()),
            ("source", signal.source.as_str().into()),
            ("source_type", kind),
            ("timestamp", time.into()),
            ("content", self.text(self.content)),
        ];
        let texts = [("summary", self.summary), ("related_ticket", self.ticket)];
        told.extend(texts.into_iter().filter_map(|(name, text)| Some((name, self.text(text?)))));
        told.extend(self.sender().map(|sender| ("sender", sender)));
        told.extend(self.suspicion.map(|suspicion| ("suspicion", suspicion.into())));
        if depth == SignalDepth::Classified {
            told.extend(self.classification.map(|known| ("classification", classification(known).into())));
            told.extend(self.why.map(|why| ("why", why.into())));
        }
        LabelTree::map(told)
    }

    fn text(&self, text: &Untrusted<String>) -> LabelTree {
        if self.is_flagged { LabelTree::Flagged(text.clone()) } else { LabelTree::Outside(text.clone()) }
    }

    /// The sender's name and address. Anybody may choose an address, so one that could be a sentence is not told.
    fn sender(&self) -> Option<LabelTree> {
        let address = self.signal.sender.as_ref().and_then(|sender| sender.address.as_ref());
        let is_plain = |text: &str| {
            text.len() <= MAX_ADDRESS
                && text.matches('@').count() == 1
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"@.-_+".contains(&byte))
        };
        match (self.sender, address) {
            (_, Some(address)) if !address.measure(|text| is_plain(text)) => Some("(withheld)".into()),
            (Some(name), Some(address)) => Some(self.text(&Untrusted::join(&[name, address], ", ").0)),
            (Some(only), None) | (None, Some(only)) => Some(self.text(only)),
            (None, None) => None,
        }
    }
}

/// A classification in closed words and its reason.
fn classification(known: &SignalClassification) -> String {
    let answer = &known.answer;
    let basis = if known.is_degraded { ", by rules alone" } else { "" };
    format!(
        "{} {}, recommended {}{basis}",
        answer.importance.as_str(),
        answer.category.as_str(),
        answer.recommended_action.as_str()
    )
}
