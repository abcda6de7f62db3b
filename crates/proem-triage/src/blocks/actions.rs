//! Earlier actions: the last 24 hours, and similar situations.

use proem_engine::{input::Inputs, policy::ActionConfidence, run::Time};
use proem_guard::LabelTree;

use super::{StageContext, utc_day};
use crate::date::utc_timestamp;

/// A day in milliseconds.
const DAY: i64 = 86_400_000;
/// The most situations that are told.
pub const MOST_SITUATIONS: usize = 3;

/// An action of the last 24 hours.
#[derive(Debug, Clone, PartialEq)]
pub struct RecentAction {
    /// When it was proposed.
    pub at: Time,
    /// Its name, such as `jira_comment`.
    pub action: String,
    /// Its description, with the labels of the authors.
    pub description: LabelTree,
    /// Waiting, done or refused.
    pub state: RecentActionState,
    /// How sure code was of it. `None` where that was not kept.
    pub confidence: Option<ActionConfidence>,
}

/// The place of an action, in the words that prompts use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecentActionState {
    /// It was done.
    Executed,
    /// It is held, or waits for approval.
    Pending,
    /// A person is asked instead.
    Escalated,
    /// It was not done, and won't be: the word for why, such as `cancelled`.
    Ended(&'static str),
    /// Whether it was done is not known.
    Unknown,
}

impl RecentActionState {
    /// The words behind `Executed:`.
    fn told(self) -> String {
        match self {
            Self::Executed => "Yes".to_owned(),
            Self::Pending => "No (pending)".to_owned(),
            Self::Escalated => "No (escalated)".to_owned(),
            Self::Ended(why) => format!("No ({why})"),
            Self::Unknown => "unknown".to_owned(),
        }
    }
}

/// Something like this that happened before.
#[derive(Debug, Clone, PartialEq)]
pub struct SimilarSituation {
    /// When it happened.
    pub at: Time,
    /// The words of the earlier signal.
    pub situation: LabelTree,
    /// The action that followed.
    pub action: LabelTree,
    /// The consequence of that action.
    pub outcome: LabelTree,
}

/// The actions of the last 24 hours with their sums. Their exact times are apart, since only days may be above the
/// signals.
pub(super) fn add_recent_actions(context: &StageContext<'_>, inputs: &mut Inputs) {
    let all = context.actions;
    let numbered = || (1_u64..).zip(all);
    let of = |wanted: RecentActionState| {
        let count = all.iter().filter(|action| action.state == wanted).count();
        LabelTree::from(u64::try_from(count).unwrap_or(u64::MAX))
    };
    let sums = [
        ("total", LabelTree::from(u64::try_from(all.len()).unwrap_or(u64::MAX))),
        ("executed", of(RecentActionState::Executed)),
        ("pending", of(RecentActionState::Pending)),
        ("escalated", of(RecentActionState::Escalated)),
    ];
    let told = numbered().map(|(number, action)| {
        LabelTree::from([
            ("number", number.into()),
            ("day", relative_day(action.at, context.now).into()),
            ("action_type", action.action.as_str().into()),
            ("description", action.description.clone()),
            ("executed", action.state.told().into()),
            ("confidence", action.confidence.as_ref().map_or(LabelTree::Null, |sure| confidence_line(sure).into())),
        ])
    });
    inputs.insert("actions".to_owned(), LabelTree::list(told));
    inputs.insert("sums".to_owned(), LabelTree::from(sums));
    let times = numbered()
        .map(|(number, action)| LabelTree::from([("number", number.into()), ("at", utc_timestamp(action.at).into())]));
    inputs.insert("clock".to_owned(), LabelTree::list(times));
}

pub(super) fn situations(context: &StageContext<'_>) -> LabelTree {
    LabelTree::list(context.situations.iter().take(MOST_SITUATIONS).map(|past| {
        LabelTree::from([
            ("day", utc_day(past.at).into()),
            ("situation", past.situation.clone()),
            ("action", past.action.clone()),
            ("outcome", past.outcome.clone()),
        ])
    }))
}

/// The day of a time, as seen from another.
fn relative_day(time: Time, now: Time) -> String {
    let days = |time: Time| time.0.div_euclid(DAY);
    match days(now).saturating_sub(days(time)) {
        0 => "today".to_owned(),
        1 => "yesterday".to_owned(),
        _ => utc_day(time),
    }
}

fn confidence_line(sure: &ActionConfidence) -> String {
    let of = |thousandths: u32| format!("{}.{:02}", thousandths / 1_000, thousandths % 1_000 / 10);
    format!(
        "Source agreement={}, Boundary={}, Schema={}, Precedent={}",
        of(sure.sources),
        of(sure.boundary),
        of(sure.schema),
        of(sure.precedent)
    )
}
