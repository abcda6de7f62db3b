//! In which modes an entry may be used.

use crate::mode::Mode;

/// A set of modes.
///
/// A set of its own because "no mode named" means any mode in a file, and an intersection that
/// leaves none must not mean that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Modes([bool; 3]);

impl Modes {
    /// Every mode.
    pub const ANY: Self = Self([true; 3]);
    /// No mode: the entry can't be used.
    pub const NONE: Self = Self([false; 3]);

    /// These modes. None named is any.
    #[must_use]
    pub fn of(modes: &[Mode]) -> Self {
        if modes.is_empty() { Self::ANY } else { Self(Mode::ALL.map(|mode| modes.contains(&mode))) }
    }

    /// Whether the entry may be used in `mode`.
    #[must_use]
    pub fn allow(self, mode: Mode) -> bool {
        self.iter().any(|allowed| allowed == mode)
    }

    /// The modes that both allow.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        let ([a, b, c], [d, e, f]) = (self.0, other.0);
        Self([a && d, b && e, c && f])
    }

    /// The modes, in the order of [`Mode::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Mode> {
        Mode::ALL.into_iter().zip(self.0).filter_map(|(mode, allowed)| allowed.then_some(mode))
    }

    /// The modes in words: `any`, `none`, or their names.
    #[must_use]
    pub fn in_words(self) -> String {
        match self {
            Self::ANY => "any".into(),
            Self::NONE => "none".into(),
            _ => self.iter().map(Mode::as_str).collect::<Vec<_>>().join(", "),
        }
    }

    /// The mode of that name.
    pub(super) fn named(name: &str) -> Option<Mode> {
        Mode::parse(name)
    }
}

impl Default for Modes {
    fn default() -> Self {
        Self::ANY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_named_is_any_and_nothing_left_is_none() {
        assert_eq!(Modes::of(&[]), Modes::ANY);
        let (act, plan) = (Modes::of(&[Mode::Act]), Modes::of(&[Mode::Plan, Mode::Review]));
        assert_eq!(act.and(plan), Modes::NONE);
        assert_eq!(act.and(Modes::ANY), act);
        assert!(act.allow(Mode::Act) && !act.allow(Mode::Plan) && !Modes::NONE.allow(Mode::Act));
        assert_eq!((plan.in_words().as_str(), Modes::ANY.in_words().as_str()), ("plan, review", "any"));
    }
}
