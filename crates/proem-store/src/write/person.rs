//! Writes that only persons make.

use crate::error::Error;
use crate::record::{Actor, ActorKind};

/// Refuses anybody but a person. That he holds the operator's capability is proven where he is let in.
pub(super) fn must_be(actor: &Actor, what: &str) -> Result<(), Error> {
    match actor.kind {
        ActorKind::Person => Ok(()),
        ActorKind::Agent | ActorKind::System => {
            Err(Error::Conflict(format!("only a person {what}, and `{actor}` is none; do it at a terminal")))
        }
    }
}
