//! The dotprompt specification's own cases, run from `../shared/conformance/dotprompt` beside the checkout. If that
//! folder is missing, the test says so and passes.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test harness may stop at what it didn't expect"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proem_engine::message::{Message, Part};
use proem_engine::ordered_json::OrderedJson;
use proem_engine::prompt::compat::{Dotprompt, RenderData};
use proem_text::OrderedMap;
use saphyr::{LoadableYamlNode, Yaml};
use serde_json::{Map, Value as Json, json};

use crate::skipped::skip;

fn to_json(yaml: &Yaml<'_>) -> Json {
    match yaml {
        Yaml::Value(scalar) => match scalar {
            saphyr::Scalar::Null => Json::Null,
            saphyr::Scalar::Boolean(value) => json!(value),
            saphyr::Scalar::Integer(value) => json!(value),
            saphyr::Scalar::FloatingPoint(value) => json!(value.0),
            saphyr::Scalar::String(text) => json!(text),
        },
        Yaml::Sequence(items) => Json::Array(items.iter().map(to_json).collect()),
        Yaml::Mapping(map) => Json::Object(
            map.iter()
                .map(|(key, value)| {
                    let key = to_json(key);
                    (key.as_str().map_or_else(|| key.to_string(), str::to_owned), to_json(value))
                })
                .collect(),
        ),
        other => panic!("unexpected YAML {other:?}"),
    }
}

fn strings(json: Option<&Json>) -> BTreeMap<String, String> {
    let map = json.and_then(Json::as_object);
    map.into_iter().flatten().map(|(key, value)| (key.clone(), value.as_str().unwrap().to_owned())).collect()
}

fn object(json: Option<&Json>) -> Map<String, Json> {
    json.and_then(Json::as_object).cloned().unwrap_or_default()
}

fn ordered(json: Option<&Json>) -> OrderedMap<OrderedJson> {
    object(json).into_iter().map(|(name, value)| (name, OrderedJson::from(value))).collect()
}

fn part(part: &Part) -> Json {
    match part {
        Part::Text(text) => json!({ "text": text }),
        Part::Media { url, content_type: Some(content_type) } => {
            json!({ "media": { "url": url, "contentType": content_type } })
        }
        Part::Media { url, content_type: None } => json!({ "media": { "url": url } }),
        Part::Pending { purpose } => json!({ "metadata": { "pending": true, "purpose": purpose } }),
        Part::Other(json) => json.clone(),
    }
}

fn message(message: &Message) -> Json {
    let content: Vec<Json> = message.content.iter().map(part).collect();
    let mut out = json!({ "role": message.role, "content": content });
    if !message.metadata.is_empty() {
        out.as_object_mut().unwrap().insert("metadata".into(), Json::Object(message.metadata.clone()));
    }
    out
}

/// Runs one case; what is wrong with it, if anything.
fn run(suite: &Json, case: &Json) -> Result<(), String> {
    let mut partials = strings(suite.get("partials"));
    partials.extend(strings(suite.get("resolverPartials")));
    let schemas = object(suite.get("schemas")).into_iter().collect();
    let template = suite["template"].as_str().unwrap();
    let prompt = Dotprompt::parse("case", template, &partials, &schemas).map_err(|e| e.to_string())?;
    let data = case.get("data").or_else(|| suite.get("data")).cloned().unwrap_or_else(|| json!({}));
    let messages = data.get("messages").and_then(Json::as_array).cloned().unwrap_or_default();
    let data = RenderData { input: ordered(data.get("input")), context: ordered(data.get("context")), messages };
    let defaults = case.get("options").and_then(|options| options.pointer("/input/default")).and_then(Json::as_object);
    let given = defaults.map(|defaults| ordered(Some(&Json::Object(defaults.clone()))));
    let rendered = prompt.render(&data, given.as_ref()).map_err(|e| e.to_string())?;
    let expect = case["expect"].as_object().unwrap();
    for (key, wanted) in expect {
        let found = match key.as_str() {
            "messages" => Json::Array(rendered.iter().map(message).collect()),
            // Options given at render time are the caller's own. They come back as they were.
            "input" if defaults.is_some() => json!({ "default": defaults }),
            key => prompt.metadata().get(key).cloned().unwrap_or(Json::Null),
        };
        if &found != wanted {
            return Err(format!("{key}:\n  wanted {wanted}\n  found  {found}"));
        }
    }
    Ok(())
}

fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            into.push(path);
        }
    }
    into.sort();
}

#[test]
fn plain_files_render_as_the_specification_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance/dotprompt");
    if !folder.is_dir() {
        skip("shared-data", format!("there is no `{}`", folder.display()));
        return;
    }
    let mut paths = Vec::new();
    files(&folder, &mut paths);
    let (mut cases, mut failures) = (0, Vec::new());
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        for document in Yaml::load_from_str(&text).unwrap() {
            for suite in to_json(&document).as_array().unwrap() {
                for case in suite["tests"].as_array().unwrap() {
                    cases += 1;
                    if let Err(problem) = run(suite, case) {
                        let name = path.file_name().unwrap().to_string_lossy().into_owned();
                        failures.push(format!("{name} {} ({}): {problem}", suite["name"], case["desc"]));
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} of {cases} cases fail:\n{}", failures.len(), failures.join("\n"));
    assert_eq!(cases, 117, "the specification's cases changed; look at the new ones");
}
