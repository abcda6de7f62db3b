//! The tools, in the order in which they are listed: always the same, so that clients' caches hold.

mod approvals;
mod find;
mod risk;
mod runs;
mod scan;
mod texts;

use crate::tool::ToolEntry;

/// Everything that a client can call, by name.
pub(crate) fn shipped_tools() -> Vec<ToolEntry> {
    vec![
        ToolEntry::of::<runs::RunsList>(),
        ToolEntry::of::<runs::RunShow>(),
        ToolEntry::of::<runs::RunDiff>(),
        ToolEntry::of::<texts::PromptRender>(),
        ToolEntry::of::<scan::ScanText>(),
        ToolEntry::of::<find::FindCode>(),
        ToolEntry::of::<risk::RiskAssess>(),
        ToolEntry::of::<texts::TokensCount>(),
        ToolEntry::of::<approvals::ApprovalsList>(),
        ToolEntry::of::<approvals::ApprovalWait>(),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::Value as Json;

    use super::*;

    /// The keywords that some clients refuse or ignore.
    const REFUSED: [&str; 5] = ["$ref", "$defs", "oneOf", "allOf", "definitions"];

    fn keys<'j>(schema: &'j Json, found: &mut Vec<&'j str>) {
        match schema {
            Json::Object(fields) => fields.iter().for_each(|(key, value)| {
                found.push(key);
                keys(value, found);
            }),
            Json::Array(items) => items.iter().for_each(|item| keys(item, found)),
            _ => {}
        }
    }

    #[test]
    fn schemas_are_objects_that_every_client_reads() {
        for entry in shipped_tools() {
            let name = entry.definition.name.clone();
            assert!(name.len() <= 40 && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{name}");
            let output = entry.definition.output_schema.as_deref().unwrap();
            let input = entry.definition.input_schema.as_ref();
            for schema in [input, output] {
                assert_eq!(schema.get("type"), Some(&Json::from("object")), "{name}");
            }
            let input = Json::Object(input.clone());
            let mut found = Vec::new();
            keys(&input, &mut found);
            let refused: Vec<_> = found.iter().filter(|key| REFUSED.contains(*key)).collect();
            assert!(refused.is_empty(), "{name}: {refused:?}");
            assert_eq!(input["additionalProperties"], false, "{name}: an unknown argument would be ignored");
            let output = Json::Object(output.clone());
            let mut found = Vec::new();
            keys(&output, &mut found);
            assert!(!found.contains(&"$ref") && !found.contains(&"$defs"), "{name}");
            jsonschema::validator_for(&output).unwrap();
        }
    }

    #[test]
    fn every_tool_only_reads() {
        for entry in shipped_tools() {
            let annotations = entry.definition.annotations.unwrap();
            assert_eq!(annotations.read_only_hint, Some(true), "{}", entry.definition.name);
            assert_eq!(annotations.destructive_hint, Some(false), "{}", entry.definition.name);
        }
    }
}
