//! Signals, taken in once.

use super::content::write_contents;
use super::work;
use crate::error::Error;
use crate::failpoint;
use crate::record::{NewSignal, NewTriageProject, SignalIntake, SignalStanding};
use crate::sql::{Transaction, Write, params};
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
        let answers: Vec<IntakeAnswer> =
            self.signals.iter().map(|signal| self.take(signal, to)).collect::<Result<_, _>>()?;
        let mut taken = self.signals.iter().zip(&answers);
        if taken.any(|(signal, answer)| *answer != IntakeAnswer::Same && signal.standing == SignalStanding::Open) {
            let at = to.at(self.at);
            work::want_triage(to, &self.project, &self.actor, at)?;
        }
        Ok(answers)
    }
}

impl SignalIntake {
    fn take(&self, signal: &NewSignal, to: &mut Transaction<'_>) -> Result<IntakeAnswer, Error> {
        if signal.standing == SignalStanding::Handled {
            let why = "a signal that only just came was handled by no cycle; take it in as open".to_owned();
            return Err(Error::Conflict(why));
        }
        let known = "SELECT max(revision = ?) FROM signals WHERE (project, id) = (?, ?)";
        let of_id = (&signal.id.revision, &self.project.0, &signal.id.id);
        let answer = match to.tables.row(known, of_id, |row| row.get::<_, Option<i64>>(0))?.flatten() {
            Some(1) => return Ok(IntakeAnswer::Same),
            Some(_) => IntakeAnswer::Revised,
            None => IntakeAnswer::New,
        };
        let at = to.at(self.at);
        write_contents(to.tables, [&signal.text])?;
        to.tables.execute(
            "INSERT INTO signals (project, id, revision, actor, at, source, kind, time, text, standing) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                self.project.0,
                signal.id.id,
                signal.id.revision,
                self.actor.to_string(),
                at.0,
                signal.source,
                signal.kind,
                signal.time.map(|time| time.0),
                signal.text.hash,
                signal.standing.as_str(),
            ],
        )?;
        Ok(answer)
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
