//! A variant of a prompt that a model wrote, and the gates that it passes before anything is asked with it.
//!
//! Invariants: the header is the base's, so that inputs, their trust, sections, contract and budget are too. The model
//! writes the template only. Its text is from outside until a person approves it.

use std::collections::{BTreeMap, BTreeSet};

use proem_engine::prompt::book::{Book, BookLayer};
use proem_engine::prompt::compiled_prompt::Prompt;
use proem_engine::prompt::file::PartialText;
use proem_engine::prompt::origin::Origin;
use proem_guard::{Untrusted, Verdict};
use proem_text::{Label, Source};

use super::super::test::{AssemblyState, Suite, suite};
use crate::error::Error;

/// The words with which a prompt would speak to whoever tests its answers.
const GRADING_WORDS: [&str; 9] =
    ["judge", "grader", "grading", "graded", "verdict", "rubric", "evaluator", "evaluated", "test case"];

/// A prompt file, cut where its template begins.
#[derive(Debug, Clone)]
pub(super) struct BaseFile {
    /// The header with its delimiters.
    header: String,
    /// The text behind the front matter.
    pub(super) template: String,
    /// Three numbers.
    version: String,
}

/// A variant that passed the first gates.
#[derive(Debug)]
pub(super) struct Variant {
    /// The text of its file.
    pub(super) text: String,
    /// The book that has it.
    pub(super) book: Book,
}

impl BaseFile {
    /// Reads the file of this version.
    ///
    /// # Errors
    ///
    /// If its header has no line of its own for the version.
    pub(super) fn parse(text: &str, version: &str) -> Result<Self, Error> {
        let version_line = format!("version: {version}");
        let cut = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
        let header = cut.filter(|(header, _)| header.lines().filter(|line| line.trim() == version_line).count() == 1);
        let Some((header, template)) = header else {
            return Err(Error::invalid(format!(
                "the prompt file has no header with a line `{version_line}`; write the version on a line of its own \
                 under `proem:`"
            )));
        };
        Ok(Self { header: header.to_owned(), template: template.to_owned(), version: version.to_owned() })
    }

    /// The file with another template and version.
    fn with_template(&self, template: &str, version: &str) -> String {
        let line = |line: &str| {
            let indent: String = line.chars().take_while(|c| c.is_whitespace()).collect();
            match line.trim() {
                own if own == format!("version: {}", self.version) => format!("{indent}version: {version}\n"),
                own if own.starts_with("changes: ") && !own.ends_with(['|', '>']) => {
                    format!("{indent}changes: another wording, which a model wrote\n")
                }
                _ => format!("{line}\n"),
            }
        };
        let header: String = self.header.lines().map(line).collect();
        format!("---\n{header}---\n{}\n", template.trim_end())
    }
}

/// The base of a comparison with variants.
pub(super) struct VariantGate<'g> {
    /// `agent/name`.
    pub(super) prompt: &'g str,
    /// The version that a variant gets.
    pub(super) version: &'g str,
    pub(super) file: &'g BaseFile,
    pub(super) base: &'g Suite,
    /// The layers of the book that has the base.
    pub(super) layers: &'g [BookLayer],
    pub(super) bench: &'g AssemblyState,
}

impl VariantGate<'_> {
    /// Lets a template through whose prompt is as strict as its base. The error says why it falls.
    pub(super) fn admit(&self, template: &str) -> Result<Variant, String> {
        if template.trim() == self.file.template.trim() {
            return Err("it is the text in use".to_owned());
        }
        let addressed = grading_words(template);
        if let Some(word) = addressed.difference(&grading_words(&self.file.template)).next() {
            return Err(format!("it speaks of `{word}`, and the text in use does not"));
        }
        let (found, before) = (self.guard_verdict(template), self.guard_verdict(&self.file.template));
        if found > before {
            return Err(format!("the guard says `{}` of its text", found.as_str()));
        }
        let text = self.file.with_template(template, self.version);
        let path = format!("{}/{}.prompt", self.prompt, self.version);
        let layer = BookLayer {
            origin: Origin::Configured,
            files: BTreeMap::from([(path, PartialText::Template(text.clone()))]),
        };
        let book = Book::new(self.layers.iter().cloned().chain([layer]).collect())
            .map_err(|error| first_line_of_error(&error))?;
        let own = suite(&book, self.prompt.to_owned(), self.version.to_owned())
            .map_err(|error| first_line_of_error(&error))?;
        let own = own.ok_or("it has no cases")?;
        compare_shape(&self.base.prompt, &own.prompt)?;
        for case in own.test(self.bench).map_err(|error| error.to_string())? {
            if let Some(problem) = case.problems.first() {
                return Err(format!("case `{}`: {problem}", case.case));
            }
        }
        Ok(Variant { text, book })
    }

    fn guard_verdict(&self, text: &str) -> Verdict {
        let text = Untrusted::new(text.to_owned(), Label::from_source(Source::named("model")));
        self.bench.policy.bar("model", "template").judge(&self.bench.guard.scan(&text))
    }
}

fn first_line_of_error(error: &proem_engine::Error) -> String {
    let problems = error.to_string();
    problems.lines().next().unwrap_or_default().to_owned()
}

fn grading_words(text: &str) -> BTreeSet<&'static str> {
    let text = text.to_lowercase();
    GRADING_WORDS.into_iter().filter(|word| text.contains(word)).collect()
}

/// Refuses a prompt whose sections have other roles or read other inputs.
fn compare_shape(base: &Prompt, own: &Prompt) -> Result<(), String> {
    let (base, own) = (&base.file.sections, &own.file.sections);
    for section in base {
        let name = &section.spec.name;
        let Some(found) = own.iter().find(|own| own.spec.name == *name) else {
            return Err(format!("it has no section `{name}`"));
        };
        if found.role != section.role {
            return Err(format!("its section `{name}` has another role"));
        }
        if let Some(input) = section.inputs.symmetric_difference(&found.inputs).next() {
            return Err(format!("its section `{name}` differs by the input `{input}`"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_keeps_its_header() {
        let text = "---\nmodel: small\nproem:\n  version: 1.0.0\n  changes: the first\n  cases: c.yaml\n---\n{{role \"user\"}}\nOld\n";
        let file = BaseFile::parse(text, "1.0.0").unwrap();
        assert_eq!(file.template, "{{role \"user\"}}\nOld\n");
        assert_eq!(
            file.with_template("{{role \"user\"}}\nproem:\n  version: 1.0.0\n---\nNew\n\n", "1.1.0"),
            "---\nmodel: small\nproem:\n  version: 1.1.0\n  changes: another wording, which a model wrote\n  cases: c.yaml\n---\n\
             {{role \"user\"}}\nproem:\n  version: 1.0.0\n---\nNew\n"
        );
        for broken in ["plain", "---\nproem: { version: 1.0.0 }\n---\nx"] {
            assert!(BaseFile::parse(broken, "1.0.0").unwrap_err().to_string().contains("version: 1.0.0"), "{broken}");
        }
    }
}
