//! Prompts and what they render to.

use proem::RenderOptions;
use proem::proem_engine::ordered_json::OrderedJson;
use pyo3::prelude::*;
use pythonize::pythonize;

use crate::error::exception_of;
use crate::values::read_plain;

/// A prompt file.
#[pyclass(frozen, module = "proem_engine._native", name = "Prompt")]
pub(crate) struct NativePrompt {
    prompt: proem::Prompt,
}

#[pymethods]
impl NativePrompt {
    /// Reads a prompt from the text of a file.
    #[staticmethod]
    fn parse(py: Python<'_>, text: &str) -> PyResult<Self> {
        let prompt = py.detach(|| proem::Prompt::parse(text)).map_err(|error| exception_of(&error))?;
        Ok(Self { prompt })
    }

    /// The names of the inputs that are declared trusted.
    #[getter]
    fn trusted_inputs(&self) -> Vec<&str> {
        self.prompt.trusted_inputs().collect()
    }

    /// Renders the prompt with plain inputs, by choices from keyword arguments. The rendering is a dictionary.
    fn render<'py>(&self, inputs: &Bound<'py, PyAny>, choices: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = inputs.py();
        let options: RenderOptions = read_plain(choices, "the choices")?;
        let values: OrderedJson = read_plain(inputs, "the inputs")?;
        let rendered = py.detach(|| options.render(&self.prompt, &values)).map_err(|error| exception_of(&error))?;
        Ok(pythonize(py, &rendered)?)
    }
}
