//! `proem book promote`, `demote`, `propose`, `proposals`, `approve` and `reject`: decisions about versions.
//!
//! Invariants: what changes the version in use, or lets text into a book, is asked at a terminal, after all of it was
//! shown. There is no option that answers for a person.

pub(super) mod decision_args;
pub(crate) mod proposals_output;

use std::process::ExitCode;

use proem_app::book::live::LiveOptions;
use proem_app::book::promotion::{BookChoice, DecidedBook, DecisionReason, InterfaceConsent, TrustEffect};
use proem_app::book::proposals::{ProposedChange, StoredProposal};
use proem_app::book::proposing::{
    ApprovalResult, CheckedProposal, CheckedProposals, PreparedProposal, ProposalWish, check_proposal, check_proposals,
    cost_in_words, prepare_proposal,
};
use proem_app::operator::{ApprovalPage, Consent, account_name};
use proem_app::project::BookReading;
use proem_app::records::learning::Adapting;
use proem_app::records::writing::RecordChoice;
use proem_app::run::options::Carriage;
use proem_app::when::time_now;
use proem_guard::{LabelTree, Untrusted, show};
use proem_text::{Label, Source};
use serde_json::json;

use self::decision_args::{ApproveArgs, DecidedPlace, DemoteArgs, PromoteArgs, ProposalsArgs, ProposeArgs, RejectArgs};
use self::proposals_output::ProposalsOutput;
use super::count_with_plural;
use super::diff::book_diff_page;
use super::experiment::version_evidence;
use crate::commands::run::calling;
use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, LEAD, PublishedDocument, RED, style_text};

/// The exit code of a negative answer.
const NO: u8 = 1;

impl DecidedPlace {
    fn open(&self, reading: BookReading) -> Result<DecidedBook, CommandFailure> {
        let choice = if self.user { BookChoice::User } else { BookChoice::Nearest };
        Ok(DecidedBook::open_reading(&self.root, &crate::user_places()?, choice, reading)?)
    }
}

fn reason(because: Option<&String>) -> DecisionReason<'_> {
    DecisionReason { at: time_now(), because: because.map(String::as_str), evidence: None }
}

