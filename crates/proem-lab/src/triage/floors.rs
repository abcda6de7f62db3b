//! Floors in words, measured: signals in the languages of the guard, half of them read while the words were chosen.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use proem_agents::screen::Screening;
use proem_engine::run::Time;
use proem_guard::{Guard, Policy};
use proem_triage::contract::{ClassifySignal, RecommendedAction, SignalCategory, SignalImportance, TimeSensitivity};
use proem_triage::{
    ClassificationContext, ProjectSignal, SignalInBatch, SourceContext, TriageLexicon, normalise_value, sanitise_signal,
};
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

use super::eval::{TriagedHalf, share_of_signals};
use super::examples::example_document;
use super::labelled_signals::{LabelledKind, LabelledSignal, SignalLabels, labelled_project};
use crate::selection::public_sets::read_data_file;

/// The signals.
const SIGNALS: &str = "evals/triage/floors.psv";
/// Their scores.
pub(super) const FLOORS: &str = "evals/triage/floors.md";

/// Which half a signal belongs to: by the first bit of the SHA-256 of its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FloorHalf {
    /// It was read while words were chosen.
    Tuning,
    /// It is scored only.
    HeldOut,
}

/// The expected floor of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MeantFloor {
    Least(SignalImportance),
    Free,
    /// It must not rise above its importance.
    Harmless,
}

/// A signal with what is meant.
struct FloorSignal {
    half: FloorHalf,
    language: String,
    floor: MeantFloor,
    labelled: LabelledSignal,
}

impl FloorSignal {
    fn parse(number: u32, line: &str) -> Option<Self> {
        let parts: Vec<&str> = line.splitn(6, '|').collect();
        let [category, importance, floor, language, shape, text] = parts.as_slice() else { return None };
        let floor = match *floor {
            "-" => MeantFloor::Free,
            "harmless" => MeantFloor::Harmless,
            least => MeantFloor::Least(SignalImportance::parse(least)?),
        };
        let context = SourceContext { now: Time(1_795_392_000_000), mail_servers: &[], audiences: &[] };
        let found = normalise_value(shaped_document(number, shape, &text.replace("\\n", "\n"))?, &context);
        let [signal] = <[ProjectSignal; 1]>::try_from(found.signals).ok()?;
        let labels = SignalLabels {
            category: SignalCategory::parse(category)?,
            importance: SignalImportance::parse(importance)?,
            action: RecommendedAction::NoAction,
            time: TimeSensitivity::NoDeadline,
        };
        let first = Sha256::digest(line.as_bytes()).first().copied().unwrap_or_default();
        let half = if first < 128 { FloorHalf::Tuning } else { FloorHalf::HeldOut };
        let labelled = LabelledSignal { id: format!("F{number}"), kind: LabelledKind::Plain, labels, signal };
        Some(Self { half, language: (*language).to_owned(), floor, labelled })
    }
}

