//! What a `{{media …}}` marker says: a file that is in the request as a part of its own.

use crate::media::MediaKind;
use crate::ordered_json::OrderedJson;
use crate::prompt::template::{BlockStatement, Expression, HelperCall, LineColumn, PathExpression, Statement};

/// A file that a section brings along.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MediaMarker {
    pub(crate) source: MarkerSource,
    /// What `contentType` says; for files whose bytes are there, the bytes say it.
    pub(crate) kind: Option<MediaKind>,
    pub(crate) at: LineColumn,
}

/// Where the file comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MarkerSource {
    /// An input: a `data:` or `https:` address, or a list of them.
    Input(String),
    /// An address that is in the prompt file.
    Address(String),
}

const EXPECTED: &str = "media takes `url=` with an input or a written address, and `contentType=` with a written type \
                        such as \"image/png\"; neither can be computed";

impl MediaMarker {
    /// Reads a marker.
    ///
    /// # Errors
    ///
    /// In words, if it is computed or says something else.
    pub(super) fn of(call: &HelperCall, at: LineColumn) -> Result<Self, String> {
        let (mut source, mut kind) = (None, None);
        if !call.arguments.is_empty() {
            return Err(EXPECTED.into());
        }
        for (name, value) in &call.named {
            match (name.as_str(), value) {
                ("url", Expression::Path(path)) => {
                    let name = path.simple().ok_or(EXPECTED)?;
                    source = Some(MarkerSource::Input(name.to_owned()));
                }
                ("url", Expression::Literal(Some(OrderedJson::Text(text)))) => {
                    source = Some(MarkerSource::Address(text.to_string()));
                }
                ("contentType", Expression::Literal(Some(OrderedJson::Text(text)))) => {
                    let known = MediaKind::of_type(text).ok_or_else(|| {
                        format!(
                            "media of the type `{}` is not supported; {}",
                            text.escape_debug(),
                            MediaKind::SUPPORTED
                        )
                    })?;
                    kind = Some(known);
                }
                _ => return Err(EXPECTED.into()),
            }
        }
        Ok(Self { source: source.ok_or(EXPECTED)?, kind, at })
    }

    /// The input that it takes the file from.
    pub(crate) fn input(&self) -> Option<&str> {
        match &self.source {
            MarkerSource::Input(name) => Some(name),
            MarkerSource::Address(_) => None,
        }
    }
}

/// The marker of `{{#if image}}{{media url=image}}{{/if}}` and `{{#each images}}{{media url=this}}{{/each}}`, which say
/// no more than `{{media url=image}}`: an input that is not given brings nothing, and a list brings each.
pub(super) fn media_in_block(block: &BlockStatement) -> Option<HelperCall> {
    let word = block.call.path.simple()?;
    let [Expression::Path(subject)] = block.call.arguments.as_slice() else { return None };
    let (body, None) = (block.body.as_ref()?, &block.inverse) else { return None };
    let mut inner = body.nodes.iter().filter(|node| match &node.element {
        Statement::Text(text) => !text.written.trim().is_empty(),
        Statement::Comment(_) => false,
        _ => true,
    });
    let (Some(only), None) = (inner.next(), inner.next()) else { return None };
    let Statement::Print(call, _) = &only.element else { return None };
    if call.path.simple() != Some("media") || !block.parameters.is_empty() {
        return None;
    }
    let mut call = call.clone();
    let (_, url) = call.named.iter_mut().find(|(name, _)| name == "url")?;
    let is_subject = |path: &PathExpression| match word {
        "if" => path == subject,
        "each" => path.is_here(),
        _ => false,
    };
    let fits = matches!(url, Expression::Path(path) if is_subject(path));
    *url = Expression::Path(subject.clone());
    fits.then_some(call)
}
