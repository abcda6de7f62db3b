//! A prompt file that is in no book.
//!
//! Invariants: the book that is made of it holds this one prompt and nothing else, under a name that no book of folders
//! can have, so that it replaces no other prompt. Every file of its closure was handed over by the caller, under a
//! plain name.

use std::collections::{BTreeMap, BTreeSet};

use super::super::file::{PartialText, split_front_matter};
use super::super::header::is_version;
use super::super::origin::Origin;
use super::super::yaml;
use super::{Book, BookLayer, named_schemas, names_in};
use crate::error::{Error, ErrorKind};

/// The agent of every prompt that is named by its file. No folder has this name.
const AGENT: &str = ".";

/// The version of a file that doesn't say which it is. Reading it says that this is missing.
const UNSAID: &str = "0.0.0";

/// The most letters of the file's name that are taken into the prompt's.
const MAX_NAME: usize = 64;

/// A book of one prompt, and how to ask it for that.
#[derive(Debug)]
pub struct LoosePrompt {
    /// Its files and no other.
    pub book: Book,
    /// The prompt's name in it, such as `./draft`.
    pub name: String,
    /// `MAJOR.MINOR.PATCH`, or `0.0.0` if the file gives none.
    pub version: String,
}

/// The prompt of a file with this text, whose name without its ending is `stem`. `beside` supplies the files that the
/// text uses, such as `_tone.prompt`, with their author. `None` is reported when the prompt is read.
///
/// # Errors
///
/// [`ErrorKind::InvalidFile`] if it uses a file of another folder, and those of `beside`.
pub fn loose_prompt<E: From<Error>>(
    stem: &str,
    text: String,
    mut beside: impl FnMut(&str) -> Result<Option<(PartialText, Origin)>, E>,
) -> Result<LoosePrompt, E> {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' };
    let name = format!("{AGENT}/{}", stem.chars().take(MAX_NAME).map(plain).collect::<String>());
    let version = front_matter_version(&text).unwrap_or_else(|| UNSAID.to_owned());
    let mut wanted: Vec<String> =
        names_in(split_front_matter(&text).body).into_iter().map(|name| partial(&name)).collect();
    wanted.extend(named_schemas(&text).into_iter().map(|(_, schema)| schema));
    wanted.extend(front_matter_value(&text, "cases"));
    let mut layers: BTreeMap<Origin, BTreeMap<String, PartialText>> = BTreeMap::new();
    let own = (format!("{name}/{version}.prompt"), PartialText::Template(text));
    layers.entry(Origin::Named).or_default().extend([own]);
    let mut seen = BTreeSet::new();
    while let Some(file) = wanted.pop() {
        if !seen.insert(file.clone()) {
            continue;
        }
        if file.contains(['/', '\\', '\0']) || file == ".." {
            let problem =
                format!("the prompt file uses `{file}`, which is not beside it; put that file into its folder");
            return Err(Error::new(ErrorKind::InvalidFile, problem).into());
        }
        let Some((text, origin)) = beside(&file)? else { continue };
        if let (PartialText::Template(text), true) = (&text, file.ends_with(".prompt")) {
            wanted.extend(names_in(text).into_iter().map(|name| partial(&name)));
        }
        layers.entry(origin).or_default().insert(format!("{name}/{file}"), text);
    }
    let layers = layers.into_iter().map(|(origin, files)| BookLayer { origin, files }).collect();
    Ok(LoosePrompt { book: Book::new(layers)?, name, version })
}

fn partial(name: &str) -> String {
    format!("_{name}.prompt")
}

/// The version in the front matter, if it is one.
fn front_matter_version(text: &str) -> Option<String> {
    front_matter_value(text, "version").filter(|version| is_version(version))
}

/// The text of a key of Proem's part of the front matter.
fn front_matter_value(text: &str, key: &str) -> Option<String> {
    let (start, front) = split_front_matter(text).front?;
    let root = yaml::parse_yaml(front, start).ok()??;
    Some(root.get("proem")?.get(key)?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "---\nproem:\n  version: 2.1.0\n  output_schema: SCHEMA\n  sections:\n    - { name: role, trust: \
                        constitution }\n---\n{{role \"system\"}}{{section \"role\"}}\n{{> PARTIAL}}\n";

    fn read(partial: &str, schema: &str, files: &[(&str, &str)]) -> Result<LoosePrompt, Error> {
        let text = FILE.replace("PARTIAL", partial).replace("SCHEMA", schema);
        loose_prompt("my draft", text, |name| {
            let found = files.iter().find(|(known, _)| *known == name);
            Ok(found.map(|(_, text)| (PartialText::Template((*text).to_owned()), Origin::Named)))
        })
    }

    #[test]
    fn a_file_is_a_book_of_its_own() {
        let files = [("_tone.prompt", "Be {{> brief}}."), ("_brief.prompt", "brief"), ("a.json", "{}"), ("x", "y")];
        let named = read("tone", "a.json", &files).unwrap();
        assert_eq!((named.name.as_str(), named.version.as_str()), ("./my-draft", "2.1.0"));
        let prompt = named.book.prompt(&named.name, Some(&named.version)).unwrap();
        let files: Vec<&str> = prompt.files.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(
            files,
            ["./my-draft/2.1.0.prompt", "./my-draft/_brief.prompt", "./my-draft/_tone.prompt", "./my-draft/a.json"]
        );
        assert_eq!(named.book.prompts().len(), 1);
    }

    #[test]
    fn what_leaves_its_folder_is_refused() {
        for schema in ["../a.json", "/etc/passwd", "b/a.json", ".."] {
            let error = read("tone", schema, &[]).unwrap_err();
            assert!(error.to_string().contains("is not beside it"), "{schema}: {error}");
        }
        for partial in ["../tone", "a/tone"] {
            match read(partial, "a.json", &[]) {
                Err(error) => assert!(error.to_string().contains("is not beside it"), "{partial}: {error}"),
                Ok(named) => assert!(named.book.prompt(&named.name, None).is_err(), "{partial}"),
            }
        }
    }
}
