//! The policy's file: how it is written, and everything that is wrong with it.

use std::collections::{BTreeMap, BTreeSet};

use proem_guard::check::{Allowlist, AllowlistEntryKind, HoldMinutes};
use proem_text::span::Span;
use toml::de::DeTable;

use super::{
    canonical::{ALLOW, folded_name},
    field,
    terms::{ActionList, ActionTerms, AutonomyLevel, EffectRoute, HoldSteps, KnownRecipient, Policy, TIMES},
};
use crate::error::{Error, error_at};
use crate::toml_reader::{PlacedValue, TableSyntax, TomlReader, read_tables, too_long};

/// The form of the file.
const VERSION: u32 = 1;
/// The longest time: a year, in minutes.
const MAX_MINUTES: u32 = 525_600;
/// The most bytes of a file.
const MAX_FILE: usize = 1 << 20;
/// The most bytes of an action's name.
const MAX_NAME: usize = 64;

const ROOT: [&str; 10] =
    ["version", "level", "domains", "denylist", "lists", "times", "holds", "allow", "recipients", "actions"];
const LISTS: [&str; 4] = ["auto", "hold", "approval", "never"];
pub(super) const LEVELS: [&str; 3] = ["monitoring", "artefact", "tactical"];

impl Policy {
    /// The policy that ships.
    ///
    /// # Errors
    ///
    /// [`crate::ErrorKind::InvalidFile`] if the file that was built in is damaged.
    pub fn shipped() -> Result<Self, Error> {
        Self::parse(Self::shipped_text(), "policy.toml")
    }

    /// Reads a policy. `name` is what messages call the file.
    ///
    /// # Errors
    ///
    /// [`crate::ErrorKind::InvalidFile`] with every problem: its line, column and excerpt.
    pub fn parse(text: &str, name: &str) -> Result<Self, Error> {
        if text.len() > MAX_FILE {
            return Err(too_long(name, MAX_FILE, "a policy"));
        }
        read_tables(name, text, TableSyntax::Toml, read_policy).map(Self::finish)
    }
}

fn read_policy(reader: &mut TomlReader, root: &DeTable<'_>) -> Policy {
    reader.only(root, &ROOT);
    match root.get("version") {
        None => {
            reader.problems.push(error_at(format!("no version; begin with `version = {VERSION}`"), Span::default()));
        }
        Some(version) if reader.number(version, VERSION) != Some(VERSION) => {
            reader.problem(format!("only version {VERSION} can be read; write `version = {VERSION}`"), version.span());
        }
        Some(_) => {}
    }
    let mut policy = Policy {
        level: root.get("level").and_then(|level| reader.word(level, &LEVELS, AutonomyLevel::parse)),
        ..Policy::default()
    };
    policy.domains =
        root.get("domains").map(|value| read_allowlist_entries(reader, value, AllowlistEntryKind::MailDomain));
    if let Some(value) = root.get("denylist") {
        policy.denylist = reader.texts(value).into_iter().map(|(name, _)| name.to_owned()).collect();
    }
    policy.times = read_times(reader, root);
    policy.holds = root.get("holds").and_then(|value| read_hold_steps(reader, value));
    if let Some(table) = root.get("allow").and_then(|value| reader.table(value)) {
        reader.only(table, &ALLOW.map(|(key, _)| key));
        for (key, kind) in ALLOW {
            if let Some(value) = table.get(key) {
                policy.allow.insert(key, read_allowlist_entries(reader, value, kind));
            }
        }
    }
    policy.recipients = root.get("recipients").map(|value| recipients(reader, value));
    let lists = read_action_lists(reader, root);
    actions(reader, root, &lists, &mut policy);
    policy
}

/// Texts that have a canonical form as values of the kind.
fn read_allowlist_entries(
    reader: &mut TomlReader,
    value: PlacedValue<'_>,
    kind: AllowlistEntryKind,
) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for (text, place) in reader.texts(value) {
        match Allowlist::new().allow(kind, text) {
            Ok(()) => drop(all.insert(text.to_owned())),
            Err(problem) => reader.problem(problem.to_string(), place.span()),
        }
    }
    all
}

