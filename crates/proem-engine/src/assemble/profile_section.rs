//! The section that shows a profile: trusted, below every boundary, always whole.

use proem_text::{Label, span::Span};

use crate::assembly::PlacedSection;
use crate::error::{Error, ErrorKind};
use crate::message::Role;
use crate::profile::Profile;
use crate::prompt::compiled_prompt::Prompt;
use crate::prompt::file::Section;
use crate::report::{self, SectionReport};
use crate::section::{CacheClass, Layer, SectionGroup, Trust};
use crate::tokens::TokenCounter;

/// Its name, which no prompt file may declare as long as there is a profile.
const NAME: &str = "profile";

/// Which cap it counts towards.
pub(super) const LAYER: Layer = Layer::Context;

/// The text of a profile.
#[derive(Debug)]
pub(super) struct ProfileText {
    /// Its text, ending with a blank line.
    pub(super) text: String,
    /// Its tokens on its own.
    pub(super) tokens: usize,
}

impl ProfileText {
    /// The section for a profile. None if it says nothing.
    pub(super) fn of(
        prompt: &Prompt,
        profile: Option<&Profile>,
        counter: &dyn TokenCounter,
    ) -> Result<Option<Self>, Error> {
        let Some(profile) = profile.filter(|profile| !profile.is_empty()) else { return Ok(None) };
        if prompt.file.sections.iter().any(|section| section.spec.name == NAME) {
            let id = &prompt.id;
            let problem = format!(
                "section `{NAME}` of `{}/{}` has the name that is reserved for what the prompt learns; rename the \
                 section in the prompt file",
                id.agent, id.name
            );
            return Err(Error::new(ErrorKind::InvalidInput, problem));
        }
        let text = format!("{}\n", profile.text());
        let tokens = counter.count(&text);
        Ok(Some(Self { text, tokens }))
    }

    /// The section where it is, and its account.
    pub(super) fn place_at(&self, range: Span, tokens: usize) -> (PlacedSection, SectionReport) {
        let placed = PlacedSection {
            part: None,
            name: NAME.to_owned(),
            role: Role::User,
            trust: Trust::Trusted,
            cache: CacheClass::Never,
            layer: LAYER,
            rank: SectionGroup::TrustedVolatile,
            text: self.text.clone(),
            label: Label::trusted(),
            tokens,
            range,
        };
        let report = report::unfitted_section(&placed, self.tokens, &[]);
        (placed, report)
    }
}

/// The index of the section that a profile is before: behind all trusted text that changes, and behind what the
/// operator says.
pub(super) fn profile_place(sections: &[Section]) -> usize {
    // An example of an answer, and what follows it, is one conversation with the turn before.
    let examples = sections.iter().position(|section| section.role == Role::Model).unwrap_or(sections.len());
    let last = sections
        .get(..examples)
        .unwrap_or_default()
        .iter()
        .rposition(|section| section.role == Role::System || section.spec.rank() <= SectionGroup::TrustedVolatile);
    last.map_or(0, |last| last.saturating_add(1))
}
