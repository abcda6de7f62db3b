//! The search itself: the text in use first, then each variant, then the comparison.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use proem_agents::prompt_call::InputAuthor;
use proem_engine::prompt::book::Book;
use proem_engine::prompt::origin::Origin;
use proem_engine::run::ExchangeEnd;
use proem_guard::show;
use proem_llm::endpoint::EndpointKey;
use proem_runtime::files::{self, FileAccess, FileContent};
use proem_score::repeat::sign_test;
use proem_text::json;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::split::{CaseSplit, split_cases};
use super::variant::{BaseFile, Variant, VariantGate};
use super::{
    HeldOutResult, ImproveOptions, SEARCH_ERROR, SearchPlan, SearchResult, SearchStart, VariantFate, VariantResult,
    WRITER,
};
use crate::book::interrupted_answers::{ChosenRun, ResumedRun};
use crate::book::journal::Journal;
use crate::book::live::{Asking, LiveOptions, LivePurse, run_cost};
use crate::book::proposals::{
    ProposalBase, ProposalDraft, ProposedChange, StoredProposal, describe_proposal, write_proposal,
};
use crate::book::test::{AssemblyState, BookCaseResult, Suite, suite};
use crate::error::Error;
use crate::message::Note;
use crate::places::Places;
use crate::project::{BOOK, BookReading, OpenProject};
use crate::records::learning::Adapting;
use crate::records::writing::RecordChoice;
use crate::run::options::{Carriage, RunOptions};
use crate::run::setting::RunSetting;
use crate::trust::{MAX_FILE_BYTES, sha256_hex};

/// The most failures that a model is shown, and the most characters of each.
const MAX_FAILURES: usize = 12;
const MAX_FAILURE_CHARS: usize = 2_000;
/// The file in a search's folder that says who started it.
const START: &str = "start.json";

/// A search for a better wording.
pub(super) struct Search<'s> {
    options: &'s ImproveOptions,
    places: &'s Places,
    book: Book,
    /// `agent/name`.
    name: String,
    base: ProposalBase,
    origin: Origin,
    split: CaseSplit,
}

/// The state of a search that asks.
struct Asked<'a> {
    /// This process's recordings.
    folder: PathBuf,
    /// Those of processes before it.
    earlier: Vec<PathBuf>,
    purse: LivePurse,
    notes: &'a mut Vec<Note>,
    stop: &'a CancellationToken,
}

/// Cases that are asked together, in recordings of their own.
struct CasePart<'p> {
    suite: Suite,
    /// The book that has the suite's version.
    book: &'p Book,
    /// The name of the folder of its recordings.
    name: &'p str,
    /// Whether the cases before leave anything open.
    is_open: &'p (dyn Fn(&[BookCaseResult]) -> bool + Sync),
}

/// The passed share of each case, by name.
type CaseShares = BTreeMap<String, f64>;

impl<'s> Search<'s> {
    pub(super) fn new(options: &'s ImproveOptions, places: &'s Places) -> Result<Self, Error> {
        let project = OpenProject::open(&options.root, places, BookReading::Trusted)?;
        let book = project.book()?;
        let (name, version) = match options.prompt.split_once('@') {
            Some((name, version)) => (name.to_owned(), version.to_owned()),
            None => (options.prompt.clone(), book.current(&options.prompt)?),
        };
        let cases = suite(&book, name.clone(), version.clone())?
            .ok_or_else(|| Error::invalid(format!("`{name}` has no test cases; name a file under `proem.cases`")))?;
        let closures = book.versions()?;
        let closure = closures.into_iter().find(|known| known.prompt == name && known.version == version);
        let closure = closure.map(|known| known.closure).unwrap_or_default();
        let split = split_cases(&cases.cases.cases, &format!("{name}@{version}"));
        if split.shown.is_empty() || split.held_out.is_empty() {
            return Err(Error::invalid(format!(
                "`{name}` has {} cases whose answer code checks, and a search needs at least 2; add `live.answer` or \
                 `live.checks` to its cases",
                split.shown.len().saturating_add(split.held_out.len())
            )));
        }
        let origin = book.file(&format!("{name}/{version}.prompt")).map_or(Origin::Configured, |(_, origin)| origin);
        Ok(Self { options, places, book, name, base: ProposalBase { version, closure }, origin, split })
    }

