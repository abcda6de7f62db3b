//! Front matter is read or refused, within bounds. A refusal says where.

use std::collections::BTreeMap;

use proem_engine::prompt::compat::Dotprompt;
use proem_engine::prompt::file::PromptFile;

/// Holds one input to the laws.
pub fn feed(text: &str) {
    let file = format!("---\n{text}\n---\n{{{{role \"system\"}}}}{{{{section \"role\"}}}}\nYou judge {{{{a}}}}.\n");
    if let Err(error) = PromptFile::parse("a.prompt", &file, &BTreeMap::new()) {
        assert!(!error.problems().is_empty());
        assert!(error.problems().len() <= 101);
        assert!(
            error
                .problems()
                .iter()
                .all(|problem| problem.contains("--> a.prompt") || problem.ends_with("more problems"))
        );
    }
    _ = Dotprompt::parse("a.prompt", &file, &BTreeMap::new(), &BTreeMap::new());
    _ = PromptFile::is_strict(&file);
}
