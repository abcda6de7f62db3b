//! An action as an agent gives it.
//!
//! Its texts come in under the label of their author and keep it. A text that a person edits becomes the person's own.

use std::borrow::Cow;
use std::collections::BTreeMap;

use proem_guard::check::{
    ActionField, ApprovalNeed, CaseSensitivity, Confidence, FieldRole, HoldMinutes, Reach, Referent,
};
use proem_guard::{
    LabelMap, LabelScalar, LabelTree, TreeDifference, TreeName, Untrusted, credential, show, tree_differences,
};
use proem_text::{Label, json::compact};
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use super::canonical::folded_name;
use super::terms::{ActionTerms, FieldTerms, Policy};
use crate::effect::{
    ActionHash,
    key::{EffectKey, KeyParts, KeyRefusal, SignalClaim, SignalRevision},
};
use crate::error::{Error, ErrorKind};

/// The most bytes of an action's texts together: 256 KiB.
pub const MAX_BODY: usize = 256 << 10;
/// The most fields of an action.
pub const MAX_FIELD_COUNT: usize = 64;
/// The most signals that caused an action.
pub const MAX_CAUSES: usize = 50;
/// The most values of a field that is a list.
const MAX_ITEMS: usize = 64;
/// The most bytes of an action's name, and of a signal's id or revision.
const MAX_WORD: usize = 256;
/// The longest hold that a model can ask for: a week, in minutes.
const MAX_HOLD: u64 = 10_080;
/// The form of the hashed bytes. Raised when a byte changes.
const FORM: &str = "proem action 1";

const KEYS: [&str; 9] = [
    "action",
    "target",
    "fields",
    "causes",
    "requires_approval",
    "hold_duration_minutes",
    "is_external",
    "confidence",
    "note",
];
/// The parts of a note: the kind of message, its tone, its urgency, and the reason for it.
const NOTE_PARTS: [&str; 4] = ["type", "tone", "urgency", "context"];
/// The most bytes of a note: the longest context of a draft, in UTF-8.
const MAX_NOTE: usize = 8 << 10;

/// A signal that caused an action, as the agent names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionCause {
    /// The signal's id.
    pub id: Untrusted<String>,
    /// The content of the signal, as a hash: a changed signal is another cause.
    pub revision: Untrusted<String>,
}

impl ActionCause {
    /// Whether it is this signal in this revision.
    #[must_use]
    pub fn is(&self, signal: &SignalRevision) -> bool {
        self.id.measure(|id| *id == signal.id) && self.revision.measure(|revision| *revision == signal.revision)
    }
}

/// A model's statements about its own action, which can only make a decision stricter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SelfAssessment {
    /// `requires_approval`.
    pub approval: Option<Untrusted<ApprovalNeed>>,
    /// `hold_duration_minutes`.
    pub hold: Option<Untrusted<HoldMinutes>>,
    /// `is_external`.
    pub reach: Option<Untrusted<Reach>>,
    /// `confidence`, from 0 to 1.
    pub confidence: Option<Untrusted<Confidence>>,
}

/// An action that somebody wants to happen, within the bounds of its schema.
#[derive(Debug, Clone, PartialEq)]
pub struct ProposedAction {
    tree: LabelTree,
    name: Option<String>,
    target: Untrusted<String>,
    fields: BTreeMap<String, LabelTree>,
    causes: Vec<ActionCause>,
    assessment: SelfAssessment,
    content: ActionHash,
}

