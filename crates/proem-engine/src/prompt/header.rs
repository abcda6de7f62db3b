//! A prompt file's front matter, decoded with every problem listed.

mod key_values;
mod ladders;

use std::collections::BTreeMap;

use proem_guard::Tag;
use proem_text::{OrderedMap, diagnostic::Diagnostic, span::Span};
use serde_json::Value as Json;

pub(crate) use self::key_values::{expect_map, expect_string, expect_word, known_keys};
use self::ladders::decode_ladders;
use super::config::{HeaderRemark, read_dotprompt_config, set_output_budget};
use super::layout::{Layout, parse_layout};
use super::picoschema::{self, NamedSchemas};
use super::yaml::{YamlNode, YamlValue};
use crate::call::Sampling;
use crate::contract::CallChoice;
use crate::error::error_at;
use crate::input::InputTrust;
use crate::ordered_json::OrderedJson;
use crate::profile::Baseline;
use crate::section::{CacheClass, Layer, SectionContainment, SectionPriority, SectionSpec, Trust};

/// Proem's additions to a prompt file, under the key `proem`.
#[derive(Debug, Clone, PartialEq)]
pub struct StrictHeader {
    /// The version that the file says it is.
    pub version: String,
    /// The changes of this version, for its readers.
    pub changes: Option<String>,
    /// The prompt's purpose, in one sentence.
    pub purpose: Option<String>,
    /// The file beside it that holds the answer's JSON Schema.
    pub output_schema: Option<String>,
    /// The files beside it that hold the contracts of the tools that the answer calls, each called like its tool.
    pub tools: Vec<String>,
    /// Whether the answer calls one of them. [`CallChoice::Required`] where the file doesn't say.
    pub tool_choice: CallChoice,
    /// The most tokens the request may have. `None` is only the model's own limit.
    pub input_budget: Option<usize>,
    /// The tokens kept free for the answer.
    pub output_budget: Option<usize>,
    /// The share of each limit that stable sections may take, in per cent.
    pub stable_percent: u8,
    /// Declared trust by input; what isn't here is untrusted.
    pub inputs: Vec<(String, InputTrust)>,
    /// The sections in file order.
    pub sections: Vec<SectionSpec>,
    /// The value that is in when no model answers.
    pub fallback: Option<Json>,
    /// The file beside it that holds its cases.
    pub cases: Option<String>,
    /// Whether it shows the lines of a profile that hold for every task.
    pub baseline: Baseline,
    /// How white space around its sections reaches the request.
    pub layout: Layout,
}

/// Decoded front matter.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Header {
    /// The model or role that is asked.
    pub model: Option<String>,
    /// How the model chooses words, as `config` says.
    pub sampling: Sampling,
    /// JSON Schema of the input.
    pub input_schema: Option<Json>,
    /// Values for inputs that the caller doesn't give.
    pub input_default: Option<OrderedJson>,
    /// JSON Schema of the answer, where the front matter holds it.
    pub output_schema: Option<Json>,
    /// Proem's own part. `None` makes it a plain dotprompt file.
    pub strict: Option<StrictHeader>,
    /// The places of its parts in the file.
    pub(crate) places: HeaderSpans,
}

/// The places of parts of the front matter in the file.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct HeaderSpans {
    /// The input's schema.
    pub(crate) schema: Option<Span>,
    /// The inputs with a declared trust, by name.
    pub(crate) inputs: BTreeMap<String, Span>,
    /// The declared sections, by name.
    pub(crate) sections: BTreeMap<String, Span>,
    /// Its settings without effect.
    pub(crate) remarks: Vec<HeaderRemark>,
    /// The most tokens of the answer by `config`.
    pub(crate) output_tokens: Option<usize>,
    /// Whether every declared section could be read.
    pub(crate) sections_known: bool,
    /// Whether the inputs' types and trust could be read, so that templates can be checked.
    pub(crate) inputs_known: bool,
}

/// The problems met so far.
pub(crate) type Diagnostics = Vec<Diagnostic>;

fn push_error(problems: &mut Diagnostics, message: String, span: Span) {
    problems.push(error_at(message, span));
}

