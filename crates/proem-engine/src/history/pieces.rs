//! A history as it was given, read into turns.
//!
//! Read are the forms of dotprompt (`content` with `text`, `toolRequest`, `toolResponse`), of OpenAI's Chat Completions
//! (`tool_calls`, turns of the role `tool`) and of Anthropic's Messages (`tool_use`, `tool_result`).

use std::borrow::Cow;
use std::collections::VecDeque;

use proem_guard::{LabelTree, Untrusted, show};
use proem_text::Label;
use serde_json::{Value as Json, json};

use crate::contract::Contract;
use crate::message::Role;

/// Something that was said or done in a turn.
#[derive(Debug)]
pub(super) struct HistoryPiece<'h> {
    pub(super) role: Role,
    pub(super) kind: PieceKind<'h>,
    /// The number of its turn, from 1.
    turn: usize,
    /// Its number within the turn, from 1.
    part: usize,
}

/// The words or the act.
#[derive(Debug)]
pub(super) enum PieceKind<'h> {
    /// Words, as a leaf with its label.
    Text(&'h LabelTree),
    /// The model called a tool.
    Call { id: String, name: String, arguments: Json, label: Label },
    /// A tool answered.
    Result { id: String, name: String, leaf: Cow<'h, LabelTree> },
}

impl HistoryPiece<'_> {
    /// Its name in reports.
    pub(super) fn name(&self) -> String {
        match self.part {
            1 => format!("history/{}", self.turn),
            part => format!("history/{}.{part}", self.turn),
        }
    }

    /// Its place, for messages.
    pub(super) fn place(&self) -> String {
        format!("input/history: turn {}", self.turn)
    }

    /// Whether it is said to be the model's or a tool's.
    pub(super) const fn is_attributed(&self) -> bool {
        !matches!((self.role, &self.kind), (Role::User, PieceKind::Text(_)))
    }
}

/// The speaker of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaker {
    User,
    Model,
    Tool,
}

/// Reads a history.
///
/// # Errors
///
/// In words, with the number of the turn and what to do.
pub(super) fn read_pieces(history: &LabelTree) -> Result<Vec<HistoryPiece<'_>>, String> {
    let LabelTree::List(turns) = history else { return Err("input/history: it is not a list of turns".into()) };
    let mut reader = PieceReader::default();
    for (index, turn) in turns.iter().enumerate() {
        reader.turn = index.saturating_add(1);
        reader.part = 0;
        reader.read_turn(turn).map_err(|problem| format!("input/history: turn {} {problem}", reader.turn))?;
    }
    if let Some((_, name)) = reader.open.front() {
        return Err(format!(
            "input/history: the call of `{name}` has no result; add a turn with the role `tool` behind it"
        ));
    }
    Ok(reader.pieces)
}

#[derive(Debug, Default)]
struct PieceReader<'h> {
    pieces: Vec<HistoryPiece<'h>>,
    /// The calls without a result, by id and name.
    open: VecDeque<(String, String)>,
    /// All ids of calls.
    ids: Vec<String>,
    turn: usize,
    part: usize,
}

impl<'h> PieceReader<'h> {
    fn read_turn(&mut self, turn: &'h LabelTree) -> Result<(), String> {
        let speaker = match word_of(field_of(turn, "role")).as_deref() {
            Some("user" | "human") => Speaker::User,
            Some("model" | "assistant" | "ai") => Speaker::Model,
            Some("tool" | "function") => Speaker::Tool,
            Some("system" | "developer") => {
                return Err(
                    "has the role `system`; a history holds turns of `user`, `model` and `tool`, and the operator's \
                            words belong in the prompt file"
                        .into(),
                );
            }
            Some(_) => return Err("has an unknown role; write `user`, `model` or `tool`".into()),
            None => return Err("has no role; write `user`, `model` or `tool`".into()),
        };
        let before = self.pieces.len();
        match (speaker, field_of(turn, "content")) {
            (Speaker::Tool, Some(LabelTree::List(parts))) if parts.iter().any(is_response) => {
                parts.iter().try_for_each(|part| self.read_part(speaker, part))?;
            }
            (Speaker::Tool, Some(content)) => {
                self.add_result(
                    id_of(turn, &["tool_call_id", "id"]),
                    word_of(field_of(turn, "name")).as_deref(),
                    content,
                )?;
            }
            (_, Some(LabelTree::List(parts))) => parts.iter().try_for_each(|part| self.read_part(speaker, part))?,
            (_, Some(text)) if is_text_leaf(text) => self.add_text(speaker, text)?,
            (_, Some(_)) => return Err("has a content that is neither a text nor a list of parts".into()),
            (_, None) => {}
        }
        if let Some(LabelTree::List(calls)) = field_of(turn, "tool_calls") {
            for call in calls.iter() {
                let function = field_of(call, "function").unwrap_or(call);
                let arguments = field_of(function, "arguments");
                self.add_call(speaker, id_of(call, &["id"]), word_of(field_of(function, "name")), arguments)?;
            }
        }
        if self.pieces.len() == before {
            return Err("says nothing; leave it out".into());
        }
        Ok(())
    }

