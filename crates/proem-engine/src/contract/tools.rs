//! The tools that an answer calls, and the one object that says the same where a server has no tools.
//!
//! Invariants: the tools are in the order of their names, whatever order they were given in. The object accepts exactly
//! lists of calls that the tools accept, none of them twice, and at most [`ToolContracts::MAX_CALLS`].

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::Contract;
use crate::call::{AnswerForm, ToolChoice};
use crate::error::{Error, ErrorKind};
use crate::providers::CallEnforcement;
use crate::run::{AnswerRequirement, CallRequirement};

/// The required form of a prompt's answer.
#[derive(Debug)]
pub enum AnswerContract {
    /// Any text.
    Text,
    /// One value.
    Value(Contract),
    /// Calls of tools and nothing else.
    Calls(ToolContracts),
}

impl AnswerContract {
    /// The same as an exchange holds an answer to it.
    #[must_use]
    pub const fn owed(&self) -> AnswerRequirement<'_> {
        match self {
            Self::Text => AnswerRequirement::Text,
            Self::Value(contract) => AnswerRequirement::Value(contract),
            Self::Calls(tools) => AnswerRequirement::Calls { tools, needed: tools.choice.needed() },
        }
    }

    /// The contract of the one value. `None` for anything else.
    #[must_use]
    pub const fn value(&self) -> Option<&Contract> {
        match self {
            Self::Value(contract) => Some(contract),
            Self::Text | Self::Calls(_) => None,
        }
    }

    /// [`Self::value`], taken out.
    #[must_use]
    pub fn into_value(self) -> Option<Contract> {
        match self {
            Self::Value(contract) => Some(contract),
            Self::Text | Self::Calls(_) => None,
        }
    }

    /// The contract that a fallback has to meet. `None` for a text.
    #[must_use]
    pub const fn fallback(&self) -> Option<&Contract> {
        match self {
            Self::Text => None,
            Self::Value(contract) => Some(contract),
            Self::Calls(tools) => Some(tools.object()),
        }
    }
}

/// Whether an answer calls a tool, as a prompt file or a caller says.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallChoice {
    /// The model decides.
    Auto,
    /// It calls none: they are there for what was called before.
    None,
    /// It calls one at least.
    #[default]
    Required,
    /// It calls this one.
    One(String),
}

impl CallChoice {
    /// Reads `auto`, `none`, `required`, or the name of a tool. A tool that is called like one of these words can't be
    /// named.
    #[must_use]
    pub fn parse(word: &str) -> Self {
        match word {
            "auto" => Self::Auto,
            "none" => Self::None,
            "required" => Self::Required,
            name => Self::One(name.to_owned()),
        }
    }

    const fn needed(&self) -> CallRequirement {
        match self {
            Self::Auto => CallRequirement::Any,
            Self::None => CallRequirement::None,
            Self::Required | Self::One(_) => CallRequirement::Some,
        }
    }
}

/// The contracts of the tools that one answer may call.
#[derive(Debug)]
pub struct ToolContracts {
    tools: Vec<Contract>,
    object: Contract,
    choice: CallChoice,
}

impl ToolContracts {
    /// The most calls of one answer.
    pub const MAX_CALLS: usize = 100;

    /// The name of the object, and of what an answer is bound to that is one.
    pub const OBJECT: &'static str = "calls_in_one_object";

    /// A set of tools.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFile`] if there is none, if two have the same name, or if their schemas can't be in one.
    pub fn new(mut tools: Vec<Contract>) -> Result<Self, Error> {
        tools.sort_by(|a, b| a.tool().name.cmp(&b.tool().name));
        if tools.is_empty() {
            return Err(Error::new(ErrorKind::InvalidFile, "there is no tool; name one at least"));
        }
        if let Some([twice, _]) = tools.windows(2).find(|pair| matches!(pair, [a, b] if a.tool().name == b.tool().name))
        {
            let problem = format!("two tools are called `{}`; rename one", twice.tool().name);
            return Err(Error::new(ErrorKind::InvalidFile, problem));
        }
        let object = object_of(tools.iter())?;
        Ok(Self { tools, object, choice: CallChoice::default() })
    }

    /// The same tools, called as `choice` says.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidInput`] if it names a tool that is none of them.
    pub fn with_choice(self, choice: CallChoice) -> Result<Self, Error> {
        let object = match &choice {
            CallChoice::One(name) => {
                let Some(one) = self.get(name) else {
                    let known: Vec<String> = self.tools.iter().map(|tool| format!("`{}`", tool.tool().name)).collect();
                    let problem = format!(
                        "no tool `{}`; write `auto`, `none`, `required` or one of {}",
                        name.escape_debug(),
                        known.join(", ")
                    );
                    return Err(Error::new(ErrorKind::InvalidInput, problem));
                };
                object_of(core::iter::once(one))?
            }
            _ => self.object,
        };
        Ok(Self { tools: self.tools, object, choice })
    }

    /// Whether the tool of this name may be called.
    #[must_use]
    pub fn allows(&self, name: &str) -> bool {
        match &self.choice {
            CallChoice::None => false,
            CallChoice::One(one) => one == name,
            CallChoice::Auto | CallChoice::Required => true,
        }
    }
    /// The tools, by name.
    #[must_use]
    pub fn contracts(&self) -> &[Contract] {
        &self.tools
    }

