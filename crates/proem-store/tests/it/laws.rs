//! The store on SQLite keeps every law.

use proem_store::laws::{self, Move};
use proptest::prelude::*;

use crate::backend::{Sqlite, older};

/// One test for each law, on a file of its own.
macro_rules! keep {
    ($($law:ident),* $(,)?) => {
        mod fresh {
            $(#[tokio::test]
            async fn $law() {
                let folder = tempfile::tempdir().unwrap();
                super::laws::$law(&super::Sqlite::new(folder.path())).await;
            })*
        }

        /// The first that opens the store brings it from form 1 to the newest.
        mod upgraded {
            $(#[tokio::test]
            async fn $law() {
                let folder = tempfile::tempdir().unwrap();
                let sqlite = super::Sqlite::new(folder.path());
                super::older(&sqlite, None);
                super::laws::$law(&sqlite).await;
            })*
        }
    };
}

keep! {
    a_call_is_booked_under_its_own_prompt,
    a_correction_counts,
    a_dead_epoch_settles_in_full,
    a_finished_run_has_no_state,
    a_fork_leaves_its_parent,
    a_live_epoch_is_left_alone,
    a_purge_takes_what_belongs_to_its_runs,
    a_refusal_leaves_no_attempt,
    a_run_is_taken_over_by_one,
    clearing_and_its_undo,
    each_prompt_has_its_own_results,
    events_are_only_added,
    every_line_has_project_and_actor,
    intent_before_effect,
    settlement_is_idempotent,
    the_ledgers_time_never_goes_back,
    unknown_settles_in_full,
    writes_share_transactions_not_fates,
}

fn step() -> impl Strategy<Value = Move> {
    let (store, attempt) = (0..3_usize, 0..64_usize);
    prop_oneof![
        6 => (store.clone(), 0..60_u64).prop_map(|(store, bound)| Move::Book(store, bound)),
        4 => (attempt.clone(), 0..=100_u64).prop_map(|(attempt, percent)| Move::Settle(attempt, percent)),
        1 => attempt.clone().prop_map(Move::Unknown),
        1 => attempt.prop_map(Move::Unsent),
        1 => store.clone().prop_map(Move::Kill),
        1 => store.clone().prop_map(Move::Close),
        1 => store.prop_map(Move::Bury),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn no_cap_is_exceeded(most in 50..300_u64, moves in prop::collection::vec(step(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        runtime.block_on(laws::no_cap_is_exceeded(&Sqlite::new(folder.path()), most, &moves));
    }
}
