//! Any text is an agent's file or refused with its problems, as TOML and as JSON. What is left open fails closed.

use proem_agents::lisp::{ToolKind, argument_pieces, parse_agent};
use proem_engine::ErrorKind;
use proem_engine::run::ToolPower;

/// Holds one input to the laws.
pub fn feed(text: &str) {
    for name in ["a.agent.toml", "a.agent.json"] {
        let agent = match parse_agent(name, text) {
            Ok(agent) => agent,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::InvalidFile);
                assert!(!error.to_string().is_empty());
                continue;
            }
        };
        assert!(agent.trusted_inputs.iter().all(|name| agent.signature.parameters().any(|known| known == name)));
        for (name, tool) in &agent.tools {
            let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            assert!((1..=64).contains(&name.len()) && name.chars().all(is_name), "{name:?}");
            assert_eq!(agent.tool(&name.replace('-', "_")).map(|(found, _)| found), Some(name.as_str()));
            assert!(tool.power == ToolPower::Effectful || text.contains("effect") || text.contains("idempotent"));
            assert!(!tool.label.is_trusted() || text.contains("trusted"), "{name}: its results are trusted");
            assert!((1..=3_600).contains(&tool.timeout_seconds) && tool.retries <= 10);
            if let ToolKind::Command(command) = &tool.kind {
                assert!(command.argv.first().is_some_and(|program| !program.is_empty() && !program.contains('{')));
                command.argv.iter().for_each(|text| _ = argument_pieces(text));
            }
        }
    }
}
