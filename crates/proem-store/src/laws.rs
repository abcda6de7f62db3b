//! What any store must keep, one function for each law; tests call them for every backend.
//!
//! A law panics where it does not hold. It is given a [`Backend`], which opens stores that share one
//! set of records as processes do.

mod given;
mod ledger;
mod lines;
mod order;

pub use self::given::{Backend, LawSamples};
pub use self::ledger::{
    Move, a_call_is_booked_under_its_own_prompt, a_dead_epoch_settles_in_full, a_live_epoch_is_left_alone,
    a_refusal_leaves_no_attempt, no_cap_is_exceeded, the_ledgers_time_never_goes_back, unknown_settles_in_full,
};
pub use self::lines::{
    a_purge_takes_what_belongs_to_its_runs, clearing_and_its_undo, each_prompt_has_its_own_results,
    events_are_only_added, every_line_has_project_and_actor,
};
pub use self::order::{
    a_correction_counts, a_finished_run_has_no_state, a_fork_leaves_its_parent, a_run_is_taken_over_by_one,
    intent_before_effect, settlement_is_idempotent, writes_share_transactions_not_fates,
};
