//! The rule families that ship with the product.
//!
//! Most rules are data: `data/concepts.tsv` lists the words for a concept in many languages ([`crate::lexicon`]; the
//! shipped index is made of it), `data/rules.txt` the combinations that mean something ([`rules`]), and `data/bank.tsv`
//! whole attacks to compare with ([`bank`]). Findings that aren't about words have a file of their own: forged
//! structure, addresses that carry data, calls of tools, payloads.

pub mod bank;
mod catalogue;
mod context;
mod exfiltration;
mod extraction;
mod forgery;
mod order;
mod override_phrases;
pub mod payload;
mod persona;
mod phrases;
mod place;
pub mod rules;
mod sentence;
mod social;
mod tools;

pub use bank::Bank;
pub use catalogue::{RuleDescription, catalogue};
pub use tools::{OWN_TOOL, ToolVocabulary};

use crate::{error::RuleError, lexicon::Lexicon, scan::Scanner};
use alloc::{boxed::Box, string::String, vec, vec::Vec};

/// The concepts that ship with the product, as they are looked up: made of `data/concepts.tsv`, as a test sees to.
const CONCEPTS: &str = include_str!("../data/concepts-index.txt");

/// The rules that ship with the product.
const RULES: &str = include_str!("../data/rules.txt");

/// The lexicon and the scanners that ship with the product, for an agent with these tools.
///
/// # Errors
///
/// [`RuleError`] if a data file is unreadable, or a tool has a word without letters.
pub fn shipped_scanners(tools: &[ToolVocabulary]) -> Result<(Lexicon, Vec<Box<dyn Scanner + Send + Sync>>), RuleError> {
    let lexicon = lexicon(tools)?;
    let rules = rules::parse_rules(RULES, &lexicon)?;
    let scanners: Vec<Box<dyn Scanner + Send + Sync>> = vec![
        Box::new(override_phrases::override_scanner(&rules, &lexicon)),
        Box::new(persona::persona_scanner(&rules, &lexicon)),
        Box::new(extraction::extraction_scanner(&rules, &lexicon)),
        Box::new(social::social_scanner(&rules, &lexicon)),
        Box::new(exfiltration::exfiltration_scanner(&rules, &lexicon)),
        Box::new(tools::tool_request_scanner(&rules, &lexicon, tools)),
        Box::new(order::order_scanner(&rules, &lexicon)),
        Box::new(order::standing_order_scanner(&rules, &lexicon)),
        Box::new(payload::payload_scanner(&rules, &lexicon)),
        Box::new(forgery::forgery_scanner(&lexicon)),
        Box::new(Bank::shipped(&lexicon)?),
    ];
    Ok((lexicon, scanners))
}

/// The rules made of concepts that ship with the product, in the order of their file.
///
/// # Errors
///
/// [`RuleError`] if a data file can't be read.
pub fn shipped_rules() -> Result<Vec<rules::DetectionRule>, RuleError> {
    rules::parse_rules(RULES, &lexicon(&[])?)
}

fn lexicon(vocabulary: &[ToolVocabulary]) -> Result<Lexicon, RuleError> {
    let names = vocabulary.iter().map(|tool| tool.name.as_str());
    let words = vocabulary.iter().flat_map(|tool| tool.words.iter().map(String::as_str));
    let own: Vec<&str> = names.chain(words).collect();
    Lexicon::of_index(CONCEPTS, OWN_TOOL, &own)
}

#[cfg(test)]
pub(crate) mod testing {
    use super::{ToolVocabulary, shipped_scanners};
    use crate::{
        finding::Severity,
        scan::{Hit, Sight},
        view::{Reading, clean_view, folded_view},
    };
    use alloc::{string::ToString, vec::Vec};
    use proem_text::View;

    /// The hits of all scanners in the clean view of each text.
    fn clean_view_hits(tools: &[ToolVocabulary], texts: &[&str]) -> Vec<Vec<Hit>> {
        let (lexicon, scanners) = shipped_scanners(tools).unwrap();
        let look = |text: &&str| {
            let view = clean_view(text);
            let reading = Reading { steps: Vec::new(), view: View { text: view.text, map: view.map } };
            let folded = folded_view(&reading.view.text);
            let mentions = lexicon.mentions(&folded.text);
            let sight = Sight { reading: &reading, folded: &folded, mentions: &mentions };
            let mut hits = Vec::new();
            scanners.iter().for_each(|scanner| scanner.scan(&sight, &mut hits).unwrap());
            hits
        };
        texts.iter().map(look).collect()
    }

    /// Each text breaks the rule at medium or worse.
    #[track_caller]
    pub(crate) fn finds(rule: &str, texts: &[&str]) {
        finds_with(&[], rule, texts);
    }

    /// The same, for an agent with these tools.
    #[track_caller]
    pub(crate) fn finds_with(tools: &[ToolVocabulary], rule: &str, texts: &[&str]) {
        for (text, hits) in texts.iter().zip(clean_view_hits(tools, texts)) {
            let found = hits.iter().any(|hit| hit.rule == rule && hit.severity >= Severity::Medium);
            assert!(found, "{text:?}: {:?}", hits.iter().map(|hit| (hit.rule, hit.severity)).collect::<Vec<_>>());
        }
    }

    /// Each text breaks the rule at low.
    #[track_caller]
    pub(crate) fn finds_mildly(rule: &str, texts: &[&str]) {
        for (text, hits) in texts.iter().zip(clean_view_hits(&[], texts)) {
            assert!(hits.iter().any(|hit| hit.rule == rule && hit.severity == Severity::Low), "{text:?}: {hits:?}");
        }
    }

    /// No text breaks any rule with this beginning at medium or worse.
    #[track_caller]
    pub(crate) fn passes(family: &str, texts: &[&str]) {
        for (text, hits) in texts.iter().zip(clean_view_hits(&[], texts)) {
            let bad = hits.iter().filter(|hit| hit.rule.starts_with(family) && hit.severity >= Severity::Medium);
            let bad: Vec<_> =
                bad.map(|hit| (hit.rule, text.get(hit.span.start..hit.span.end).map(ToString::to_string))).collect();
            assert!(bad.is_empty(), "{text:?}: {bad:?}");
        }
    }
}