impl ProposedAction {
    /// The published schema of an action.
    #[must_use]
    pub const fn schema_text() -> &'static str {
        include_str!("../../data/action.schema.json")
    }

    /// Reads an action that an agent gives, under the label that it came with.
    ///
    /// One whose name no list has is read all the same, so that it can be refused by name and escalated.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidInput`] with every problem. None of them holds a text of the action.
    pub fn read(json: &Untrusted<Json>, policy: &Policy) -> Result<Self, Error> {
        let tree = LabelTree::from_outside(json).map_err(|error| action_error(vec![error.to_string()]))?;
        let (action, mut problems) = Self::of_tree(&tree, policy).map_err(action_error)?;
        problems.extend(action.problems(policy));
        if problems.is_empty() { Ok(action) } else { Err(action_error(problems)) }
    }

    /// The action with all its labels, for a store. Never for a screen or a prompt.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidInput`] for more labels than can be written.
    pub fn write(&self) -> Result<String, Error> {
        self.tree.write().map_err(|error| action_error(vec![error.to_string()]))
    }

    /// Reads the output of [`Self::write`]. Objections of the current policy are left to [`decide()`](super::decide()).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidInput`] for anything that was not written so.
    pub fn stored(written: &str, policy: &Policy) -> Result<Self, Error> {
        let tree = LabelTree::read(written).map_err(|error| action_error(vec![error.to_string()]))?;
        Self::of_tree(&tree, policy).map(|(action, _)| action).map_err(action_error)
    }

    /// The action with fields as a person wants them: each becomes that person's own, trusted text.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidInput`] for a field that the action can't have, or one that is too long.
    pub fn edited(&self, policy: &Policy, changes: &BTreeMap<String, String>) -> Result<Self, Error> {
        let terms = self.name.as_deref().and_then(|name| policy.action(name));
        let Some(terms) = terms else {
            return Err(action_error(vec!["an action that no list has can't be edited; cancel it".to_owned()]));
        };
        let mut problems: Vec<String> = Vec::new();
        let mut fields = self.fields.clone();
        for (name, text) in changes {
            match terms.fields.get(name) {
                None => {
                    problems.push(format!("the action has no field `{}`; name one of its own", name.escape_debug()));
                }
                Some(field) if field.is_list => {
                    let items = text.lines().map(str::trim).filter(|line| !line.is_empty());
                    fields.insert(name.clone(), LabelTree::list(items));
                }
                Some(_) => drop(fields.insert(name.clone(), LabelTree::from(text.clone()))),
            }
        }
        if !problems.is_empty() {
            return Err(action_error(problems));
        }
        let LabelTree::Map(root) = &self.tree else { return Err(action_error(vec![NO_OBJECT.to_owned()])) };
        let rest = KEYS.into_iter().filter(|key| *key != "fields");
        let mut all: Vec<(&str, LabelTree)> = rest.filter_map(|key| Some((key, root.get(key)?.clone()))).collect();
        all.push(("fields", LabelTree::map(fields.iter().map(|(name, value)| (name.as_str(), value.clone())))));
        let (action, mut found) = Self::of_tree(&LabelTree::map(all), policy).map_err(action_error)?;
        found.extend(action.problems(policy));
        if found.is_empty() { Ok(action) } else { Err(action_error(found)) }
    }

    /// The places at which another version has other content or other labels.
    #[must_use]
    pub fn differences<'t>(&'t self, after: &'t Self) -> Vec<TreeDifference<'t>> {
        tree_differences(&self.tree, &after.tree)
    }

    /// Everything that it says, each text with its label.
    #[must_use]
    pub const fn tree(&self) -> &LabelTree {
        &self.tree
    }

    /// Its name as the policy that it was read under spells it. `None` for one that this policy had on no list.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Its target, as written.
    #[must_use]
    pub const fn target(&self) -> &Untrusted<String> {
        &self.target
    }

    /// Its target, in the form for comparison. `None` for an action that is on no list, or without a target.
    #[must_use]
    pub fn referent(&self, policy: &Policy) -> Option<Referent> {
        // An action that is never taken has no terms, and is still recorded as refused.
        let terms = policy.action(self.name()?);
        let role = terms.map_or(FieldRole::Id(CaseSensitivity::Exact), |terms| terms.target.role);
        Referent::of(&ActionField { path: "target", role, value: &self.target })
    }

    /// The signals that caused it.
    #[must_use]
    pub fn causes(&self) -> &[ActionCause] {
        &self.causes
    }

    /// The signals that caused it, as they are compared with what is known of signals; for no screen and no prompt.
    #[must_use]
    pub fn signals(&self) -> Vec<SignalRevision> {
        let word = |text: &Untrusted<String>| show::exact_json(text).as_str().unwrap_or_default().to_owned();
        let revision = |cause: &ActionCause| SignalRevision { id: word(&cause.id), revision: word(&cause.revision) };
        self.causes.iter().map(revision).collect()
    }

    /// The proposer's note to the person who decides. It is shown with the action, never leaves with it, and decides
    /// nothing.
    #[must_use]
    pub fn note(&self) -> Option<&LabelTree> {
        let LabelTree::Map(root) = &self.tree else { return None };
        root.get("note")
    }

    /// The model's statements about it.
    #[must_use]
    pub const fn assessment(&self) -> &SelfAssessment {
        &self.assessment
    }

    /// The hash of what it says: name, target, fields and causes, without labels and without what a model says of it.
    #[must_use]
    pub const fn content(&self) -> ActionHash {
        self.content
    }

    /// Its key and the claims of its signals, within a project.
    ///
    /// # Errors
    ///
    /// [`KeyRefusal`] if it is on no list, or has no target or cause.
    pub fn key(&self, project: &str, policy: &Policy) -> Result<(EffectKey, Vec<SignalClaim>), KeyRefusal> {
        let (Some(name), Some(target)) = (self.name(), self.referent(policy)) else { return Err(KeyRefusal::Name) };
        let causes = self.signals();
        let parts = KeyParts { project, action: name, target, causes: &causes };
        Ok((EffectKey::new(&parts)?, SignalClaim::of(&parts)?))
    }

    /// Whether any text of it has a credential by its shape, wherever it is.
    pub(super) fn has_credential(&self) -> bool {
        has_credential(&self.tree)
    }

    /// Whether its note has one, which no record may hold either.
    pub(super) fn has_credential_in_note(&self) -> bool {
        self.note().is_some_and(has_credential)
    }

    /// Every value of every field that the policy knows, with its path.
    pub(super) fn values<'t>(&'t self, terms: &'t ActionTerms) -> Vec<FieldValue<'t>> {
        let target = Cow::Borrowed(&self.target);
        let mut all = vec![FieldValue { path: "target".into(), terms: &terms.target, text: target, typed: None }];
        for (name, terms) in &terms.fields {
            let mut add = |path: Cow<'t, str>, item: &'t LabelTree| {
                let typed = if let LabelTree::Text(typed) = item { Some(typed.as_str()) } else { None };
                all.extend(leaf_text(item).map(|text| FieldValue { path, terms, text, typed }));
            };
            match self.fields.get(name) {
                None => {}
                Some(LabelTree::List(list)) => {
                    list.iter().enumerate().for_each(|(index, item)| add(format!("{name}[{index}]").into(), item));
                }
                Some(one) => add(name.into(), one),
            }
        }
        all
    }

    /// The policy's objections to its form, in our words alone.
    fn problems(&self, policy: &Policy) -> Vec<String> {
        let terms = self.name().and_then(|name| policy.action(name));
        terms.map_or_else(Vec::new, |terms| self.problems_in(terms, &self.values(terms)))
    }

    /// The same, of the values that it has by these terms.
    pub(super) fn problems_in(&self, terms: &ActionTerms, values: &[FieldValue<'_>]) -> Vec<String> {
        let mut problems = Vec::new();
        for (name, terms) in &terms.fields {
            match self.fields.get(name) {
                None | Some(LabelTree::Null) if terms.is_required => {
                    problems.push(format!("`{name}` is missing; give it"));
                }
                Some(LabelTree::List(_)) if !terms.is_list => {
                    problems.push(format!("`{name}` is a list; give one value"));
                }
                Some(LabelTree::List(list)) if list.len() > MAX_ITEMS => {
                    problems.push(format!("`{name}` has more than {MAX_ITEMS} values; give fewer"));
                }
                Some(LabelTree::List(list)) if list.iter().any(|item| leaf_text(item).is_none()) => {
                    problems.push(format!("`{name}` is no list of texts or numbers; give such a list"));
                }
                Some(LabelTree::Map(_)) => problems.push(format!("`{name}` is an object; give a text or a number")),
                _ => {}
            }
        }
        if self.fields.keys().any(|name| !terms.fields.contains_key(name)) || self.has_foreign_fields() {
            let known: Vec<&str> = terms.fields.keys().map(String::as_str).collect();
            problems.push(format!("`fields` has names that the action doesn't have; use `{}`", known.join("`, `")));
        }
        for FieldValue { path, terms, text, .. } in values {
            if text.len() > terms.max_bytes {
                problems.push(format!("`{path}` has more than {} bytes; shorten it", terms.max_bytes));
            }
            let is_member = || terms.one_of.iter().any(|word| text.measure(|text| text == word));
            if !terms.one_of.is_empty() && !is_member() {
                let words: Vec<&str> = terms.one_of.iter().map(String::as_str).collect();
                problems.push(format!("`{path}` is another word; write one of `{}`", words.join("`, `")));
            }
        }
        problems
    }

    /// Whether its name is one that is never taken, in any spelling.
    pub(super) fn is_denied(&self, policy: &Policy) -> bool {
        let LabelTree::Map(root) = &self.tree else { return false };
        let name = root.get("action").and_then(leaf_word);
        name.is_some_and(|name| name.measure(|name| policy.folded_denied.contains(&folded_name(name))))
    }

    /// Whether the fields are still named by somebody else, because the policy didn't know them all.
    fn has_foreign_fields(&self) -> bool {
        let LabelTree::Map(root) = &self.tree else { return true };
        matches!(root.get("fields"), Some(LabelTree::Map(fields)) if fields.len() != self.fields.len())
    }

    /// The action that a tree says, with what is wrong beside. The problems alone if it has not even the shape.
    fn of_tree(tree: &LabelTree, policy: &Policy) -> Result<(Self, Vec<String>), Vec<String>> {
        let LabelTree::Map(root) = tree else { return Err(vec![NO_OBJECT.to_owned()]) };
        let mut problems = Vec::new();
        let is_known = |name: &TreeName<'_>| KEYS.iter().any(|key| is(name, key));
        if root.iter().any(|(name, _)| !is_known(&name)) {
            problems.push(format!("there are keys that an action doesn't have; use `{}`", KEYS.join("`, `")));
        }
        let action = root.get("action").and_then(leaf_word);
        if action.is_none() {
            problems.push(format!("`action` is no text of 1 to {MAX_WORD} bytes; give its name"));
        }
        let named = action.as_ref().and_then(|action| {
            let all = policy.actions().map(|(name, _)| name).chain(policy.never.iter().map(String::as_str));
            all.into_iter().find(|name| action.measure(|action| action == name)).map(str::to_owned)
        });
        let target = root.get("target").and_then(leaf_text).filter(|target| !target.is_empty()).map(Cow::into_owned);
        if target.is_none() {
            problems.push("`target` is missing or no text; say what the action is aimed at".to_owned());
        }
        let terms = named.as_deref().and_then(|name| policy.action(name));
        let fields = known_fields(root, terms, &mut problems);
        let causes = read_causes(root, &mut problems);
        let assessment = assessment(root, &mut problems);
        if root.get("note").is_some_and(|note| !is_note(note)) {
            let parts = NOTE_PARTS.join("`, `");
            problems.push(format!("`note` has texts of at most {MAX_NOTE} bytes, by the names `{parts}`; write those"));
        }
        let (Some(action), Some(target), Some(fields)) = (action, target, fields) else { return Err(problems) };
        let action = named.as_deref().map_or_else(|| LabelTree::Outside(action), LabelTree::from);
        let tree = rebuilt(root, action, &fields);
        let content = action_hash(&tree);
        let size = fields.values().map(tree_size).sum::<usize>();
        if size > MAX_BODY {
            problems.push(format!("the fields have more than {MAX_BODY} bytes; shorten them"));
        }
        Ok((Self { tree, name: named, target, fields, causes, assessment, content }, problems))
    }
}

