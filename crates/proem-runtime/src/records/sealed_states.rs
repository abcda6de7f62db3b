//! States of runs, sealed by the installation's key so that only what this installation wrote is gone
//! on from.
//!
//! XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03), whose nonce of 24 bytes may be drawn at random.
//! A sealed state is a version byte, the nonce, and the text with its tag.

use std::fmt;
use std::path::Path;

use chacha20poly1305::aead::{Aead as _, Payload};
use chacha20poly1305::{KeyInit as _, XChaCha20Poly1305, XNonce};
use proem_text::hex;
use sha2::{Digest as _, Sha256};

use crate::{Error, installation_key};

/// The form of a sealed state.
const FORM: u8 = 1;

const NONCE_BYTES: usize = 24;

/// The key that states are sealed with. Derived from the installation's.
pub struct SealKey([u8; 32]);

impl fmt::Debug for SealKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl SealKey {
    /// The key that belongs to an installation's.
    #[must_use]
    pub fn derived(key: &proem_guard::InstallationKey) -> Self {
        Self(key.seal("state of a run", b""))
    }

    /// The key of the installation whose key file is at `path`. Both are made on first use.
    ///
    /// # Errors
    ///
    /// As [`crate::installation_key`].
    pub fn of(path: &Path) -> Result<Self, Error> {
        Ok(Self::derived(&installation_key(path)?))
    }
}

impl SealKey {
    /// The name of a part of a state under which it is stored: it tells nobody without the key what the part is.
    #[must_use]
    pub(super) fn part_name(&self, hash: &str) -> String {
        // The key's length is fixed, and so is that of the hash.
        hex::encode_hex(
            Sha256::new().chain_update(self.0).chain_update(b"part of a state").chain_update(hash).finalize(),
        )
    }
}

/// The binding of a sealed state: it opens for nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealBinding<'b> {
    /// The id of the project that the run belongs to.
    pub project: &'b str,
    /// The run's id.
    pub run: &'b str,
    /// How many events it had taken.
    pub step: u32,
    /// The hash of what defines it: the prompt's closure.
    pub definition: &'b str,
    /// The hash of the rules that it is held to.
    pub policy: &'b str,
}

impl SealBinding<'_> {
    /// The binding in bytes. Each text is behind its length, so that no two bindings are alike.
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![FORM];
        for text in [self.project, self.run, self.definition, self.policy] {
            bytes.extend(u64::try_from(text.len()).unwrap_or(u64::MAX).to_be_bytes());
            bytes.extend(text.as_bytes());
        }
        bytes.extend(self.step.to_be_bytes());
        bytes
    }
}

/// The state of a run, encrypted under the installation's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedState(pub Vec<u8>);

/// Seals a state.
///
/// # Errors
///
/// [`Error::Random`] if the system gives no random bytes, [`Error::Seal`] for a state of more than
/// 256 GiB.
pub fn seal(key: &SealKey, binding: &SealBinding<'_>, state: &[u8]) -> Result<SealedState, Error> {
    let mut nonce = [0; NONCE_BYTES];
    getrandom::fill(&mut nonce).map_err(Error::Random)?;
    let payload = Payload { msg: state, aad: &binding.bytes() };
    let text = cipher(key).encrypt(&XNonce::from(nonce), payload).map_err(|_| Error::Seal)?;
    Ok(SealedState([&[FORM], nonce.as_slice(), &text].concat()))
}

/// Opens a sealed state. `None` if it was made elsewhere, for something else, or changed.
#[must_use]
pub fn open_sealed_state(key: &SealKey, binding: &SealBinding<'_>, sealed: &SealedState) -> Option<Vec<u8>> {
    let (&form, rest) = sealed.0.split_first()?;
    let (nonce, text) = rest.split_first_chunk::<NONCE_BYTES>()?;
    let payload = Payload { msg: text, aad: &binding.bytes() };
    (form == FORM).then(|| cipher(key).decrypt(&XNonce::from(*nonce), payload).ok())?
}

fn cipher(key: &SealKey) -> XChaCha20Poly1305 {
    XChaCha20Poly1305::new(&key.0.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    fn key(byte: u8) -> SealKey {
        SealKey::derived(&proem_guard::InstallationKey::new([byte; 32]))
    }

    const BINDING: SealBinding<'_> =
        SealBinding { project: "/home/a/project", run: "0123", step: 7, definition: "closure", policy: "rules" };

    #[test]
    fn what_is_sealed_opens_for_the_same_binding_alone() {
        let sealed = seal(&key(1), &BINDING, b"state").unwrap();
        assert_eq!(open_sealed_state(&key(1), &BINDING, &sealed).as_deref(), Some(&b"state"[..]));
        assert_eq!(open_sealed_state(&key(2), &BINDING, &sealed), None);
        let others = [
            SealBinding { project: "/home/a/projec", ..BINDING },
            SealBinding { run: "0124", ..BINDING },
            SealBinding { step: 8, ..BINDING },
            SealBinding { definition: "closurf", ..BINDING },
            SealBinding { policy: "", ..BINDING },
            // The same bytes, cut elsewhere.
            SealBinding { project: "/home/a/project0", run: "123", ..BINDING },
            SealBinding { definition: "closur", policy: "erules", ..BINDING },
        ];
        for other in others {
            assert_eq!(open_sealed_state(&key(1), &other, &sealed), None, "{other:?}");
        }
    }

    #[test]
    fn a_key_shows_nothing() {
        assert_eq!(format!("{:?}", key(1)), "[redacted]");
    }

    #[test]
    fn the_same_state_is_never_sealed_alike() {
        assert_ne!(seal(&key(1), &BINDING, b"state").unwrap(), seal(&key(1), &BINDING, b"state").unwrap());
    }

    proptest! {
        #[test]
        fn a_changed_byte_opens_nothing(state in vec(any::<u8>(), 0..200), at in any::<prop::sample::Index>(), flip in 1u8..) {
            let mut sealed = seal(&key(1), &BINDING, &state).unwrap();
            prop_assert_eq!(open_sealed_state(&key(1), &BINDING, &sealed), Some(state));
            let at = at.index(sealed.0.len());
            sealed.0[at] ^= flip;
            prop_assert_eq!(open_sealed_state(&key(1), &BINDING, &sealed), None);
        }

        #[test]
        fn a_cut_or_any_other_text_opens_nothing(state in vec(any::<u8>(), 0..100), length in any::<prop::sample::Index>(), noise in vec(any::<u8>(), 0..100)) {
            let sealed = seal(&key(1), &BINDING, &state).unwrap();
            let cut = SealedState(sealed.0[..length.index(sealed.0.len())].to_vec());
            prop_assert_eq!(open_sealed_state(&key(1), &BINDING, &cut), None);
            prop_assert_eq!(open_sealed_state(&key(1), &BINDING, &SealedState(noise)), None);
        }

        #[test]
        fn nothing_of_the_text_is_to_be_seen(state in "[a-z]{24,200}") {
            let sealed = seal(&key(1), &BINDING, state.as_bytes()).unwrap();
            let visible = |part: &[u8]| sealed.0.windows(part.len()).any(|window| window == part);
            prop_assert!(!state.as_bytes().windows(8).any(visible));
        }
    }
}
