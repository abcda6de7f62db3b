//! The formats that an answer can be asked for in.

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

proem_text::word_table! {
    /// Its usual spelling.
    pub Format: Display {
        // In the order in which messages list them.
        Json = "JSON",
        JsonLines = "JSON Lines",
        Markdown = "Markdown",
        Yaml = "YAML",
        Toml = "TOML",
        Xml = "XML",
        Html = "HTML",
        Csv = "CSV",
        Tsv = "TSV",
        Sql = "SQL",
        Diff = "diff",
        Latex = "LaTeX",
        Asciidoc = "AsciiDoc",
        Restructuredtext = "reStructuredText",
        Mermaid = "Mermaid",
        PlainText = "plain text",
    }
}

impl Format {
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