const NO_OBJECT: &str = "an action is an object; give `action`, `target`, `fields` and `causes`";

/// One value of a field.
#[derive(Debug)]
pub(super) struct FieldValue<'t> {
    pub(super) path: Cow<'t, str>,
    pub(super) terms: &'t FieldTerms,
    pub(super) text: Cow<'t, Untrusted<String>>,
    /// The same, if a person typed it.
    pub(super) typed: Option<&'t str>,
}

fn action_error(problems: Vec<String>) -> Error {
    Error::all(ErrorKind::InvalidInput, problems)
}

fn is(name: &TreeName<'_>, word: &str) -> bool {
    match name {
        TreeName::Ours(name) => *name == word,
        TreeName::Outside(name) => name.measure(|name| name == word),
    }
}

/// The text of a leaf, or a number as it is written. `None` for nothing, lists and objects.
fn leaf_text(tree: &LabelTree) -> Option<Cow<'_, Untrusted<String>>> {
    let written = |label: Label| Some(Cow::Owned(Untrusted::new(compact(&show::tree_json(tree)), label)));
    match tree {
        LabelTree::Text(text) => Some(Cow::Owned(Untrusted::new(text.clone(), Label::trusted()))),
        LabelTree::Outside(text) | LabelTree::Flagged(text) => Some(Cow::Borrowed(text)),
        LabelTree::Number(_) | LabelTree::Bool(_) => written(Label::trusted()),
        LabelTree::Scalar(scalar) if scalar.measure(|scalar| *scalar != LabelScalar::Null) => {
            written(scalar.label().clone())
        }
        LabelTree::Null | LabelTree::Scalar(_) | LabelTree::List(_) | LabelTree::Map(_) => None,
    }
}