fn read_times(reader: &mut TomlReader, root: &DeTable<'_>) -> BTreeMap<&'static str, u32> {
    let mut times = BTreeMap::new();
    let Some(table) = root.get("times").and_then(|value| reader.table(value)) else { return times };
    reader.only(table, &TIMES.map(|(key, _)| key));
    for (key, _) in TIMES {
        let minutes = table.get(key).and_then(|value| reader.number(value, MAX_MINUTES));
        times.extend(minutes.map(|minutes| (key, minutes)));
    }
    times
}

fn read_hold_steps(reader: &mut TomlReader, value: PlacedValue<'_>) -> Option<HoldSteps> {
    let table = reader.table(value)?;
    reader.only(table, &["shorter", "untrusted"]);
    let mut steps = HoldSteps::default();
    if let Some(minutes) = table.get("untrusted").and_then(|value| reader.number(value, MAX_MINUTES)) {
        steps.untrusted = minutes.max(steps.untrusted);
        if minutes < steps.untrusted {
            let message = "a hold with free text from outside is never below 5 minutes; write 5 or more";
            reader.problem(message, table.get("untrusted").map(toml::Spanned::span).unwrap_or_default());
        }
    }
    let Some(items) = table.get("shorter") else { return Some(steps) };
    steps.shorter.clear();
    let Some(items) = items.get_ref().as_array() else {
        reader.problem("expected a list of `{ approvals = 5, minutes = 15 }`", items.span());
        return None;
    };
    for item in items {
        let step = reader.table(item)?;
        reader.only(step, &["approvals", "minutes"]);
        let approvals = step.get("approvals").and_then(|value| reader.number(value, MAX_MINUTES));
        let minutes = step.get("minutes").and_then(|value| reader.number(value, MAX_MINUTES));
        match (approvals, minutes) {
            (Some(approvals @ 1..), Some(minutes)) => drop(steps.shorter.insert(approvals, minutes)),
            _ => reader.problem("a step needs `approvals` of 1 or more and `minutes`; write both", item.span()),
        }
    }
    Some(steps)
}

fn recipients(reader: &mut TomlReader, value: PlacedValue<'_>) -> BTreeSet<KnownRecipient> {
    let mut all = BTreeSet::new();
    let Some(items) = value.get_ref().as_array() else {
        reader.problem("expected tables; write `[[recipients]]` above each", value.span());
        return all;
    };
    for item in items {
        let Some(table) = reader.table(item) else { continue };
        reader.only(table, &["address", "name", "role"]);
        let mut text = |key| table.get(key).and_then(|value| reader.text(value)).unwrap_or_default().to_owned();
        let one = KnownRecipient { address: text("address"), name: text("name"), role: text("role") };
        match Allowlist::new().allow(AllowlistEntryKind::Recipient, &one.address) {
            Ok(()) => drop(all.insert(one)),
            Err(problem) => {
                reader.problem(problem.to_string(), table.get("address").unwrap_or(item).span());
            }
        }
    }
    all
}

/// The list of each action, and where it is in it.
fn read_action_lists<'t>(
    reader: &mut TomlReader,
    root: &'t DeTable<'t>,
) -> BTreeMap<&'t str, (ActionList, PlacedValue<'t>)> {
    let mut lists: BTreeMap<&str, (ActionList, PlacedValue<'_>)> = BTreeMap::new();
    let Some(table) = root.get("lists").and_then(|value| reader.table(value)) else { return lists };
    reader.only(table, &LISTS);
    for key in LISTS {
        let Some(value) = table.get(key) else { continue };
        let named: Vec<(&str, ActionList, PlacedValue<'_>)> = if key == "hold" {
            read_holds(reader, value)
        } else {
            let list = match key {
                "auto" => ActionList::Auto,
                "approval" => ActionList::Approval,
                _ => ActionList::Never,
            };
            reader.texts(value).into_iter().map(|(name, place)| (name, list, place)).collect()
        };
        for (name, list, place) in named {
            let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
            if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(is_name) {
                let message = format!("`{name}` names no action; write 1 to {MAX_NAME} of a-z, 0-9 and `_`");
                reader.problem(message, place.span());
            } else if let Some((first, _)) = lists.get(name) {
                let message =
                    format!("`{name}` is on the list `{}` already; leave it on the stricter one", first.as_str());
                reader.problem(message, place.span());
            } else {
                lists.insert(name, (list, place));
            }
        }
    }
    lists
}

/// Actions with the minutes of their holds.
fn read_holds<'t>(reader: &mut TomlReader, value: PlacedValue<'t>) -> Vec<(&'t str, ActionList, PlacedValue<'t>)> {
    let Some(table) = reader.table(value) else { return Vec::new() };
    let hold = |(name, value): (&'t toml::Spanned<toml::de::DeString<'t>>, PlacedValue<'t>)| {
        let minutes = reader.number(value, MAX_MINUTES)?;
        Some((name.get_ref().as_ref(), ActionList::Hold(HoldMinutes(minutes)), value))
    };
    table.iter().filter_map(hold).collect()
}