pub(super) fn run_promote(args: &PromoteArgs) -> Result<ExitCode, CommandFailure> {
    let book = args.place.open(BookReading::Trusted)?;
    let consent = if args.although_interface_differs { InterfaceConsent::MayDiffer } else { InterfaceConsent::Same };
    let plan = book.plan_promotion(&args.prompt, consent)?;
    let change = format!("{} {} → {}", show::terminal_str(&plan.prompt), plan.from, plan.to);
    let otherwise = "look at the change with `proem book diff`";
    let mut operator = ui::operator(&format!("{change} would be the version in use"), otherwise)?;
    ui::aside(&book_diff_page(&plan.difference, ui::output_width()));
    ui::aside(&format!("\ncache: {}\n", plan.cache));
    ui::aside(&format!("money: {}\n", cost_in_words(book.project(), book.book(), &plan.difference)));
    for difference in &plan.interface {
        ui::aside(&format!("{} {difference}\n", style_text(RED, "interface:")));
    }
    let evidence = version_evidence(book.project(), &plan.prompt, &plan.to)?;
    match &evidence {
        Some(evidence) => ui::aside(&format!("evidence: {}", evidence.page)),
        None => ui::aside("evidence: no experiment on this machine compared it\n"),
    }
    ui::aside(&format!("written to: {}/book.toml, with a line in the journal\n", book.shown_path()));
    if ui::confirm(&mut operator, &format!("Use {} from now on?", plan.to))? == Consent::No {
        return Ok(ExitCode::from(NO));
    }
    let hash = evidence.as_ref().map(|evidence| evidence.hash.as_str());
    let reason = DecisionReason { evidence: hash, ..reason(args.because.as_ref()) };
    let effect = book.promote(&plan, &operator, reason)?;
    let prompt = show::terminal_str(&plan.prompt);
    ui::aside(&format!(
        "{change}{}; runs that are open keep {}; `proem book demote {prompt}` takes it back\n",
        trust_words(effect),
        plan.from
    ));
    if let Some(name) = evidence.and_then(|evidence| evidence.running) {
        let name = show::terminal_str(&name);
        ui::aside(&format!(
            "the experiment {name} chooses no version any more; `proem book experiment stop {name}` ends it\n"
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn trust_words(effect: TrustEffect) -> &'static str {
    match effect {
        TrustEffect::None => "",
        TrustEffect::Kept => "; book.toml stays trusted",
    }
}

pub(super) fn run_demote(args: &DemoteArgs) -> Result<ExitCode, CommandFailure> {
    let book = args.place.open(BookReading::Trusted)?;
    let plan = book.plan_demotion(&args.prompt)?;
    let shown = |text: &str| show::terminal_str(text).into_string();
    let change = format!("{} {} → {}", shown(&plan.prompt), shown(&plan.from), shown(&plan.to));
    let mut operator = ui::operator(&format!("{change} would be the version in use"), "leave it as it is")?;
    ui::aside(&format!("taken back: {}\n", plan.promotion));
    let extent = if plan.is_exact {
        "book.toml will have the bytes that it had before"
    } else {
        "book.toml was edited since, so only its line for this prompt is put back"
    };
    ui::aside(&format!("{extent}\n"));
    if ui::confirm(&mut operator, &format!("Use {} again?", shown(&plan.to)))? == Consent::No {
        return Ok(ExitCode::from(NO));
    }
    let effect = book.demote(&plan, &operator, reason(args.because.as_ref()))?;
    ui::aside(&format!("{change}{}\n", trust_words(effect)));
    Ok(ExitCode::SUCCESS)
}

pub(super) fn run_propose(args: &ProposeArgs) -> Result<ExitCode, CommandFailure> {
    let book = args.place.open(BookReading::All)?;
    let by = account_name();
    let wish = ProposalWish {
        what: &args.what,
        prompt: args.prompt.as_deref(),
        by: &by,
        at: time_now(),
        because: &args.because,
    };
    let prepared = prepare_proposal(&book, &wish)?;
    let measured =
        if args.trial.live || args.trial.replay.is_some() { try_prepared(args, &prepared)? } else { Vec::new() };
    let stored = prepared.write(&book, &wish, measured)?;
    let id = stored.id.clone();
    let checked = check_proposal(&book, stored)?;
    ui::print_listing(&proposal_text(&checked))?;
    ui::aside(&format!("proposed in `{}`; a person decides with `proem book approve {id}`\n", book.shown_path()));
    Ok(ExitCode::SUCCESS)
}

/// Asks a model for the cases of a proposal, or takes its recorded answers.
fn try_prepared(args: &ProposeArgs, prepared: &PreparedProposal) -> Result<Vec<String>, CommandFailure> {
    let places = crate::user_places()?;
    let live = LiveOptions {
        root: args.place.root.clone(),
        times: args.trial.times,
        model: None,
        provider: None,
        carriage: Carriage::taped(None, args.trial.replay.clone()),
        adapting: Adapting::default(),
        record: RecordChoice::AsConfigured,
        most: args.trial.max_cost,
        earlier: Vec::new(),
    };
    calling(async |stop| {
        let mut notes = Vec::new();
        let tried = Box::pin(prepared.try_live(&live, &places, &mut notes, &stop)).await;
        notes.sort();
        notes.dedup();
        ui::print_notes(&notes);
        Ok(tried?)
    })
}

pub(super) fn run_proposals(args: &ProposalsArgs) -> Result<ExitCode, CommandFailure> {
    let book = args.place.open(BookReading::All)?;
    let mut checked = check_proposals(&book)?;
    if let Some(id) = &args.id {
        let wanted = book.find_proposal(id)?.id;
        checked.whole.retain(|proposal| proposal.stored.id == wanted);
        checked.problems.clear();
    }
    let code = ExitCode::SUCCESS;
    if args.json {
        ui::print_published_document(PublishedDocument::Pretty(json!(ProposalsOutput::new(&checked))))?;
        return Ok(code);
    }
    let mut out = String::new();
    for proposal in &checked.whole {
        out.push_str(&proposal_text(proposal));
        if args.id.is_some() {
            out.extend(proposal.difference.as_ref().map(|found| book_diff_page(found, ui::output_width())));
        }
    }
    out.push_str(&problem_lines(&checked.problems));
    if args.id.is_none() {
        out.push_str(&format!("{} in `{}`\n", count_with_plural(checked.whole.len(), "proposal"), book.shown_path()));
    }
    ui::print_listing(&out)?;
    Ok(code)
}

/// The check of all proposals, for CI: how many problems there are.
pub(super) fn check_all_proposals(root: &std::path::Path) -> Result<CheckedProposals, CommandFailure> {
    let book = DecidedBook::open_reading(root, &crate::user_places()?, BookChoice::Nearest, BookReading::All)?;
    Ok(check_proposals(&book)?)
}

/// Each problem of each proposal, with its id.
pub(super) fn all_problems(checked: &CheckedProposals) -> Vec<String> {
    let of_whole = checked.whole.iter().flat_map(|proposal| {
        let id = &proposal.stored.id;
        proposal.obstacles().into_iter().map(move |problem| format!("proposal {id}: {problem}"))
    });
    of_whole.chain(checked.problems.iter().cloned()).collect()
}

pub(super) fn problem_lines(problems: &[String]) -> String {
    problems.iter().map(|problem| format!("{} {problem}\n", style_text(RED, "error:"))).collect()
}

fn proposal_text(checked: &CheckedProposal) -> String {
    let StoredProposal { id, proposal, .. } = &checked.stored;
    let shown = |text: &str| show::terminal_str(text).into_string();
    let mut out = format!("{LEAD}{} {}\n", style_text(BOLD, id), proposal.change.in_words());
    out.push_str(&format!("  by {}, {}: {}\n", shown(&proposal.by), shown(&proposal.made), shown(&proposal.because)));
    for line in &proposal.evidence {
        out.push_str(&format!("  measured: {}\n", shown(line)));
    }
    if matches!(proposal.change, ProposedChange::Version { .. } | ProposedChange::Current { .. }) {
        out.push_str(&format!("  checked now: {}\n", checked.cases.in_words()));
        out.extend(checked.cost.as_ref().map(|cost| format!("  money now: {cost}\n")));
    }
    for problem in checked.obstacles() {
        out.push_str(&format!("  {} {problem}\n", style_text(RED, "error:")));
    }
    out
}

pub(super) fn run_approve(args: &ApproveArgs) -> Result<ExitCode, CommandFailure> {
    let book = args.place.open(BookReading::Trusted)?;
    let checked = check_proposal(&book, wanted_proposal(&book, args.id.as_deref())?)?;
    let id = checked.stored.id.clone();
    let obstacles = checked.obstacles();
    if !obstacles.is_empty() {
        return Err(CommandFailure::finding(format!("proposal {id} can't be approved: {}", obstacles.join("\n  "))));
    }
    let mut operator = ui::operator(
        &format!("proposal {id} would be approved"),
        &format!("look at it with `proem book proposals {id}`"),
    )?;
    let Some(displayed) = ui::display_pages(&mut operator, &[approval_page(&checked)?])? else {
        return Ok(ExitCode::from(NO));
    };
    if ui::confirm(&mut operator, "Approve it?")? == Consent::No {
        return Ok(ExitCode::from(NO));
    }
    let words = match book.approve(&checked, &operator, &displayed, reason(args.because.as_ref()))? {
        ApprovalResult::Entered { version } => {
            let version = show::terminal_str(&version).into_string();
            format!("{version} is in the book, locked and not in use; `proem book promote {version}` puts it to use")
        }
        ApprovalResult::Promoted { version } => {
            format!("{} is the version in use", show::terminal_str(&version))
        }
        ApprovalResult::ThresholdSet { change } => {
            format!("{change}, in this project; `proem risk feedback --undo` takes it back")
        }
        ApprovalResult::RevisionWanted { prompt } => format!(
            "nothing changed; `proem improve {} --max-cost DOLLARS` searches for a better wording, and `proem book \
             propose FILE` proposes your own",
            show::terminal_str(&prompt)
        ),
    };
    ui::aside(&format!("{words}\n"));
    Ok(ExitCode::SUCCESS)
}

fn wanted_proposal(book: &DecidedBook, id: Option<&str>) -> Result<StoredProposal, CommandFailure> {
    Ok(match id {
        Some(id) => book.find_proposal(id)?,
        None => book.only_proposal()?,
    })
}

/// The whole of a proposal, its files as text from outside, and our words after them.
fn approval_page(checked: &CheckedProposal) -> Result<ApprovalPage, CommandFailure> {
    let mut page = ApprovalPage::new();
    let Some(source) = Source::parse("proposal") else {
        return Err(CommandFailure::bug("the name of a source", "`proposal` is none"));
    };
    let label = Label::from_source(source);
    for (path, text) in &checked.stored.files {
        page.words(&format!("{} as it will be:\n", show::terminal_str(path)));
        page.tree(&LabelTree::Outside(Untrusted::new(text.clone(), label.clone())))?;
        page.words("\n");
    }
    if let Some(difference) = &checked.difference {
        page.words(&book_diff_page(difference, ui::output_width()));
    }
    page.beside(&proposal_text(checked));
    page.beside(match checked.stored.proposal.change {
        ProposedChange::Version { .. } => {
            "on a yes: the files enter the book and are locked; the version in use stays\n"
        }
        ProposedChange::Current { .. } => "on a yes: this version is in use from then on\n",
        ProposedChange::Threshold { .. } => {
            "on a yes: changes of this project are judged by the new value from then on\n"
        }
        ProposedChange::Revision { .. } => "on a yes: nothing changes; the journal has your decision\n",
    });
    Ok(page)
}

pub(super) fn run_reject(args: &RejectArgs) -> Result<ExitCode, CommandFailure> {
    let book = args.place.open(BookReading::All)?;
    let stored = wanted_proposal(&book, args.id.as_deref())?;
    let otherwise = format!("look at it with `proem book proposals {}`", stored.id);
    let mut operator = ui::operator(&format!("proposal {} would be rejected", stored.id), &otherwise)?;
    ui::aside(&proposal_text(&check_proposal(&book, stored.clone())?));
    if ui::confirm(&mut operator, "Reject it and remove its files?")? == Consent::No {
        return Ok(ExitCode::from(NO));
    }
    book.reject(&stored, &operator, reason(Some(&args.because)))?;
    ui::aside(&format!("proposal {} is rejected\n", stored.id));
    Ok(ExitCode::SUCCESS)
}
