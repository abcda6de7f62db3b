//! The formats that an answer can be asked for in.

use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

/// A format that can be asked for: a closed list, so that its name is no way into a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub enum Format {
    /// One JSON value.
    #[serde(rename = "JSON")]
    Json,
    /// One JSON value on each line.
    #[serde(rename = "JSON Lines")]
    JsonLines,
    /// Markdown.
    Markdown,
    /// YAML.
    #[serde(rename = "YAML")]
    Yaml,
    /// TOML.
    #[serde(rename = "TOML")]
    Toml,
    /// XML.
    #[serde(rename = "XML")]
    Xml,
    /// HTML.
    #[serde(rename = "HTML")]
    Html,
    /// Values between commas.
    #[serde(rename = "CSV")]
    Csv,
    /// Values between tabs.
    #[serde(rename = "TSV")]
    Tsv,
    /// SQL.
    #[serde(rename = "SQL")]
    Sql,
    /// A unified diff.
    #[serde(rename = "diff")]
    Diff,
    /// LaTeX.
    #[serde(rename = "LaTeX")]
    Latex,
    /// AsciiDoc.
    #[serde(rename = "AsciiDoc")]
    Asciidoc,
    /// reStructuredText.
    #[serde(rename = "reStructuredText")]
    Restructuredtext,
    /// Mermaid.
    Mermaid,
    /// Text without markup.
    #[serde(rename = "plain text")]
    PlainText,
}

impl Format {
    /// All of them, in the order in which messages list them.
    pub const ALL: [Self; 16] = [
        Self::Json,
        Self::JsonLines,
        Self::Markdown,
        Self::Yaml,
        Self::Toml,
        Self::Xml,
        Self::Html,
        Self::Csv,
        Self::Tsv,
        Self::Sql,
        Self::Diff,
        Self::Latex,
        Self::Asciidoc,
        Self::Restructuredtext,
        Self::Mermaid,
        Self::PlainText,
    ];

    /// Its usual spelling.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::JsonLines => "JSON Lines",
            Self::Markdown => "Markdown",
            Self::Yaml => "YAML",
            Self::Toml => "TOML",
            Self::Xml => "XML",
            Self::Html => "HTML",
            Self::Csv => "CSV",
            Self::Tsv => "TSV",
            Self::Sql => "SQL",
            Self::Diff => "diff",
            Self::Latex => "LaTeX",
            Self::Asciidoc => "AsciiDoc",
            Self::Restructuredtext => "reStructuredText",
            Self::Mermaid => "Mermaid",
            Self::PlainText => "plain text",
        }
    }

    /// Other names that it goes by, in lower case.
    const fn aliases(self) -> &'static [&'static str] {
        match self {
            Self::JsonLines => &["jsonl", "ndjson", "jsonlines"],
            Self::Markdown => &["md"],
            Self::Yaml => &["yml"],
            Self::Html => &["htm"],
            Self::Diff => &["unified diff", "patch"],
            Self::Latex => &["tex"],
            Self::Asciidoc => &["adoc"],
            Self::Restructuredtext => &["rst"],
            Self::PlainText => &["text", "txt", "plaintext"],
            Self::Json | Self::Toml | Self::Xml | Self::Csv | Self::Tsv | Self::Sql | Self::Mermaid => &[],
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Reads a name in any case. The error is a message for whoever wrote it.
impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = text.trim().to_lowercase();
        let is_it =
            |format: &Self| format.as_str().to_lowercase() == wanted || format.aliases().contains(&wanted.as_str());
        Self::ALL.into_iter().find(is_it).ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.into_iter().map(Self::as_str).collect();
            let shown: String = text.chars().take(40).collect();
            format!("no format `{shown}`; write one of {}", known.join(", "))
        })
    }
}
