//! Reads the arguments of a call, and says which one is wrong.

use proem_app::Error;
use proem_guard::show;
use rmcp::model::JsonObject;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

/// The most problems that are named at once.
const MOST_PROBLEMS: usize = 5;

/// The most characters of a name that a client sent.
const MAX_NAME: usize = 80;

/// The arguments by a tool's schema.
///
/// # Errors
///
/// If they don't meet it: each problem with the argument's place, and the arguments that there are.
pub(crate) fn parse_tool_arguments<T: DeserializeOwned>(
    mut given: JsonObject,
    schema: &JsonObject,
) -> Result<T, Error> {
    // Some clients write null for what they leave out.
    given.retain(|_, value| !value.is_null());
    let given = Json::Object(given);
    let whole = Json::Object(schema.clone());
    let checker = jsonschema::validator_for(&whole).map_err(|error| Error::bug("a tool's schema", error))?;
    let problem = |error: jsonschema::ValidationError<'_>| {
        let place = shown_start(&error.instance_path().to_string(), MAX_NAME);
        // The words quote no value: it may be long, and was written elsewhere.
        let words = shown_start(&error.masked().to_string(), 4 * MAX_NAME);
        if place.is_empty() { words } else { format!("`{place}`: {words}") }
    };
    let problems: Vec<String> = checker.iter_errors(&given).take(MOST_PROBLEMS).map(problem).collect();
    if !problems.is_empty() {
        let known = schema.get("properties").and_then(Json::as_object);
        let known: Vec<String> = known.into_iter().flatten().map(|(name, _)| format!("`{name}`")).collect();
        let known =
            if known.is_empty() { "it takes none".to_owned() } else { format!("it takes {}", known.join(", ")) };
        return Err(Error::invalid(format!("wrong arguments: {}; {known}", problems.join("; "))));
    }
    serde_json::from_value(given).map_err(|error| Error::invalid(format!("wrong arguments: {error}")))
}

/// The start of a text that may have names from outside.
fn shown_start(text: &str, most: usize) -> String {
    show::terminal_str(&text.chars().take(most).collect::<String>()).into_string()
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::schema::inline_schema;

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Given {
        text: String,
        #[serde(default)]
        #[schemars(range(min = 1, max = 9))]
        limit: u8,
    }

    fn parse(given: &Json) -> String {
        let given = given.as_object().unwrap().clone();
        match parse_tool_arguments::<Given>(given, &inline_schema::<Given>()) {
            Ok(Given { text, limit }) => format!("{text} {limit}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn wrong_arguments_are_named_and_not_quoted() {
        let check = |given: Json, expected: &str| assert_eq!(parse(&given), expected);
        check(json!({ "text": "a", "limit": 2 }), "a 2");
        check(json!({ "text": "a", "limit": null }), "a 0");
        check(
            json!({ "text": 5 }),
            "wrong arguments: `/text`: value is not of type \"string\"; it takes `limit`, `text`",
        );
        check(json!({ "limit": 1 }), "wrong arguments: \"text\" is a required property; it takes `limit`, `text`");
        check(
            json!({ "text": "a", "limit": 99 }),
            "wrong arguments: `/limit`: value is greater than the maximum of 9; it takes `limit`, `text`",
        );
        check(
            json!({ "text": "a", "limits": 1 }),
            "wrong arguments: Additional properties are not allowed ('limits' was unexpected); it takes `limit`, `text`",
        );
    }
}
