//! A proposed version asked of a model, beside the version in use.

use proem_engine::prompt::book::{Book, BookLayer};
use proem_engine::prompt::file::PartialText;
use proem_engine::prompt::origin::Origin;
use proem_guard::show;
use proem_llm::endpoint::EndpointKey;
use tokio_util::sync::CancellationToken;

use super::super::live::{Asking, LiveOptions, LivePurse};
use super::super::repeats::SuiteRepeats;
use super::super::test::{AssemblyState, BookCaseResult, suite};
use super::{PreparedProposal, ProposedChange, current_base};
use crate::error::Error;
use crate::message::Note;
use crate::places::Places;
use crate::project::{BookReading, OpenProject};
use crate::run::options::Carriage;

impl PreparedProposal {
    /// Asks a model for the prompt's cases and gives the results in words, a line each: with the proposed version, and
    /// with the version in use unless answers are recorded ones. `live.most` bounds both together. Messages go to
    /// `notes`, also on failure.
    ///
    /// # Errors
    ///
    /// If no case says what a model should answer, the version in use is not trusted, nobody can be asked, or the
    /// provider fails.
    pub async fn try_live(
        &self,
        live: &LiveOptions,
        places: &Places,
        notes: &mut Vec<Note>,
        stop: &CancellationToken,
    ) -> Result<Vec<String>, Error> {
        let (ProposedChange::Version { prompt, version, base } | ProposedChange::Current { prompt, version, base }) =
            &self.change
        else {
            return Err(Error::invalid("a setting has no cases"));
        };
        let trusted = OpenProject::open(&live.root, places, BookReading::Trusted)?.book()?;
        if current_base(&trusted, prompt).ok().as_ref() != Some(base) {
            return Err(Error::negative(format!(
                "{} {} is not trusted, so no model is asked; review it with `proem trust` first",
                show::terminal_str(prompt),
                show::terminal_str(&base.version)
            )));
        }
        let files = self.files.iter().map(|(path, text)| (path.clone(), PartialText::Template(text.clone())));
        let proposed = BookLayer { origin: Origin::Configured, files: files.collect() };
        let book = Book::new(trusted.layers().iter().cloned().chain([proposed]).collect())?;
        let mut trial = Trial { live, places, book, purse: LivePurse::of(live.most), lines: Vec::new() };
        trial.ask((prompt.as_str(), version.as_str()), notes, stop).await?;
        if !matches!(live.carriage, Carriage::Cassettes(_)) {
            trial.ask((prompt.as_str(), base.version.as_str()), notes, stop).await?;
            trial.lines.push(format!("cost of asking {}", trial.purse.in_words()));
        }
        Ok(trial.lines)
    }
}

/// The state while versions are asked.
struct Trial<'t> {
    live: &'t LiveOptions,
    places: &'t Places,
    /// The trusted book, with the proposed files over it.
    book: Book,
    purse: LivePurse,
    lines: Vec<String>,
}

impl Trial<'_> {
    /// Asks for the cases of one version.
    async fn ask(
        &mut self,
        (prompt, version): (&str, &str),
        notes: &mut Vec<Note>,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        let suite = suite(&self.book, prompt.to_owned(), version.to_owned())?;
        let Some(suite) = suite.filter(super::super::test::Suite::has_live_cases) else {
            return Err(Error::invalid(format!(
                "no case of {} {} says what a model should answer; add `live:` to one",
                show::terminal_str(prompt),
                show::terminal_str(version)
            )));
        };
        let mut tested = suite.test(&AssemblyState::new()?)?;
        let project = OpenProject::open(&self.live.root, self.places, BookReading::Trusted)?;
        let asking = Asking::of_book(self.live, &suite, &self.book, project, notes)?;
        let key = &asking.setting().access.asked.endpoint.key;
        if let (EndpointKey::Missing { variable }, false) = (key, matches!(self.live.carriage, Carriage::Cassettes(_)))
        {
            return Err(Error::invalid(format!(
                "nothing was proposed: no model is asked, since {variable} is not set"
            )));
        }
        let open = asking.begin(notes).await?;
        let unmade = Box::pin(open.ask_within(&mut tested, &mut self.purse, stop)).await;
        let (model, endpoint, _) = open.names();
        let graders = open.graders().to_vec();
        notes.extend(open.end().await);
        let unmade = unmade?;
        check_answered(&tested, stop)?;
        let live = || tested.iter().filter(|case| case.live.is_some());
        let times = self.live.times.get();
        let (passed, all) = (live().filter(|case| case.passed).count(), live().count());
        self.lines.push(format!(
            "{version}: {passed} of {all} cases pass, each asked {times} times of `{model}` at `{endpoint}`"
        ));
        if unmade > 0 {
            self.lines.push(format!(
                "{version}: {unmade} answers were not asked for, since they could have passed the maximum cost"
            ));
        }
        let repeats = SuiteRepeats::of(&tested, times, &graders);
        let lines = repeats.into_iter().flat_map(|repeats| repeats.lines());
        self.lines.extend(lines.map(|line| format!("{version}: {line}")));
        Ok(())
    }
}

/// Refuses answers that a provider did not give: they say nothing about a version.
fn check_answered(tested: &[BookCaseResult], stop: &CancellationToken) -> Result<(), Error> {
    if stop.is_cancelled() {
        return Err(Error::outside("interrupted; nothing was proposed"));
    }
    let is_unanswered = |case: &&BookCaseResult| case.live.as_ref().is_some_and(|live| live.repeats.unanswered > 0);
    match tested.iter().find(is_unanswered) {
        Some(case) => {
            let problems = case.problems.join("; ");
            Err(Error::outside(format!("nothing was proposed: case `{}`: {problems}", show::terminal_str(&case.case))))
        }
        None => Ok(()),
    }
}
