//! A text, scanned for attacks.

use proem_app::Error;
use proem_app::scan::examine::{ScanDepth, scan_document};
use proem_app::scan::output::ScanOutput;
use proem_app::scan::{ScanOptions, guard_for_project};
use proem_runtime::readers::DocumentKind;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::call::ToolCall;
use crate::page::Page;
use crate::tool::McpTool;

/// The longest text that is scanned, in bytes.
const MAX_TEXT: usize = 1024 * 1024;

/// Answers with the verdict of the guard and its findings.
pub(super) struct ScanText;

/// The text, and how it is read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ScanArguments {
    /// The text, such as a web page, a mail or a tool's output
    #[schemars(length(max = 1048576))]
    text: String,
    /// How to read it
    #[serde(default)]
    kind: ScannedKind,
    /// `nextCursor` of the page before
    #[serde(default)]
    #[schemars(with = "String", length(max = 40))]
    cursor: Option<String>,
}

/// How a text is read.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ScannedKind {
    #[default]
    Text,
    Markdown,
    Html,
    Mail,
    Json,
    Source,
}

impl ScannedKind {
    const fn document(self) -> DocumentKind {
        match self {
            Self::Text => DocumentKind::Text,
            Self::Markdown => DocumentKind::Markdown,
            Self::Html => DocumentKind::Html,
            Self::Mail => DocumentKind::Mail,
            Self::Json => DocumentKind::Json,
            Self::Source => DocumentKind::Source,
        }
    }
}

impl McpTool for ScanText {
    const NAME: &'static str = "scan_text";
    const TITLE: &'static str = "Look for prompt injections in a text";
    const DESCRIPTION: &'static str = "Look for prompt injections, hidden text and credentials in a text before you rely \
        on it. The verdict is allow, flag, quarantine or block; each finding has its rule, place and severity.";
    const OUTSIDE: &'static [&'static str] = &["/files/*/fields/*/findings/*/text", "/files/*/fields/*/name"];
    const LISTS: &'static [&'static str] = &["/files/0/fields", "/files/0/fields/0/findings"];
    type Arguments = ScanArguments;
    type Answer = Page<ScanOutput>;

    fn cursor(arguments: &ScanArguments) -> Option<&str> {
        arguments.cursor.as_deref()
    }

    fn answer(call: &ToolCall, arguments: ScanArguments) -> Result<(String, Self::Answer), Error> {
        let guarding = guard_for_project(&call.setting.root, &call.setting.places)?;
        let options = ScanOptions {
            kind: Some(arguments.kind.document()),
            source: None,
            file_bytes: MAX_TEXT,
            folder_file_bytes: MAX_TEXT,
            detail: ScanDepth::FindingsOnly,
        };
        let document = options
            .read_stream(arguments.text.as_bytes())
            .map_err(|error| Error::invalid(format!("`text`: {error}")))?;
        let scan = scan_document(&guarding, "-".to_owned(), document, None, options.detail);
        let findings: usize = scan.fields.iter().map(|field| field.findings.len()).sum();
        let summary = format!("Verdict {}: {findings} findings.", scan.verdict.as_str());
        Ok((summary, Page::whole(ScanOutput::new(&[scan], &[]))))
    }
}
