//! Prompts and what they render to.

use proem::RenderOptions;
use proem::proem_engine::ordered_json::OrderedJson;
use pyo3::prelude::*;
use pythonize::{depythonize, pythonize};

use crate::error::{exception_of, invalid_error};
use crate::guard::secret_of;

/// A prompt file.
#[pyclass(frozen, module = "proem_engine._native", name = "Prompt")]
pub(crate) struct NativePrompt {
    prompt: proem::Prompt,
}

/// The choices of a rendering, from keyword arguments of the same names.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct RenderChoices {
    model: Option<String>,
    max_tokens: Option<usize>,
    key: Option<Vec<u8>>,
    untrusted: bool,
}

/// A rendered prompt with its account, as a dictionary.
#[derive(IntoPyObject)]
pub(crate) struct Rendered<'py> {
    text: String,
    messages: Vec<(&'static str, String)>,
    tokens: usize,
    shortened: Vec<String>,
    cache: String,
    notes: Vec<String>,
    report: Bound<'py, PyAny>,
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

    /// Renders the prompt with plain inputs.
    fn render<'py>(&self, inputs: &Bound<'py, PyAny>, choices: RenderChoices) -> PyResult<Rendered<'py>> {
        let py = inputs.py();
        let options = choices.options()?;
        let values: OrderedJson =
            depythonize(inputs).map_err(|error| invalid_error(format!("the inputs are no JSON: {error}")))?;
        let rendered = py.detach(|| options.render(&self.prompt, &values)).map_err(|error| exception_of(&error))?;
        let messages = rendered.messages().into_iter();
        Ok(Rendered {
            text: rendered.text(),
            messages: messages.map(|(role, text)| (role.as_str(), text)).collect(),
            tokens: rendered.tokens(),
            shortened: rendered.shortened(),
            cache: rendered.cache().sentence(),
            notes: rendered.notes(),
            report: pythonize(py, rendered.report())?,
        })
    }
}

impl RenderChoices {
    fn options(self) -> PyResult<RenderOptions> {
        let mut options = RenderOptions::default();
        if let Some(model) = self.model {
            options = options.model(model);
        }
        if let Some(tokens) = self.max_tokens {
            options = options.max_tokens(tokens);
        }
        if let Some(key) = secret_of(self.key.as_deref())? {
            options = options.key(key);
        }
        Ok(if self.untrusted { options.untrusted() } else { options })
    }
}
