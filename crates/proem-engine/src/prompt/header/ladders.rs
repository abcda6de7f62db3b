//! Ladders in front matter: how inputs may shrink.

use super::{Diagnostics, expect_map, expect_word, is_section_name, push_error};
use crate::prompt::yaml::{YamlNode, YamlValue};
use crate::section::{Climber, Ladder, Rung};

/// The ladders of a section, by its inputs.
pub(super) fn decode_ladders(node: Option<&YamlNode>, problems: &mut Diagnostics) -> Vec<Ladder> {
    let Some(entries) = node.and_then(|node| expect_map(node, "ladder", problems)) else { return Vec::new() };
    let mut ladders = Vec::new();
    for (key, node) in entries {
        if let Some(versions) = node.get("versions") {
            ladders.extend(version_ladder(&key.name, versions, problems));
            continue;
        }
        // `input: { each: [full, outline, count] }` is a ladder for each item.
        let (climber, node) = match node.get("each") {
            Some(each) => (Climber::Item, each),
            None => (Climber::Input, node),
        };
        let rungs: Option<Vec<Rung>> = match &node.data {
            YamlValue::List(items) => {
                items.iter().map(|item| expect_word(item, "a rung", &Rung::WORDS, problems)).collect()
            }
            _ => {
                push_error(
                    problems,
                    "a ladder must be a list of shortening steps, the fullest first".into(),
                    node.span,
                );
                None
            }
        };
        let Some(rungs) = rungs else { continue };
        if rungs.is_empty() || rungs.windows(2).any(|pair| matches!(pair, [a, b] if a >= b)) {
            let order = "full, parts, brief, excerpt, outline, named, count, omitted";
            push_error(problems, format!("the steps of a ladder must be in the order {order}"), node.span);
            continue;
        }
        if let Some(problem) = misplaced_rung(&climber, &rungs) {
            push_error(problems, problem.into(), node.span);
            continue;
        }
        ladders.push(Ladder { input: key.name.clone(), rungs, climber });
    }
    ladders
}

/// The ladder of `input: { versions: [full, lean, none] }`.
fn version_ladder(input: &str, node: &YamlNode, problems: &mut Diagnostics) -> Option<Ladder> {
    let names: Option<Vec<String>> = match &node.data {
        YamlValue::List(items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
        _ => None,
    };
    let is_field = |name: &String| is_section_name(name) && name != "shown";
    let is_right = |names: &Vec<String>| {
        (2..=Climber::MAX_VERSIONS).contains(&names.len())
            && names.iter().all(is_field)
            && names.iter().enumerate().all(|(at, name)| !names.iter().take(at).any(|other| other == name))
    };
    let Some(names) = names.filter(is_right) else {
        let most = Climber::MAX_VERSIONS;
        let message = format!("the versions of `{input}` must be 2 to {most} names of its fields, the longest first");
        push_error(problems, message, node.span);
        return None;
    };
    Some(Ladder {
        input: input.to_owned(),
        rungs: Climber::version_rungs(names.len()),
        climber: Climber::Version(names),
    })
}

/// The problem of a ladder's rungs for its climber.
fn misplaced_rung(climber: &Climber, rungs: &[Rung]) -> Option<&'static str> {
    let own = |rung: &Rung| matches!(rung, Rung::Parts | Rung::Excerpt | Rung::Outline | Rung::Named);
    match climber {
        Climber::Input if rungs.iter().any(own) => {
            Some("`parts`, `excerpt`, `outline` and `named` are for items that bring them; write `{ each: [...] }`")
        }
        Climber::Item if rungs.contains(&Rung::Brief) => {
            Some("`brief` shortens a whole list; an item brings `parts` or an `excerpt`")
        }
        // An item that brings none of the others still has to be somewhere.
        Climber::Item if !matches!(rungs.last(), Some(Rung::Count | Rung::Omitted)) => {
            Some("the ladder of each item must end with `count` or `omitted`")
        }
        _ => None,
    }
}