/// Decodes the front matter's tree.
pub(crate) fn decode_header(root: Option<&YamlNode>, named: &NamedSchemas, problems: &mut Diagnostics) -> Header {
    let Some(root) = root else { return Header::default() };
    let YamlValue::Map(_) = root.data else {
        if root.data != YamlValue::Scalar(Json::Null) {
            push_error(problems, "front matter is not a mapping of keys to values".into(), root.span);
        }
        return Header::default();
    };
    let schema = |part: &str, problems: &mut Diagnostics| {
        let node = root.get(part)?.get("schema")?;
        match picoschema::expand_picoschema(&node.to_ordered(), named) {
            Ok(schema) => Some(schema),
            Err(message) => {
                push_error(problems, format!("{part}.schema: {message}"), place_of_fault(node, named));
                None
            }
        }
    };
    let mut remarks = Vec::new();
    let values = read_dotprompt_config(root, &mut remarks, problems);
    let before = problems.len();
    let mut header = Header {
        model: root.get("model").and_then(YamlNode::as_str).map(str::to_owned),
        sampling: values.sampling.clone(),
        input_schema: schema("input", problems),
        input_default: root.get("input").and_then(|node| node.get("default")).map(YamlNode::to_ordered),
        output_schema: schema("output", problems),
        ..Header::default()
    };
    header.places.output_tokens = values.output_tokens.map(|(tokens, _)| tokens);
    header.places.remarks = remarks;
    header.places.schema = root.get("input").map(|node| node.get("schema").unwrap_or(node).span);
    header.places.inputs_known = problems.len() == before;
    if let Some(node) = root.get("proem") {
        header.strict = decode_strict_header(node, &mut header.places, problems);
        if let Some(strict) = &mut header.strict {
            set_output_budget(strict, &values, problems);
        }
        let calls = header.strict.as_ref().is_some_and(|strict| !strict.tools.is_empty());
        if let Some(schema) = root.get("output").and_then(|output| output.get("schema")).filter(|_| calls) {
            push_error(problems, "output.schema and proem.tools exclude each other; remove one".into(), schema.span);
        }
    }
    header
}

/// The place of a schema's fault: the innermost value that can't be read by itself.
fn place_of_fault(node: &YamlNode, named: &NamedSchemas) -> Span {
    let YamlValue::Map(entries) = &node.data else { return node.span };
    let alone = |key: &str, value: &YamlNode| OrderedMap::from_iter([(key, value.to_ordered())]).into();
    for (key, value) in entries {
        if picoschema::expand_picoschema(&alone(&key.name, value), named).is_ok() {
            continue;
        }
        let is_inside = matches!(value.data, YamlValue::Map(_))
            && picoschema::expand_picoschema(&value.to_ordered(), named).is_err();
        return if is_inside { place_of_fault(value, named) } else { Span::new(key.span.start, value.span.end) };
    }
    node.span
}

/// Proem's own part for a plain file: what is under each role is a section, and nothing that is given is trusted.
pub(crate) fn plain_file_header(output_budget: Option<usize>) -> Option<StrictHeader> {
    const FRONT: &str = "version: 0.0.0\nsections:\n- { name: system, trust: constitution }\n\
                         - { name: user, trust: untrusted, cache: never, contain: exact, keep: required }\n";
    let node = super::yaml::parse_yaml(FRONT, 0).ok().flatten()?;
    let strict = decode_strict_header(&node, &mut HeaderSpans::default(), &mut Diagnostics::new())?;
    Some(StrictHeader { output_budget, ..strict })
}

/// How the name of a tool's contract ends.
pub(crate) const TOOL_FILE: &str = ".schema.json";

const STRICT_KEYS: [&str; 13] = [
    "version",
    "changes",
    "purpose",
    "output_schema",
    "tools",
    "tool_choice",
    "budget",
    "inputs",
    "sections",
    "fallback",
    "cases",
    "profile",
    "layout",
];

fn decode_strict_header(node: &YamlNode, places: &mut HeaderSpans, problems: &mut Diagnostics) -> Option<StrictHeader> {
    let entries = expect_map(node, "proem", problems)?;
    known_keys(entries, &STRICT_KEYS, "proem", problems);
    let text = |key: &str, problems: &mut Diagnostics| node.get(key).and_then(|n| expect_string(n, key, problems));
    let version = decode_version(node, problems);
    let budget = |key: &str, problems: &mut Diagnostics| {
        let node = node.get("budget")?.get(key)?;
        let tokens = node.to_json().as_u64().and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0);
        if tokens.is_none() {
            push_error(problems, format!("proem.budget.{key} is not a positive number of tokens"), node.span);
        }
        tokens
    };
    if let Some(node) = node.get("budget")
        && let Some(entries) = expect_map(node, "proem.budget", problems)
    {
        known_keys(entries, &["input", "output", "stable"], "proem.budget", problems);
    }
    let stable_percent = stable(node.get("budget"), problems);
    let before = problems.len();
    let inputs = decode_inputs(node.get("inputs"), places, problems);
    places.inputs_known &= problems.len() == before;
    let layout = parse_layout(node.get("layout"), problems);
    let sections = decode_sections(node.get("sections"), node.span, layout, places, problems);
    Some(StrictHeader {
        version,
        changes: text("changes", problems),
        purpose: text("purpose", problems),
        output_schema: text("output_schema", problems),
        tools: decode_tools(node, problems),
        tool_choice: tool_choice(node, problems),
        input_budget: budget("input", problems),
        output_budget: budget("output", problems),
        stable_percent,
        inputs,
        sections,
        fallback: node.get("fallback").map(YamlNode::to_json),
        cases: text("cases", problems),
        baseline: baseline(node.get("profile"), problems),
        layout,
    })
}

