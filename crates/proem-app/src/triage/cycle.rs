//! One cycle: open signals become artefacts, actions and questions, and are handled.

use std::collections::{BTreeMap, BTreeSet};

use proem_engine::effect::key::SignalRevision;
use proem_engine::policy::{ActionList, ProposedAction, Ruling, SourceAgreement, SourceConflict};
use proem_engine::run::Time;
use proem_guard::{LabelTree, Untrusted, Verdict, show};
use proem_store::record::{
    CycleFinish, EscalationId, EscalationOption, EscalationState, HandledSignal, HashedContent, NewArtefactVersion,
    NewEscalation, NewQuarantine, QuarantineId,
};
use proem_store::{CycleAnswer, EscalationAnswer, QuarantineAnswer};
use proem_text::{Label, Source, hex};
use proem_triage::answer::ModelProposals;
use proem_triage::artefact::{AppliedChange, ArtefactActor};
use proem_triage::pipeline::{PipelineStage, StageTally};
use proem_triage::plan::{
    ArtefactGate, CycleContext, CycleMember, CyclePlan, PlannedOption, PlannedQuestion, RecommendationFate, plan_cycle,
};
use proem_triage::{contract::RecommendedAction, original};
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};

use super::cycle_report::{AskedQuestion, CycleReport, KeptOutCount, MOST_CAUSES, cycle_cause_tree};
use super::desk::{BySender, TriageDesk};
use super::links::SignalLinks;
use super::matters::{EarlierCase, are_named};
use super::model_calls::AskedCycle;
use super::read_signal::ReadSignal;
use super::standing_artefacts::StandingArtefacts;
use crate::effects::escalations::{self, ABOUT, BECAUSE, CAUSES, HEADING, MATTER};
use crate::effects::propose::Proposal;
use crate::error::Error;
use crate::when;

/// The agreement behind words of ours alone.
const ONE_SOURCE: SourceAgreement = SourceAgreement { agreeing: 1, conflict: SourceConflict::Absent };
/// The action that tells the owner something.
const NOTIFICATION: &str = "notification_internal";
/// The most changes of a cycle that are left out and listed one by one.
const MOST_REFUSED: usize = 3;

