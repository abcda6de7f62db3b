//! The module behind the Python package `proem-engine`: the library `proem`, with Python's values.
//!
//! Everything here converts and nothing decides. Work on texts releases the interpreter's lock. The package's Python
//! side in `python/proem_engine` has the public types.

#![forbid(unsafe_code)]

mod budget;
mod error;
mod guard;
mod prompt;
mod values;

use pyo3::prelude::*;

/// The native part of `proem_engine`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::budget::{NativeBooking, NativeBudget, token_bound};
    #[pymodule_export]
    use crate::guard::NativeGuard;
    #[pymodule_export]
    use crate::prompt::NativePrompt;
    #[pymodule_export]
    use crate::values::{NativeToolbox, count_tokens, decode_answer};
}
