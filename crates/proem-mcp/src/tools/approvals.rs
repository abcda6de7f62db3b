//! Agents' actions that wait for a person: listed, and waited for.
//!
//! Invariant: nothing here decides. The actions are opened to read, an answer only tells what a person did elsewhere, and
//! Proem itself performs what was approved, so that an answer permits nothing.

use std::time::Duration;

use proem_app::effects::ActionDesk;
use proem_app::effects::output::QueueLineOutput;
use proem_app::effects::queue::QueuedAction;
use proem_app::{Error, records};
use proem_engine::effect::ActionState;
use proem_store::StoreAccess;
use proem_store::query::LineDepth;
use proem_text::hex::encode_hex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep_until};

use crate::call::{ToolCall, ToolPace};
use crate::page::Page;
use crate::tool::McpTool;

/// The most actions that are listed.
const MOST_ACTIONS: u64 = 200;

/// The longest wait, in seconds: clients in common use give up after sixty.
const LONGEST_WAIT: u64 = 45;

/// How often the records are looked at.
const LOOK: Duration = Duration::from_millis(500);

/// Lists actions.
pub(super) struct ApprovalsList;

/// The page.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ApprovalsListArguments {
    /// `nextCursor` of the page before
    #[serde(default)]
    #[schemars(with = "String", length(max = 40))]
    cursor: Option<String>,
}

/// Actions that are not over.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ApprovalsListAnswer {
    actions: Vec<ListedAction>,
}

/// One line of the queue, without its texts.
#[derive(Debug, Serialize, JsonSchema)]
struct ListedAction {
    #[serde(flatten)]
    line: QueueLineOutput,
    /// The hash of what it does, to its last byte. An approval is for this and nothing else.
    content: String,
}

impl McpTool for ApprovalsList {
    const NAME: &'static str = "approvals_list";
    const TITLE: &'static str = "List actions that wait for a person";
    const DESCRIPTION: &'static str = "List agents' actions in this project that are not over: proposed, held, waiting \
        for a person's yes, or of unknown outcome. People decide with `proem queue` at a terminal; no tool approves.";
    const OUTSIDE: &'static [&'static str] = &["/actions/*/target"];
    const LISTS: &'static [&'static str] = &["/actions"];
    type Arguments = ApprovalsListArguments;
    type Answer = Page<ApprovalsListAnswer>;

    fn cursor(arguments: &ApprovalsListArguments) -> Option<&str> {
        arguments.cursor.as_deref()
    }

    fn answer(call: &ToolCall, _: ApprovalsListArguments) -> Result<(String, Self::Answer), Error> {
        let project = call.project()?;
        let actions = records::blocking(async {
            let desk = ActionDesk::open(&project, StoreAccess::Read).await?.value;
            let actions = listed_actions(&desk).await;
            desk.close().await;
            actions
        })?;
        let waiting = actions.iter().filter(|(state, _)| *state == ActionState::Waiting).count();
        let summary = format!("{} actions are not over; {waiting} wait for a person's yes.", actions.len());
        let actions = actions.into_iter().map(|(_, action)| action).collect();
        Ok((summary, Page::whole(ApprovalsListAnswer { actions })))
    }
}

async fn listed_actions(desk: &ActionDesk<'_>) -> Result<Vec<(ActionState, ListedAction)>, Error> {
    let lines = desk.queue(&[], Some(MOST_ACTIONS), LineDepth::Decision).await?;
    let mut actions = Vec::with_capacity(lines.len());
    for line in &lines {
        let content = encode_hex(desk.item(&line.key).await?.detail.row.content.0);
        actions.push((line.state, ListedAction { line: QueueLineOutput::new(desk, line), content }));
    }
    Ok(actions)
}

/// Waits for a person's decision.
pub(super) struct ApprovalWait;

