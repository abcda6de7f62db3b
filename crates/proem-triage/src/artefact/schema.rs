//! The schemas by which a model or a program proposes a change to an artefact.
//!
//! Names, words and required fields are those of the tools `update_delivery_state`, `update_raid_log`,
//! `update_backlog_summary` and `update_decision_log`; beyond them a blocker may be critical and names its item of the
//! RAID log, ids may be given where there are some, and a project may have no sprint. Every text and list has an end.

use proem_engine::{Error, contract::Contract};
use schemars::JsonSchema;

use super::kind::ArtefactKind;

/// The schema of a proposed change to an artefact.
///
/// # Errors
///
/// None with the types of this file; those of [`Contract::of`] otherwise.
pub fn proposal_contract(kind: ArtefactKind) -> Result<Contract, Error> {
    match kind {
        ArtefactKind::DeliveryState => Contract::of::<DeliveryStateUpdate>("update_delivery_state"),
        ArtefactKind::RaidLog => Contract::of::<RaidLogUpdate>("update_raid_log"),
        ArtefactKind::BacklogSummary => Contract::of::<BacklogSummaryUpdate>("update_backlog_summary"),
        ArtefactKind::DecisionLog => Contract::of::<DecisionLogUpdate>("update_decision_log"),
    }
}

/// Declares types of which only the schema is looked at.
macro_rules! shapes {
    ($($(#[$meta:meta])* struct $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* })*) => { $(
        $(#[$meta])*
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "only the schema of the type is looked at")]
        struct $name { $($(#[$field_meta])* $field: $type,)* }
    )* };
}

/// Declares closed lists of words of which only the schema is looked at.
macro_rules! words {
    ($($(#[$meta:meta])* enum $name:ident { $($word:ident,)* })*) => { $(
        $(#[$meta])*
        #[derive(JsonSchema)]
        #[schemars(rename_all = "snake_case")]
        #[expect(dead_code, reason = "only the schema of the type is looked at")]
        enum $name { $($word,)* }
    )* };
}

words! {
    /// Green is on track, amber has minor issues, red is at significant risk.
    enum ColourWord { Green, Amber, Red, }
    enum MilestoneWord { OnTrack, AtRisk, Delayed, Completed, }
    /// Critical threatens the project, high a milestone, medium the scope; low is a minor inconvenience.
    enum SeverityWord { Critical, High, Medium, Low, }
    enum TrendWord { Increasing, Stable, Decreasing, Unknown, }
    enum RaidWord { Risk, Assumption, Issue, Dependency, }
    /// An item goes from open to mitigating, and from there to one of the others.
    enum RaidStatusWord { Open, Mitigating, Resolved, Accepted, Closed, }
    enum RaidSourceWord { AgentDetected, UserAdded, IntegrationSignal, }
    enum BacklogSourceWord { Jira, Asana, }
    enum HighlightWord { Blocked, Stale, MissingCriteria, ScopeCreep, New, }
    enum MakerWord { User, Agent, }
    enum DecisionStatusWord { Active, Superseded, Reversed, }
}

#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only the schema of the type is looked at")]
enum SprintOrNone {
    Sprint(SprintShape),
    None(()),
}

shapes! {
    /// Update the delivery state: health, sprint, milestones, blockers and next actions. What is open and left out is
    /// refused: nothing is deleted.
    struct DeliveryStateUpdate {
        /// The UUID of the project.
        #[schemars(length(max = 64))]
        project_id: String,
        /// What changed and why, for a person.
        #[schemars(length(max = 2000))]
        changes_summary: String,
        content: DeliveryContent,
        /// Ids of the signals that the update comes from.
        #[schemars(length(max = 50), inner(length(max = 256)))]
        signals_incorporated: Vec<String>,
    }

    /// The whole delivery state.
    struct DeliveryContent {
        overall_status: ColourWord,
        /// One paragraph; a change of `overall_status` is justified in it.
        #[schemars(length(max = 2000))]
        status_summary: String,
        /// Null for a project without sprints.
        current_sprint: SprintOrNone,
        #[schemars(length(max = 50))]
        milestones: Vec<MilestoneShape>,
        /// All that are open.
        #[schemars(length(max = 200))]
        blockers: Vec<BlockerShape>,
        key_metrics: MetricsShape,
        #[schemars(length(max = 50), inner(length(max = 2000)))]
        next_actions: Vec<String>,
    }

    struct SprintShape {
        #[schemars(length(max = 200))]
        name: String,
        #[schemars(extend("format" = "date-time"))]
        start_date: String,
        #[schemars(extend("format" = "date-time"))]
        end_date: String,
        #[schemars(length(max = 2000))]
        goal: String,
        progress: ProgressShape,
    }

    /// Computed by code: what is written here is not taken. Null is unknown.
    struct ProgressShape {
        #[schemars(extend("type" = ["number", "null"]))]
        total_points: f64,
        #[schemars(extend("type" = ["number", "null"]))]
        completed_points: f64,
        #[schemars(extend("type" = ["number", "null"]))]
        in_progress_points: f64,
        #[schemars(extend("type" = ["number", "null"]))]
        blocked_points: f64,
    }

    struct MilestoneShape {
        #[schemars(length(max = 16))]
        id: Option<String>,
        #[schemars(length(max = 200))]
        name: String,
        #[schemars(extend("format" = "date-time"))]
        due_date: String,
        status: MilestoneWord,
        /// What is done about it; needed unless it is on track or completed.
        #[schemars(length(max = 2000))]
        notes: Option<String>,
    }

    struct BlockerShape {
        /// As in `B001`, in sequence.
        #[schemars(length(max = 16))]
        id: String,
        #[schemars(length(max = 2000))]
        description: String,
        #[schemars(length(max = 200))]
        owner: Option<String>,
        #[schemars(extend("format" = "date-time"))]
        raised_date: String,
        severity: SeverityWord,
        #[schemars(length(max = 100))]
        source_ticket: Option<String>,
        /// The item of the RAID log behind it, as in `I001`.
        #[schemars(length(max = 16))]
        raid_item: String,
    }

    /// Computed by code: what is written here is not taken. Null is unknown.
    struct MetricsShape {
        velocity_trend: TrendWord,
        #[schemars(extend("type" = ["number", "null"]))]
        avg_cycle_time_days: f64,
        open_blockers: u32,
        active_risks: u32,
    }

    /// Add items to the RAID log (risks, assumptions, issues, dependencies) or modify some. Nothing is deleted.
    struct RaidLogUpdate {
        /// The UUID of the project.
        #[schemars(length(max = 64))]
        project_id: String,
        /// What changed and why, for a person.
        #[schemars(length(max = 2000))]
        changes_summary: String,
        #[schemars(length(max = 50))]
        items_added: Option<Vec<RaidItemShape>>,
        #[schemars(length(max = 50))]
        items_modified: Option<Vec<RaidModification>>,
        /// Ids of the signals that the update comes from.
        #[schemars(length(max = 50), inner(length(max = 256)))]
        signals_incorporated: Vec<String>,
    }

    struct RaidItemShape {
        /// In sequence: `R001`, `A001`, `I001`, `D001`.
        #[schemars(length(max = 16))]
        id: String,
        r#type: RaidWord,
        #[schemars(length(max = 200))]
        title: String,
        #[schemars(length(max = 2000))]
        description: String,
        severity: SeverityWord,
        status: RaidStatusWord,
        /// Who cares for it; without one a person is asked.
        #[schemars(length(max = 200))]
        owner: Option<String>,
        #[schemars(extend("format" = "date-time"))]
        raised_date: String,
        #[schemars(extend("format" = "date-time"))]
        due_date: Option<String>,
        /// The next step; every open item has one.
        #[schemars(length(max = 2000))]
        mitigation: Option<String>,
        source: RaidSourceWord,
        /// A ticket's key or a mail's subject.
        #[schemars(length(max = 200))]
        source_reference: Option<String>,
    }

    struct RaidModification {
        #[schemars(length(max = 16))]
        id: String,
        changes: RaidChanges,
        /// Why.
        #[schemars(length(max = 2000))]
        change_reason: String,
    }

    /// The fields that change, and no others.
    struct RaidChanges {
        #[schemars(length(max = 200))]
        title: Option<String>,
        #[schemars(length(max = 2000))]
        description: Option<String>,
        severity: Option<SeverityWord>,
        status: Option<RaidStatusWord>,
        #[schemars(length(max = 200))]
        owner: Option<String>,
        #[schemars(extend("format" = "date-time"))]
        due_date: Option<String>,
        #[schemars(length(max = 2000))]
        mitigation: Option<String>,
        #[schemars(length(max = 200))]
        source_reference: Option<String>,
    }

    /// Update the backlog summary: highlights, what needs refinement, notes on scope. What is open and left out is
    /// refused: nothing is deleted.
    struct BacklogSummaryUpdate {
        /// The UUID of the project.
        #[schemars(length(max = 64))]
        project_id: String,
        /// What changed and why, for a person.
        #[schemars(length(max = 2000))]
        changes_summary: String,
        content: BacklogContent,
        /// Ids of the signals that the update comes from.
        #[schemars(length(max = 50), inner(length(max = 256)))]
        signals_incorporated: Vec<String>,
    }

    /// The whole backlog summary.
    struct BacklogContent {
        source: BacklogSourceWord,
        #[schemars(extend("format" = "date-time"))]
        last_synced: String,
        summary: BacklogCounts,
        #[schemars(length(max = 200))]
        highlights: Vec<HighlightShape>,
        #[schemars(length(max = 200))]
        refinement_candidates: Vec<CandidateShape>,
        #[schemars(length(max = 2000))]
        scope_notes: Option<String>,
    }

    /// Computed by code: what is written here is not taken. Null is unknown.
    struct BacklogCounts {
        #[schemars(extend("type" = ["integer", "null"]))]
        total_items: u32,
        by_status: StatusCounts,
        by_priority: PriorityCounts,
    }

    struct StatusCounts {
        #[schemars(extend("type" = ["integer", "null"]))]
        to_do: u32,
        #[schemars(extend("type" = ["integer", "null"]))]
        in_progress: u32,
        #[schemars(extend("type" = ["integer", "null"]))]
        done_this_sprint: u32,
        #[schemars(extend("type" = ["integer", "null"]))]
        blocked: u32,
    }

    struct PriorityCounts {
        #[schemars(extend("type" = ["integer", "null"]))]
        critical: u32,
        #[schemars(extend("type" = ["integer", "null"]))]
        high: u32,
        #[schemars(extend("type" = ["integer", "null"]))]
        medium: u32,
        #[schemars(extend("type" = ["integer", "null"]))]
        low: u32,
    }

    struct HighlightShape {
        #[schemars(length(max = 16))]
        id: Option<String>,
        #[schemars(length(max = 100))]
        ticket_id: String,
        #[schemars(length(max = 200))]
        title: String,
        flag: HighlightWord,
        #[schemars(length(max = 2000))]
        detail: String,
        /// The next step; every open highlight has one.
        #[schemars(length(max = 2000))]
        suggested_action: Option<String>,
    }

    struct CandidateShape {
        #[schemars(length(max = 16))]
        id: Option<String>,
        #[schemars(length(max = 100))]
        ticket_id: String,
        #[schemars(length(max = 200))]
        title: String,
        /// What it lacks.
        #[schemars(length(max = 2000))]
        issue: String,
    }

    /// Record decisions, or modify some. Nothing is deleted.
    struct DecisionLogUpdate {
        /// The UUID of the project.
        #[schemars(length(max = 64))]
        project_id: String,
        /// What changed and why, for a person.
        #[schemars(length(max = 2000))]
        changes_summary: String,
        #[schemars(length(max = 50))]
        decisions_added: Option<Vec<DecisionShape>>,
        #[schemars(length(max = 50))]
        decisions_modified: Option<Vec<DecisionModification>>,
        /// Ids of the signals that the update comes from.
        #[schemars(length(max = 50), inner(length(max = 256)))]
        signals_incorporated: Vec<String>,
    }

    struct DecisionShape {
        /// In sequence: `DEC001`.
        #[schemars(length(max = 16))]
        id: String,
        #[schemars(length(max = 200))]
        title: String,
        /// Why a decision was needed.
        #[schemars(length(max = 2000))]
        context: String,
        /// With those that were rejected.
        #[schemars(length(max = 10))]
        options_considered: Vec<OptionShape>,
        /// The option that was chosen.
        #[schemars(length(max = 2000))]
        decision: String,
        /// Why it was.
        #[schemars(length(max = 2000))]
        rationale: String,
        made_by: MakerWord,
        #[schemars(extend("format" = "date-time"))]
        date: String,
        status: DecisionStatusWord,
        #[schemars(length(max = 50), inner(length(max = 16)))]
        related_raid_items: Option<Vec<String>>,
    }

    struct OptionShape {
        #[schemars(length(max = 200))]
        option: String,
        #[schemars(length(max = 10), inner(length(max = 200)))]
        pros: Vec<String>,
        #[schemars(length(max = 10), inner(length(max = 200)))]
        cons: Vec<String>,
    }

    struct DecisionModification {
        #[schemars(length(max = 16))]
        id: String,
        changes: DecisionChanges,
        /// Why.
        #[schemars(length(max = 2000))]
        change_reason: String,
    }

    /// The fields that change, and no others.
    struct DecisionChanges {
        #[schemars(length(max = 200))]
        title: Option<String>,
        #[schemars(length(max = 2000))]
        context: Option<String>,
        #[schemars(length(max = 2000))]
        decision: Option<String>,
        #[schemars(length(max = 2000))]
        rationale: Option<String>,
        status: Option<DecisionStatusWord>,
        #[schemars(length(max = 50), inner(length(max = 16)))]
        related_raid_items: Option<Vec<String>>,
    }
}
