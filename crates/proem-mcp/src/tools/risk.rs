//! How risky a change is.

use std::num::{NonZeroU32, NonZeroUsize};

use proem_agents::risk::report::RiskReport;
use proem_app::Error;
use proem_app::records;
use proem_app::records::learning::Adapting;
use proem_app::records::writing::RecordChoice;
use proem_app::risk::assessing::AssessedRepository;
use proem_app::risk::options::{
    DiffChoice, EvidenceOptions, HistoryCaching, InvestigationOptions, InvestigationTime, RiskOptions, WantedChanges,
};
use proem_app::risk::setting::RiskSetting;
use proem_risk::level::LevelRules;
use proem_runtime::change::{Spec, parse_change_spec};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::call::ToolCall;
use crate::page::Page;
use crate::tool::McpTool;

/// Assesses a change.
pub(super) struct RiskAssess;

/// The change.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RiskArguments {
    /// A commit or a range such as `main..feature`; `worktree` or `staged` for what is not committed. Without it: what
    /// is not committed, or else HEAD
    #[serde(default)]
    #[schemars(with = "String", length(max = 200))]
    change: Option<String>,
    /// `nextCursor` of the page before
    #[serde(default)]
    #[schemars(with = "String", length(max = 40))]
    cursor: Option<String>,
}

impl McpTool for RiskAssess {
    const NAME: &'static str = "risk_assess";
    const TITLE: &'static str = "Say how risky a change is";
    const DESCRIPTION: &'static str = "Rate a change of this repository as LOW, MEDIUM or HIGH, or UNKNOWN where nothing \
        is known, with evidence from its history by file. No model is asked and nothing is recorded.";
    const OUTSIDE: &'static [&'static str] = &["/change", "/files", "/findings", "/missing_partners"];
    const LISTS: &'static [&'static str] = &["/files", "/findings", "/metrics"];
    type Arguments = RiskArguments;
    type Answer = Page<RiskReport>;

    fn cursor(arguments: &RiskArguments) -> Option<&str> {
        arguments.cursor.as_deref()
    }

    fn answer(call: &ToolCall, arguments: RiskArguments) -> Result<(String, Self::Answer), Error> {
        let spec = match arguments.change.as_deref() {
            None => Spec::Auto,
            Some("worktree") => Spec::WorkTree,
            Some("staged") => Spec::Staged,
            Some(text) => parse_change_spec(text),
        };
        let options = risk_options(call, spec);
        let mut project = call.project()?;
        let assessing = AssessedRepository::begin(&options, &project, &|_| {})?;
        // The notes are about caches that could not be written, which change no report.
        let mut notes = Vec::new();
        let looked = assessing.look(options.concurrency, &mut notes)?;
        let setting = RiskSetting::new(&options, &mut project)?;
        let reports = records::blocking(async {
            let investigations = setting.begin(&options, &project, &mut notes).await?;
            let reports = investigations.reports(&assessing, &looked, &call.stop, &mut notes).await;
            notes.extend(investigations.end().await);
            reports
        })?;
        let report = reports.reports.into_iter().next();
        let report = report.ok_or_else(|| Error::bug("an assessment gave no report", "there is no change"))?;
        Ok((format!("The change is {}.", report.risk_level.as_str()), Page::whole(report)))
    }
}

/// An assessment from the rules alone, which is not recorded.
fn risk_options(call: &ToolCall, change: Spec) -> RiskOptions {
    let second = NonZeroU32::MIN;
    RiskOptions {
        root: call.setting.root.clone(),
        changes: WantedChanges::Several(vec![change]),
        evidence: EvidenceOptions {
            rules: LevelRules::Rank,
            incidents: None,
            coverage: None,
            first_parent: false,
            window_months: 12,
            caching: HistoryCaching::On,
        },
        investigation: InvestigationOptions {
            unasked: Some("no model is asked over MCP".to_owned()),
            model: None,
            provider: None,
            time: InvestigationTime { total: second, hop: second },
            diff: DiffChoice::Hide,
            record: None,
            replay: None,
        },
        adapting: Adapting::default(),
        record: RecordChoice::No,
        concurrency: NonZeroUsize::MIN,
    }
}
