//! A prompt of another tool is imported or refused; what is written reads back, and nothing else comes of it.

use std::collections::BTreeMap;

use proem_engine::prompt::file::PromptFile;
use proem_engine::prompt::import::{
    ImportKind, ImportSource, UnknownChecks, files_beside_source, read_prompts, recognise_source, write_prompt,
};

/// The name that each kind is told by.
const NAMES: [&str; 13] = [
    "a.prompt",
    "a.prompty",
    "promptfooconfig.yaml",
    "a.json",
    "a.yaml",
    ".claude/commands/a.md",
    "a.prompt.md",
    "p/system.md",
    "p/skprompt.txt",
    "a.j2",
    "a.txt",
    "a.md",
    "a.mdc",
];

/// Holds one input to the laws: as each kind, and as the files beside a source.
pub fn feed(text: &str) {
    let beside: BTreeMap<String, String> = ["user.md", "config.json", "tests.csv", "chat.json", "p.txt"]
        .map(|name| (name.to_owned(), text.to_owned()))
        .into();
    for name in NAMES {
        if let Ok(kind) = recognise_source(name, text) {
            import(kind, name, text, &beside);
        }
    }
    for (_, kind) in ImportKind::WORDS {
        import(kind, "p/a.x", text, &beside);
    }
    let config = "prompts: [chat.json, p.txt]\nproviders: [openai:m]\ntests: [tests.csv]\n";
    import(ImportKind::Promptfoo, "promptfooconfig.yaml", config, &beside);
}

fn import(kind: ImportKind, path: &str, text: &str, beside: &BTreeMap<String, String>) {
    _ = files_beside_source(kind, path, text);
    [UnknownChecks::Refused, UnknownChecks::LeftOut].into_iter().for_each(|unknown_checks| {
        import_source(kind, &ImportSource { path, folder: "p", text, beside, unknown_checks });
    });
}

fn import_source(kind: ImportKind, source: &ImportSource<'_>) {
    let prompts = match read_prompts(kind, source) {
        Ok(prompts) => prompts,
        Err(error) => return assert!(!error.problems().is_empty()),
    };
    assert!(!prompts.is_empty());
    for prompt in prompts {
        let Ok(written) = write_prompt(&prompt, "imported") else { continue };
        for (path, text) in written.files.iter().filter(|(path, _)| path.ends_with(".prompt")) {
            let file = PromptFile::parse(path, text, &BTreeMap::new()).unwrap();
            let trusted =
                file.strict.inputs.iter().filter(|(_, trust)| *trust != proem_engine::input::InputTrust::Untrusted);
            assert_eq!(trusted.count(), 0, "{text}");
        }
    }
}
