//! Credentials by shape in what was gathered: nobody asked for them to be sent.
//!
//! They go before anything else is done with a text, so that one and the same text is sent, counted, shown and kept. A
//! caller's own text is not gathered and stays.

use proem_agents::assemble::place_facts::{CommandFact, Gap, GitHead, PlaceFacts, RememberedEntry, RuleText};
use proem_guard::{Untrusted, credential};

use crate::gaps::gap;

/// Takes them out of every text. A gap says of how many.
pub(super) fn cut_credentials(gathered: &mut PlaceFacts) {
    let mut count = 0_usize;
    if let Some(git) = &mut gathered.git {
        if let GitHead::Branch(name) | GitHead::Unborn(name) = &mut git.head {
            cut_from_outside(name, &mut count);
        }
        let changes = git.work_tree.iter_mut().filter_map(|work_tree| work_tree.changes.as_mut());
        changes.flatten().for_each(|change| cut_from_outside(&mut change.path, &mut count));
    }
    cut_from_outside(&mut gathered.env.cwd, &mut count);
    for file in &mut gathered.rule_files {
        match &mut file.text {
            RuleText::Trusted(text) => ours(text, &mut count),
            RuleText::Outside(text) => cut_from_outside(text, &mut count),
        }
    }
    for CommandFact { command, place, .. } in &mut gathered.commands {
        cut_from_outside(command, &mut count);
        cut_from_outside(place, &mut count);
    }
    gathered.outline.iter_mut().for_each(|line| cut_from_outside(line, &mut count));
    for RememberedEntry { text, kind, .. } in gathered.memories.iter_mut().chain(&mut gathered.activity) {
        cut_from_outside(text, &mut count);
        cut_from_outside(kind, &mut count);
    }
    gathered.gaps.iter_mut().filter_map(|gap| gap.about.as_mut()).for_each(|about| cut_from_outside(about, &mut count));
    gathered.gaps.extend((count > 0).then(|| cut_credentials_gap(count)));
}

fn cut_credentials_gap(count: usize) -> Gap {
    let texts = if count == 1 { "1 text".to_owned() } else { format!("{count} texts") };
    let why = "text that looks like a key, token or private key is replaced by `[redacted:…]`; remove it from the \
               repository or the memory, and revoke it if it is real";
    gap(&format!("parts of {texts}"), why)
}

fn cut_from_outside(text: &mut Untrusted<String>, count: &mut usize) {
    let empty = Untrusted::new(String::new(), text.label().clone());
    *text = core::mem::replace(text, empty).map(|mut text| {
        ours(&mut text, count);
        text
    });
}

fn ours(text: &mut String, count: &mut usize) {
    if let Some(without) = credential::redact_credentials(text) {
        *text = without;
        *count = count.saturating_add(1);
    }
}
