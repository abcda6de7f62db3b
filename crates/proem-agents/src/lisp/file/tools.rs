//! The tools of an agent's file.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use proem_engine::policy::CallTerms;
use proem_engine::run::ToolPower;
use proem_engine::toml_reader::PlacedValue;
use proem_lisp::Signature;
use proem_text::{Audience, Source};
use toml::de::DeTable;

use super::super::definition::{
    ArgumentPiece, CommandOutput, CommandTool, HttpMethod, HttpTool, McpTool, ModelPrompt, ModelTool, ParameterTerms,
    ToolDefinition, ToolKind, argument_pieces, fold_name, result_label,
};
use super::super::description::first_sentence;
use super::super::model::question_slots;
use super::AgentReader;

const TOOL: [&str; 16] = [
    "signature",
    "description",
    "timeout_seconds",
    "retries",
    "effect",
    "idempotent",
    "trusted",
    "audience",
    "triggered_by",
    "parameters",
    "command",
    "http",
    "recorded",
    "model",
    "agent",
    "mcp",
];
const PARAMETER: [&str; 3] = ["accepts", "one_of", "may_be_option"];
const COMMAND: [&str; 5] = ["argv", "folder", "environment", "secrets", "output"];
const HTTP: [&str; 6] = ["method", "url", "headers", "result", "credential", "private"];
const MCP: [&str; 3] = ["server", "tool", "output"];
/// The kinds of tools.
const KINDS: [&str; 6] = ["command", "http", "mcp", "recorded", "model", "agent"];
const MODEL: [&str; 3] = ["prompt", "book", "model"];
/// The flags that a tool which asks a model or runs an agent can't have: code knows what they would say.
const KNOWN_FLAGS: [&str; 3] = ["effect", "idempotent", "trusted"];
/// The most bytes of a question's text.
const MAX_QUESTION: usize = 16 << 10;
const AUDIENCES: [&str; 4] = ["public", "external", "internal", "restricted"];
/// The longest attempt, in seconds, and the usual one: what a model's mission may take in all.
const MAX_SECONDS: u32 = 3_600;
const USUAL_SECONDS: u32 = 30;
/// The most repetitions.
const MAX_RETRIES: u32 = 10;

