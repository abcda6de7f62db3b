//! A tool's description where its agent's file leaves it to what carries the tool out.

use proem_text::shorten_text;

use super::definition::AgentDefinition;
use crate::assemble::split::sentences_and_items;

/// The most characters of a description that is a sentence of another text.
const MOST_CHARACTERS: usize = 300;

/// The first sentence of a text on one line, behind its headings, with placeholders as names in backticks. Empty if
/// there is none.
pub(super) fn first_sentence(text: &str) -> String {
    let lines = text.lines().map(str::trim).skip_while(|line| line.is_empty() || line.starts_with('#'));
    let paragraph = lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
    let sentence = sentences_and_items(&paragraph).next().unwrap_or_default();
    let mut named = String::new();
    for (place, piece) in sentence.split("{{").enumerate() {
        match piece.split_once("}}").filter(|_| place > 0) {
            Some((name, after)) => named.push_str(&format!("`{}`{after}", name.trim())),
            None => named.push_str(piece),
        }
    }
    let line = named.split_whitespace().collect::<Vec<_>>().join(" ");
    shorten_text(&line, MOST_CHARACTERS).into_owned()
}

impl AgentDefinition {
    /// Its description as a tool of another agent: its purpose, or else the first sentence of its mission. Empty if
    /// neither says anything.
    #[must_use]
    pub fn description_as_tool(&self) -> String {
        match self.purpose.as_deref().map(str::trim).filter(|purpose| !purpose.is_empty()) {
            Some(purpose) => purpose.to_owned(),
            None => first_sentence(&self.mission),
        }
    }

    /// Describes a tool whose description its file leaves to what carries it out.
    pub fn describe_tool(&mut self, name: &str, description: &str) {
        if let Some(tool) = self.tools.get_mut(name).filter(|tool| tool.description.is_empty()) {
            description.clone_into(&mut tool.description);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::first_sentence;

    #[test]
    fn the_first_sentence_of_a_text_is_one_line_of_plain_words() {
        for (text, expected) in [
            ("Sum the orders of {{ user.name }}. Then stop.", "Sum the orders of `user.name`."),
            ("# Task\n\nFind what\n  is late! Say why.", "Find what is late!"),
            ("Compare 1.5 and 2, e.g. by value", "Compare 1.5 and 2, e.g. by value"),
            ("{{text}}", "`text`"),
            ("Open {{ is no placeholder", "Open is no placeholder"),
            ("", ""),
            ("# Only a heading\n", ""),
        ] {
            assert_eq!(first_sentence(text), expected, "{text:?}");
        }
        let long = first_sentence(&"word ".repeat(1_000));
        assert!(long.chars().count() <= 301, "{long}");
    }
}
