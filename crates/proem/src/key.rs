//! The secret from which delimiters are derived.

use std::sync::OnceLock;

use proem_guard::InstallationKey;

use crate::{Error, ErrorKind};

/// The key of a secret, or that of this process, which makes one of its own.
pub(crate) fn derivation_key(secret: Option<[u8; 32]>) -> Result<InstallationKey, Error> {
    Ok(InstallationKey::new(match secret {
        Some(secret) => secret,
        None => process_secret()?,
    }))
}

/// Random bytes, drawn once in a process.
fn process_secret() -> Result<[u8; 32], Error> {
    static SECRET: OnceLock<[u8; 32]> = OnceLock::new();
    if let Some(secret) = SECRET.get() {
        return Ok(*secret);
    }
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(|error| {
        Error::new(ErrorKind::Outside, format!("the system gave no random bytes: {error}; give a key of your own"))
    })?;
    Ok(*SECRET.get_or_init(|| secret))
}
