//! Signatures of programs and of the tools that they may call, as people write them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use proem_guard::show;
use proem_lisp::{Limits, Signature};
use proem_runtime::files;
use serde::Deserialize;

use crate::error::Error;

/// The signature that somebody typed.
///
/// # Errors
///
/// Its problems with excerpts, if it is none.
pub fn parse_signature(text: &str, limits: &Limits) -> Result<Signature, Error> {
    Signature::parse(text, limits).map_err(|problems| {
        let excerpts: String = problems.iter().map(|problem| problem.render("signature", text)).collect();
        Error::invalid(excerpts.trim_end())
    })
}

/// A file with the signatures of tools.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolsFile {
    /// A signature under each tool's name.
    tools: BTreeMap<String, String>,
}

/// The most characters of a tool's name.
const NAME_CHARACTERS: usize = 64;

/// The signatures in a file of tools, by name.
///
/// # Errors
///
/// If the file can't be read, or all that is wrong in it: TOML, names, signatures.
pub fn read_tools(path: &Path, limits: &Limits) -> Result<BTreeMap<String, Arc<Signature>>, Error> {
    let shown = show::terminal_str(&path.display().to_string()).into_string();
    let text = files::read_text(path, limits.source_bytes)
        .map_err(|error| Error::outside(format!("could not read `{shown}`: {error}")))?;
    let file: ToolsFile = toml::from_str(&text).map_err(|error| {
        let help = "write `[tools]` and a signature for each, such as `search = \"(query :string) -> [:map]\"`";
        Error::invalid(format!("`{shown}` is no file of tools: {}; {help}", show::terminal_str(error.message())))
    })?;
    let mut tools: BTreeMap<String, Arc<Signature>> = BTreeMap::new();
    let mut problems = String::new();
    for (name, text) in &file.tools {
        match parse_tool(&shown, name, text, limits) {
            Ok(_) if tools.keys().any(|other| is_same_name(other, name)) => {
                problems
                    .push_str(&format!("error: `{name}` is in `{shown}` twice, with `-` and `_` taken as the same\n"));
            }
            Ok(signature) => _ = tools.insert(name.clone(), Arc::new(signature)),
            Err(problem) => problems.push_str(&problem),
        }
    }
    if problems.is_empty() { Ok(tools) } else { Err(Error::invalid(problems.trim_end())) }
}

fn is_same_name(a: &str, b: &str) -> bool {
    a.replace('-', "_") == b.replace('-', "_")
}

/// The signature of one tool, or its problems as excerpts. `file` is where it is.
fn parse_tool(file: &str, name: &str, text: &str, limits: &Limits) -> Result<Signature, String> {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.is_empty() || name.len() > NAME_CHARACTERS || !name.chars().all(is_letter) {
        let name = show::terminal_str(name);
        let rule = format!("use 1 to {NAME_CHARACTERS} letters, digits, `_` and `-`");
        return Err(format!("error: `{name}` in `{file}` is no name of a tool: {rule}\n"));
    }
    let signature = Signature::parse(text, limits).map_err(|problems| {
        let place = format!("{file}, tool {name}");
        problems.iter().map(|problem| problem.render(&place, text)).collect::<String>()
    })?;
    match signature.name() {
        Some(other) if !is_same_name(other, name) => {
            let other = show::terminal_str(other);
            Err(format!("error: the signature of `{name}` in `{file}` is named `{other}`; give both the same name\n"))
        }
        _ => Ok(signature),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn tools(text: &str) -> Result<String, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tools.toml");
        std::fs::write(&path, text).unwrap();
        let read = read_tools(&path, &Limits::default());
        let place = folder.path().display().to_string();
        match read {
            Ok(tools) => Ok(tools.iter().map(|(name, signature)| format!("{name} {signature}\n")).collect()),
            Err(error) => Err(error.to_string().replace(&place, "")),
        }
    }

    #[test]
    fn a_file_of_tools_has_a_signature_for_each() {
        assert_eq!(
            tools("[tools]\nsearch = \"(q :string limit :int?) -> [:map]\"\nget-order = 'get_order(id :int)'\n"),
            Ok("get-order get_order(id :int) -> :any\nsearch (q :string, limit :int?) -> [:map]\n".to_owned())
        );
        let refused = |text: &str| tools(text).unwrap_err();
        let both =
            refused("[tools]\nget-x = '(a :int)'\nget_x = '(a :int)'\n\"a b\" = '()'\nc = 'd()'\ne = '(a :x)'\n");
        for part in [
            "`get_x` is in `/tools.toml` twice",
            "`a b` in `/tools.toml` is no name of a tool",
            "the signature of `c` in `/tools.toml` is named `d`",
            "error: there is no type `:x`\n --> /tools.toml, tool e:1:4",
        ] {
            assert!(both.contains(part), "{both}");
        }
        assert!(refused("search = '()'\n").contains("is no file of tools"));
        assert!(refused("[tools]\nx = {signature = '()'}\n").contains("is no file of tools"));
    }
}
