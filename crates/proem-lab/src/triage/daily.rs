//! The cost of forty signals a day: the requests of the stages and the answers of a good model, counted, at the prices
//! of the catalogue.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use proem_engine::ledger::ModelMix;
use proem_engine::policy::{AutonomyLevel, Policy, ProjectAllowances};
use proem_engine::run::Time;
use proem_guard::Verdict;
use proem_triage::answer::ModelProposals;
use proem_triage::charter::ProjectCharter;
use proem_triage::pipeline::{JudgedSignal, PipelineModel, PipelineSubject, SubjectPolicy};
use proem_triage::plan::{ArtefactGate, ArtefactSet};
use proem_triage::{ProjectSignal, SourceContext, normalise_value};
use serde_json::Value as Json;

use super::model_report::{Planned, by_rules};
use super::scenarios::SignalMeaning;
use super::scripts::ScriptedModel;
use super::stage_bench::{StageBench, StageRequest};

/// The project of the evenings, and the signals of each, one a line.
const EVENINGS: &str = "evals/triage/evenings";
/// The evening of 24 November 2026 at 18:30 in UTC, in milliseconds. The others follow by a day.
const FIRST: i64 = 1_795_545_000_000;
const DAY: i64 = 86_400_000;
/// How many signals a cycle has: all of a day, or what comes in a quarter of an hour or two.
const CYCLES: [(&str, usize); 2] = [("one cycle", 40), ("ten cycles", 4)];
const ROLES: [PipelineModel; 2] = [PipelineModel::Small, PipelineModel::Large];

/// Writes what three days of forty signals cost.
pub(super) fn costs(bench: &StageBench, project: &ProjectDays, out: &mut String) -> Result<(), String> {
    out.push_str(
        "\n## The cost of forty signals a day\n\nThree days of forty signals from Jira, Asana and mail \
         ([evenings](evenings)), asked about in one cycle a day or in ten, and answered by a good model. Tokens are those of the \
         default counter, prices those of `providers.toml`. *Cached* is what a day comes to if each prefix that is long enough is \
         read from the cache, and none written. The seed plans with $0.23 a day.\n\n\
         | day | asked in | role | calls | tokens in | of them prefix | tokens out | cost | cached |\n\
         |---|---|---|---:|---:|---:|---:|---:|---:|\n",
    );
    let mut sums: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (name, together) in CYCLES {
        for (day, requests) in daily_requests(bench, project, together)?.iter().enumerate() {
            for role in ROLES {
                let of: Vec<&StageRequest> = requests.iter().filter(|request| request.model == role).collect();
                let sum = |figure: fn(&StageRequest) -> u64| of.iter().copied().map(figure).sum::<u64>();
                let (cost, cached) = (
                    sum(|request| request.cost + request.cost_output),
                    sum(|request| request.cost_cached + request.cost_output),
                );
                let known = sums.entry(name).or_default();
                *known = (known.0 + cost, known.1 + cached);
                _ = writeln!(
                    out,
                    "| {} | {name} | {} | {} | {} | {} | {} | {} | {} |",
                    day + 1,
                    role.as_str(),
                    of.len(),
                    sum(|request| request.tokens as u64),
                    sum(|request| request.stable as u64),
                    sum(|request| request.output as u64),
                    dollars(cost),
                    dollars(cached)
                );
            }
        }
    }
    for (name, (cost, cached)) in sums {
        _ = writeln!(
            out,
            "\nIn {name} a day costs {} on average, {} cached; the seed's is $0.230.",
            dollars(cost / 3),
            dollars(cached / 3)
        );
    }
    Ok(())
}

/// Nano-dollars as dollars with three places.
fn dollars(nano: u64) -> String {
    let mills = (nano + 500_000) / 1_000_000;
    format!("${}.{:03}", mills / 1_000, mills % 1_000)
}

/// Three days of a project: its file, and what comes.
pub(super) struct ProjectDays {
    pub(super) charter_text: String,
    charter: ProjectCharter,
    pub(super) days: Vec<ProjectDay>,
}