    /// The tool of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Contract> {
        self.tools.iter().find(|contract| contract.tool().name == name)
    }

    /// The one object: `calls`, a list of `{"name", "arguments"}`, at least one.
    #[must_use]
    pub const fn object(&self) -> &Contract {
        &self.object
    }

    /// The form of answer to request from a model whose calls can be enforced to this degree.
    #[must_use]
    pub fn form(&self, calls: CallEnforcement) -> AnswerForm {
        let choice = match (&self.choice, calls) {
            // A server of which nothing is known ignores tools at worst, and the answer is then a text.
            (CallChoice::Auto, _) => ToolChoice::Auto,
            (CallChoice::None, _) => ToolChoice::None,
            (_, CallEnforcement::Object) => return AnswerForm::Value { tool: self.object.tool().clone() },
            (_, CallEnforcement::Demanded) => ToolChoice::Auto,
            (CallChoice::Required, CallEnforcement::Forced) => ToolChoice::Any,
            (CallChoice::One(name), CallEnforcement::Forced) => ToolChoice::One(name.clone()),
        };
        AnswerForm::Tools { tools: self.tools.iter().map(|contract| contract.tool().clone()).collect(), choice }
    }
}

/// The one object that says the same as calls of these tools.
fn object_of<'c>(tools: impl Iterator<Item = &'c Contract>) -> Result<Contract, Error> {
    let calls: Vec<Json> = tools.enumerate().map(|(place, contract)| tool_call_schema(place, contract)).collect();
    let schema = json!({
        "type": "object",
        "properties": { "calls": {
            "type": "array", "minItems": 1, "maxItems": ToolContracts::MAX_CALLS, "uniqueItems": true,
            "items": { "anyOf": calls },
        } },
        "required": ["calls"],
        "additionalProperties": false,
    });
    // Each tool's contract was held to its own maxima. A provider's definition states none.
    let about = "Calls of tools, in the order in which they are meant.";
    let (object, _) = Contract::bounded(ToolContracts::OBJECT, about, schema)?;
    Ok(object)
}

/// One call as the object holds it.
fn tool_call_schema(place: usize, contract: &Contract) -> Json {
    let tool = contract.tool();
    let mut arguments = tool.schema.clone();
    move_references(&mut arguments, &format!("#/properties/calls/items/anyOf/{place}/properties/arguments"));
    json!({
        "type": "object",
        "description": tool.description,
        "properties": { "name": { "type": "string", "enum": [tool.name] }, "arguments": arguments },
        "required": ["name", "arguments"],
        "additionalProperties": false,
    })
}

/// Lets the references of a schema lead to where it is.
pub(super) fn move_references(schema: &mut Json, base: &str) {
    match schema {
        Json::Object(fields) => {
            for (name, inner) in fields.iter_mut() {
                match (name.as_str(), inner) {
                    ("$ref", Json::String(reference)) => {
                        if let Some(place) = reference.strip_prefix('#') {
                            *reference = format!("{base}{place}");
                        }
                    }
                    (_, inner) => move_references(inner, base),
                }
            }
        }
        Json::Array(items) => items.iter_mut().for_each(|item| move_references(item, base)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, schema: Json) -> Contract {
        Contract::new(name, "", schema).unwrap()
    }

    fn words() -> Json {
        json!({
            "type": "object",
            "properties": { "words": { "$ref": "#/$defs/word" } },
            "required": ["words"],
            "additionalProperties": false,
            "$defs": { "word": { "type": "string", "maxLength": 5 } },
        })
    }

    #[test]
    fn the_object_accepts_what_the_tools_accept() {
        let tools = ToolContracts::new(vec![tool("search", words()), tool("look", words())]).unwrap();
        let call = |name: &str, words: &str| json!({ "name": name, "arguments": { "words": words } });
        for (calls, expected) in [
            (json!([call("search", "a")]), true),
            (json!([call("search", "a"), call("look", "a")]), true),
            (json!([call("search", "a"), call("search", "a")]), false),
            (json!([call("search", "too long")]), false),
            (json!([call("delete", "a")]), false),
            (json!([]), false),
            (json!([{ "name": "look" }]), false),
            (Json::Array((0..101).map(|n| call("look", &n.to_string())).collect()), false),
        ] {
            assert_eq!(tools.object().accepts(&json!({ "calls": calls })), expected, "{calls:.200}");
        }
        assert!(!tools.object().accepts(&json!({ "calls": [call("look", "a")], "more": 1 })));
        let names: Vec<&str> = tools.contracts().iter().map(|contract| contract.tool().name.as_str()).collect();
        assert_eq!(names, ["look", "search"]);
        assert!(tools.get("search").is_some() && tools.get("delete").is_none());
    }

    #[test]
    fn a_set_has_a_tool_and_each_once() {
        let error = |tools| ToolContracts::new(tools).unwrap_err().to_string();
        assert_eq!(error(Vec::new()), "there is no tool; name one at least");
        assert_eq!(
            error(vec![tool("look", words()), tool("look", words())]),
            "two tools are called `look`; rename one"
        );
    }

    #[test]
    fn what_a_model_can_be_made_to_do_decides_the_form() {
        let tools = ToolContracts::new(vec![tool("look", words())]).unwrap();
        for (calls, bound) in [
            (CallEnforcement::Forced, AnswerForm::FORCED_CALLS),
            (CallEnforcement::Demanded, AnswerForm::DEMANDED_CALLS),
            (CallEnforcement::Object, ToolContracts::OBJECT),
        ] {
            assert_eq!(tools.form(calls).bound_to(), Some(bound));
        }
    }
}
