//! The proof that the policy of this moment allows an action.

use crate::effect::{ActionHash, PolicyHash, key::EffectKey};

/// Proof that an action may be performed, once, with this content and under this policy.
///
/// [`decide()`](super::decide()) makes one, and [`decide_call()`](super::decide_call()) for a tool, right before the action is performed, and what performs it takes it by
/// value: it is neither cloned nor written down, so that one decision is good for one performance.
///
/// Each of these doesn't compile, while the last does:
///
/// ```compile_fail,E0451
/// # use proem_engine::{effect::{ActionHash, PolicyHash, key::EffectKey}, policy::Permit};
/// let key = EffectKey::of_bytes([0; 32]);
/// let permit = Permit { key, content: ActionHash([0; 32]), policy: PolicyHash([0; 32]) };
/// ```
/// ```compile_fail,E0599
/// # use proem_engine::policy::Permit;
/// let twice = |permit: Permit| (permit.clone(), permit);
/// ```
/// ```compile_fail,E0382
/// # use proem_engine::policy::Permit;
/// let perform = |permit: Permit| drop(permit);
/// let twice = |permit: Permit| { perform(permit); perform(permit) };
/// ```
/// ```compile_fail,E0277
/// # use proem_engine::policy::Permit;
/// let written = |permit: Permit| serde_json::to_string(&permit);
/// ```
/// ```compile_fail,E0599
/// # use proem_engine::policy::Permit;
/// let permit = Permit::default();
/// ```
/// ```
/// # use proem_engine::policy::Permit;
/// let perform = |permit: Permit| *permit.key();
/// ```
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct Permit {
    key: EffectKey,
    content: ActionHash,
    policy: PolicyHash,
}

impl Permit {
    pub(super) const fn new(key: EffectKey, content: ActionHash, policy: PolicyHash) -> Self {
        Self { key, content, policy }
    }

    /// The action that it is for.
    #[must_use]
    pub const fn key(&self) -> &EffectKey {
        &self.key
    }

    /// The hash of that action's content.
    #[must_use]
    pub const fn content(&self) -> ActionHash {
        self.content
    }

    /// The policy that it was decided by.
    #[must_use]
    pub const fn policy(&self) -> PolicyHash {
        self.policy
    }
}
