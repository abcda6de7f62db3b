//! Signals, taken in once.

use std::collections::{BTreeMap, BTreeSet};

use proem_engine::effect::key::SignalRevision;
use proem_engine::run::Time;
use proem_guard::credential::redact_document;

use super::content::insert_contents;
use super::work;
use crate::error::Error;
use crate::failpoint;
use crate::record::{Actor, NewSignal, NewTriageProject, Project, SignalIntake, SignalStanding};
use crate::sql::{BoundValue, TableLine, Tables, ToBound as _, Transaction, ValueKind, Write};
use crate::store::Store;

/// The relation of a signal to the stored ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntakeAnswer {
    /// The first of its id.
    New,
    /// Its id was known, with other content.
    Revised,
    /// It is there already, and nothing is written.
    Same,
}

impl Store {
    /// Keeps signals, each revision once; what each was, in their order. They share a transaction: all are kept, or
    /// none.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] for one that comes as handled, [`Error::Unusable`].
    pub async fn take_signals(&self, intake: SignalIntake) -> Result<Vec<IntakeAnswer>, Error> {
        failpoint::beside("before", "intake");
        let answers = self.write(intake).await?;
        failpoint::beside("after", "intake");
        Ok(answers)
    }

    /// Keeps a project's id and name. A second time the newest counts.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn register_triage_project(&self, project: NewTriageProject) -> Result<(), Error> {
        self.write(project).await
    }
}

impl Write for SignalIntake {
    type Answer = Vec<IntakeAnswer>;
    const NAME: &'static str = "take-signals";

    fn write(&self, to: &mut Transaction<'_>) -> Result<Vec<IntakeAnswer>, Error> {
        Ok(Self::write_all(&[self], to)?.into_iter().flatten().collect())
    }

    fn write_all(those: &[&Self], to: &mut Transaction<'_>) -> Result<Vec<Vec<IntakeAnswer>>, Error> {
        let mut answers = compare_with_stored(those, to.tables)?.into_iter();
        let mut taken = UnseenSignals::default();
        let of_each = those.iter().map(|intake| {
            let answers: Vec<IntakeAnswer> = answers.by_ref().take(intake.signals.len()).collect();
            taken.add(intake, &answers, to);
            answers
        });
        let of_each = of_each.collect();
        taken.write(to)?;
        Ok(of_each)
    }
}

/// The relation of each signal to those that are stored, or come before it.
fn compare_with_stored(those: &[&SignalIntake], tables: &Tables) -> Result<Vec<IntakeAnswer>, Error> {
    let signals: Vec<_> = those.iter().flat_map(|intake| intake.signals.iter().map(move |s| (*intake, s))).collect();
    if signals.iter().any(|(_, signal)| signal.standing == SignalStanding::Handled) {
        let why = "a signal that only just came was handled by no cycle; take it in as open".to_owned();
        return Err(Error::Conflict(why));
    }
    let of_id = "EXISTS (SELECT 1 FROM signals WHERE (signals.project, signals.id) = (asked.project, asked.id)";
    let after = format!(") SELECT place, {of_id}), {of_id} AND signals.revision = asked.revision) FROM asked");
    let asked = (0_i64..).zip(&signals).map(|(place, (intake, signal))| {
        let SignalRevision { id, revision } = &signal.id;
        vec![place.into(), intake.project.0.to_bound(), id.to_bound(), revision.to_bound()]
    });
    let query = ("WITH asked (place, project, id, revision) AS (", &*after);
    let found = tables.rows_about(query, asked, |row| Ok((row.get::<_, i64>(0)?, (row.get(1)?, row.get(2)?))))?;
    let stored: BTreeMap<i64, (bool, bool)> = found.into_iter().collect();
    let (mut ids, mut revisions) = (BTreeSet::new(), BTreeSet::new());
    let compare = |(place, (intake, signal)): (i64, &(&SignalIntake, &NewSignal))| {
        // As they will be stored: two that differ only in a credential are one.
        let of_id = (intake.project.clone(), stored_text(&signal.id.id));
        let (has_id, has_revision) = stored.get(&place).copied().unwrap_or_default();
        let is_first_revision = revisions.insert((of_id.clone(), stored_text(&signal.id.revision)));
        let is_first = ids.insert(of_id);
        match (has_revision || !is_first_revision, has_id || !is_first) {
            (true, _) => IntakeAnswer::Same,
            (false, true) => IntakeAnswer::Revised,
            (false, false) => IntakeAnswer::New,
        }
    };
    Ok((0_i64..).zip(&signals).map(compare).collect())
}

fn stored_text(text: &str) -> String {
    redact_document(text).unwrap_or_else(|| text.to_owned())
}

/// The lines of signals that nobody has seen, and what follows from them.
#[derive(Default)]
struct UnseenSignals<'s> {
    contents: BTreeMap<&'s str, &'s [u8]>,
    lines: Vec<TableLine<'s>>,
    /// The actor that wants a cycle of each project, and since when.
    wishes: BTreeMap<&'s Project, (&'s Actor, Time)>,
}

impl<'s> UnseenSignals<'s> {
    fn add(&mut self, intake: &'s SignalIntake, answers: &[IntakeAnswer], to: &mut Transaction<'_>) {
        for (signal, _) in intake.signals.iter().zip(answers).filter(|(_, answer)| **answer != IntakeAnswer::Same) {
            let at = to.at(intake.at);
            if let Some(bytes) = &signal.text.bytes {
                self.contents.insert(&signal.text.hash, bytes);
            }
            self.lines.push(vec![
                intake.project.0.to_bound(),
                signal.id.id.to_bound(),
                signal.id.revision.to_bound(),
                intake.actor.to_string().into(),
                at.0.into(),
                signal.source.to_bound(),
                signal.kind.to_bound(),
                signal.time.map_or(BoundValue::Null(ValueKind::Integer), |time| time.0.into()),
                signal.text.hash.to_bound(),
                signal.standing.as_str().to_bound(),
            ]);
            if signal.standing == SignalStanding::Open {
                self.wishes.insert(&intake.project, (&intake.actor, at));
            }
        }
    }

    fn write(self, to: &Transaction<'_>) -> Result<(), Error> {
        insert_contents(to.tables, self.contents)?;
        let insert = "INSERT INTO signals (project, id, revision, actor, at, source, kind, time, text, standing)";
        to.tables.insert_lines(insert, self.lines, "")?;
        self.wishes.into_iter().try_for_each(|(project, (actor, at))| work::want_triage(to, project, actor, at))
    }
}

impl Write for NewTriageProject {
    type Answer = ();
    const NAME: &'static str = "register-triage-project";

    fn write(&self, to: &mut Transaction<'_>) -> Result<(), Error> {
        let at = to.at(self.at);
        to.tables.execute(
            "INSERT INTO triage_projects (project, id, name, actor, at) VALUES (?, ?, ?, ?, ?) \
             ON CONFLICT (project) DO UPDATE SET id = excluded.id, name = excluded.name, actor = excluded.actor, \
             at = excluded.at WHERE (triage_projects.id, triage_projects.name) <> (excluded.id, excluded.name)",
            (&self.project.0, &self.id, &self.name, self.actor.to_string(), at.0),
        )?;
        Ok(())
    }
}