/// The action.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ApprovalWaitArguments {
    /// The action's id, as `approvals_list` has it
    #[schemars(length(min = 4, max = 64))]
    id: String,
    /// The action's `content`, as `approvals_list` has it
    #[schemars(length(min = 64, max = 64))]
    content: String,
    /// How long to wait before the answer is `pending`
    #[serde(default = "longest_wait")]
    #[schemars(range(min = 0, max = 45))]
    seconds: u64,
}

const fn longest_wait() -> u64 {
    LONGEST_WAIT
}

/// The state of an action, and the decision about it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ApprovalWaitAnswer {
    /// The action's id.
    id: String,
    /// The hash of what it does now.
    content: String,
    /// `pending`, `approved`, `refused`, `done`, `failed`, `unknown` or `changed`.
    decision: &'static str,
    /// The action's state, as `approvals_list` has it.
    state: &'static str,
}

impl McpTool for ApprovalWait {
    const NAME: &'static str = "approval_wait";
    const TITLE: &'static str = "Wait for a person's decision";
    const DESCRIPTION: &'static str = "Wait until a person decided about an action, at most 45 seconds. The answer \
        `pending` means: call again. `approved` and `done` are for exactly this content, which Proem itself performs; do \
        not perform it yourself. `changed` means that somebody edited the action.";
    const OUTSIDE: &'static [&'static str] = &[];
    const PACE: ToolPace = ToolPace::Waits;
    type Arguments = ApprovalWaitArguments;
    type Answer = ApprovalWaitAnswer;

    fn answer(call: &ToolCall, arguments: ApprovalWaitArguments) -> Result<(String, ApprovalWaitAnswer), Error> {
        let wait = Duration::from_secs(arguments.seconds.min(LONGEST_WAIT));
        let project = call.project()?;
        let answer = records::blocking(async {
            let until = Instant::now() + wait;
            let desk = ActionDesk::open(&project, StoreAccess::Read).await?.value;
            let answer = decided_action(&desk, call, &arguments, until).await;
            desk.close().await;
            answer
        })?;
        Ok((format!("The action is {} ({}).", answer.decision, answer.state), answer))
    }
}

/// Looks at an action until it is decided about, the time is over or the client goes.
async fn decided_action(
    desk: &ActionDesk<'_>,
    call: &ToolCall,
    arguments: &ApprovalWaitArguments,
    until: Instant,
) -> Result<ApprovalWaitAnswer, Error> {
    let key = desk.find(&arguments.id).await?;
    let id = key.to_string();
    let Some(_claim) = call.claims.claim(&id) else {
        return Err(Error::negative("another call waits for this action already; wait for its answer"));
    };
    loop {
        let item = desk.item(&key).await?;
        let (content, decision) = action_decision(&item, &arguments.content);
        let is_over = decision != PENDING || Instant::now() >= until || call.stop.is_cancelled();
        if is_over {
            return Ok(ApprovalWaitAnswer { id, content, decision, state: item.detail.row.state.as_str() });
        }
        tokio::select! {
            () = sleep_until(until.min(Instant::now() + LOOK)) => {}
            () = call.stop.cancelled() => {}
        }
    }
}

/// The answer while nobody has decided.
const PENDING: &str = "pending";

/// The state of an action now, and the decision about the content that the client knows.
fn action_decision(item: &QueuedAction, known: &str) -> (String, &'static str) {
    let content = encode_hex(item.detail.row.content.0);
    let decision = if content.eq_ignore_ascii_case(known) { state_decision(item.detail.row.state) } else { "changed" };
    (content, decision)
}

const fn state_decision(state: ActionState) -> &'static str {
    match state {
        ActionState::Proposed | ActionState::Held | ActionState::Waiting => PENDING,
        ActionState::Approved | ActionState::Executing | ActionState::Resend | ActionState::Resending => "approved",
        ActionState::Executed => "done",
        ActionState::Failed => "failed",
        ActionState::Cancelled | ActionState::Expired | ActionState::Refused => "refused",
        // One that may have happened is never told as done.
        _ => "unknown",
    }
}