    fn read_part(&mut self, speaker: Speaker, part: &'h LabelTree) -> Result<(), String> {
        if is_text_leaf(part) {
            return self.add_text(speaker, part);
        }
        let kind = word_of(field_of(part, "type"));
        if let (None | Some("text"), Some(text)) = (kind.as_deref(), field_of(part, "text")) {
            return self.add_text(speaker, text);
        }
        if let Some(request) = field_of(part, "toolRequest") {
            return self.add_call(
                speaker,
                id_of(request, &["ref"]),
                word_of(field_of(request, "name")),
                field_of(request, "input"),
            );
        }
        if let Some(response) = field_of(part, "toolResponse") {
            let output = field_of(response, "output").unwrap_or(&LabelTree::Null);
            return self.add_result(id_of(response, &["ref"]), word_of(field_of(response, "name")).as_deref(), output);
        }
        match kind.as_deref() {
            Some("tool_use") => {
                self.add_call(speaker, id_of(part, &["id"]), word_of(field_of(part, "name")), field_of(part, "input"))
            }
            Some("tool_result") => {
                let content = field_of(part, "content").unwrap_or(&LabelTree::Null);
                self.add_result(id_of(part, &["tool_use_id"]), None, content)
            }
            _ => Err(
                "has a part that is neither a text nor a call of a tool nor its result; pictures are given as inputs \
                      of the prompt"
                    .into(),
            ),
        }
    }

    fn add_text(&mut self, speaker: Speaker, text: &'h LabelTree) -> Result<(), String> {
        let role = match speaker {
            Speaker::User => Role::User,
            Speaker::Model => Role::Model,
            Speaker::Tool => return Err("is a tool's and has a text without a call's id; write `tool_call_id`".into()),
        };
        if let Some((_, name)) = self.open.front() {
            return Err(format!("comes before the result of the call of `{name}`; put that first"));
        }
        if !is_blank(text) {
            self.push_piece(role, PieceKind::Text(text));
        }
        Ok(())
    }

    fn add_call(
        &mut self,
        speaker: Speaker,
        id: Option<Result<String, String>>,
        name: Option<String>,
        tree_arguments: Option<&LabelTree>,
    ) -> Result<(), String> {
        if speaker != Speaker::Model {
            return Err("has a call of a tool, which only the model makes; give it the role `model`".into());
        }
        let name = name.filter(|name| is_name(name)).ok_or_else(|| {
            format!(
                "calls a tool whose name is none; names have 1 to {} letters, digits, `_`, `-`",
                Contract::MAX_NAME_CHARS
            )
        })?;
        let id = match id {
            Some(id) => id?,
            None => format!("call_{}", self.ids.len().saturating_add(1)),
        };
        if self.ids.contains(&id) {
            return Err(format!("has a second call with the id `{id}`; give each its own"));
        }
        // OpenAI's protocol has the arguments as a text of JSON.
        let (value, label) =
            tree_arguments.map_or((Json::Null, Label::trusted()), |tree| (show::tree_json(tree), tree.label()));
        let value = match value {
            Json::Null => Some(Json::Object(serde_json::Map::new())),
            Json::String(text) if text.trim().is_empty() => Some(Json::Object(serde_json::Map::new())),
            Json::String(text) => serde_json::from_str(&text).ok(),
            value => Some(value),
        };
        let arguments = value.filter(Json::is_object).ok_or("calls a tool with arguments that are no JSON object")?;
        // A mark at each word would make other arguments of them, and without a mark they are not sent.
        let arguments = if tree_arguments.is_some_and(has_flagged) { json!({ "withheld": true }) } else { arguments };
        self.ids.push(id.clone());
        self.open.push_back((id.clone(), name.clone()));
        self.push_piece(Role::Model, PieceKind::Call { id, name, arguments, label });
        Ok(())
    }

