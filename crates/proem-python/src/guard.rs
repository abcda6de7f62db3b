//! The guard: attacks in text from outside, and its containment.

use proem::guard::TextUnit;
use pyo3::prelude::*;
use pythonize::pythonize;

use crate::error::exception_of;

/// Looks for attacks in text from outside, and makes such text fit for a prompt.
#[pyclass(frozen, module = "proem_engine._native", name = "Guard")]
pub(crate) struct NativeGuard {
    guard: proem::Guard,
}

#[pymethods]
impl NativeGuard {
    /// The guard that ships, with delimiters derived from `key`.
    #[new]
    fn new(py: Python<'_>, key: Option<[u8; 32]>) -> Self {
        let guard = py.detach(proem::Guard::default);
        Self { guard: key.map_or_else(|| guard.clone(), |key| guard.clone().key(key)) }
    }

    /// Looks for attacks in a text. The report is a dictionary.
    fn scan<'py>(&self, py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
        let report = py.detach(|| self.guard.scan(text).to_json(text, TextUnit::Character));
        Ok(pythonize(py, &report)?)
    }

    /// Puts a text from outside between delimiters. The containment is a dictionary.
    fn contain<'py>(&self, py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
        let contained = py.detach(|| Ok(self.guard.contain(text)?.to_json(text, TextUnit::Character)));
        Ok(pythonize(py, &contained.map_err(|error| exception_of(&error))?)?)
    }
}
