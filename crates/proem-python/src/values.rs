//! Counted tokens, ranked tools and values of answers.

use proem::tokens::Exactness;
use pyo3::prelude::*;
use pythonize::{depythonize, pythonize};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::{exception_of, invalid_error};

/// Reads what the package's Python side has made plain.
pub(crate) fn read_plain<T: DeserializeOwned>(value: &Bound<'_, PyAny>, what: &str) -> PyResult<T> {
    depythonize(value).map_err(|error| invalid_error(format!("{what} can't be read: {error}")))
}

/// Counts the tokens of a text as a model cuts it: their number, and whether the model's own tokeniser counted.
#[pyfunction]
pub(crate) fn count_tokens(py: Python<'_>, model: &str, text: &str) -> PyResult<(usize, bool)> {
    let counted = py.detach(|| proem::tokens::count(model, text)).map_err(|error| exception_of(&error))?;
    Ok((counted.tokens, counted.exactness == Exactness::Exact))
}

/// The tools that an agent has, ready to be ranked for many tasks.
#[pyclass(frozen, module = "proem_engine._native", name = "Toolbox")]
pub(crate) struct NativeToolbox {
    tools: proem::Toolbox,
}

#[pymethods]
impl NativeToolbox {
    /// Reads tools as JSON lines.
    #[new]
    fn new(py: Python<'_>, lines: &str) -> PyResult<Self> {
        let tools = py.detach(|| proem::Toolbox::of_lines(lines)).map_err(|error| exception_of(&error))?;
        Ok(Self { tools })
    }

    /// All tools, the likeliest first: name, probability, and whether it fits the task.
    fn rank(&self, py: Python<'_>, task: &str) -> PyResult<Vec<(String, f32, bool)>> {
        let ranked = py.detach(|| self.tools.rank(task)).map_err(|error| exception_of(&error))?;
        Ok(ranked.into_iter().map(|tool| (tool.name, tool.probability, tool.fits)).collect())
    }
}

/// Reads the value that a schema asks for from a model's answer: the value, and a sentence for each repair.
#[pyfunction]
pub(crate) fn decode_answer<'py>(text: &str, schema: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyAny>, Vec<String>)> {
    let py = schema.py();
    let schema: Value = read_plain(schema, "the schema")?;
    let decoded = py.detach(|| proem::decode(text, &schema)).map_err(|error| exception_of(&error))?;
    Ok((pythonize(py, &decoded.value)?, decoded.repairs))
}
