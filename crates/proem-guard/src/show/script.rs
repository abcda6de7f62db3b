//! Words that mix scripts, as in `pаypal` with a Cyrillic `а`.

use alloc::{format, string::String, vec::Vec};
use proem_text::character;
use unicode_script::{Script, UnicodeScript};

/// Scripts that are written together: Japanese, Chinese and Korean, each with Latin (UTS #39,
/// section 5.2, "highly restrictive").
const WRITTEN_TOGETHER: [&[Script]; 3] = [
    &[Script::Latin, Script::Han, Script::Hiragana, Script::Katakana],
    &[Script::Latin, Script::Han, Script::Bopomofo],
    &[Script::Latin, Script::Han, Script::Hangul],
];

/// The scripts of the word that is being read, in the order in which they came up.
#[derive(Debug, Default)]
pub(super) struct Mixture {
    scripts: Vec<Script>,
}

impl Mixture {
    /// Takes the next character. At the end of a word that mixes scripts writes a remark.
    ///
    /// Invisible characters don't end a word, or they would hide a mixture.
    pub(super) fn read(&mut self, c: char, out: &mut String) {
        if !c.is_alphanumeric() && !character::is_mark(c) && !character::is_invisible(c) {
            self.end_word(out);
            return;
        }
        let script = c.script();
        // Digits and marks are used with every script.
        if !matches!(script, Script::Common | Script::Inherited | Script::Unknown) && !self.scripts.contains(&script) {
            self.scripts.push(script);
        }
    }

    /// Ends the word, with a remark if it mixes scripts.
    pub(super) fn end_word(&mut self, out: &mut String) {
        let is_together = |together: &&[Script]| self.scripts.iter().all(|script| together.contains(script));
        if self.scripts.len() > 1 && !WRITTEN_TOGETHER.iter().any(is_together) {
            let names: Vec<_> = self.scripts.iter().map(|script| script.full_name()).collect();
            out.push_str(&format!("⟨mixed script: {}⟩", names.join("+")));
        }
        self.scripts.clear();
    }
}
