//! Any text in a file of the catalogue: it is read or refused, names are unique and match the rule, nothing is approved
//! that nobody vouched for, and the manifest reads back as it was.
//!
//! The first character says which kind of file the rest is.

use proem_select::catalogue::servers::{ConfigSyntax, parse_server_names as servers};
use proem_select::catalogue::{
    Approval, Approvals, Catalogue, CatalogueName, Manifest, SourceFile, SourceTrust, findings, lines, own, signature,
    skill, tools_list,
};

/// Holds one input to the laws.
pub fn feed(text: &str) {
    let mut chars = text.chars();
    let kind = chars.next().unwrap_or('t');
    let file = SourceFile { path: "f".to_owned(), standing: SourceTrust::Outside, text: chars.as_str().to_owned() };
    let parsed = match kind {
        'j' => servers(&file, ConfigSyntax::Json, "mcpServers"),
        'x' => servers(&file, ConfigSyntax::Toml, "mcp_servers"),
        'o' => own::parse_own_catalogue(&file),
        's' => skill::parse_skill(&file, "folder"),
        'l' => lines::parse_json_lines(&file),
        'm' => {
            if let Ok(manifest) = Manifest::read(&file.text) {
                assert_eq!(Manifest::read(&manifest.write()).expect("as written"), manifest);
            }
            return;
        }
        _ => tools_list::parse_tools_list(&file, "server"),
    };
    assert!(parsed.problems.len() <= 21);
    let catalogue = Catalogue::new(parsed, &Approvals::default());
    let names: Vec<&str> = catalogue.entries().iter().map(|entry| entry.name().as_str()).collect();
    assert!(names.is_sorted_by(|a, b| a < b));
    for entry in catalogue.entries() {
        assert!(CatalogueName::new(entry.name().as_str()).is_some());
        assert!(entry.approval() == Approval::Outside && entry.approved().is_none());
        assert!(signature(entry).len() < 8192);
    }
    _ = findings(&catalogue, None);
    let mut manifest = Manifest::default();
    manifest.update(&catalogue);
    assert_eq!(Manifest::read(&manifest.write()).expect("as written"), manifest);
}