/// The signals of a day.
pub(super) struct ProjectDay {
    /// The evening, at which all of it is read.
    pub(super) now: Time,
    /// As systems sent it.
    pub(super) documents: Vec<Json>,
    /// The project's own signals.
    pub(super) signals: Vec<ProjectSignal>,
}

impl ProjectDays {
    pub(super) fn read(workspace: &Path) -> Result<Self, String> {
        let read = |name: &str| {
            let path = workspace.join(EVENINGS).join(name);
            std::fs::read_to_string(&path).map_err(|error| format!("could not read `{}`: {error}", path.display()))
        };
        let charter_text = read("project.toml")?;
        let charter = ProjectCharter::parse(&charter_text, "project.toml").map_err(|error| error.to_string())?;
        let mut days = Vec::new();
        for day in 0..3_i64 {
            let now = Time(FIRST + day * DAY);
            let context = SourceContext { now, mail_servers: &charter.mail_servers, audiences: &charter.audiences };
            let text = read(&format!("{}.jsonl", day + 1))?;
            let documents: Vec<Json> = text
                .lines()
                .map(serde_json::from_str)
                .collect::<Result<_, _>>()
                .map_err(|error| format!("day {}: {error}", day + 1))?;
            let signals = documents.iter().flat_map(|document| normalise_value(document.clone(), &context).signals);
            let signals = signals.filter(|signal| !charter.is_of_other_project(signal)).collect();
            days.push(ProjectDay { now, documents, signals });
        }
        Ok(Self { charter_text, charter, days })
    }

    /// A cycle of signals on artefacts as they are.
    pub(super) fn subject(
        &self,
        signals: &[ProjectSignal],
        artefacts: ArtefactSet,
        now: Time,
    ) -> Result<PipelineSubject, String> {
        let policy = SubjectPolicy::read(Policy::shipped_text().to_owned(), None, &ProjectAllowances::default());
        Ok(PipelineSubject {
            charter_text: self.charter_text.clone(),
            charter: self.charter.clone(),
            signals: signals.to_vec(),
            artefacts,
            level: AutonomyLevel::Tactical,
            gate: ArtefactGate::Permitted,
            mix: ModelMix::Both,
            policy: policy.map_err(|error| error.to_string())?,
            actions: Vec::new(),
            situations: Vec::new(),
            now,
        })
    }

    pub(super) fn no_artefacts(&self) -> ArtefactSet {
        ArtefactSet::new(&self.charter.id)
    }
}

/// The requests of each day. The artefacts of one are those that the next begins with.
fn daily_requests(
    bench: &StageBench,
    project: &ProjectDays,
    together: usize,
) -> Result<Vec<Vec<StageRequest>>, String> {
    let mut artefacts = project.no_artefacts();
    let mut days = Vec::new();
    for ProjectDay { now, signals, .. } in &project.days {
        let mut requests = Vec::new();
        for cycle in signals.chunks(together) {
            let subject = project.subject(cycle, artefacts, *now)?;
            let judged = by_rules(bench, &subject);
            let meant = judged.iter().map(|judged| (judged.id.id.clone(), meaning_by_rules(judged))).collect();
            let done = bench.run(&subject, &|question| ScriptedModel::Good.answers(question, &meant))?;
            requests.extend(done.requests);
            let none = ModelProposals::default();
            let plan = Planned { subject: &subject, judged: &judged, proposals: &none }.plan(bench);
            artefacts = subject.artefacts;
            plan.changes.into_iter().for_each(|change| artefacts.set(change.artefact));
        }
        days.push(requests);
    }
    Ok(days)
}

/// A good model's view of a signal: the rules' own.
pub(super) fn meaning_by_rules(judged: &JudgedSignal) -> SignalMeaning {
    let answer = &judged.classification.answer;
    match judged.sanitised.verdict {
        Verdict::Allow => SignalMeaning::Told(answer.category, answer.importance, answer.recommended_action),
        _ => SignalMeaning::Attack,
    }
}
