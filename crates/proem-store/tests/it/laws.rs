//! The store keeps every law on SQLite, and on PostgreSQL where a server can be started.

use proem_store::laws::{self, ActionMove, Move};
use proptest::prelude::*;

use crate::backend::{Sqlite, older_store};
use crate::postgres::Postgres;

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

        mod on_a_server {
            $(#[tokio::test]
            async fn $law() {
                let folder = tempfile::tempdir().unwrap();
                let Some(postgres) = super::Postgres::new(folder.path()) else { return };
                super::laws::$law(&postgres).await;
            })*
        }

        /// The first that opens the store brings it from form 1 to the newest.
        mod upgraded {
            $(#[tokio::test]
            async fn $law() {
                let folder = tempfile::tempdir().unwrap();
                let sqlite = super::Sqlite::new(folder.path());
                super::older_store(&sqlite, None);
                super::laws::$law(&sqlite).await;
            })*
        }
    };
}

keep! {
    a_beginning_names_the_keys_that_begin_so,
    a_call_is_booked_under_its_own_prompt,
    a_cap_of_an_agent_counts_its_own_spending,
    a_correction_counts,
    a_cycle_ends_whole_or_not_at_all,
    a_cycle_may_write_a_chain_of_versions,
    a_dead_epoch_settles_in_full,
    a_finished_run_has_no_state,
    a_started_run_costs_its_caller,
    a_started_run_names_its_caller,
    pages_of_runs_miss_none,
    traces_are_whole_and_a_backlog_is_counted,
    parts_of_states_are_kept_once,
    a_hold_that_ran_out_is_no_precedent,
    a_judgement_opens_its_signal,
    a_fork_leaves_its_parent,
    a_line_of_the_queue_says_what_its_action_says,
    a_live_epoch_is_left_alone,
    a_person_stands_between_two_take_ups,
    an_outcome_is_written_with_the_next_intent,
    a_purge_leaves_open_actions,
    a_purge_of_triage_leaves_what_is_open,
    a_purge_takes_what_belongs_to_its_runs,
    a_quarantine_is_reviewed_once,
    a_refusal_leaves_no_attempt,
    a_refusal_takes_no_tool_call_back,
    a_refused_tool_call_is_kept_and_never_made,
    an_estimate_bounds_tokens_and_not_money,
    a_refused_transition_leaves_no_trace,
    a_run_is_taken_over_by_one,
    a_source_goes_on_where_it_was_left,
    a_signal_is_taken_in_once,
    signals_that_come_together_are_as_if_each_came_alone,
    a_tool_call_is_not_made_again,
    a_tool_call_is_written_before_it_is_made,
    a_tool_call_keeps_its_outcome,
    a_stale_epoch_is_refused,
    an_approval_is_used_once,
    a_decision_is_written_with_what_follows,
    an_answer_keeps_what_was_shown_and_said,
    an_escalation_is_decided_once,
    clearing_and_its_undo,
    credit_is_for_separate_days,
    each_prompt_has_its_own_results,
    eight_writers_propose_one_action,
    events_are_only_added,
    every_line_has_project_and_actor,
    every_line_of_effects_has_project_and_actor,
    every_line_of_triage_has_project_and_actor,
    intent_before_effect,
    nothing_is_taken_up_while_effects_are_off,
    settlement_is_idempotent,
    the_ledgers_time_never_goes_back,
    the_same_action_is_proposed_once,
    the_time_of_effects_never_goes_back,
    unknown_settles_in_full,
    writes_share_transactions_not_fates,
    a_lease_that_ran_out_ends_nothing,
    a_third_attempt_is_the_last,
    signals_and_holds_want_work,
    work_is_had_by_one,
    work_of_a_process_that_is_gone_is_nobodys,
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

fn happening() -> impl Strategy<Value = ActionMove> {
    let which = 0..2_u8;
    prop_oneof![
        5 => which.clone().prop_map(ActionMove::Propose),
        // Of every ten tries nine are decided on the version of the moment.
        40 => (which.clone(), 0..18_usize, prop_oneof![9 => Just(0_u64), 1 => 1..3_u64])
            .prop_map(|(which, event, ago)| ActionMove::Happen(which, event, ago)),
        200 => (which, 0..64_usize).prop_map(|(which, draw)| ActionMove::Onward(which, draw)),
        12 => Just(ActionMove::TakeOver),
        8 => (-200_000..3_000_000_i64).prop_map(ActionMove::Clock),
        1 => Just(ActionMove::Clock(40 * 24 * 60 * 60 * 1_000)),
        4 => (0..2_usize).prop_map(ActionMove::Kill),
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
    #[test]
    fn actions_keep_their_course(moves in prop::collection::vec(happening(), 20..120)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        runtime.block_on(laws::actions_keep_their_course(&Sqlite::new(folder.path()), &moves));
    }
}

proptest! {
    // Each move is several round trips, and each look at the records a process of its own.
    #![proptest_config(ProptestConfig { cases: 2, max_shrink_iters: 20, ..ProptestConfig::default() })]

    #[test]
    fn no_cap_is_exceeded_on_a_server(most in 50..300_u64, moves in prop::collection::vec(step(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        if let Some(postgres) = Postgres::new(folder.path()) {
            runtime.block_on(laws::no_cap_is_exceeded(&postgres, most, &moves));
        }
    }
    #[test]
    fn actions_keep_their_course_on_a_server(moves in prop::collection::vec(happening(), 20..120)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        if let Some(postgres) = Postgres::new(folder.path()) {
            runtime.block_on(laws::actions_keep_their_course(&postgres, &moves));
        }
    }
}
