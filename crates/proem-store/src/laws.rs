//! The laws that any store must keep, one function each. Tests call them for every backend.
//!
//! A law panics where it does not hold. It is given a [`Backend`], which opens stores that share one
//! set of records as processes do.

mod actions;
mod course;
mod effects;
mod keeping;
mod ledger;
mod lines;
mod order;
mod queue;
mod samples;
mod states;
mod tools;
mod triage;
mod work;

pub use self::actions::LawActions;
pub use self::course::{ActionMove, actions_keep_their_course, broken_courses};
pub use self::effects::{
    a_decision_is_written_with_what_follows, a_person_stands_between_two_take_ups, a_quarantine_is_reviewed_once,
    a_refused_transition_leaves_no_trace, a_stale_epoch_is_refused, an_approval_is_used_once,
    an_escalation_is_decided_once, an_outcome_is_written_with_the_next_intent, eight_writers_propose_one_action,
    nothing_is_taken_up_while_effects_are_off, the_same_action_is_proposed_once,
};
pub use self::keeping::{
    a_hold_that_ran_out_is_no_precedent, a_purge_leaves_open_actions, credit_is_for_separate_days,
    every_line_of_effects_has_project_and_actor, the_time_of_effects_never_goes_back,
};
pub use self::ledger::{
    Move, a_call_is_booked_under_its_own_prompt, a_cap_of_an_agent_counts_its_own_spending,
    a_dead_epoch_settles_in_full, a_live_epoch_is_left_alone, a_refusal_leaves_no_attempt,
    an_estimate_bounds_tokens_and_not_money, no_cap_is_exceeded, the_ledgers_time_never_goes_back,
    unknown_settles_in_full,
};
pub use self::lines::{
    a_purge_takes_what_belongs_to_its_runs, an_answer_keeps_what_was_shown_and_said, clearing_and_its_undo,
    each_prompt_has_its_own_results, events_are_only_added, every_line_has_project_and_actor, pages_of_runs_miss_none,
    traces_are_whole_and_a_backlog_is_counted,
};
pub use self::order::{
    a_correction_counts, a_finished_run_has_no_state, a_fork_leaves_its_parent, a_run_is_taken_over_by_one,
    intent_before_effect, settlement_is_idempotent, writes_share_transactions_not_fates,
};
pub use self::queue::{a_beginning_names_the_keys_that_begin_so, a_line_of_the_queue_says_what_its_action_says};
pub use self::samples::{Backend, LawSamples};
pub use self::states::{a_started_run_costs_its_caller, a_started_run_names_its_caller, parts_of_states_are_kept_once};
pub use self::tools::{
    a_refusal_takes_no_tool_call_back, a_refused_tool_call_is_kept_and_never_made, a_tool_call_is_not_made_again,
    a_tool_call_is_written_before_it_is_made, a_tool_call_keeps_its_outcome,
};
pub use self::triage::{
    LawSignals, a_cycle_ends_whole_or_not_at_all, a_cycle_may_write_a_chain_of_versions, a_judgement_opens_its_signal,
    a_purge_of_triage_leaves_what_is_open, a_signal_is_taken_in_once, a_source_goes_on_where_it_was_left,
    every_line_of_triage_has_project_and_actor, signals_that_come_together_are_as_if_each_came_alone,
};
pub use self::work::{
    a_lease_that_ran_out_ends_nothing, a_third_attempt_is_the_last, signals_and_holds_want_work, work_is_had_by_one,
    work_of_a_process_that_is_gone_is_nobodys,
};
