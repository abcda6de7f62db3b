//! Why a call is not made, in words a user can act on.

use super::{CapPeriod, CapScope, CapShortfall, CapUnit, Headroom, Refusal};
use crate::call::NanoDollars;

impl Refusal {
    /// The reason and the remedy in our words, without a full stop.
    #[must_use]
    pub fn in_words(&self) -> String {
        match self {
            Self::Short(short) => short.in_words(),
            Self::NoPrice => String::from(
                "the price of this model is unknown, and no budget limits tokens; set one, such as \
                 `budget.user.day_tokens`, or the model's prices",
            ),
            Self::NoBound => String::from(
                "the maximum length of the answer is unknown, so no budget can limit it; set `output` under `budget` \
                 in the prompt file",
            ),
        }
    }
}

impl CapShortfall {
    /// The reason and the remedy in our words, without a full stop.
    #[must_use]
    pub fn in_words(&self) -> String {
        let amount = |amount| amount_in(self.cap.unit, amount);
        let (wanted, settled, most) = (amount(self.wanted), amount(self.spent.settled), amount(self.cap.most));
        let reserved = match self.spent.open {
            0 => String::new(),
            open => format!(" and {} reserved by calls in progress", amount(open)),
        };
        let (period, whose, key) = (self.period(), self.whose(), self.key());
        let takes = match self.cap.unit {
            CapUnit::NanoDollars => "cost",
            CapUnit::Tokens => "take",
        };
        let remedy = match (self.room(), self.cap.period) {
            (Headroom::Later | Headroom::Enough, _) => format!("wait until those calls end, or raise {key}"),
            (Headroom::None, _) if self.wanted > self.cap.most => {
                format!("raise {key}, or keep fewer tokens free for the answer")
            }
            (Headroom::None, CapPeriod::Run) => format!("raise {key}, or start another run"),
            (Headroom::None, CapPeriod::Day) => format!("raise {key}, or wait until tomorrow"),
            (Headroom::None, CapPeriod::Month) => format!("raise {key}, or wait until next month"),
        };
        format!(
            "a call that may {takes} up to {wanted} exceeds the budget: {settled} of {most} {period} {whose} are \
             spent{reserved}; {remedy}"
        )
    }

    const fn period(&self) -> &'static str {
        match self.cap.period {
            CapPeriod::Run => "a run",
            CapPeriod::Day => "a day",
            CapPeriod::Month => "a month",
        }
    }

    const fn whose(&self) -> &'static str {
        match self.cap.scope {
            CapScope::User => "for all projects",
            CapScope::Project => "for this project",
            CapScope::Agent => "for this agent in this project",
        }
    }

    /// The origin of the cap: a key of the configuration, or the option for one run.
    fn key(&self) -> String {
        let period = match self.cap.period {
            CapPeriod::Run => "run",
            CapPeriod::Day => "day",
            CapPeriod::Month => "month",
        };
        let unit = match self.cap.unit {
            CapUnit::NanoDollars => "",
            CapUnit::Tokens => "_tokens",
        };
        let option = match (self.cap.scope, self.cap.period, self.cap.unit) {
            (CapScope::Project, CapPeriod::Run, CapUnit::NanoDollars) => "the cap on this run's cost or ",
            _ => "",
        };
        match self.cap.scope {
            CapScope::User => format!("`budget.user.{period}{unit}`"),
            CapScope::Project => format!("{option}`budget.project.{period}{unit}`"),
            CapScope::Agent => format!("`{period}{unit}` of the agent under `budget.agent`"),
        }
    }
}

/// An amount with its unit: dollars with two places or as many as it takes.
fn amount_in(unit: CapUnit, amount: u64) -> String {
    match unit {
        CapUnit::Tokens => format!("{amount} {}", if amount == 1 { "token" } else { "tokens" }),
        CapUnit::NanoDollars => {
            let full = NanoDollars(amount).to_string();
            let (dollars, places) = full.split_once('.').unwrap_or((&full, ""));
            format!("{dollars}.{:0<2}", places.trim_end_matches('0'))
        }
    }
}
