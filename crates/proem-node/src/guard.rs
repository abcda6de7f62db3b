//! The guard: attacks in text from outside, and its containment.

use napi_derive::napi;
use proem::guard::TextUnit;

use crate::job::{Job, read_argument};

/// Looks for attacks in text from outside, and makes such text fit for a prompt.
#[napi(js_name = "Guard")]
pub(crate) struct NodeGuard {
    guard: proem::Guard,
}

#[napi]
impl NodeGuard {
    /// The guard that ships, with delimiters derived from a key, as a list of bytes or `null`.
    #[napi(constructor)]
    pub fn new(key: String) -> napi::Result<Self> {
        let guard = proem::Guard::default();
        Ok(Self {
            guard: match read_argument::<Option<[u8; 32]>>(&key, "the key")? {
                Some(key) => guard.key(key),
                None => guard,
            },
        })
    }

    /// Looks for attacks in a text.
    #[napi]
    pub fn scan(&self, text: String) -> Job {
        let guard = self.guard.clone();
        Job::of(move || Ok(guard.scan(&text).to_json(&text, TextUnit::Utf16)))
    }

    /// Puts a text from outside between delimiters.
    #[napi]
    pub fn contain(&self, text: String) -> Job {
        let guard = self.guard.clone();
        Job::of(move || Ok(guard.contain(&text)?.to_json(&text, TextUnit::Utf16)))
    }
}