    /// The suite of the text in use.
    fn base_suite(&self, book: &Book, version: &str) -> Result<Suite, Error> {
        let found = suite(book, self.name.clone(), version.to_owned())?;
        found.ok_or_else(|| Error::bug("a prompt has no cases", "it had some"))
    }

    pub(super) fn plan(&self) -> Result<SearchPlan, Error> {
        let tested = self.base_suite(&self.book, &self.base.version)?.test(&AssemblyState::new()?)?;
        let failing = tested.into_iter().filter(|case| !case.passed).map(|case| case.case).collect();
        let listed = |names: &std::collections::BTreeSet<String>| names.iter().cloned().collect();
        let most = u32::try_from(self.split.held_out.len()).unwrap_or(u32::MAX);
        let wins_needed = (1..=most).find(|wins| sign_test(*wins, 0) <= self.error()).unwrap_or(u32::MAX);
        Ok(SearchPlan {
            prompt: format!("{}@{}", self.name, self.base.version),
            shown: listed(&self.split.shown),
            held_out: listed(&self.split.held_out),
            judged_only: listed(&self.split.judged_only),
            failing,
            wins_needed,
        })
    }

    /// The error that each variant may have, so that the best of all has [`SEARCH_ERROR`] (Bonferroni's inequality; Dunn,
    /// *Multiple Comparisons Among Means*, 1961).
    fn error(&self) -> f64 {
        SEARCH_ERROR / f64::from(self.options.variants.get())
    }

    pub(super) async fn run(
        &self,
        start: &SearchStart,
        notes: &mut Vec<Note>,
        stop: &CancellationToken,
    ) -> Result<SearchResult, Error> {
        let plan = self.plan()?;
        if plan.wins_needed == u32::MAX {
            return Err(Error::invalid(format!(
                "{} held-out cases can't prove that the best of {} variants is better; add cases, or ask for fewer \
                 variants",
                plan.held_out.len(),
                self.options.variants
            )));
        }
        let (folder, earlier) = self.recordings()?;
        let start = &self.first_start(&folder, start)?;
        let mut asked = Asked { folder, earlier, purse: LivePurse::of(Some(self.options.most)), notes, stop };
        let bench = AssemblyState::new()?;
        let own = |kept: &std::collections::BTreeSet<String>| {
            Ok::<_, Error>(self.base_suite(&self.book, &self.base.version)?.retaining(|case| kept.contains(&case.name)))
        };
        let too_dear = || Error::invalid("the money does not suffice for the text in use; raise `--max-cost`");
        let part = |suite, name| CasePart { suite, book: &self.book, name, is_open: &|_| true };
        let shown = self.answers(part(own(&self.split.shown)?, "base-shown"), &mut asked).await?;
        let shown = shown.ok_or_else(too_dear)?;
        let failures = failures_in_words(&shown);
        let names = shown.iter().filter(|case| !case.passed).map(|case| case.case.clone()).collect();
        if failures.is_empty() {
            return Ok(SearchResult { plan, failures: names, variants: vec![], proposal: None, purse: asked.purse });
        }
        let held_out = self.answers(part(own(&self.split.held_out)?, "base-held-out"), &mut asked).await?;
        let before = [shares_of_cases(&shown), shares_of_cases(&held_out.ok_or_else(too_dear)?)];
        let file = self.base_file()?;
        let version = self.next_version()?;
        let whole = self.base_suite(&self.book, &self.base.version)?;
        let gate = VariantGate {
            prompt: &self.name,
            version: &version,
            file: &file,
            base: &whole,
            layers: self.book.layers(),
            bench: &bench,
        };
        let (mut variants, mut texts) = (Vec::new(), Vec::new());
        let written = self.write_variants(&file.template, &failures, &mut asked).await?;
        for (number, written) in (1..).zip(written) {
            let admitted =
                written.and_then(|template| gate.admit(&template).map_err(|because| (VariantFate::Refused, because)));
            let (result, text) = match admitted {
                Err((fate, because)) => (VariantResult { number, fate, because, held_out: None }, String::new()),
                Ok(variant) => {
                    let result = Box::pin(self.compare(number, (&variant, &version), &before, &mut asked)).await?;
                    (result, variant.text)
                }
            };
            variants.push(result);
            texts.push(text);
        }
        let best = crown_best(&mut variants);
        let proposal = match best.and_then(|best| Some((variants.get(best)?, texts.get(best)?))) {
            Some((variant, text)) => Some(self.propose((variant, text), &version, &plan, start)?),
            None => None,
        };
        Ok(SearchResult { plan, failures: names, variants, proposal, purse: asked.purse })
    }

