//! Actions that are proposed.

use proem_engine::effect::key::EffectKey;
use proem_engine::effect::{ActionState, ActionVersion};
use proem_text::hex;
use proem_text::json::compact;

use super::action_standing;
use super::content::write_contents;
use crate::error::{Error, Unusable};
use crate::failpoint;
use crate::record::{HashedContent, NewAction, digest_of, digest_text};
use crate::sql::{Tables, Transaction, Write, params};
use crate::store::Store;

/// The outcome of a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProposalAnswer {
    /// It is written down, as `proposed` and in version 0.
    New,
    /// The same action is there already, whatever its texts say. Nothing is written.
    Known {
        /// The action's state.
        state: ActionState,
        /// In which version.
        version: ActionVersion,
    },
    /// Another action has one of its claims, or the witness of these records knew of it. Nothing is written.
    Duplicate {
        /// That one's key.
        of: EffectKey,
    },
}

impl Store {
    /// Writes a proposed action down, if neither its key nor one of its claims is there: not even with an action
    /// that ended and was purged. A revision of a signal has other claims, and is none of these.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] for an action without a claim, [`Error::Unusable`].
    pub async fn propose(&self, action: NewAction) -> Result<ProposalAnswer, Error> {
        failpoint::beside("before", "proposal");
        let answer = self.write(action).await?;
        failpoint::beside("after", "proposal");
        Ok(answer)
    }
}

impl Write for NewAction {
    type Answer = ProposalAnswer;
    const NAME: &'static str = "propose";

    fn write(&self, to: &mut Transaction<'_>) -> Result<ProposalAnswer, Error> {
        if self.claims.is_empty() {
            let why = format!("the action `{}` has no cause; name the signal that caused it", self.scope.name);
            return Err(Error::Conflict(why));
        }
        if is_known_action(to.tables, &self.key)? {
            let found = action_standing::find_action(to.tables, &self.project, &self.key)?.standing;
            return Ok(ProposalAnswer::Known { state: found.state, version: found.version });
        }
        if let Some(of) = witnessed_action(to.tables, self)? {
            return Ok(ProposalAnswer::Duplicate { of });
        }
        if let Some(of) = claim_holder(to.tables, self)? {
            return Ok(ProposalAnswer::Duplicate { of });
        }
        add_action(to, self)?;
        Ok(ProposalAnswer::New)
    }
}

fn is_known_action(tables: &Tables, key: &EffectKey) -> Result<bool, Error> {
    Ok(tables.row("SELECT 1 FROM actions WHERE key = ?", [key.to_string()], |_| Ok(()))?.is_some())
}

/// The action that a witness knew of, where a person adopted records that lacked it: this one, or another one with one
/// of its claims.
fn witnessed_action(tables: &Tables, new: &NewAction) -> Result<Option<EffectKey>, Error> {
    let of_key = "SELECT action FROM witnessed WHERE action = ? AND outcome <> 'not-sent'";
    let of_claim = "SELECT action FROM witnessed_claims WHERE claim = ?";
    let claims = new.claims.iter().map(|claim| (of_claim, hex::encode_hex(claim.as_bytes())));
    for (sql, value) in claims.chain([(of_key, new.key.to_string())]) {
        if let Some(found) = tables.row(sql, [value], |row| row.get::<_, String>(0))? {
            return claim_key(tables, &found).map(Some);
        }
    }
    Ok(None)
}

fn claim_key(tables: &Tables, found: &str) -> Result<EffectKey, Error> {
    let why = || format!("a claim is held by `{found}`, which is no key");
    let key = digest_of(found).ok_or_else(|| Unusable::Corrupt { path: tables.path().to_owned(), why: why() })?;
    Ok(EffectKey::of_bytes(key))
}

/// The action that has the first of these claims that is taken.
fn claim_holder(tables: &Tables, new: &NewAction) -> Result<Option<EffectKey>, Error> {
    for claim in &new.claims {
        let holder: Option<String> = tables.row(
            "SELECT action FROM action_claims WHERE project = ? AND claim = ?",
            (&new.project.0, hex::encode_hex(claim.as_bytes())),
            |row| row.get(0),
        )?;
        if let Some(holder) = holder {
            return claim_key(tables, &holder).map(Some);
        }
    }
    Ok(None)
}

/// Writes the action with its claims and texts.
fn add_action(to: &mut Transaction<'_>, new: &NewAction) -> Result<(), Error> {
    let (at, tables) = (to.at(new.at), to.tables);
    let (key, actor) = (new.key.to_string(), new.actor.to_string());
    let form = HashedContent::new(&new.form);
    write_contents(tables, new.texts.iter().chain([&form]))?;
    tables.execute(
        "INSERT INTO actions (key, project, actor, name, kind, target, recipient, content, form, state, version, \
         deadline, decision, run, step, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'proposed', 0, ?, ?, ?, ?, ?)",
        params![
            key,
            new.project.0,
            actor,
            new.scope.name,
            new.scope.kind,
            digest_text(&new.target),
            new.scope.recipient.as_ref().map(digest_text).unwrap_or_default(),
            digest_text(&new.content.0),
            form.hash,
            new.deadline.0,
            compact(&new.decision),
            new.origin.as_ref().map(|origin| &origin.run.0),
            new.origin.as_ref().map(|origin| origin.step),
            at.0,
        ],
    )?;
    for claim in &new.claims {
        tables.execute(
            "INSERT INTO action_claims (project, claim, action, actor) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (&new.project.0, hex::encode_hex(claim.as_bytes()), &key, &actor),
        )?;
    }
    for text in &new.texts {
        tables.execute(
            "INSERT INTO action_texts (action, text, project, actor) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (&key, &text.hash, &new.project.0, &actor),
        )?;
    }
    Ok(())
}