/// The share of stable sections that holds unless a file says another.
const STABLE_PERCENT: u8 = 50;

/// The share of each limit that stable sections may take.
fn stable(budget: Option<&YamlNode>, problems: &mut Diagnostics) -> u8 {
    let Some(node) = budget.and_then(|budget| budget.get("stable")) else { return STABLE_PERCENT };
    let percent = node.to_json().as_u64().and_then(|n| u8::try_from(n).ok()).filter(|n| (1..=100).contains(n));
    if percent.is_none() {
        push_error(problems, "proem.budget.stable is not a whole number of per cent from 1 to 100".into(), node.span);
    }
    percent.unwrap_or(STABLE_PERCENT)
}

/// The contracts of the tools that the answer calls. A prompt that has any declares no other answer.
fn decode_tools(node: &YamlNode, problems: &mut Diagnostics) -> Vec<String> {
    let Some(list) = node.get("tools") else { return Vec::new() };
    let YamlValue::List(items) = &list.data else {
        push_error(
            problems,
            "proem.tools is not a list of files; write `tools: [answer.schema.json]`".into(),
            list.span,
        );
        return Vec::new();
    };
    if items.is_empty() {
        push_error(problems, "proem.tools is empty; name a tool, or remove the key".into(), list.span);
    }
    if node.get("output_schema").is_some() {
        push_error(problems, "proem.tools and proem.output_schema exclude each other; remove one".into(), list.span);
    }
    let mut files: Vec<String> = Vec::new();
    for item in items {
        let Some(file) = expect_string(item, "a file of proem.tools", problems) else { continue };
        if !file.ends_with(TOOL_FILE) || file.contains('/') {
            let message =
                format!("`{file}` is not the contract of a tool; expected a name such as `answer{TOOL_FILE}`");
            push_error(problems, message, item.span);
        } else if files.contains(&file) {
            push_error(problems, format!("proem.tools names `{file}` twice"), item.span);
        } else {
            files.push(file);
        }
    }
    files
}

/// Whether the answer calls a tool.
fn tool_choice(node: &YamlNode, problems: &mut Diagnostics) -> CallChoice {
    let Some(found) = node.get("tool_choice") else { return CallChoice::default() };
    let choice = found.as_str().map(CallChoice::parse);
    let files: Vec<Json> = node.get("tools").and_then(|tools| tools.to_json().as_array().cloned()).unwrap_or_default();
    let names = |name: &str| files.contains(&Json::String(format!("{name}{TOOL_FILE}")));
    match choice {
        Some(CallChoice::One(name)) if !names(&name) => {
            let message =
                format!("proem.tool_choice is `{name}`; write `auto`, `none`, `required` or one of proem.tools");
            push_error(problems, message, found.span);
        }
        Some(_) if files.is_empty() => {
            push_error(
                problems,
                "proem.tool_choice needs proem.tools; name tools, or remove the key".into(),
                found.span,
            );
        }
        Some(choice) => return choice,
        None => {
            let message = "proem.tool_choice is no word; write `auto`, `none`, `required` or one of proem.tools";
            push_error(problems, message.into(), found.span);
        }
    }
    CallChoice::default()
}

/// Whether a file asks for a profile. One that doesn't say so doesn't.
fn baseline(node: Option<&YamlNode>, problems: &mut Diagnostics) -> Baseline {
    match node.map(|node| (node.to_json(), node.span)) {
        None | Some((Json::Bool(false), _)) => Baseline::Unwanted,
        Some((Json::Bool(true), _)) => Baseline::Wanted,
        Some((other, span)) => {
            push_error(problems, format!("proem.profile is `{other}`; expected true or false"), span);
            Baseline::Unwanted
        }
    }
}