fn leaf_word(tree: &LabelTree) -> Option<Untrusted<String>> {
    let is_text = matches!(tree, LabelTree::Text(_) | LabelTree::Outside(_) | LabelTree::Flagged(_));
    let word = leaf_text(tree).filter(|text| is_text && !text.is_empty() && text.len() <= MAX_WORD);
    word.map(Cow::into_owned)
}

fn tree_size(tree: &LabelTree) -> usize {
    match tree {
        LabelTree::List(list) => list.iter().map(tree_size).sum(),
        LabelTree::Map(map) => map.iter().map(|(_, field)| tree_size(field)).sum(),
        leaf => leaf_text(leaf).map_or(0, |text| text.len()),
    }
}

/// The fields that the policy knows, by its names. Of an action that it doesn't know, none.
fn known_fields(
    root: &LabelMap,
    terms: Option<&ActionTerms>,
    problems: &mut Vec<String>,
) -> Option<BTreeMap<String, LabelTree>> {
    let given = match root.get("fields") {
        Some(LabelTree::Map(given)) => given,
        None => return Some(BTreeMap::new()),
        Some(_) => {
            problems.push("`fields` is no object; give values by name".to_owned());
            return None;
        }
    };
    if given.len() > MAX_FIELD_COUNT {
        problems.push(format!("there are more than {MAX_FIELD_COUNT} fields; give fewer"));
    }
    let known = terms.into_iter().flat_map(|terms| terms.fields.keys());
    Some(known.filter_map(|name| Some((name.clone(), given.get(name)?.clone()))).collect())
}

