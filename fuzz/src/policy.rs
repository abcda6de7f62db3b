//! A policy's file is read, or refused with what is wrong; as a project's file it never permits more than the user's.

use proem_engine::ErrorKind;
use proem_engine::policy::Policy;

/// Holds one input to the laws.
pub fn feed(text: &str) {
    match Policy::parse(text, "policy.toml") {
        Ok(policy) => {
            let again = Policy::parse(text, "policy.toml").expect("it was read once");
            assert_eq!(policy.hash(), again.hash(), "the same file is the same policy");
            let shipped = Policy::shipped().expect("it ships");
            let narrowed = shipped.narrowed_by(&policy);
            assert!(narrowed.level() <= shipped.level(), "a project raises no level");
            for (name, terms) in narrowed.actions() {
                let before = shipped.action(name).expect("a project adds no action");
                assert!(terms.list >= before.list, "{name}: {:?} was {:?}", terms.list, before.list);
            }
            assert_eq!(narrowed.recipients().count(), 0, "a project adds no recipient");
            assert_eq!(narrowed.domains().count(), 0, "a project adds no domain");
            assert!(shipped.never().all(|never| narrowed.never().any(|name| name == never)));
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::InvalidFile);
            assert!(!error.problems().is_empty());
        }
    }
}