fn decode_version(node: &YamlNode, problems: &mut Diagnostics) -> String {
    let found = node.get("version");
    let shown = found.map(|n| n.as_str().map_or_else(|| n.to_json().to_string(), str::to_owned));
    match (found.and_then(YamlNode::as_str), shown) {
        (Some(version), _) if is_version(version) => return version.to_owned(),
        (_, Some(shown)) => {
            let message = format!("proem.version is `{shown}`; expected three numbers such as `1.0.0`");
            push_error(problems, message, found.map_or(node.span, |n| n.span));
        }
        (_, None) => {
            push_error(
                problems,
                "proem.version is missing; expected three numbers such as `1.0.0`".into(),
                span_start(node.span),
            );
        }
    }
    String::new()
}

/// The place where something that is missing should be.
const fn span_start(span: Span) -> Span {
    Span::new(span.start, span.start)
}

/// Whether `text` is three numbers with dots.
pub(crate) fn is_version(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    parts.len() == 3
        && parts.iter().all(|part| part.len() <= 6 && part.parse::<u32>().is_ok_and(|n| n.to_string() == **part))
}

fn decode_inputs(
    node: Option<&YamlNode>,
    places: &mut HeaderSpans,
    problems: &mut Diagnostics,
) -> Vec<(String, InputTrust)> {
    let Some(entries) = node.and_then(|node| expect_map(node, "proem.inputs", problems)) else { return Vec::new() };
    let mut inputs = Vec::new();
    for (key, node) in entries {
        let at = format!("proem.inputs.{}", key.name);
        let Some(fields) = expect_map(node, &at, problems) else { continue };
        known_keys(fields, &["trust"], &at, problems);
        let words = [("trusted", InputTrust::Trusted), ("untrusted", InputTrust::Untrusted)];
        let trust = node.get("trust").and_then(|node| expect_word(node, "trust", &words, problems));
        inputs.push((key.name.clone(), trust.unwrap_or(InputTrust::Untrusted)));
        places.inputs.insert(key.name.clone(), key.span);
    }
    inputs
}

fn decode_sections(
    node: Option<&YamlNode>,
    whole: Span,
    layout: Layout,
    places: &mut HeaderSpans,
    problems: &mut Diagnostics,
) -> Vec<SectionSpec> {
    let Some(node) = node else {
        let message = "proem.sections is missing; every part of a prompt belongs to a section";
        push_error(problems, message.into(), span_start(whole));
        return Vec::new();
    };
    let YamlValue::List(items) = &node.data else {
        push_error(problems, "proem.sections is not a list".into(), node.span);
        return Vec::new();
    };
    places.sections_known = true;
    let mut specs: Vec<SectionSpec> = Vec::new();
    for item in items {
        let Some(spec) = decode_section(item, problems) else {
            places.sections_known = false;
            continue;
        };
        if let Some(earlier) = specs.iter().find(|earlier| earlier.name == spec.name) {
            push_error(problems, format!("section `{}` is declared twice", earlier.name), item.span);
            continue;
        }
        if let Some(earlier) = specs.iter().rev().find(|earlier| !layout.allows(earlier.rank(), spec.rank())) {
            let (a, b) = (spec.rank().as_str(), earlier.rank().as_str());
            let message = format!("section `{}` ({a}) comes after `{}` ({b}); move it before", spec.name, earlier.name);
            push_error(problems, message, item.span);
        }
        places.sections.insert(spec.name.clone(), item.span);
        specs.push(spec);
    }
    specs
}

const SECTION_KEYS: [&str; 11] =
    ["name", "trust", "cache", "contain", "keep", "priority", "ladder", "layer", "tag", "budget", "shrinks"];