fn read_causes(root: &LabelMap, problems: &mut Vec<String>) -> Vec<ActionCause> {
    let Some(LabelTree::List(list)) = root.get("causes") else {
        problems.push("`causes` is no list; name the signals by `id` and `revision`".to_owned());
        return Vec::new();
    };
    if list.is_empty() || list.len() > MAX_CAUSES {
        problems.push(format!("an action has 1 to {MAX_CAUSES} causes; name as many"));
    }
    let cause = |item: &LabelTree| {
        let LabelTree::Map(map) = item else { return None };
        let cause =
            ActionCause { id: map.get("id").and_then(leaf_word)?, revision: map.get("revision").and_then(leaf_word)? };
        (map.len() == 2).then_some(cause)
    };
    let read: Vec<ActionCause> = list.iter().take(MAX_CAUSES).filter_map(cause).collect();
    if read.len() < list.len().min(MAX_CAUSES) {
        problems.push(format!("a cause is `id` and `revision`, each of 1 to {MAX_WORD} bytes; give both"));
    }
    read
}

fn assessment(root: &LabelMap, problems: &mut Vec<String>) -> SelfAssessment {
    let mut wrong =
        |key: &str, wanted: &str| problems.push(format!("`{key}` is not {wanted}; write that or leave it out"));
    let mut flag = |key: &'static str| {
        let leaf = root.get(key)?;
        let value = match leaf {
            LabelTree::Bool(value) => Some(Untrusted::new(*value, Label::trusted())),
            LabelTree::Scalar(scalar) => {
                let value =
                    scalar.measure(|scalar| if let LabelScalar::Bool(value) = scalar { Some(*value) } else { None });
                value.map(|value| Untrusted::new(value, scalar.label().clone()))
            }
            _ => None,
        };
        if value.is_none() {
            wrong(key, "`true` or `false`");
        }
        value
    };
    let approval = flag("requires_approval").map(|flag| flag.map(ApprovalNeed::from));
    let reach = flag("is_external").map(|flag| flag.map(Reach::from));
    let hold = root.get("hold_duration_minutes").and_then(|leaf| {
        let minutes = leaf_thousandths(leaf).filter(|number| *number % 1_000 == 0 && *number / 1_000 <= MAX_HOLD);
        let minutes = minutes.and_then(|number| u32::try_from(number / 1_000).ok());
        if minutes.is_none() {
            wrong("hold_duration_minutes", &format!("a whole number from 0 to {MAX_HOLD}"));
        }
        minutes.map(|minutes| Untrusted::new(HoldMinutes(minutes), leaf.label()))
    });
    let confidence = root.get("confidence").and_then(|leaf| {
        let sure =
            leaf_thousandths(leaf).filter(|number| *number <= 1_000).and_then(|number| u16::try_from(number).ok());
        if sure.is_none() {
            wrong("confidence", "a number from 0 to 1");
        }
        sure.map(|sure| Untrusted::new(Confidence::new(sure), leaf.label()))
    });
    SelfAssessment { approval, hold, reach, confidence }
}