impl TriageDesk<'_> {
    /// One cycle on artefacts as they were at its beginning. `None` if nothing of it is written, since they or its
    /// signals are otherwise by now.
    pub(super) async fn cycle(
        &self,
        read: &[ReadSignal],
        standing: &StandingArtefacts,
        asked: Option<&AskedCycle>,
    ) -> Result<Option<CycleReport>, Error> {
        let artefacts = &standing.set;
        let began = when::time_now();
        let lexicon = self.lexicon()?;
        let persons = self.person_judgements().await?;
        let mut links = SignalLinks::default();
        let judged = self.judged(read, asked, &mut links, &persons)?;
        let suspected = judged.iter().filter(|(_, judged)| judged.sanitised.is_suspected()).count();
        let members: Vec<CycleMember<'_>> = judged
            .iter()
            .map(|(read, judged)| CycleMember {
                signal: &read.signal,
                sanitised: &judged.sanitised,
                classification: &judged.classification,
            })
            .collect();
        let actor = ArtefactActor::System("triage".to_owned());
        let none = ModelProposals::default();
        let proposals = asked.map_or(&none, |asked| &asked.end.proposals);
        let context = CycleContext {
            charter: &self.charter,
            level: self.desk.level(),
            gate: self.gate(),
            lexicon,
            artefacts,
            actor: &actor,
            proposals,
            now: asked.and_then(|asked| asked.now).unwrap_or_else(|| self.moment()),
        };
        let mut plan = plan_cycle(&members, &context);
        let suspected = u64::try_from(suspected).unwrap_or(u64::MAX);
        let mut report = CycleReport { suspected, links, ..CycleReport::default() };
        asked.into_iter().for_each(|asked| asked.tell(&mut report));
        self.withhold_unreadable(&mut plan, standing, &mut report).await?;
        self.keep_out(read, &mut report).await?;
        self.ask(&plan, &mut report).await?;
        self.propose(&plan, &mut report).await?;
        self.notify(&plan, &mut report).await?;
        if plan.unused > 0 {
            report.problems.push(format!("proposals of a model that have no place in the cycle: {}", plan.unused));
        }
        let refused = plan.refused.iter().map(|violation| format!("a change was left out: {violation}"));
        report.problems.extend(refused.take(MOST_REFUSED));
        if let Some(more) = plan.refused.len().checked_sub(MOST_REFUSED).filter(|more| *more > 0) {
            report.problems.push(format!("changes that were left out besides: {more}"));
        }
        let finish = self.finish(&plan, &report, began)?;
        match self.desk.store.finish_cycle(finish).await? {
            CycleAnswer::Overtaken => Ok(None),
            CycleAnswer::Written { cycle } => {
                report.cycles.push(cycle);
                report.left = self.left_alone(read, &plan.outcomes)?;
                report.outcomes = plan.outcomes;
                report.changes = plan.changes;
                Ok(Some(report))
            }
        }
    }

    /// Whether rules may change artefacts: the level, and the list that the policy has them on.
    pub(super) fn gate(&self) -> ArtefactGate {
        let level = self.desk.level();
        let by_level = RecommendationFate::of(RecommendedAction::UpdateArtefact, level) == RecommendationFate::Onward;
        let terms = self.desk.policy.action("artefact_update");
        let by_policy = terms.is_some_and(|terms| terms.list == ActionList::Auto && terms.level <= level);
        if by_level && by_policy { ArtefactGate::Permitted } else { ArtefactGate::Withheld }
    }

    /// Keeps texts that are out for a person to look at.
    async fn keep_out(&self, read: &[ReadSignal], report: &mut CycleReport) -> Result<(), Error> {
        let mut senders = BySender::new();
        for ReadSignal { signal, sanitised } in read {
            if sanitised.unread > 0 {
                let (id, unread) = (&signal.id, sanitised.unread);
                report.problems.push(format!("{unread} of the texts of {id} were not read, since there are too many"));
            }
            // A field that an attack was cut out of is for a person to look at as well.
            for field in sanitised.reviewed() {
                let sender = sanitised.sender.as_ref();
                let sender = sender.map_or_else(
                    || format!("nobody named, {}", signal.source.as_str()),
                    |sender| show::terminal_capped(sender, 120).into_string(),
                );
                let lost = || {
                    let (id, name) = (&signal.id, field.name);
                    Error::outside(format!("the text `{name}` of {id} that is to be kept for review can't be found"))
                };
                let text = LabelTree::Flagged(original(signal, field).ok_or_else(lost)?.clone());
                let unwritten = |error| Error::bug("a text for review can't be written down", error);
                let item = NewQuarantine {
                    id: QuarantineId {
                        signal: signal.id.clone(),
                        revision: signal.revision.clone(),
                        field: format!("{}[{}]", field.name, field.index),
                    },
                    project: self.desk.owner.clone(),
                    actor: self.system(),
                    at: when::time_now(),
                    text: HashedContent::new(text.write().map_err(unwritten)?),
                    findings: json!(field.rules),
                    verdict: field.verdict.max(Verdict::Quarantine),
                    sender: sender.clone(),
                };
                if self.desk.store.quarantine(item).await? == QuarantineAnswer::Done {
                    let count = senders.entry(sender).or_default();
                    *count = count.saturating_add(1);
                }
            }
        }
        report.kept_out = senders.into_iter().map(|(sender, fields)| KeptOutCount { sender, fields }).collect();
        report.kept_out.sort_by_key(|count| (std::cmp::Reverse(count.fields), count.sender.clone()));
        Ok(())
    }

    /// Asks persons. The same question is asked once while it is open and names all its signals. Once it was decided,
    /// new signals ask anew.
    async fn ask(&self, plan: &CyclePlan, report: &mut CycleReport) -> Result<(), Error> {
        let (mut asked, open) = (BTreeMap::new(), self.open_matters().await?);
        for question in &plan.questions {
            let standing = open.get(&self.question_id(&question.subject)).map_or(&[][..], Vec::as_slice);
            let is_told = are_named(question, standing, plan);
            if !standing.is_empty() && is_told {
                report.asked_before = report.asked_before.saturating_add(1);
                continue;
            }
            let earlier = self.take_back(question, standing).await?;
            let last = question.causes.last();
            let later = last
                .map_or_else(String::new, |cause| format!("{}\n{}\n{}", question.subject, cause.id, cause.revision));
            for subject in [&question.subject, &later] {
                let id = self.question_id(subject);
                // Two texts of one ticket that are asked about by themselves are two questions.
                let causes: BTreeSet<&SignalRevision> = question.causes.iter().collect();
                match asked.get(&id) {
                    Some(known) if causes.is_subset(known) => break,
                    Some(_) => continue,
                    None => asked.insert(id.clone(), causes),
                };
                // That an item's day has passed says nothing of the signals that it came from.
                if !question.is_about_item() {
                    report.links.add_question(&question.causes, &id);
                }
                let escalation = self.escalation((question, earlier.as_ref()), id.clone(), &mut report.problems)?;
                match self.desk.store.escalate(escalation).await? {
                    EscalationAnswer::Done => {
                        let (title, heading) = (question.title.clone(), question.heading.clone());
                        report.questions.push(AskedQuestion { id, title, heading });
                        break;
                    }
                    // A displayed question stays, and the signals that it does not name have a question beside it.
                    EscalationAnswer::Stands(EscalationState::Open) if !is_told && subject != &later => {}
                    EscalationAnswer::Stands(EscalationState::Open) => {
                        report.asked_before = report.asked_before.saturating_add(1);
                        break;
                    }
                    EscalationAnswer::Stands(EscalationState::Decided | EscalationState::Withdrawn) => {
                        // A cycle that broke off after it had asked comes with the same signals again.
                        let known = self.desk.store.escalation(&self.desk.owner, &id).await?;
                        // One whose text was purged names none, so it is asked anew.
                        let known = escalations::escalation_case(&known).map(|case| case.causes).unwrap_or_default();
                        let are_written = question.causes.len() <= MOST_CAUSES;
                        if are_written && question.causes.iter().all(|cause| known.contains(cause)) {
                            break;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn question_id(&self, subject: &str) -> EscalationId {
        EscalationId(hex::encode_hex(Sha256::digest(format!("triage\n{}\n{subject}", self.charter.id))))
    }

    /// A question as it is written down, with what an earlier one about the same had; what of it can't be is said as a
    /// problem.
    fn escalation(
        &self,
        (question, earlier): (&PlannedQuestion, Option<&EarlierCase>),
        id: EscalationId,
        problems: &mut Vec<String>,
    ) -> Result<NewEscalation, Error> {
        let unwritten = |error| Error::bug("a question of triage can't be written down", error);
        let (option, why) = question.recommended;
        let because = format!("{} Recommended is {option}: {why}.", question.title);
        let causes = earlier.map_or_else(|| question.causes.clone(), |case| case.with_causes(&question.causes));
        let about = match earlier {
            Some(case) => PlannedQuestion { about: case.with_about(&question.about), ..question.clone() }.case(),
            None => question.case(),
        };
        let whole = LabelTree::map([
            (BECAUSE, LabelTree::from(because.as_str())),
            (HEADING, question.heading.clone()),
            (CAUSES, LabelTree::list(causes.iter().take(MOST_CAUSES).map(cycle_cause_tree))),
            (ABOUT, about),
            (MATTER, self.question_id(&question.subject).0.as_str().into()),
        ]);
        // A case that is too long for the written form is left out, and the question never is. Nobody chooses an action
        // by a page that lacks its case.
        let whole = whole.write();
        let is_whole = whole.is_ok();
        let reason = whole.or_else(|_| LabelTree::from(because.as_str()).write()).map_err(unwritten)?;
        let mut left_out =
            |why: &str| problems.push(format!("question {}: {why}", escalations::short_escalation_id(&id)));
        if !is_whole {
            left_out("its subject is too long to be shown, so no option acts by itself");
        }
        // An option whose action is not offered is one that acts not by itself: a question needs two options at least.
        let refused = |option: &PlannedOption| {
            let action = option.action.as_ref().filter(|_| is_whole)?;
            ProposedAction::read(action, &self.desk.policy).err()
        };
        let offered = question.options.iter().filter(|option| refused(option).is_none()).count();
        let mut options = Vec::new();
        for option in &question.options {
            let action = match (&option.action, refused(option)) {
                (Some(json), None) if is_whole => Some(ProposedAction::read(json, &self.desk.policy)?.write()?),
                (_, None) => None,
                // The policy of this moment has it on no list.
                (_, Some(error)) if offered >= NewEscalation::FEWEST => {
                    left_out(&format!("option {} is not offered: {error}", option.id));
                    continue;
                }
                (_, Some(error)) => {
                    left_out(&format!("option {} does not act by itself: {error}", option.id));
                    None
                }
            };
            let label = option.label.write().map_err(unwritten)?;
            options.push(EscalationOption { id: option.id.to_owned(), label, action });
        }
        Ok(NewEscalation {
            id,
            project: self.desk.owner.clone(),
            actor: self.system(),
            at: when::time_now(),
            action: None,
            reason,
            sensitivity: question.time.as_str().to_owned(),
            deadline: None,
            options,
        })
    }

    /// Sends mails and comments down the corridor of actions.
    async fn propose(&self, plan: &CyclePlan, report: &mut CycleReport) -> Result<(), Error> {
        for comment in &plan.comments {
            match self.desk.propose_agreed(&comment.action, comment.sources).await {
                Ok(proposal) => {
                    report.links.add_proposal(std::slice::from_ref(&comment.cause), &proposal);
                    take_proposal("jira_comment", &proposal, report);
                }
                Err(error) => {
                    report.problems.push(format!("a comment was not proposed: {error}"));
                    report.questions.extend(self.ask_about_unproposed(std::slice::from_ref(&comment.cause)).await?);
                }
            }
        }
        for draft in &plan.drafts {
            match self.desk.propose_agreed(&draft.action, draft.sources).await {
                Ok(proposal) => {
                    report.links.add_proposal(&draft.causes, &proposal);
                    take_proposal("email", &proposal, report);
                }
                Err(error) => {
                    report.problems.push(format!("a mail was not proposed: {error}"));
                    report.questions.extend(self.ask_about_unproposed(&draft.causes).await?);
                }
            }
            if !draft.faults.is_empty() {
                let faults: Vec<&str> = draft.faults.iter().map(|fault| fault.in_words()).collect();
                report.problems.push(format!("a drafted mail needs approval: {}", faults.join("; ")));
            }
        }
        Ok(())
    }

    /// Has the owner told of new questions, in words of ours alone, if the policy knows the owner's address.
    async fn notify(&self, plan: &CyclePlan, report: &mut CycleReport) -> Result<(), Error> {
        let Some(address) = self.charter.owner_address() else { return Ok(()) };
        let is_known = self.desk.policy.recipients().any(|known| known.address.eq_ignore_ascii_case(address));
        if report.questions.is_empty() || !is_known || self.desk.policy.action(NOTIFICATION).is_none() {
            return Ok(());
        }
        let line = |asked: &AskedQuestion| format!("{}  {}", escalations::short_escalation_id(&asked.id), asked.title);
        let lines: Vec<String> = report.questions.iter().map(line).collect();
        let waiting = match lines.len() {
            1 => "a question waits".to_owned(),
            many => format!("{many} questions wait"),
        };
        let causes = plan.questions.iter().flat_map(|question| &question.causes).collect::<BTreeSet<_>>();
        let causes: Vec<Json> =
            causes.into_iter().map(|cause| json!({ "id": cause.id, "revision": cause.revision })).collect();
        let action = Untrusted::new(
            json!({
                "action": NOTIFICATION,
                "target": address,
                "fields": {
                    "subject": format!("{}: {waiting}", self.charter.name),
                    "body": format!("{}\n", lines.join("\n")),
                },
                "causes": causes,
            }),
            Label::from_source(Source::named("triage/notification")),
        );
        match self.desk.propose_agreed(&action, ONE_SOURCE).await {
            Ok(proposal) => take_proposal(NOTIFICATION, &proposal, report),
            Err(error) => report.problems.push(format!("the owner was not told: {error}")),
        }
        Ok(())
    }

    fn finish(&self, plan: &CyclePlan, report: &CycleReport, began: Time) -> Result<CycleFinish, Error> {
        let unwritten = |error| Error::bug("an artefact can't be written down", error);
        let mut artefacts = Vec::new();
        for AppliedChange { artefact, entry, .. } in &plan.changes {
            artefacts.push(NewArtefactVersion {
                kind: artefact.kind().as_str().to_owned(),
                version: artefact.version(),
                content: HashedContent::new(artefact.write().map_err(unwritten)?),
                entry: HashedContent::new(entry.write().map_err(unwritten)?),
                causes: entry.causes.clone(),
            });
        }
        let handled = plan.outcomes.iter();
        let handled = handled
            .map(|outcome| HandledSignal {
                id: outcome.id.clone(),
                outcome: report.links.outcome_with_links(&outcome.id, outcome.to_json()),
            })
            .collect();
        Ok(CycleFinish {
            project: self.desk.owner.clone(),
            actor: self.system(),
            began,
            at: when::time_now(),
            artefacts,
            handled,
            counts: cycle_counts(plan, report),
        })
    }
}

/// Takes into a report what became of a proposal, and the question that asks about it. `name` is what an action without a
/// name is called.
fn take_proposal(name: &str, proposal: &Proposal, report: &mut CycleReport) {
    report.actions.push((proposal.action.name().unwrap_or(name).to_owned(), proposal.fate));
    let title = match proposal.decision.ruling {
        Ruling::Refusal(_) => "The policy refuses an action that would answer signals. Who does it, or allows it?",
        _ => "An action that would answer signals is left to a person. Does it happen?",
    };
    let asked = |id: &EscalationId| AskedQuestion { id: id.clone(), title: title.to_owned(), heading: LabelTree::Null };
    report.questions.extend(proposal.escalation.as_ref().map(asked));
}

/// The line of a cycle: what it counted.
fn cycle_counts(plan: &CyclePlan, report: &CycleReport) -> Json {
    let of = |word: &str| plan.outcomes.iter().filter(|outcome| outcome.kind.as_str() == word).count();
    let tools = report.tools.iter();
    let tools = tools.map(|(tool, tally)| (*tool, json!({ "calls": tally.calls, "taken": tally.taken })));
    let stages = report.stages.iter().map(|(stage, tally)| (stage.as_str(), stage_counts(*stage, *tally)));
    let changes: usize = plan.changes.iter().map(|change| change.entry.changes.len()).sum();
    json!({
        "signals": plan.outcomes.len(),
        "logged": of("logged"),
        "incorporated": of("incorporated"),
        "commented": of("commented"),
        "drafted": of("drafted"),
        "escalated": of("escalated"),
        "keptOut": of("kept-out"),
        "changes": changes,
        "questions": report.questions.len(),
        "suspected": report.suspected,
        "tools": tools.collect::<BTreeMap<_, _>>(),
        "stages": stages.collect::<BTreeMap<_, _>>(),
        "degraded": plan.outcomes.iter().all(|outcome| outcome.is_degraded),
    })
}

/// The counts of a stage: only one looks for attacks, and two can ask a person.
fn stage_counts(stage: PipelineStage, tally: StageTally) -> Json {
    let StageTally { signals, suspected, escalated } = tally;
    match stage {
        PipelineStage::Sanitise => json!({ "signals": signals, "suspected": suspected }),
        PipelineStage::Classify | PipelineStage::Reasoning => json!({ "signals": signals, "escalated": escalated }),
        PipelineStage::ArtefactUpdate => json!({ "signals": signals }),
    }
}