fn decode_section(node: &YamlNode, problems: &mut Diagnostics) -> Option<SectionSpec> {
    let entries = expect_map(node, "a section", problems)?;
    known_keys(entries, &SECTION_KEYS, "a section", problems);
    let name = node.get("name").and_then(|n| expect_string(n, "name", problems));
    let Some(name) = name.filter(|name| is_section_name(name)) else {
        push_error(
            problems,
            "a section needs a name of letters, digits, `-` and `_`; `output` is reserved".into(),
            node.span,
        );
        return None;
    };
    let trust = node.get("trust").and_then(|n| expect_word(n, "trust", &Trust::WORDS, problems));
    if node.get("trust").is_none() {
        let words: Vec<&str> = Trust::WORDS.iter().map(|(word, _)| *word).collect();
        push_error(
            problems,
            format!("section `{name}` has no `trust`; expected one of {}", words.join(", ")),
            node.span,
        );
    }
    let trust = trust?;
    let cache = node
        .get("cache")
        .map_or(Some(default_cache(trust)), |n| expect_word(n, "cache", &CacheClass::WORDS, problems))?;
    let layer =
        node.get("layer").map_or(Some(default_layer(trust)), |n| expect_word(n, "layer", &Layer::WORDS, problems))?;
    if layer != default_layer(trust)
        && (layer, trust) != (Layer::Capabilities, Trust::Trusted)
        && (layer, trust) != (Layer::Capabilities, Trust::Untrusted)
        && (layer, trust) != (Layer::Code, Trust::Untrusted)
    {
        push_error(
            problems,
            format!("section `{name}`: layer `{}` can't be combined with trust `{}`", layer.as_str(), trust.as_str()),
            node.span,
        );
    }
    let tag = match node.get("tag") {
        None => Tag::UNTRUSTED_CONTEXT,
        Some(n) => match n.as_str().and_then(Tag::new) {
            Some(tag) => tag,
            None => {
                push_error(problems, "`tag` must consist of letters, digits and `_`".into(), n.span);
                return None;
            }
        },
    };
    let keep = decode_priority(node, trust, problems);
    let containment = node.get("contain").map_or(Some(SectionContainment::default()), |n| {
        if trust != Trust::Untrusted {
            let message = format!("section `{name}` is {} and contains nothing; remove `contain`", trust.as_str());
            push_error(problems, message, n.span);
        }
        expect_word(n, "contain", &SectionContainment::WORDS, problems)
    })?;
    let ladders = decode_ladders(node.get("ladder"), problems);
    let (budget, shrinks) = section_limits(node, &name, problems);
    Some(SectionSpec { name, trust, cache, layer, keep, budget, shrinks, ladders, containment, tag })
}

/// The most tokens of a section, and when it shrinks.
fn section_limits(node: &YamlNode, name: &str, problems: &mut Diagnostics) -> (Option<usize>, u8) {
    let budget = node.get("budget").and_then(|found| {
        let tokens = found.to_json().as_u64().and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0);
        if tokens.is_none() {
            push_error(problems, format!("section `{name}`: budget is not a positive number of tokens"), found.span);
        }
        tokens
    });
    let shrinks = node.get("shrinks").and_then(|found| {
        let order = found.to_json().as_u64().and_then(|n| u8::try_from(n).ok()).filter(|n| (1..=9).contains(n));
        if order.is_none() {
            push_error(problems, format!("section `{name}`: shrinks is not a whole number from 1 to 9"), found.span);
        }
        order
    });
    (budget, shrinks.unwrap_or(MIDDLE))
}

/// When a section shrinks whose file doesn't say.
const MIDDLE: u8 = 5;

pub(crate) fn is_section_name(name: &str) -> bool {
    name != "output"
        && (1..=64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}

const fn default_cache(trust: Trust) -> CacheClass {
    match trust {
        Trust::Constitution | Trust::Rules => CacheClass::Static,
        Trust::Trusted | Trust::Untrusted | Trust::Task => CacheClass::Never,
    }
}

const fn default_layer(trust: Trust) -> Layer {
    match trust {
        Trust::Constitution => Layer::Constitution,
        Trust::Rules => Layer::Rules,
        Trust::Trusted | Trust::Untrusted => Layer::Context,
        Trust::Task => Layer::Task,
    }
}

fn decode_priority(node: &YamlNode, trust: Trust, problems: &mut Diagnostics) -> SectionPriority {
    let always = matches!(trust, Trust::Constitution | Trust::Rules | Trust::Task);
    let priority = node.get("priority").and_then(|n| {
        let priority = n.to_json().as_u64().and_then(|p| u8::try_from(p).ok()).filter(|p| *p <= 100);
        if priority.is_none() {
            push_error(problems, "priority is not a whole number from 0 to 100".into(), n.span);
        }
        priority
    });
    let required = match node.get("keep") {
        None => always,
        Some(n) => match n.as_str() {
            Some("required") => true,
            _ => {
                push_error(problems, "`keep` accepts only `required`; otherwise use `priority`".into(), n.span);
                always
            }
        },
    };
    if required && let Some(n) = node.get("priority") {
        push_error(problems, "a section with `keep: required` can't have a priority".into(), n.span);
    }
    if required { SectionPriority::Required } else { SectionPriority::Priority(priority.unwrap_or(50)) }
}