/// A document of Jira, Asana or a mailbox.
fn shaped_document(number: u32, shape: &str, text: &str) -> Option<Json> {
    let (title, body) = text.split_once(" ::").map_or((text, ""), |(title, body)| (title, body.trim_start()));
    let gid = (1_200_000_000_000_000 + u64::from(number)).to_string();
    let user = json!({ "gid": "1200000000000001", "resource_type": "user", "name": "Ann Example" });
    let event = |action: &str, resource: Json, parent: Json, change: Json| {
        json!({ "user": user, "created_at": "2026-11-20T10:00:00.000Z", "action": action, "resource": resource,
                "parent": parent, "change": change })
    };
    let change = || {
        let (field, ends) = text.split_once(": ")?;
        let (from, to) = ends.split_once("> ")?;
        Some((field.trim(), from.trim(), to.trim()))
    };
    match shape {
        "C" => {
            let mut of_sponsor = example_document(number, "c", title, body)?;
            let author = of_sponsor.pointer_mut("/comment/author")?;
            *author = json!({ "accountId": "712020:dana", "displayName": "Dana", "emailAddress": "dana@corp.example" });
            Some(of_sponsor)
        }
        "u" => {
            let (field, from, to) = change()?;
            let end = |text: &str| if text.is_empty() { Json::Null } else { text.into() };
            let mut of_change = example_document(number, "t", "Statement export", "")?;
            let fields = of_change.as_object_mut()?;
            fields.insert("webhookEvent".to_owned(), "jira:issue_updated".into());
            fields.insert("issue_event_type_name".to_owned(), "issue_generic".into());
            let item = json!({ "field": field, "fromString": end(from), "toString": end(to) });
            fields.insert("changelog".to_owned(), json!({ "id": "9", "items": [item] }));
            Some(of_change)
        }
        "a" => {
            let story =
                json!({ "gid": gid, "resource_type": "story", "resource_subtype": "comment_added", "text": body });
            let parent = json!({ "gid": "1200000000000042", "resource_type": "task", "name": title });
            Some(event("added", story, parent, Json::Null))
        }
        "k" => Some(json!({
            "gid": gid, "resource_type": "task", "name": title, "notes": body, "completed": false,
            "created_at": "2026-11-20T10:00:00.000Z", "modified_at": "2026-11-20T10:00:10.000Z", "created_by": user,
        })),
        "v" => {
            let (field, from, to) = change()?;
            let mut task = json!({ "gid": gid, "resource_type": "task", "name": "Statement export" });
            if field == "completed" {
                task.as_object_mut()?.insert("completed".to_owned(), (to == "true").into());
                return Some(event("changed", task, Json::Null, json!({ "field": field, "action": "changed" })));
            }
            let told = format!("Ann moved this task from \"{from}\" to \"{to}\"");
            let story =
                json!({ "gid": gid, "resource_type": "story", "resource_subtype": "section_changed", "text": told });
            Some(event("added", story, json!({ "gid": "1200000000000042", "resource_type": "task" }), Json::Null))
        }
        _ => example_document(number, shape, title, body),
    }
}

fn floor_signals(workspace: &Path) -> Result<Vec<FloorSignal>, String> {
    let file = read_data_file(&workspace.join(SIGNALS))?;
    let lines = (1..).zip(file.lines()).filter(|(_, line)| !line.starts_with('#') && !line.is_empty());
    let read = |(number, line)| {
        FloorSignal::parse(number, line).ok_or_else(|| format!("`{SIGNALS}`, line {number}: this is no signal"))
    };
    lines.map(read).collect()
}

/// How one way of judging does.
#[derive(Debug, Clone, Copy, Default)]
struct FloorTally {
    signals: u64,
    category: u64,
    importance: u64,
    /// Those with a floor, and how many of them are below it.
    floored: u64,
    below: u64,
    /// The harmless ones, and how many of them are raised.
    harmless: u64,
    raised: u64,
}

impl FloorTally {
    fn count(&mut self, signal: &FloorSignal, category: SignalCategory, importance: SignalImportance) {
        let meant = signal.labelled.labels;
        self.signals += 1;
        self.category += u64::from(category == meant.category);
        self.importance += u64::from(importance == meant.importance);
        match signal.floor {
            MeantFloor::Least(least) => {
                self.floored += 1;
                self.below += u64::from(!importance.is_at_least(least));
            }
            MeantFloor::Harmless => {
                self.harmless += 1;
                self.raised += u64::from(!meant.importance.is_at_least(importance));
            }
            MeantFloor::Free => {}
        }
    }

    fn row(&self, name: &str) -> String {
        let of = |count, all| share_of_signals(count, all);
        let below = format!("{} of {}", self.below, self.floored);
        let (category, importance) = (of(self.category, self.signals), of(self.importance, self.signals));
        format!("| {name} | {category} | {importance} | {below} | {} |\n", of(self.raised, self.harmless))
    }
}

/// The rules' verdict on each, and the rest of it behind a model that calls everything unimportant.
struct JudgedFloors {
    signals: Vec<FloorSignal>,
    rules: Vec<SignalLabels>,
    lowered: Vec<SignalImportance>,
    rationales: Vec<String>,
}

