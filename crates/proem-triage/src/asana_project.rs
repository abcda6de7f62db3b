//! The number (gid) of an Asana project, as an address, an export or the body of a webhook has it.
//!
//! Sources: Asana, "Projects" (<https://developers.asana.com/reference/projects>) and "Events"
//! (<https://developers.asana.com/reference/events>). The page of a project is
//! `https://app.asana.com/0/PROJECT/…`, and since 2025 `https://app.asana.com/1/WORKSPACE/project/PROJECT/…`.
//!
//! Invariants: a gid is digits alone, so it is a word of ours. The name beside it stays somebody else's. The same text
//! gives the same projects, in the order of their numbers.

use std::collections::BTreeMap;

use proem_guard::Untrusted;
use proem_text::{Audience, Label, Source};
use serde_json::Value as Json;

/// The most digits of a gid.
const MAX_DIGITS: usize = 24;
/// The most projects that one text gives.
const MOST: usize = 100;
/// The most characters of a project's name.
const MAX_NAME: usize = 200;

/// A project that a text names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AsanaProject {
    /// Its number.
    pub gid: String,
    /// Asana's name for it, if the text has one.
    pub name: Option<Untrusted<String>>,
}

/// The projects of Asana that a text names: one address, or JSON that Asana wrote, one value or one on each line.
#[must_use]
pub fn asana_projects(text: &str) -> Vec<AsanaProject> {
    let mut found = BTreeMap::new();
    let text = text.trim();
    if let Some(gid) = gid_of_address(text) {
        found.insert(gid, None);
    } else if let Ok(value) = serde_json::from_str::<Json>(text) {
        look_into(&value, None, &mut found);
    } else {
        for value in text.lines().filter_map(|line| serde_json::from_str::<Json>(line).ok()) {
            look_into(&value, None, &mut found);
        }
    }
    let label = Label::from_source(Source::named("asana/project")).narrowed_to(Audience::Internal);
    let name = |name: String| Untrusted::new(name.chars().take(MAX_NAME).collect(), label.clone());
    found.into_iter().take(MOST).map(|(gid, found)| AsanaProject { gid, name: found.map(name) }).collect()
}

/// The project of an address of Asana's own site.
fn gid_of_address(text: &str) -> Option<String> {
    let rest = text.strip_prefix("https://app.asana.com/")?;
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    let parts: Vec<&str> = path.split('/').collect();
    let gid = match parts.as_slice() {
        ["0", gid, ..] => gid,
        ["1", _, "project", gid, ..] => gid,
        _ => return None,
    };
    // The first form has 0 for a task that is in no project.
    is_gid(gid).then(|| (*gid).to_owned()).filter(|gid| gid != "0")
}

fn is_gid(text: &str) -> bool {
    (1..=MAX_DIGITS).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Looks for projects in a value. `under` is the name that the value is under. JSON that was read is 127 values deep at
/// most.
fn look_into(value: &Json, under: Option<&str>, found: &mut BTreeMap<String, Option<String>>) {
    match value {
        Json::Array(items) => items.iter().for_each(|item| look_into(item, under, found)),
        Json::Object(fields) => {
            let text = |name: &str| fields.get(name).and_then(Json::as_str);
            let is_project = match text("resource_type") {
                Some(kind) => kind == "project",
                None => matches!(under, Some("project" | "projects")),
            };
            if let Some(gid) = text("gid").filter(|gid| is_project && is_gid(gid)) {
                let known = found.entry(gid.to_owned()).or_default();
                *known = known.take().or_else(|| text("name").map(str::to_owned));
            }
            if let Some(gid) = text("permalink_url").and_then(gid_of_address) {
                found.entry(gid).or_default();
            }
            fields.iter().for_each(|(name, field)| look_into(field, Some(name), found));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use proem_guard::show;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let told = asana_projects(text).into_iter().map(|project| {
            let name = project.name.map(|name| show::exact_json(&name).as_str().unwrap().to_owned());
            name.map_or(project.gid.clone(), |name| format!("{}={name}", project.gid))
        });
        assert_eq!(told.collect::<Vec<_>>().join(" "), expected, "{text}");
    }

    #[test]
    fn an_address_names_its_project() {
        check("https://app.asana.com/0/1208/list", "1208");
        check(" https://app.asana.com/0/1208/1209?focus=true\n", "1208");
        check("https://app.asana.com/1/77/project/1208/list/5", "1208");
        check("https://app.asana.com/1/77/project/1208/task/9", "1208");
        for none in [
            "https://app.asana.com/0/home/77",
            "https://app.asana.com/0/0/9",
            "https://app.asana.com/1/77/home",
            "https://app.asana.com.evil.example/0/1208/list",
            "https://evil.example/?u=https://app.asana.com/0/1208/list",
            "http://app.asana.com/0/1208/list",
            "https://app.asana.com/0/12%308/list",
            "1208",
            "",
        ] {
            check(none, "");
        }
    }

    #[test]
    fn an_export_and_a_webhook_name_the_projects_of_their_tasks() {
        let task = r#"{"data":[{"gid":"9","resource_type":"task","name":"T","memberships":[{"project":{"gid":"1208",
            "resource_type":"project","name":"Warehouse"},"section":{"gid":"5","name":"Doing"}}],
            "projects":[{"gid":"1209","name":"Web"}],"permalink_url":"https://app.asana.com/0/1210/9"}]}"#;
        check(task, "1208=Warehouse 1209=Web 1210");
        let event = r#"{"events":[{"action":"added","resource":{"gid":"9","resource_type":"task"},
            "parent":{"gid":"1208","resource_type":"project"}}]}"#;
        check(event, "1208");
        check("{\"project\":{\"gid\":\"1\"}}\n{\"project\":{\"gid\":\"2\"}}\nno json", "1 2");
        check(r#"{"workspace":{"gid":"1199","name":"corp"},"assignee":{"gid":"12","name":"Ann"}}"#, "");
        check(r#"{"project":{"gid":"12; rm","name":"x"}}"#, "");
    }
}