/// The type of each action, compared with the list that it is on.
fn actions(
    reader: &mut TomlReader,
    root: &DeTable<'_>,
    lists: &BTreeMap<&str, (ActionList, PlacedValue<'_>)>,
    policy: &mut Policy,
) {
    let empty = DeTable::new();
    let tables = root.get("actions").and_then(|value| reader.table(value)).unwrap_or(&empty);
    for (key, value) in tables {
        let name: &str = key.get_ref();
        match lists.get(name) {
            None => reader.problem(format!("`{name}` is on no list; name it under `lists`"), key.span()),
            Some((ActionList::Never, _)) => {
                reader.problem(format!("`{name}` is never taken; leave out what it says"), key.span());
            }
            Some((list, _)) => {
                let Some(table) = reader.table(value) else { continue };
                if let Some(terms) = read_action_terms(reader, table, *list, value) {
                    policy.actions.insert(name.to_owned(), terms);
                }
            }
        }
    }
    let never = lists.iter().filter(|(_, (list, _))| *list == ActionList::Never).map(|(name, _)| folded_name(name));
    let denied: BTreeSet<String> = policy.denylist.iter().map(|name| folded_name(name)).chain(never).collect();
    for (name, (list, place)) in lists {
        if *list == ActionList::Never {
            policy.never.insert((*name).to_owned());
            continue;
        }
        if denied.contains(&folded_name(name)) {
            reader.problem(
                format!("`{name}` is denied, too, in this spelling or another; leave it on one list"),
                place.span(),
            );
        }
        if !tables.contains_key(*name) {
            let message =
                format!("nothing says what `{name}` is; write `[actions.{name}]` with `perform` and `target`");
            reader.problem(message, place.span());
        }
    }
    for (key, value) in tables {
        let external = value.get_ref().as_table().and_then(|table| table.get("external"));
        let Some(external) = external else { continue };
        let named = external.get_ref().as_str().and_then(|name| lists.get(name));
        if !matches!(named, Some((ActionList::Approval | ActionList::Never, _))) {
            let message = format!("`external` of `{}` names no action that needs approval; name one", key.get_ref());
            reader.problem(message, external.span());
        }
    }
}

fn read_action_terms(
    reader: &mut TomlReader,
    table: &DeTable<'_>,
    list: ActionList,
    place: PlacedValue<'_>,
) -> Option<ActionTerms> {
    reader.only(table, &["level", "perform", "external", "target", "fields"]);
    // An action that no level is named for needs the highest.
    let level = table.get("level").and_then(|value| reader.word(value, &LEVELS, AutonomyLevel::parse));
    let route = match table.get("perform") {
        Some(value) => reader.word(value, &["mail", "request:NAME", "inside", "none"], route),
        None => {
            reader.problem("no `perform`; write `mail`, `request:NAME`, `inside` or `none`", place.span());
            None
        }
    };
    let target = match table.get("target") {
        Some(value) => {
            field::read_field_terms(reader, value).map(|target| super::FieldTerms { is_required: true, ..target })
        }
        None => {
            reader.problem("no `target`; say what the action is aimed at", place.span());
            None
        }
    };
    if let (Some(target), Some(value)) = (&target, table.get("target")) {
        let names_something = field::names_something(target.role) && !target.is_list;
        if !names_something {
            let message = "a target is one recipient, host, url, amount, id or number; give it such a role";
            reader.problem(message, value.span());
        }
    }
    let (mut fields, mut files) = (BTreeMap::new(), BTreeSet::new());
    if let Some(named) = table.get("fields").and_then(|value| reader.table(value)) {
        for (name, value) in named {
            let Some(terms) = field::read_field_terms(reader, value) else { continue };
            if let Some(file) = &terms.attachment {
                let is_carried = matches!(route, Some(EffectRoute::Mail)) && !BODY.contains(&&**name.get_ref());
                if !is_carried {
                    let message = "`attachment` is for fields of a mail beside `subject` and `body`; leave it out";
                    reader.problem(message, value.span());
                } else if !files.insert(file.to_ascii_lowercase()) {
                    reader
                        .problem(format!("another field goes as `{file}`, too; name the file otherwise"), value.span());
                }
            }
            fields.insert(name.get_ref().to_string(), terms);
        }
    }
    Some(ActionTerms {
        list,
        level: level.unwrap_or(AutonomyLevel::Tactical),
        route: route?,
        external: table.get("external").and_then(|value| reader.text(value)).map(str::to_owned),
        target: target?,
        fields,
    })
}

/// The fields of a mail that are in it themselves.
const BODY: [&str; 2] = ["subject", "body"];

fn route(word: &str) -> Option<EffectRoute> {
    match word {
        "mail" => Some(EffectRoute::Mail),
        "inside" => Some(EffectRoute::Inside),
        "none" => Some(EffectRoute::Nowhere),
        _ => {
            let name = word.strip_prefix("request:").filter(|name| !name.is_empty() && name.len() <= MAX_NAME)?;
            let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
            is_plain.then(|| EffectRoute::Request(name.to_owned()))
        }
    }
}