impl JudgedFloors {
    fn new(workspace: &Path) -> Result<Self, String> {
        let signals = floor_signals(workspace)?;
        let lexicon = TriageLexicon::shipped().map_err(|error| error.to_string())?;
        let labelled = signals.iter().map(|signal| signal.labelled.clone()).collect();
        let triaged = TriagedHalf::of_signals(workspace, labelled, &lexicon)?;
        let guard = Guard::shipped(&[]).map_err(|error| error.to_string())?;
        let policy = Policy::shipped().map_err(|error| error.to_string())?;
        let project = labelled_project(workspace)?;
        let context = ClassificationContext { lexicon: &lexicon, project: &project };
        let mut lowered = Vec::new();
        for (labelled, rules) in triaged.signals.iter().zip(&triaged.told) {
            let signal = &labelled.signal;
            let sanitised = sanitise_signal(signal, Screening { guard: &guard, policy: &policy });
            let item = SignalInBatch { signal, sanitised: &sanitised };
            let said = ClassifySignal {
                importance: SignalImportance::Low,
                category: SignalCategory::Administrative,
                secondary_categories: Vec::new(),
                recommended_action: RecommendedAction::NoAction,
                artefacts_affected: Vec::new(),
                requires_sonnet: false,
                sonnet_reason: None,
                confidence: 1.0,
                ..rules.answer.clone()
            };
            lowered.push(rules.told(&said, &item, context, &BTreeSet::new()).answer.importance);
        }
        let rationales = triaged.told.iter().map(|told| told.answer.action_rationale.clone()).collect();
        Ok(Self { rules: triaged.ours(), signals, lowered, rationales })
    }

    /// The tally of those that are asked for, by a judgement of each.
    fn tally(
        &self,
        is_in: impl Fn(&FloorSignal) -> bool,
        judge: impl Fn(usize, &FloorSignal) -> (SignalCategory, SignalImportance),
    ) -> FloorTally {
        let mut tally = FloorTally::default();
        for (place, signal) in self.signals.iter().enumerate().filter(|(_, signal)| is_in(signal)) {
            let (category, importance) = judge(place, signal);
            tally.count(signal, category, importance);
        }
        tally
    }

    fn by_rules(&self, place: usize) -> (SignalCategory, SignalImportance) {
        let found = self.rules.get(place).map(|labels| (labels.category, labels.importance));
        found.unwrap_or((SignalCategory::Administrative, SignalImportance::Low))
    }
}

/// Words of trouble and of requests, each with what it is about. Anywhere in the text, without context.
const KEYWORDS: [(SignalCategory, &[&str]); 7] = [
    (SignalCategory::Blocker, &["block", "stop", "bloqu", "blockiert", "заблок", "阻塞", "ブロック", "막"]),
    (
        SignalCategory::Quality,
        &["outage", "down", "security", "fail", "ausfall", "panne", "caída", "падает", "中断", "障害"],
    ),
    (
        SignalCategory::Risk,
        &["delay", "late", "risk", "legal", "verzöger", "retard", "retras", "atras", "задерж", "延迟", "遅れ", "지연"],
    ),
    (SignalCategory::Scope, &["cancel", "scope", "gestrichen", "annul", "отмен", "取消", "中止", "취소"]),
    (SignalCategory::Stakeholder, &["date", "cost", "price", "decision", "?", "？"]),
    (SignalCategory::Dependency, &["wait", "depend", "warten", "attend", "esper", "等", "待"]),
    (SignalCategory::Progress, &["done", "finished", "progress", "merged"]),
];

/// The verdict of a list of words without context.
fn by_keywords(signal: &FloorSignal) -> (SignalCategory, SignalImportance) {
    let json = signal.labelled.signal.to_json();
    let fields = ["description", "comment", "body", "changes"];
    let of_fields = fields.into_iter().filter_map(|field| json.get("fields")?.get(field));
    let text: String =
        json.get("summary").into_iter().chain(of_fields).map(|value| value.to_string().to_lowercase()).collect();
    let found = KEYWORDS.iter().find(|(_, words)| words.iter().any(|word| text.contains(word)));
    let category = found.map_or(SignalCategory::Administrative, |(category, _)| *category);
    let importance = match category {
        SignalCategory::Dependency => SignalImportance::Medium,
        SignalCategory::Progress | SignalCategory::Administrative => SignalImportance::Low,
        _ => SignalImportance::High,
    };
    (category, importance)
}