impl AgentReader<'_> {
    /// The tools, by name.
    pub(super) fn tools(&mut self, root: &DeTable<'_>) -> BTreeMap<String, ToolDefinition> {
        let mut tools: BTreeMap<String, ToolDefinition> = BTreeMap::new();
        let Some(table) = root.get("tools").and_then(|value| self.reader.table(value)) else { return tools };
        let trusted: BTreeSet<&str> = match root.get("trusted_inputs").and_then(|value| value.get_ref().as_array()) {
            Some(names) => names.iter().filter_map(|name| name.get_ref().as_str()).collect(),
            None => BTreeSet::new(),
        };
        for (key, value) in table.iter() {
            let name = key.get_ref().as_ref();
            self.check_name(name, key.span());
            if tools.keys().any(|other| fold_name(other) == fold_name(name)) {
                let message = format!("there is another tool `{name}`: `-` and `_` are taken as the same");
                self.reader.problem(message, key.span());
            }
            let Some(of) = self.reader.table(value) else { continue };
            let tool = ToolTable { name, of, place: key.span(), trusted: &trusted };
            if let Some(tool) = self.tool(&tool) {
                tools.insert(name.to_owned(), tool);
            }
        }
        tools
    }

    fn tool(&mut self, tool: &ToolTable<'_>) -> Option<ToolDefinition> {
        let ToolTable { name, of, ref place, .. } = *tool;
        self.reader.only(of, &TOOL);
        let kind = self.read_kind(tool);
        let signature = match of.get("signature") {
            Some(value) => self.signature(value).inspect(|signature| self.check_named(name, signature, value)),
            None => {
                let message = format!("the tool `{name}` has no signature; write `signature = \"(…) -> …\"`");
                self.reader.problem(message, place.clone());
                None
            }
        };
        let description = self.description(tool, kind.as_ref());
        let timeout_seconds = self.seconds(of);
        let retries = of.get("retries").and_then(|value| self.reader.number(value, MAX_RETRIES)).unwrap_or(0);
        let (power, family) = match &kind {
            Some(ToolKind::Model(_)) => (ToolPower::Free, "model"),
            // A second call under the same key goes on with the run that the first one began.
            Some(ToolKind::Agent { .. }) => (ToolPower::Idempotent, "agent"),
            _ => (self.power(of), "tool"),
        };
        let (label, triggered_by) = (self.read_result_label((family, name), of), self.sources(of.get("triggered_by")));
        let signature = Arc::new(signature?);
        let (parameters, accepts) = self.parameters(tool, &signature);
        let kind = kind?;
        self.check_slots(&kind, &signature, place);
        self.check_output(&kind, &signature, place);
        if family != "tool" {
            self.check_answered(tool, &kind, &signature);
        }
        let takes_secrets = signature.parameters().any(|parameter| parameter.starts_with('_'));
        let is_decided_within = matches!(kind, ToolKind::Agent { .. });
        let terms = CallTerms { triggered_by, accepts, takes_secrets, is_decided_within };
        Some(ToolDefinition { signature, description, timeout_seconds, retries, power, label, terms, parameters, kind })
    }

    /// Its description: the file's, or else that of what carries it out.
    fn description(&mut self, tool: &ToolTable<'_>, kind: Option<&ToolKind>) -> String {
        let own = self.description_text(tool.of, "description");
        match (own, kind) {
            (Some(own), _) => own,
            (None, Some(ToolKind::Model(ModelTool { prompt: ModelPrompt::Text(question), .. }))) => {
                first_sentence(question)
            }
            // Its prompt or its agent is in a file of its own.
            (None, Some(ToolKind::Model(_) | ToolKind::Agent { .. })) => String::new(),
            (None, _) => {
                self.needed_text(tool.of, "description", tool.place.clone());
                String::new()
            }
        }
    }

    /// A signature that names another tool.
    fn check_named(&mut self, name: &str, signature: &Signature, value: PlacedValue<'_>) {
        if let Some(other) = signature.name().filter(|other| fold_name(other) != fold_name(name)) {
            let message = format!("the signature of `{name}` is named `{other}`; give both the same name");
            self.reader.problem(message, value.span());
        }
    }

    fn seconds(&mut self, of: &DeTable<'_>) -> u32 {
        let Some(value) = of.get("timeout_seconds") else { return USUAL_SECONDS };
        match self.reader.number(value, MAX_SECONDS) {
            Some(0) => {
                self.reader.problem("a tool needs at least 1 second", value.span());
                USUAL_SECONDS
            }
            seconds => seconds.unwrap_or(USUAL_SECONDS),
        }
    }

    /// The effects that a call may have: all, unless the file narrows them.
    fn power(&mut self, of: &DeTable<'_>) -> ToolPower {
        let mut switch = |key: &str| of.get(key).and_then(|value| self.reader.switch(value));
        match (switch("effect"), switch("idempotent")) {
            (Some(false), _) => ToolPower::Free,
            (_, Some(true)) => ToolPower::Idempotent,
            _ => ToolPower::Effectful,
        }
    }

    /// A tool that a model or an agent answers: code knows its flags, and a model is shown nothing hidden.
    fn check_answered(&mut self, tool: &ToolTable<'_>, kind: &ToolKind, signature: &Signature) {
        // An agent's own file says how long it goes on.
        let of_agents = ["timeout_seconds", "retries"].into_iter().filter(|_| matches!(kind, ToolKind::Agent { .. }));
        for flag in KNOWN_FLAGS.into_iter().chain(of_agents) {
            if let Some(value) = tool.of.get(flag) {
                let message = format!("a tool with `{}` has no `{flag}`; leave it out", kind.as_str());
                self.reader.problem(message, value.span());
            }
        }
        let ToolKind::Model(ModelTool { prompt, .. }) = kind else { return };
        if let Some(name) = signature.parameters().find(|name| name.starts_with('_')) {
            let message = format!("`{name}` is hidden, and a model is shown nothing hidden; rename it or leave it out");
            self.reader.problem(message, tool.place.clone());
        }
        let ModelPrompt::Text(text) = prompt else { return };
        for name in question_slots(text) {
            if !signature.parameters().any(|known| known == name) {
                let message = format!("the question has `{{{{{name}}}}}`, which is no parameter of {signature}");
                self.reader.problem(message, tool.place.clone());
            }
        }
    }

    fn read_result_label(&mut self, name: (&str, &str), of: &DeTable<'_>) -> proem_text::Label {
        let is_trusted = of.get("trusted").and_then(|value| self.reader.switch(value)) == Some(true);
        let audience = of.get("audience").and_then(|value| self.reader.word(value, &AUDIENCES, Audience::parse));
        result_label(name, is_trusted, audience.unwrap_or(Audience::External))
    }

    /// Names of untrusted sources.
    pub(super) fn sources(&mut self, value: Option<PlacedValue<'_>>) -> BTreeSet<String> {
        let mut sources = BTreeSet::new();
        for (name, place) in value.map(|value| self.reader.texts(value)).unwrap_or_default() {
            if Source::parse(name).is_none() {
                let message = format!("`{name}` is no source; write `ctx/NAME` for an input or `tool/NAME` for a tool");
                self.reader.problem(message, place.span());
            }
            sources.insert(name.to_owned());
        }
        sources
    }

    fn parameters(
        &mut self,
        tool: &ToolTable<'_>,
        signature: &Signature,
    ) -> (BTreeMap<String, ParameterTerms>, BTreeMap<String, BTreeSet<String>>) {
        let (mut parameters, mut accepts) = (BTreeMap::new(), BTreeMap::new());
        let table = tool.of.get("parameters").and_then(|value| self.reader.table(value));
        for (key, value) in table.into_iter().flat_map(DeTable::iter) {
            let name = key.get_ref().as_ref();
            if !signature.parameters().any(|known| known == name) {
                let message = format!("`{name}` is no parameter of the tool `{}`", tool.name);
                self.reader.problem(message, key.span());
            }
            let Some(of) = self.reader.table(value) else { continue };
            self.reader.only(of, &PARAMETER);
            let may_be_option = of.get("may_be_option").and_then(|value| self.reader.switch(value)) == Some(true);
            let one_of = of.get("one_of").and_then(|value| self.trusted_list(value, tool.trusted));
            parameters.insert(name.to_owned(), ParameterTerms { one_of, may_be_option });
            accepts.insert(name.to_owned(), self.sources(of.get("accepts")));
        }
        (parameters, accepts)
    }

    /// The input that `one_of` names, which only vouches for values if it is trusted.
    fn trusted_list(&mut self, value: PlacedValue<'_>, trusted: &BTreeSet<&str>) -> Option<String> {
        let text = self.reader.text(value)?;
        let Some(name) = text.strip_prefix("ctx/") else {
            self.reader.problem(format!("`{text}` names no input; write `ctx/NAME`"), value.span());
            return None;
        };
        if !trusted.contains(name) {
            let message = format!("`{text}` vouches for nothing, as it is not in `trusted_inputs`; add it there");
            self.reader.problem(message, value.span());
        }
        Some(name.to_owned())
    }

    /// The one kind that a tool has.
    fn read_kind(&mut self, tool: &ToolTable<'_>) -> Option<ToolKind> {
        let ToolTable { name, of, ref place, .. } = *tool;
        let kinds: Vec<&str> = KINDS.into_iter().filter(|kind| of.contains_key(*kind)).collect();
        let [kind] = kinds.as_slice() else {
            let message = match kinds.len() {
                0 => format!("the tool `{name}` says nothing of what carries it out; add one of {}", KINDS.join(", ")),
                _ => format!("the tool `{name}` has {}; keep one", kinds.join(" and ")),
            };
            self.reader.problem(message, place.clone());
            return None;
        };
        let value = of.get(*kind)?;
        let table = self.reader.table(value)?;
        match *kind {
            "command" => self.read_command(table, value.span()).map(ToolKind::Command),
            "http" => self.read_http(table, value.span()).map(ToolKind::Http),
            "mcp" => self.read_mcp(table, value.span()).map(ToolKind::Mcp),
            "model" => self.read_model(table, value.span()).map(ToolKind::Model),
            word => {
                self.reader.only(table, &["file"]);
                let file = self.needed_text(table, "file", value.span())?.to_owned();
                Some(if word == "agent" { ToolKind::Agent { file } } else { ToolKind::Recorded { file } })
            }
        }
    }

    fn read_model(&mut self, table: &DeTable<'_>, place: Range<usize>) -> Option<ModelTool> {
        self.reader.only(table, &MODEL);
        let mut text = |key: &str| table.get(key).and_then(|value| self.reader.text(value)).map(str::to_owned);
        let (prompt, book, model) = (text("prompt"), text("book"), text("model"));
        let prompt = match (prompt, book) {
            (Some(prompt), None) if prompt.trim().is_empty() || prompt.len() > MAX_QUESTION => {
                self.reader.problem(format!("a question has 1 to {MAX_QUESTION} bytes"), place);
                return None;
            }
            (Some(prompt), None) => ModelPrompt::Text(prompt),
            (None, Some(book)) => ModelPrompt::Book(book),
            _ => {
                let message = "a model needs one question; write `prompt = \"…\"`, or `book = \"AGENT/NAME\"` for a \
                               prompt of your book";
                self.reader.problem(message, place);
                return None;
            }
        };
        Some(ModelTool { prompt, model })
    }

    fn read_command(&mut self, table: &DeTable<'_>, place: Range<usize>) -> Option<CommandTool> {
        self.reader.only(table, &COMMAND);
        let Some(value) = table.get("argv") else {
            self.reader.problem("a command has no `argv`; write `argv = [\"PROGRAM\", \"{parameter}\"]`", place);
            return None;
        };
        let argv: Vec<String> = self.reader.texts(value).into_iter().map(|(text, _)| text.to_owned()).collect();
        if argv.first().is_none_or(|program| program.is_empty() || program.contains('{')) {
            self.reader.problem("the first of `argv` is the program, and no parameter replaces it", value.span());
        }
        if argv.iter().any(|text| text.contains('\0')) {
            self.reader.problem("an argument of a command has no NUL", value.span());
        }
        let folder = table.get("folder").and_then(|value| {
            let folder = self.reader.text(value)?;
            if folder.starts_with('/') || folder.split('/').any(|part| part == "..") {
                self.reader.problem("a folder is relative to the project and inside of it", value.span());
            }
            Some(folder.to_owned())
        });
        let names = table.get("environment").map(|value| self.reader.texts(value)).unwrap_or_default();
        let environment = names.into_iter().map(|(name, _)| name.to_owned()).collect();
        let secrets = self.text_table(table, "secrets");
        let output = self.read_output(table);
        Some(CommandTool { argv, folder, environment, secrets, output })
    }

    fn read_output(&mut self, table: &DeTable<'_>) -> CommandOutput {
        let output = table.get("output").and_then(|value| {
            let of_name = |name: &str| CommandOutput::ALL.into_iter().find(|(word, _)| *word == name);
            let words = CommandOutput::ALL.map(|(word, _)| word);
            self.reader.word(value, &words, of_name).map(|(_, output)| output)
        });
        output.unwrap_or_default()
    }

    fn read_mcp(&mut self, table: &DeTable<'_>, place: Range<usize>) -> Option<McpTool> {
        self.reader.only(table, &MCP);
        let server = self.needed_text(table, "server", place.clone()).map(str::to_owned);
        let tool = self.needed_text(table, "tool", place).map(str::to_owned);
        let output = self.read_output(table);
        Some(McpTool { server: server?, tool: tool?, output })
    }

    fn read_http(&mut self, table: &DeTable<'_>, place: Range<usize>) -> Option<HttpTool> {
        self.reader.only(table, &HTTP);
        let url = self.needed_text(table, "url", place)?.to_owned();
        let method = match table.get("method") {
            None => Some(HttpMethod::Get),
            Some(value) => {
                let of_name = |name: &str| HttpMethod::ALL.into_iter().find(|(word, _)| *word == name);
                let words = HttpMethod::ALL.map(|(word, _)| word);
                self.reader.word(value, &words, of_name).map(|(_, method)| method)
            }
        };
        let result = table.get("result").and_then(|value| {
            let pointer = self.reader.text(value)?;
            if !pointer.is_empty() && !pointer.starts_with('/') {
                let message = "the place of the result is a JSON pointer, such as `/items/0`";
                self.reader.problem(message, value.span());
            }
            Some(pointer.to_owned())
        });
        let credential = table.get("credential").and_then(|value| self.reader.text(value)).map(str::to_owned);
        let is_private = table.get("private").and_then(|value| self.reader.switch(value)) == Some(true);
        let headers = self.text_table(table, "headers");
        Some(HttpTool { method: method?, url, headers, result, credential, is_private })
    }

    fn text_table(&mut self, table: &DeTable<'_>, key: &str) -> BTreeMap<String, String> {
        let Some(table) = table.get(key).and_then(|value| self.reader.table(value)) else { return BTreeMap::new() };
        let text = |(key, value): (&toml::Spanned<toml::de::DeString<'_>>, _)| {
            Some((key.get_ref().to_string(), self.reader.text(value)?.to_owned()))
        };
        table.iter().filter_map(text).collect()
    }

    /// A command that prints text gives text.
    fn check_output(&mut self, kind: &ToolKind, signature: &Signature, place: &Range<usize>) {
        let (ToolKind::Command(CommandTool { output, .. }) | ToolKind::Mcp(McpTool { output, .. })) = kind else {
            return;
        };
        let Some(given) = output.result_type() else { return };
        let found = signature.result_type();
        if found != given && found != ":any" {
            let message = format!("this `output` makes the result {given}, and the signature says {found}");
            self.reader.problem(message, place.clone());
        }
    }

    /// Each slot is a parameter of the tool.
    fn check_slots(&mut self, kind: &ToolKind, signature: &Signature, place: &Range<usize>) {
        let names: Vec<&str> = match kind {
            ToolKind::Command(command) => {
                let pieces = command.argv.iter().flat_map(|text| argument_pieces(text));
                let slot = |piece| if let ArgumentPiece::Slot(name) = piece { Some(name) } else { None };
                pieces.filter_map(slot).collect()
            }
            // Braces of an address are slots, or doubled.
            ToolKind::Http(http) => {
                let parts = http.url.split('{').skip(1);
                parts
                    .filter_map(|part| part.split_once('}'))
                    .map(|(name, _)| name)
                    .filter(|name| !name.is_empty())
                    .collect()
            }
            ToolKind::Mcp(_) | ToolKind::Recorded { .. } | ToolKind::Model(_) | ToolKind::Agent { .. } => Vec::new(),
        };
        for name in names {
            if !signature.parameters().any(|known| known == name) {
                let message = format!("`{{{name}}}` is no parameter of the signature, {signature}");
                self.reader.problem(message, place.clone());
            } else if name.starts_with('_') {
                let message = format!("`{{{name}}}` is hidden, and an argument or address is seen by others");
                self.reader.problem(message, place.clone());
            }
        }
    }
}

/// A tool's table with what it is read by.
struct ToolTable<'t> {
    name: &'t str,
    of: &'t DeTable<'t>,
    place: Range<usize>,
    /// The inputs that vouch for values.
    trusted: &'t BTreeSet<&'t str>,
}
