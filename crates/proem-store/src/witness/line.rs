//! A line of the witness: canonical JSON with a seal that reaches back to the first line.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};

use proem_engine::effect::ActionVersion;
use proem_engine::effect::key::EffectKey;
use proem_engine::run::Time;
use proem_guard::InstallationKey;
use proem_text::hex;
use proem_text::json::compact;
use serde::{Deserialize, Serialize};

use super::account::WitnessedEffect;

/// The most bytes of a line: an action has 256 signals at most, and each has a claim of 64 digits.
pub(super) const MAX_LINE: usize = 64 << 10;

/// How every line about an effect begins; 64 digits of the action's key follow.
pub(super) const ACTION_FIRST: &str = "{\"action\":\"";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum LineKind {
    /// The first line: whose witness it is, and where it was made.
    Opened,
    /// An effect is about to happen.
    Intent,
    /// The receiver has it.
    Sent,
    /// The receiver refused it.
    Failed,
    /// Nothing was handed over.
    NotSent,
    /// Nobody saw what became of it.
    Unknown,
}

/// A line. The fields are in the order of their names, which is the order of canonical JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WitnessLine {
    /// The key of the action. None in the first line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) action: Option<String>,
    /// When it was written, in milliseconds since 1970.
    pub(super) at: i64,
    /// The hash of the bytes that are about to leave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) bytes: Option<String>,
    /// The action's claims, with its intent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) claims: Vec<String>,
    /// The performer's epoch; 0 in the first line.
    pub(super) epoch: u64,
    /// The seal of the machine and the file, in the first line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) place: Option<String>,
    /// The id of the records.
    pub(super) store: String,
    /// The seal over this line and the seal of the line before.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) sum: String,
    /// The version that taking the action up made; 0 in the first line.
    pub(super) version: u64,
    /// The kind of the line.
    pub(super) what: LineKind,
}

impl WitnessLine {
    /// The first line of a witness of these records, made in this place.
    pub(super) fn opening(owner: &WitnessOwner<'_>, place: String) -> Self {
        Self { place: Some(place), ..Self::without_effect(owner.store, owner.at, LineKind::Opened) }
    }

    /// The line before an effect.
    pub(super) fn intent(store: &str, effect: &WitnessedEffect) -> Self {
        Self {
            action: Some(effect.key.to_string()),
            bytes: effect.bytes.clone(),
            claims: effect.claims.clone(),
            epoch: effect.epoch,
            version: effect.version.0,
            ..Self::without_effect(store, effect.at, LineKind::Intent)
        }
    }

    /// The line behind an effect.
    pub(super) fn outcome(store: &str, effect: EffectPlace, kind: LineKind, at: Time) -> Self {
        let EffectPlace { key, version, epoch } = effect;
        Self { action: Some(key.to_string()), epoch, version: version.0, ..Self::without_effect(store, at, kind) }
    }

    fn without_effect(store: &str, at: Time, what: LineKind) -> Self {
        Self {
            action: None,
            at: at.0,
            bytes: None,
            claims: Vec::new(),
            epoch: 0,
            place: None,
            store: store.to_owned(),
            sum: String::new(),
            version: 0,
            what,
        }
    }

    /// The line with its seal behind a line with the seal `before`, as bytes with their line break.
    pub(super) fn sealed(mut self, key: &InstallationKey, before: &str) -> Result<SealedLine, serde_json::Error> {
        self.sum = chained_seal(key, before, &self.body()?);
        let text = format!("{}\n", compact(&serde_json::to_value(&self)?));
        Ok(SealedLine { text, sum: self.sum })
    }

    /// Whether its seal follows on the seal `before`.
    pub(super) fn follows(&self, key: &InstallationKey, before: &str) -> bool {
        let unsealed = Self { sum: String::new(), ..self.clone() };
        unsealed.body().is_ok_and(|body| chained_seal(key, before, &body) == self.sum)
    }

    fn body(&self) -> Result<String, serde_json::Error> {
        Ok(compact(&serde_json::to_value(self)?))
    }
}

/// Which effect a line is about.
#[derive(Debug, Clone, Copy)]
pub(super) struct EffectPlace {
    pub(super) key: EffectKey,
    pub(super) version: ActionVersion,
    pub(super) epoch: u64,
}

/// The first and the last line of a file of that length. `None` if one of them is none.
pub(super) fn first_and_last(mut file: &File, length: u64) -> io::Result<Option<(WitnessLine, WitnessLine)>> {
    let most = u64::try_from(MAX_LINE).unwrap_or(u64::MAX);
    let mut first = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    BufReader::new(file.take(most)).read_until(b'\n', &mut first)?;
    let mut tail = Vec::new();
    file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
    file.take(most).read_to_end(&mut tail)?;
    let Some(whole) = tail.strip_suffix(b"\n") else { return Ok(None) };
    let last = whole.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let parsed = |text: &[u8]| serde_json::from_slice(text).ok();
    Ok(parsed(&first).zip(parsed(last)))
}

/// A line as it is written.
#[derive(Debug)]
pub(super) struct SealedLine {
    pub(super) text: String,
    pub(super) sum: String,
}

/// 128 bits suffice: nobody without the installation's key can try one out.
fn chained_seal(key: &InstallationKey, before: &str, body: &str) -> String {
    let whole = hex::encode_hex(key.seal("proem witness line", format!("{before}\n{body}").as_bytes()));
    whole.get(..32).map_or(whole.clone(), str::to_owned)
}

/// The outcome of an effect, as its performer saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectOutcome {
    /// The receiver has it.
    Sent,
    /// The receiver refused it for good.
    Failed,
    /// Nothing was handed over.
    NotSent,
    /// Nobody saw what became of it.
    Unknown,
}

impl EffectOutcome {
    pub(super) const fn kind(self) -> LineKind {
        match self {
            Self::Sent => LineKind::Sent,
            Self::Failed => LineKind::Failed,
            Self::NotSent => LineKind::NotSent,
            Self::Unknown => LineKind::Unknown,
        }
    }

    pub(super) const fn of_kind(kind: LineKind) -> Option<Self> {
        match kind {
            LineKind::Sent => Some(Self::Sent),
            LineKind::Failed => Some(Self::Failed),
            LineKind::NotSent => Some(Self::NotSent),
            LineKind::Unknown => Some(Self::Unknown),
            LineKind::Opened | LineKind::Intent => None,
        }
    }

    /// The outcome that the records have as this event.
    pub(super) fn of_event(event: &str) -> Self {
        match event {
            "sent" => Self::Sent,
            "fail" => Self::Failed,
            _ => Self::Unknown,
        }
    }
}

proem_text::word_table! {
    /// The name in the witness and in documents.
    pub EffectOutcome {
        Sent = "sent",
        Failed = "failed",
        NotSent = "not-sent",
        Unknown = "unknown",
    }
}

/// The owner of a witness, and since when.
pub(crate) struct WitnessOwner<'o> {
    /// The records' id.
    pub(crate) store: &'o str,
    /// When it is made.
    pub(crate) at: Time,
}