    /// A new folder for this process's recordings, and the folders of those before it that asked the same.
    fn recordings(&self) -> Result<(PathBuf, Vec<PathBuf>), Error> {
        let ImproveOptions { variants, times, model, provider, .. } = self.options;
        let cases: Vec<&str> = self
            .book
            .layers()
            .iter()
            .flat_map(|layer| &layer.files)
            .filter(|(path, _)| path.starts_with(&format!("{}/", self.name)))
            .map(|(_, text)| text.as_str())
            .collect();
        let about = json!([self.name, self.base.version, self.base.closure, cases, variants, times, model, provider]);
        let search: String = sha256_hex(json::compact(&about).as_bytes()).chars().take(16).collect();
        let whole = self.places.state.join("improve").join(search);
        let failed = |error: std::io::Error| {
            let shown = show::terminal_str(&whole.display().to_string()).into_string();
            Error::outside(format!("could not create the folder `{shown}`: {error}"))
        };
        fs::create_dir_all(&whole).map_err(failed)?;
        let mut earlier = Vec::new();
        for number in 1..u32::MAX {
            let folder = whole.join(format!("part-{number:02}"));
            match fs::create_dir(&folder) {
                Ok(()) => return Ok((folder, earlier)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => earlier.push(folder),
                Err(error) => return Err(failed(error)),
            }
        }
        Err(Error::bug("no folder for recordings is free", "there are too many"))
    }

    /// The start of the first process of this search. A proposal's id covers it, so that a process that was killed while
    /// it proposed, and the one after it, make one proposal.
    fn first_start(&self, folder: &Path, start: &SearchStart) -> Result<SearchStart, Error> {
        let whole = folder.parent().unwrap_or(folder);
        let bytes = serde_json::to_vec(start).map_err(|error| Error::bug(START, error))?;
        match files::write_new(whole, Path::new(START), &bytes, FileAccess::Private) {
            Ok(()) => return Ok(start.clone()),
            Err(proem_runtime::Error::Exists { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let known = files::read_beneath(whole, Path::new(START), MAX_FILE_BYTES)?;
        let known = known.and_then(|content| match content {
            FileContent::Whole(bytes) => serde_json::from_slice(&bytes).ok(),
            FileContent::Cut(_) => None,
        });
        known.ok_or_else(|| {
            let shown = show::terminal_str(&whole.display().to_string()).into_string();
            Error::invalid(format!("`{shown}/{START}` was edited; remove that folder to begin the search anew"))
        })
    }

    /// The answers to cases, as far as they were asked. `None` if the money does not suffice.
    async fn answers(
        &self,
        CasePart { suite, book, name: part, is_open }: CasePart<'_>,
        asked: &mut Asked<'_>,
    ) -> Result<Option<Vec<BookCaseResult>>, Error> {
        let mut tested = suite.test(&AssemblyState::new()?)?;
        let options = LiveOptions {
            root: self.options.root.clone(),
            times: self.options.times,
            model: self.options.model.clone(),
            provider: self.options.provider.clone(),
            carriage: Carriage::Recorder(asked.folder.join(part)),
            adapting: Adapting::default(),
            record: RecordChoice::AsConfigured,
            most: Some(self.options.most),
            earlier: asked.earlier.iter().map(|folder| folder.join(part)).collect(),
        };
        let project = self.project()?;
        let asking = Asking::of_book(&options, &suite, book, project, asked.notes)?;
        check_key_of_writer(asking.setting())?;
        let open = asking.begin(asked.notes).await?;
        let extent = Box::pin(open.ask_while(&mut tested, &mut asked.purse, asked.stop, is_open)).await;
        asked.notes.extend(open.end().await);
        let extent = extent?;
        tested.truncate(extent.cases);
        asked.check_going()?;
        let is_unanswered = |case: &&BookCaseResult| case.live.as_ref().is_some_and(|live| live.repeats.unanswered > 0);
        if let Some(case) = tested.iter().find(is_unanswered) {
            let problems = case.problems.join("; ");
            return Err(Error::outside(format!(
                "case `{}`: {problems}; repeat the command to go on where it stopped",
                show::terminal_str(&case.case)
            )));
        }
        Ok((extent.unmade == 0).then_some(tested))
    }

    fn project(&self) -> Result<OpenProject, Error> {
        let mut project = OpenProject::open(&self.options.root, self.places, BookReading::Trusted)?;
        // Failures on this machine must not change a test's requests.
        project.config.adapt.enabled = Some(false);
        Ok(project)
    }

    /// The templates that a model writes, or why there is none.
    async fn write_variants(
        &self,
        template: &str,
        failures: &[String],
        asked: &mut Asked<'_>,
    ) -> Result<Vec<Result<String, (VariantFate, String)>>, Error> {
        let mut project = self.project()?;
        let options = RunOptions {
            provider: self.options.provider.clone(),
            given: InputAuthor::ByCaller,
            carriage: Carriage::Recorder(asked.folder.join("writer")),
            most: Some(self.options.most),
            ..RunOptions::of(WRITER.to_owned())
        };
        let earlier: Vec<PathBuf> = asked.earlier.iter().map(|folder| folder.join("writer")).collect();
        let chosen = ChosenRun::new(options, &earlier, |run| RunSetting::new(run, &mut project))?;
        let attempts = chosen.options.limits.attempts;
        let run = chosen.begin(&project, asked.notes).await?;
        let mut written = Vec::new();
        for number in 1..=self.options.variants.get() {
            let count = format!("{number} of {}", self.options.variants);
            let inputs = json!({ "template": template, "failures": failures, "number": count }).into();
            let most = crate::book::compare::most_of_run(run.setting(), attempts, &inputs)?.1;
            if !asked.purse.has_room(most) {
                written.push(Err((VariantFate::Unpaid, "it could have passed the maximum cost".to_owned())));
                continue;
            }
            written.push(write_variant(&run, (number, &inputs), asked).await?);
        }
        asked.notes.extend(run.end().await);
        Ok(written)
    }

    /// Asks with a variant, and compares it with the text in use: on shown cases first.
    async fn compare(
        &self,
        number: u32,
        (variant, version): (&Variant, &str),
        [shown_before, held_before]: &[CaseShares; 2],
        asked: &mut Asked<'_>,
    ) -> Result<VariantResult, Error> {
        let result = |fate, because: String, held_out| VariantResult { number, fate, because, held_out };
        let unpaid = || result(VariantFate::Unpaid, "it could have passed the maximum cost".to_owned(), None);
        let own = |kept: &std::collections::BTreeSet<String>| {
            Ok::<_, Error>(self.base_suite(&variant.book, version)?.retaining(|case| kept.contains(&case.name)))
        };
        let name = |kind: &str| format!("variant-{number:02}-{kind}");
        let (shown, held_out) = (name("shown"), name("held-out"));
        let part = |suite, name, is_open| CasePart { suite, book: &variant.book, name, is_open };
        let shown = self.answers(part(own(&self.split.shown)?, &shown, &|_| true), asked).await?;
        let Some(shown) = shown else { return Ok(unpaid()) };
        let (found, before) = (mean_percent(&shares_of_cases(&shown)), mean_percent(shown_before));
        if found <= before {
            let because = format!("{found:.0} % of answers to shown cases pass, before {before:.0} %");
            return Ok(result(VariantFate::NoBetterShown, because, None));
        }
        let can_pass = |tested: &[BookCaseResult]| held_out_result(held_before, tested).best_chance() <= self.error();
        let held_out = self.answers(part(own(&self.split.held_out)?, &held_out, &can_pass), asked).await?;
        let Some(held_out) = held_out else { return Ok(unpaid()) };
        let found = held_out_result(held_before, &held_out);
        let all = held_before.len();
        let HeldOutResult { wins, losses, unasked, chance } = found;
        let fate = if unasked == 0 && chance <= self.error() { VariantFate::Second } else { VariantFate::NotProven };
        let words = match unasked {
            0 => format!(
                "{wins} of {all} held-out cases better, {losses} worse, p = {chance:.4}, needed {:.4}",
                self.error()
            ),
            _ => format!(
                "{wins} of {} held-out cases better, {losses} worse; winning the other {unasked} would prove nothing",
                all.saturating_sub(unasked)
            ),
        };
        Ok(result(fate, words, Some(found)))
    }

    fn base_file(&self) -> Result<BaseFile, Error> {
        let path = format!("{}/{}.prompt", self.name, self.base.version);
        let text = self.book.file(&path).map(|(text, _)| text.as_str()).unwrap_or_default();
        BaseFile::parse(text, &self.base.version)
    }

    /// The next minor version after all versions of the prompt.
    fn next_version(&self) -> Result<String, Error> {
        let numbers = |version: &str| -> Option<(u64, u64)> {
            let mut parts = version.split('.').map(|part| part.parse().ok());
            Some((parts.next()??, parts.next()??))
        };
        let versions = self.book.versions()?;
        let own = versions.iter().filter(|version| version.prompt == self.name);
        let (major, minor) = own.filter_map(|version| numbers(&version.version)).max().unwrap_or_default();
        Ok(format!("{major}.{}.0", minor.saturating_add(1)))
    }

    fn propose(
        &self,
        (variant, text): (&VariantResult, &str),
        version: &str,
        plan: &SearchPlan,
        start: &SearchStart,
    ) -> Result<StoredProposal, Error> {
        let folder = match (self.origin, self.project()?.root) {
            (Origin::Project, Some(root)) => root.join(BOOK),
            _ => self.places.book(),
        };
        let evidence = vec![
            format!("{} with {}", variant.because, plan.prompt),
            format!("best of {} variants, each case asked {} times", self.options.variants, self.options.times),
            format!("held out: {}", plan.held_out.join(", ")),
        ];
        let draft = ProposalDraft {
            by: &start.by,
            made: start.at,
            because: "a model's wording passes more of the cases that it did not see",
            evidence: evidence.into_iter().map(|line| line.chars().take(1_000).collect()).collect(),
            change: ProposedChange::Version {
                prompt: self.name.clone(),
                version: version.to_owned(),
                base: self.base.clone(),
            },
            files: BTreeMap::from([(format!("{}/{version}.prompt", self.name), text.to_owned())]),
        };
        let (id, _) = describe_proposal(&draft)?;
        if let Some(entry) = Journal::load(&folder)?.verdict(&id) {
            let words = entry.in_words();
            return Err(Error::negative(format!(
                "the wording that is proven was decided already: {words}; change the cases to search anew"
            )));
        }
        write_proposal(&folder, &draft)
    }
}

impl Asked<'_> {
    fn check_going(&self) -> Result<(), Error> {
        if self.stop.is_cancelled() {
            return Err(Error::outside("interrupted; repeat the command to go on where it stopped"));
        }
        Ok(())
    }
}

/// Refuses a model that nobody can ask, before a search has asked for anything.
fn check_key_of_writer(setting: &RunSetting) -> Result<(), Error> {
    let key = &setting.access.asked.endpoint.key;
    if !matches!(key, EndpointKey::Missing { .. }) {
        return Ok(());
    }
    let variable = key.variable().unwrap_or("a key");
    Err(Error::invalid(format!("no model is asked: {variable} is not set; with `--dry-run` you see the cases")))
}

/// Lets the model write one variant.
async fn write_variant(
    run: &ResumedRun,
    (number, inputs): (u32, &proem_engine::ordered_json::OrderedJson),
    asked: &mut Asked<'_>,
) -> Result<Result<String, (VariantFate, String)>, Error> {
    let most = crate::book::compare::most_of_run(run.setting(), std::num::NonZeroU32::MIN, inputs)?.1;
    let ran = run.ask(inputs, number, asked.stop).await?;
    asked.purse.book(run_cost(run.setting(), &ran), most);
    asked.check_going()?;
    Ok(match &ran.outcome.ended {
        ExchangeEnd::Answered { value } => {
            let value = show::exact_value(value);
            let template = value.get("template").and_then(serde_json::Value::as_str);
            template.map(str::to_owned).ok_or((VariantFate::Unwritten, "it has no text".to_owned()))
        }
        ExchangeEnd::Failed { .. } | ExchangeEnd::FellBack { .. } => {
            if let Some(failure) =
                ran.failure().filter(|_| ran.outcome.attempts.iter().all(|one| one.response.is_none()))
            {
                return Err(failure);
            }
            Err((VariantFate::Unwritten, "the model's answer was not usable".to_owned()))
        }
    })
}

/// The failed cases for the model, each with its answers.
fn failures_in_words(shown: &[BookCaseResult]) -> Vec<String> {
    let failed = shown.iter().filter(|case| !case.passed).take(MAX_FAILURES);
    let words = failed.map(|case| {
        let inputs = case.inputs.as_ref().map(|inputs| inputs.compact()).unwrap_or_default();
        let answers: Vec<&str> = case.live.iter().flat_map(|live| live.answers.keys().map(String::as_str)).collect();
        let text =
            format!("case `{}`: {inputs}; answers: {}; {}", case.case, answers.join(", "), case.problems.join("; "));
        text.chars().take(MAX_FAILURE_CHARS).collect()
    });
    words.collect()
}

fn shares_of_cases(tested: &[BookCaseResult]) -> CaseShares {
    let live = tested.iter().filter_map(|case| Some((case, case.live.as_ref()?)));
    live.map(|(case, live)| (case.case.clone(), f64::from(live.expected) / f64::from(live.times.max(1)))).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a prompt has fewer than 2⁵³ cases")]
fn mean_percent(shares_of_cases: &CaseShares) -> f64 {
    shares_of_cases.values().sum::<f64>() / shares_of_cases.len().max(1) as f64 * 100.0
}

/// Compares case by case, as far as the variant was asked. A case without an answer of the variant is a loss.
fn held_out_result(before: &CaseShares, tested: &[BookCaseResult]) -> HeldOutResult {
    let after = shares_of_cases(tested);
    let (mut wins, mut losses) = (0_u32, 0_u32);
    for case in tested {
        match (before.get(&case.case), after.get(&case.case)) {
            (Some(share), Some(found)) if found > share => wins = wins.saturating_add(1),
            (Some(share), Some(found)) if found >= share => {}
            _ => losses = losses.saturating_add(1),
        }
    }
    let unasked = before.len().saturating_sub(tested.len());
    HeldOutResult { wins, losses, unasked, chance: sign_test(wins, losses) }
}

impl HeldOutResult {
    /// The chance if the variant won every case that is left.
    fn best_chance(&self) -> f64 {
        let left = u32::try_from(self.unasked).unwrap_or(u32::MAX);
        sign_test(self.wins.saturating_add(left), self.losses)
    }
}

/// Marks the best of the variants that are proven, and gives its place. The first of equals wins.
fn crown_best(variants: &mut [VariantResult]) -> Option<usize> {
    let proven = variants.iter().enumerate().filter(|(_, variant)| variant.fate == VariantFate::Second);
    let chance = |variant: &VariantResult| variant.held_out.map_or(1.0, |held_out| held_out.chance);
    let best = proven.min_by(|(_, a), (_, b)| chance(a).total_cmp(&chance(b))).map(|(place, _)| place)?;
    variants.get_mut(best)?.fate = VariantFate::Proposed;
    Some(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::test::LiveCounts;

    #[test]
    fn a_case_without_an_answer_is_a_loss_and_one_that_was_not_asked_is_none() {
        let before = [("a", 0.0), ("b", 0.5), ("c", 1.0), ("d", 0.0), ("e", 0.0)];
        let before = before.iter().map(|(name, share)| ((*name).to_owned(), *share)).collect();
        let case = |(name, expected): (&str, Option<u32>)| BookCaseResult {
            prompt: String::new(),
            case: name.to_owned(),
            passed: true,
            asked: true,
            tokens: None,
            problems: Vec::new(),
            live: expected.map(|expected| LiveCounts { times: 2, expected, ..LiveCounts::default() }),
            inputs: None,
        };
        let tested: Vec<BookCaseResult> =
            [("a", Some(2)), ("b", Some(1)), ("c", Some(1)), ("d", None)].map(case).into();
        let found = held_out_result(&before, &tested);
        assert_eq!((found.wins, found.losses, found.unasked), (1, 2, 1));
        assert!(found.best_chance() < found.chance);
    }
}