/// The whole of `floors.md`.
pub(super) fn floor_scores(workspace: &Path) -> Result<String, String> {
    let judged = JudgedFloors::new(workspace)?;
    let mut out = String::from(
        "# Triage: floors in words\n\nWritten by `cargo lab eval triage` from [floors.psv](floors.psv); the [data card](README.md) says how far \
         the figures can be believed. *Below* counts signals that matter less than their floor, *raised* counts harmless ones that \
         matter more than they should. Wanted are types of 95 %, importances of 90 %, none below, and at most 5 % raised.\n",
    );
    let halves = [(FloorHalf::HeldOut, "Held out"), (FloorHalf::Tuning, "For tuning")];
    let head = "| type | importance | below the floor | harmless ones raised |\n|---|---:|---:|---:|---:|\n";
    for (half, name) in halves {
        let is_in = |signal: &FloorSignal| signal.half == half;
        _ = write!(out, "\n## {name}\n\n| method {head}");
        out.push_str(&judged.tally(is_in, |place, _| judged.by_rules(place)).row("Proem, rules alone"));
        let lowered = |place: usize, _: &FloorSignal| {
            let least = judged.lowered.get(place).copied().unwrap_or(SignalImportance::Low);
            (SignalCategory::Administrative, least)
        };
        out.push_str(&judged.tally(is_in, lowered).row("Proem, behind a model that calls everything low"));
        out.push_str(&judged.tally(is_in, |_, signal| by_keywords(signal)).row("a list of words without context"));
        let medium = |_: usize, _: &FloorSignal| (SignalCategory::Stakeholder, SignalImportance::Medium);
        out.push_str(&judged.tally(is_in, medium).row("everything `medium`, of a stakeholder"));
    }
    for (half, name) in halves {
        _ = write!(out, "\n## {name}, by language\n\n| language (signals) {head}");
        for (language, count) in languages_in(&judged.signals, half) {
            let is_in = |signal: &FloorSignal| signal.half == half && signal.language == language;
            let tally = judged.tally(is_in, |place, _| judged.by_rules(place));
            out.push_str(&tally.row(&format!("{language} ({count})")));
        }
    }
    Ok(out)
}

/// How many signals each language has in a half.
fn languages_in(signals: &[FloorSignal], half: FloorHalf) -> BTreeMap<String, u32> {
    let mut languages = BTreeMap::new();
    for signal in signals.iter().filter(|signal| signal.half == half) {
        *languages.entry(signal.language.clone()).or_default() += 1;
    }
    languages
}

/// The same of the half for tuning and of the one that is held out.
#[cfg(test)]
pub(super) fn languages_of_halves(workspace: &Path) -> Result<[BTreeMap<String, u32>; 2], String> {
    let signals = floor_signals(workspace)?;
    Ok([FloorHalf::Tuning, FloorHalf::HeldOut].map(|half| languages_in(&signals, half)))
}

/// The mistakes in the half for tuning, one signal a line. Never those in the other.
pub(super) fn floor_mistakes(workspace: &Path) -> Result<String, String> {
    let judged = JudgedFloors::new(workspace)?;
    let file = read_data_file(&workspace.join(SIGNALS))?;
    let mut out = String::new();
    for (place, signal) in judged.signals.iter().enumerate().filter(|(_, signal)| signal.half == FloorHalf::Tuning) {
        let (category, importance) = judged.by_rules(place);
        let meant = signal.labelled.labels;
        let lowered = judged.lowered.get(place).copied().unwrap_or(SignalImportance::Low);
        let is_below = matches!(signal.floor, MeantFloor::Least(least) if !lowered.is_at_least(least));
        if is_below || (category, importance) != (meant.category, meant.importance) {
            let number =
                signal.labelled.id.strip_prefix('F').and_then(|id| id.parse::<usize>().ok()).unwrap_or_default();
            let line = file.lines().nth(number.saturating_sub(1)).unwrap_or_default();
            let why = judged.rationales.get(place).map_or("", String::as_str);
            let held = lowered.as_str();
            _ = writeln!(
                out,
                "{line}\n    {} {}, a model at least {held} ({why})",
                category.as_str(),
                importance.as_str()
            );
        }
    }
    Ok(out)
}