    fn add_result(
        &mut self,
        id: Option<Result<String, String>>,
        name: Option<&str>,
        content: &'h LabelTree,
    ) -> Result<(), String> {
        let id = id.transpose()?;
        let place = self.open.iter().position(|(open, called)| match (&id, name) {
            (Some(id), _) => open == id,
            (None, Some(name)) => called == name,
            (None, None) => self.open.len() == 1,
        });
        let Some((id, name)) = place.and_then(|place| self.open.remove(place)) else {
            return Err("is a tool's result, and no call before it waits for one; put it behind its call, with the \
                        call's id as `tool_call_id`"
                .into());
        };
        let leaf = leaf_of(content);
        self.push_piece(Role::User, PieceKind::Result { id, name, leaf });
        Ok(())
    }

    fn push_piece(&mut self, role: Role, kind: PieceKind<'h>) {
        self.part = self.part.saturating_add(1);
        self.pieces.push(HistoryPiece { role, kind, turn: self.turn, part: self.part });
    }
}

/// The text of a result: a text, texts in parts, or JSON as it is written.
fn leaf_of(content: &LabelTree) -> Cow<'_, LabelTree> {
    if is_text_leaf(content) {
        return Cow::Borrowed(content);
    }
    if let LabelTree::List(parts) = content {
        let mut parts = parts.iter();
        if let (Some(text), None) = (parts.next().and_then(|part| field_of(part, "text")), parts.next()) {
            return Cow::Borrowed(text);
        }
    }
    let text = Untrusted::new(proem_text::json::compact(&show::tree_json(content)), content.label());
    // One flagged text in it flags it as a whole.
    Cow::Owned(if has_flagged(content) { LabelTree::Flagged(text) } else { LabelTree::Outside(text) })
}

fn has_flagged(tree: &LabelTree) -> bool {
    match tree {
        LabelTree::Flagged(_) => true,
        LabelTree::List(list) => list.iter().any(has_flagged),
        LabelTree::Map(map) => map.iter().any(|(_, tree)| has_flagged(tree)),
        _ => false,
    }
}

fn is_response(part: &LabelTree) -> bool {
    field_of(part, "toolResponse").is_some() || word_of(field_of(part, "type")).as_deref() == Some("tool_result")
}

const fn is_text_leaf(tree: &LabelTree) -> bool {
    matches!(tree, LabelTree::Text(_) | LabelTree::Outside(_) | LabelTree::Flagged(_))
}

fn is_blank(tree: &LabelTree) -> bool {
    match tree {
        LabelTree::Text(text) => text.trim().is_empty(),
        LabelTree::Outside(text) | LabelTree::Flagged(text) => text.measure(|text| text.trim().is_empty()),
        _ => true,
    }
}

/// A field that is there and not null.
fn field_of<'t>(tree: &'t LabelTree, name: &str) -> Option<&'t LabelTree> {
    let LabelTree::Map(map) = tree else { return None };
    map.get(name).filter(|tree| show::tree_json(tree) != Json::Null)
}

/// A field's text, for comparing it with closed lists.
fn word_of(tree: Option<&LabelTree>) -> Option<String> {
    tree.filter(|tree| is_text_leaf(tree)).and_then(|tree| show::tree_json(tree).as_str().map(str::to_owned))
}

/// The id in the first of these fields that is there. It is in the request outside of any text, so it is a plain word.
fn id_of(tree: &LabelTree, names: &[&str]) -> Option<Result<String, String>> {
    let id = names.iter().find_map(|name| word_of(field_of(tree, name)))?;
    Some(if is_name(&id) {
        Ok(id)
    } else {
        Err(format!("has an id that is none; ids have 1 to {} letters, digits, `_`, `-`", Contract::MAX_NAME_CHARS))
    })
}

/// Whether a text can be a tool's name or a call's id with either provider.
fn is_name(text: &str) -> bool {
    (1..=Contract::MAX_NAME_CHARS).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}
