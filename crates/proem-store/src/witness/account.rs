//! Everything that a witness says, read from its first line to its last.
//!
//! Reading takes time and memory in proportion to the file: one pass, one line of at most [`MAX_LINE`] bytes at a time.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};

use proem_engine::effect::ActionVersion;
use proem_engine::effect::key::EffectKey;
use proem_engine::run::Time;
use proem_guard::InstallationKey;

use super::line::{ACTION_FIRST, EffectOutcome, EffectPlace, LineKind, MAX_LINE, WitnessLine};
use crate::record::digest_of;

/// An effect as the witness has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WitnessedEffect {
    /// The action.
    pub(crate) key: EffectKey,
    /// The version that taking it up made.
    pub(crate) version: ActionVersion,
    /// The epoch of its performer.
    pub(crate) epoch: u64,
    /// When it was about to happen.
    pub(crate) at: Time,
    /// The hash of its bytes.
    pub(crate) bytes: Option<String>,
    /// The action's claims.
    pub(crate) claims: Vec<String>,
    /// Its outcome, and when. `None` if none is written, so that it may have happened.
    pub(crate) outcome: Option<(EffectOutcome, Time)>,
}

impl WitnessedEffect {
    pub(super) const fn place(&self) -> EffectPlace {
        EffectPlace { key: self.key, version: self.version, epoch: self.epoch }
    }

    /// Whether it happened or may have.
    pub(crate) fn may_have_happened(&self) -> bool {
        !matches!(self.outcome, Some((EffectOutcome::NotSent, _)))
    }
}

/// The end of the lines that are whole and sealed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct WitnessEnd {
    /// The bytes up to there.
    pub(super) length: u64,
    /// The seal of the last line.
    pub(super) sum: String,
}

/// All lines of a witness, read.
#[derive(Debug, Default)]
pub(crate) struct WitnessAccount {
    /// The id of the records that it belongs to.
    pub(super) store: String,
    /// The seal of the place where it was made.
    pub(super) place: String,
    /// Effects by key and version.
    pub(crate) effects: BTreeMap<(String, u64), WitnessedEffect>,
    /// The action that has each claim.
    holders: BTreeMap<String, String>,
    pub(super) end: WitnessEnd,
    /// How the key of an effect begins whose line has no end: writing it broke off.
    pub(super) torn: Option<String>,
    /// The number of the first line that is none.
    pub(super) damaged: Option<u64>,
    lines: u64,
}

impl WitnessAccount {
    /// Reads the whole file.
    pub(super) fn read(file: &File, key: &InstallationKey) -> io::Result<Self> {
        let mut account = Self::default();
        account.go_on(file, key)?;
        if account.lines == 0 {
            // A witness gets its name with its first line in it.
            account.damaged = Some(1);
        }
        Ok(account)
    }

    /// Reads what is behind the end of what was read.
    pub(super) fn go_on(&mut self, mut file: &File, key: &InstallationKey) -> io::Result<()> {
        self.torn = None;
        file.seek(SeekFrom::Start(self.end.length))?;
        let mut reader = BufReader::new(file);
        loop {
            let mut line = Vec::new();
            let most = u64::try_from(MAX_LINE).unwrap_or(u64::MAX);
            reader.by_ref().take(most).read_until(b'\n', &mut line)?;
            match line.strip_suffix(b"\n") {
                Some(whole) => self.add(whole, key),
                None if line.is_empty() => return Ok(()),
                None if line.len() >= MAX_LINE => {
                    self.damaged.get_or_insert(self.lines.saturating_add(1));
                    return Ok(());
                }
                None => {
                    self.tear(&line);
                    return Ok(());
                }
            }
        }
    }

    /// Adds a line. Behind a damaged one everything that can be read still counts as known, whatever its seal.
    fn add(&mut self, text: &[u8], key: &InstallationKey) {
        self.lines = self.lines.saturating_add(1);
        let line: Option<WitnessLine> = serde_json::from_slice(text).ok();
        let is_sealed = line.as_ref().is_some_and(|line| line.follows(key, &self.end.sum));
        let is_known = line.as_ref().is_some_and(|line| self.enter(line));
        match line {
            Some(line) if is_sealed && is_known && self.damaged.is_none() => {
                let length = u64::try_from(text.len()).unwrap_or(u64::MAX).saturating_add(1);
                self.end = WitnessEnd { length: self.end.length.saturating_add(length), sum: line.sum };
            }
            _ => _ = self.damaged.get_or_insert(self.lines),
        }
    }

    /// Enters what a line says. Whether it makes sense where it is.
    fn enter(&mut self, line: &WitnessLine) -> bool {
        if line.what == LineKind::Opened {
            if self.lines > 1 {
                return false;
            }
            self.store.clone_from(&line.store);
            self.place = line.place.clone().unwrap_or_default();
            return true;
        }
        let Some(key) = line.action.as_deref().and_then(digest_of).map(EffectKey::of_bytes) else { return false };
        let place = (key.to_string(), line.version);
        if let Some(outcome) = EffectOutcome::of_kind(line.what) {
            let Some(effect) = self.effects.get_mut(&place) else { return false };
            effect.outcome = Some((outcome, Time(line.at)));
            return true;
        }
        let effect = WitnessedEffect {
            key,
            version: ActionVersion(line.version),
            epoch: line.epoch,
            at: Time(line.at),
            bytes: line.bytes.clone(),
            claims: line.claims.clone(),
            outcome: None,
        };
        let holders = effect.claims.iter().map(|claim| (claim.clone(), place.0.clone()));
        self.holders.extend(holders);
        self.effects.insert(place, effect).is_none()
    }

    /// The action that left or may have: the one with this key, or another one with one of these claims.
    pub(super) fn left_before(&self, key: &str, claims: &[String]) -> Option<&str> {
        let holders = claims.iter().filter_map(|claim| self.holders.get(claim));
        holders.map(String::as_str).chain([key]).find_map(|key| {
            let of_key = self.effects.range((key.to_owned(), 0)..=(key.to_owned(), u64::MAX));
            let mut left = of_key.filter(|(_, effect)| effect.may_have_happened());
            left.next().map(|((key, _), _)| key.as_str())
        })
    }

    /// Takes up a line that was written here.
    pub(super) fn take_sealed(&mut self, line: &WitnessLine, text: &str, sum: String) {
        self.lines = self.lines.saturating_add(1);
        self.enter(line);
        let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
        self.end = WitnessEnd { length: self.end.length.saturating_add(length), sum };
    }

    /// Takes a line without an end.
    fn tear(&mut self, text: &[u8]) {
        let text = String::from_utf8_lossy(text);
        match text.strip_prefix(ACTION_FIRST) {
            Some(rest) => self.torn = Some(rest.chars().take_while(char::is_ascii_hexdigit).collect()),
            None if ACTION_FIRST.starts_with(&*text) => self.torn = Some(String::new()),
            None => _ = self.damaged.get_or_insert(self.lines.saturating_add(1)),
        }
    }
}
