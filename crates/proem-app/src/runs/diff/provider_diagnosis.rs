//! A provider's account of its cache, beside our finding.

use proem_engine::cache::miss::RequestDifference;
use proem_engine::call::{CacheDiagnosis, DiagnosedDifference};
use proem_store::query::CallRow;
use serde::Serialize;

use super::Pair;
use super::run_call::RunCall;
use crate::words::group_thousands;

/// How what a provider says stands to what was found here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiagnosisAgreement {
    /// Both found the same first difference.
    Agrees,
    /// They did not.
    Disagrees,
    /// The provider was asked about another request, or could not say.
    Undecided,
}

/// A provider's account of two requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProviderDiagnosis {
    /// The first difference that it found.
    pub difference: DiagnosedDifference,
    /// About how many tokens were not read from the cache for that.
    pub missed_tokens: Option<u64>,
    /// How that stands to what was found here.
    pub agreement: DiagnosisAgreement,
    /// All of it, in a sentence.
    pub words: String,
}

/// A provider's account of one request, in words.
#[must_use]
pub fn provider_diagnosis(found: &CacheDiagnosis) -> String {
    match found.difference {
        DiagnosedDifference::None => "nothing changed, or there was nothing to compare with".to_owned(),
        other => format!("{}{}", diagnosed_difference(other), missed_tokens(found.missed_tokens)),
    }
}

impl Pair<'_> {
    /// The provider's account of the two. `None` if it was not asked about the second.
    #[must_use]
    pub fn diagnosis(&self) -> Option<ProviderDiagnosis> {
        let found = self.second.usage()?.diagnosis.as_ref()?;
        let is_about_these = asked_about(self.second.row).is_some_and(|asked| self.first.answered_as(asked));
        let agreement = if is_about_these { self.agreement(found.difference) } else { DiagnosisAgreement::Undecided };
        let words = match agreement {
            DiagnosisAgreement::Agrees => {
                format!("agreeing: {}{}", diagnosed_difference(found.difference), missed_tokens(found.missed_tokens))
            }
            DiagnosisAgreement::Disagrees => format!(
                "disagreeing: {}{}; both are evidence, for what begins alike can miss all the same",
                diagnosed_difference(found.difference),
                missed_tokens(found.missed_tokens)
            ),
            DiagnosisAgreement::Undecided if !is_about_these => {
                "undecided: it was not asked to compare these two".to_owned()
            }
            DiagnosisAgreement::Undecided => format!("undecided: {}", diagnosed_difference(found.difference)),
        };
        let (difference, missed_tokens) = (found.difference, found.missed_tokens);
        Some(ProviderDiagnosis { difference, missed_tokens, agreement, words })
    }

    fn agreement(&self, theirs: DiagnosedDifference) -> DiagnosisAgreement {
        use DiagnosedDifference::{
            Messages, Model, None as Nothing, NotFound, Other, Pending, System, Tools, Unavailable,
        };
        let section = |name: &str| {
            let sections = self.second.row.sections.iter().chain(&self.first.row.sections);
            let role = sections.into_iter().find(|section| section.name == name).map(|section| section.role.as_str());
            if role == Some("system") { System } else { Messages }
        };
        let ours = match &self.compared.first_change {
            None => Nothing,
            Some(RequestDifference::Model | RequestDifference::Endpoint) => Model,
            Some(RequestDifference::Tools) => Tools,
            Some(
                RequestDifference::Section { name, .. }
                | RequestDifference::Moved { name, .. }
                | RequestDifference::Added { name, .. }
                | RequestDifference::Removed { name, .. },
            ) => section(name),
        };
        match theirs {
            NotFound | Unavailable | Pending | Other => DiagnosisAgreement::Undecided,
            theirs if theirs == ours => DiagnosisAgreement::Agrees,
            _ => DiagnosisAgreement::Disagrees,
        }
    }
}

impl RunCall<'_> {
    /// Whether its answer has that id at the provider.
    pub(super) fn answered_as(&self, id: &str) -> bool {
        let diagnosis = self.usage().and_then(|usage| usage.diagnosis.as_ref());
        diagnosis.is_some_and(|diagnosis| diagnosis.answer.as_deref() == Some(id))
    }
}

/// The id of the answer whose request a call's was to be compared with.
pub(super) fn asked_about(call: &CallRow) -> Option<&str> {
    call.pieces.pointer("/diagnostics/previous_message_id")?.as_str()
}

const fn diagnosed_difference(found: DiagnosedDifference) -> &'static str {
    match found {
        DiagnosedDifference::None => "nothing changed before the end of the earlier request",
        DiagnosedDifference::Model => "another model was asked",
        DiagnosedDifference::System => "the system text changed",
        DiagnosedDifference::Tools => "the tools changed",
        DiagnosedDifference::Messages => "the messages changed",
        DiagnosedDifference::NotFound => "it does not know the earlier request any more",
        DiagnosedDifference::Unavailable => "it can't say",
        DiagnosedDifference::Pending => "it had not found out when it answered",
        DiagnosedDifference::Other => "it gave a reason that is not known here",
    }
}

fn missed_tokens(tokens: Option<u64>) -> String {
    let shown = |tokens| group_thousands(usize::try_from(tokens).unwrap_or(usize::MAX));
    tokens.map_or_else(String::new, |tokens| format!(", about {} tokens missed", shown(tokens)))
}
