//! Renders the sections of a strict prompt, one template each.

use std::io;

use handlebars::{Context, Handlebars, Output, RenderErrorReason};

use super::file::PromptFile;
use super::helpers;
use crate::error::{Error, ErrorKind};

/// The compiled sections of one prompt.
#[derive(Debug)]
pub(crate) struct Renderer {
    registry: Handlebars<'static>,
    names: Vec<String>,
}

impl Renderer {
    pub(crate) fn new(file: &PromptFile) -> Self {
        let mut registry = helpers::registry();
        registry.set_strict_mode(true);
        // The analysis refuses them, and without them inputs may have these names.
        registry.unregister_helper("log");
        registry.unregister_helper("lookup");
        for (name, template) in &file.partials {
            registry.register_template(name, template.clone());
        }
        // A partial's name can't hold a colon, so these never meet.
        let names: Vec<String> = file.sections.iter().map(|section| format!("section:{}", section.spec.name)).collect();
        for (name, section) in names.iter().zip(&file.sections) {
            registry.register_template(name, section.template.clone());
        }
        Self { registry, names }
    }

    /// One section's text, marks still in it, without blank lines around it.
    pub(crate) fn section(&self, index: usize, context: &Context) -> Result<String, Error> {
        let name = self.names.get(index).map_or("", String::as_str);
        let mut out = Bounded::default();
        self.registry.render_with_context_to_write(name, context, &mut out).map_err(|e| {
            let section = name.trim_start_matches("section:");
            Error::new(ErrorKind::Render, format!("section `{section}`: {}", Bounded::problem(e.reason())))
        })?;
        let text = out.into_string();
        let text = text.trim_end().trim_start_matches(['\n', '\r']);
        Ok(if text.trim().is_empty() { String::new() } else { format!("{text}\n") })
    }
}

/// The most bytes of one rendered text: nested loops multiply.
const MAX_RENDERED_BYTES: usize = 16 * 1024 * 1024;

/// Rendered text up to a limit.
#[derive(Debug, Default)]
pub(crate) struct Bounded {
    bytes: Vec<u8>,
}

impl Bounded {
    pub(crate) fn into_string(self) -> String {
        String::from_utf8(self.bytes).unwrap_or_default()
    }

    /// Why rendering stopped.
    pub(crate) fn problem(reason: &RenderErrorReason) -> String {
        match reason {
            RenderErrorReason::IOError(_) => format!("its text is larger than {MAX_RENDERED_BYTES} bytes"),
            reason => reason.to_string(),
        }
    }
}

impl io::Write for Bounded {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        if self.bytes.len().saturating_add(more.len()) > MAX_RENDERED_BYTES {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.bytes.extend_from_slice(more);
        Ok(more.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Output for Bounded {
    fn write(&mut self, more: &str) -> io::Result<()> {
        io::Write::write_all(self, more.as_bytes())
    }
}
