//! Undoes in an answer what a strict schema forced on the model.

use proem_engine::call::{Request, Response, ResponsePart, Tool};
use proem_guard::Untrusted;
use proem_text::json;
use serde_json::Value;

use crate::projection::restore;

/// The response with optional fields left out again that the model had to write as null: those of
/// the tools named in `strict`, whose schemas were sent in strict form.
///
/// A text that is not JSON stays as it is; whoever decodes it will say what is wrong with it.
#[must_use]
pub(crate) fn restore_response(mut response: Response, request: &Request, strict: &[String]) -> Response {
    let sent: Vec<&Tool> = request.answer.tools().iter().filter(|tool| strict.contains(&tool.name)).collect();
    for content in &mut response.content {
        match content {
            // Only a single value is ever written as text.
            ResponsePart::Text { text } => {
                if let [tool] = sent.as_slice() {
                    rewrite_json_text(text, &tool.schema);
                }
            }
            ResponsePart::Call(called) => {
                if let Some(tool) = sent.iter().find(|tool| called.name.measure(|name| *name == tool.name)) {
                    rewrite_json_text(&mut called.arguments, &tool.schema);
                }
            }
            ResponsePart::Refusal { .. } | ResponsePart::Other { .. } => {}
        }
    }
    response
}

fn rewrite_json_text(text: &mut Untrusted<String>, schema: &Value) {
    *text = text.clone().map(|text| match serde_json::from_str::<Value>(&text) {
        Ok(value) => {
            let restored = restore(schema, value.clone());
            if restored == value { text } else { json::compact(&restored) }
        }
        Err(_) => text,
    });
}

#[cfg(test)]
mod tests {
    use proem_engine::call::{AnswerForm, Arrival, FinishReason, ToolCall, Usage};
    use proem_guard::show;
    use proem_text::Label;
    use serde_json::json;

    use super::*;
    use crate::sample;

    fn request() -> Request {
        let schema = json!({
            "type": "object",
            "properties": { "level": { "type": "string" }, "note": { "type": "string" } },
            "required": ["level"],
        });
        Request {
            model: "gpt-4o".into(),
            assembly: sample::parse_sample("user:task").0,
            answer: AnswerForm::Value { tool: Tool { name: "risk".into(), description: String::new(), schema } },
            sampling: Default::default(),
            arrival: Arrival::Whole,
            way: None,
            inquiry: None,
        }
    }

    #[track_caller]
    fn check(text: &str, strict: &[&str], expected: &str) {
        let outside = |text: &str| Untrusted::new(text.to_owned(), Label::trusted());
        let call = ToolCall { id: outside("1"), name: outside("risk"), arguments: outside(text) };
        let content = vec![ResponsePart::Text { text: outside(text) }, ResponsePart::Call(call)];
        let response = Response { model: None, id: None, content, finish: FinishReason::Stop, usage: Usage::default() };
        let strict: Vec<String> = strict.iter().map(|name| (*name).to_owned()).collect();
        let restored = restore_response(response, &request(), &strict);
        for content in &restored.content {
            let (ResponsePart::Text { text } | ResponsePart::Call(ToolCall { arguments: text, .. })) = content else {
                continue;
            };
            assert_eq!(show::exact_json(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_null_that_strict_mode_forced_is_left_out() {
        check(r#"{"level":"LOW","note":null}"#, &["risk"], r#"{"level":"LOW"}"#);
        check(r#"{"level":"LOW","note":"x"}"#, &["risk"], r#"{"level":"LOW","note":"x"}"#);
        // A required part stays, and its check refuses it.
        check(r#"{"level":null}"#, &["risk"], r#"{"level":null}"#);
        check(r#"{"level":"LOW","note":null}"#, &[], r#"{"level":"LOW","note":null}"#);
        check("no JSON", &["risk"], "no JSON");
    }
}