/// A number from outside in thousandths, cut off behind the third digit. `None` below zero.
fn leaf_thousandths(leaf: &LabelTree) -> Option<u64> {
    let number = match leaf {
        LabelTree::Number(number) => number.as_f64(),
        LabelTree::Scalar(scalar) => {
            // The bits of the number, since that is what may be asked of a value from outside.
            let bits = scalar.measure(|scalar| match scalar {
                LabelScalar::Number(number) => number.as_f64().map(f64::to_bits),
                _ => None,
            });
            bits.map(f64::from_bits)
        }
        _ => None,
    }?;
    if !(0.0..=1e12).contains(&number) {
        return None;
    }
    let written = format!("{number:.6}");
    let (whole, rest) = written.split_once('.')?;
    let (whole, rest): (u64, u64) = (whole.parse().ok()?, rest.get(..3)?.parse().ok()?);
    whole.checked_mul(1_000)?.checked_add(rest)
}

/// The tree with the names that code knows, so that they are its own when it is written.
fn rebuilt(root: &LabelMap, action: LabelTree, fields: &BTreeMap<String, LabelTree>) -> LabelTree {
    let ours = || LabelTree::map(fields.iter().map(|(name, value)| (name.as_str(), value.clone())));
    let given = match root.get("fields") {
        Some(LabelTree::Map(given)) if given.len() == fields.len() => ours(),
        None => ours(),
        Some(given) => given.clone(),
    };
    let rest = KEYS.into_iter().filter(|key| !matches!(*key, "action" | "fields" | "note"));
    let mut all: Vec<(&str, LabelTree)> = rest.filter_map(|key| Some((key, root.get(key)?.clone()))).collect();
    if let Some(LabelTree::Map(note)) = root.get("note") {
        let parts = NOTE_PARTS.into_iter().filter_map(|name| Some((name, note.get(name)?.clone())));
        all.push(("note", LabelTree::map(parts)));
    }
    all.push(("action", action));
    all.push(("fields", given));
    LabelTree::map(all)
}

/// Whether a text of a tree has a credential by its shape.
fn has_credential(tree: &LabelTree) -> bool {
    let found = |text: &String| !credential::find_credentials(text).is_empty();
    match tree {
        LabelTree::Text(text) => found(text),
        LabelTree::Outside(text) | LabelTree::Flagged(text) => text.measure(found),
        LabelTree::List(list) => list.iter().any(has_credential),
        LabelTree::Map(map) => map.iter().any(|(_, field)| has_credential(field)),
        _ => false,
    }
}

/// Whether a tree is a note: texts by known names, and not too long.
fn is_note(note: &LabelTree) -> bool {
    let LabelTree::Map(parts) = note else { return false };
    let is_part = |(name, part): (TreeName<'_>, &LabelTree)| {
        let is_text = matches!(part, LabelTree::Text(_) | LabelTree::Outside(_) | LabelTree::Flagged(_));
        is_text && NOTE_PARTS.iter().any(|known| is(&name, known))
    };
    parts.iter().all(is_part) && tree_size(note) <= MAX_NOTE
}

fn action_hash(tree: &LabelTree) -> ActionHash {
    let mut shown = show::tree_json(tree);
    if let Json::Object(shown) = &mut shown {
        shown.retain(|key, _| matches!(key.as_str(), "action" | "target" | "fields" | "causes"));
    }
    let mut hash = Sha256::new();
    hash.update(FORM.as_bytes());
    hash.update(compact(&shown).as_bytes());
    ActionHash(hash.finalize().into())
}
