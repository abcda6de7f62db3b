//! Recorded runs: listed, shown, compared.

use proem_app::project::OpenProject;
use proem_app::records::served_calls::RecordDepth;
use proem_app::records::{self, Whose};
use proem_app::runs::diff::output::{RequestPairOutput, RunDiffOutput};
use proem_app::runs::diff::{DiffOptions, Runs};
use proem_app::runs::output::{RunOverview, RunSummary};
use proem_app::runs::{TextsByHash, find_run};
use proem_app::{Error, when};
use proem_store::query::{RunDetail, RunScope, RunsWanted};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::ToolCall;
use crate::page::{MAX_ANSWER_BYTES, Page, parse_cursor};
use crate::tool::McpTool;

/// The most runs on a page.
const MOST_RUNS: u32 = 50;

/// How many runs back a list can be read.
const MOST_LISTED: usize = 10_000;

/// The most bytes of a section's text on a page.
const MOST_TEXT: usize = MAX_ANSWER_BYTES / 4;

/// The most bytes of each text of a comparison, of which there are up to four.
const MOST_DIFFERENCE: usize = MAX_ANSWER_BYTES / 10;

/// Answers with the newest runs first, a page at a time.
pub(super) struct RunsList;

/// The conditions that a run has to meet.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RunsListArguments {
    /// Only runs of this agent or prompt, such as `triage` or `reviews/triage`
    #[serde(default)]
    #[schemars(with = "String", length(max = 200))]
    prompt: Option<String>,
    /// Only runs since then: 30d, 12h, 2026-11-01 or 2026-11-01T10:00:00Z
    #[serde(default)]
    #[schemars(with = "String", length(max = 40))]
    since: Option<String>,
    /// How many runs at most
    #[serde(default = "usual_limit")]
    #[schemars(range(min = 1, max = 50))]
    limit: u32,
    /// `nextCursor` of the page before
    #[serde(default)]
    #[schemars(with = "String", length(max = 40))]
    cursor: Option<String>,
}

const fn usual_limit() -> u32 {
    20
}

/// Runs, the newest first.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RunsListAnswer {
    runs: Vec<RunSummary>,
}

impl McpTool for RunsList {
    const NAME: &'static str = "runs_list";
    const TITLE: &'static str = "List recorded runs";
    const DESCRIPTION: &'static str = "List what Proem recorded of this project's calls to models and assembled prompts, \
        the newest first: prompt, model, outcome, tokens and cost. `run_show` shows one of them.";
    const OUTSIDE: &'static [&'static str] = &[];
    type Arguments = RunsListArguments;
    type Answer = Page<RunsListAnswer>;

    fn answer(call: &ToolCall, arguments: RunsListArguments) -> Result<(String, Self::Answer), Error> {
        let start = parse_cursor(arguments.cursor.as_deref())?;
        if start > MOST_LISTED {
            return Err(Error::invalid(format!(
                "`cursor` is behind the newest {MOST_LISTED} runs; narrow `since` or `prompt`"
            )));
        }
        let limit = arguments.limit.clamp(1, MOST_RUNS);
        let project = call.project()?;
        let zone = records::booking_zone(&project.config.budget)?;
        let end = start.saturating_add(usize::try_from(limit).unwrap_or(usize::MAX));
        // One more than is shown tells whether there are more.
        let read = u32::try_from(end.saturating_add(1)).unwrap_or(u32::MAX);
        let wanted = RunsWanted {
            project: Whose::Project.owner(&project),
            since: arguments.since.map(|since| when::since(&since, when::time_now(), &zone)).transpose()?,
            prompt: arguments.prompt,
            outcome: None,
            listed: RunScope::Own,
            limit: Some(read),
        };
        let rows = records::blocking(async {
            let store = records::look_at_records(&project).await?.value;
            let rows = store.runs(&wanted).await;
            store.close().await;
            Ok::<_, Error>(rows?)
        })?;
        let next_cursor = (rows.len() > end).then(|| end.to_string());
        let runs: Vec<RunSummary> = rows.iter().take(end).skip(start).map(RunSummary::new).collect();
        let more = if next_cursor.is_some() { ", and there are more behind the cursor" } else { "" };
        Ok((
            format!("{} runs of this project{more}.", runs.len()),
            Page { document: RunsListAnswer { runs }, next_cursor },
        ))
    }
}

/// Answers with what one run asked, got and cost.
pub(super) struct RunShow;

/// The run, or a text of it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RunShowArguments {
    /// The run: the beginning of its id, or `last`
    #[schemars(length(min = 1, max = 80))]
    run: String,
    /// The name of a section whose text is wanted, as `calls` lists it
    #[serde(default)]
    #[schemars(with = "String", length(max = 200))]
    section: Option<String>,
    /// The call that has the section, from 0, which is the first
    #[serde(default)]
    #[schemars(with = "u16")]
    call: Option<u16>,
    /// `nextCursor` of the page before
    #[serde(default)]
    #[schemars(with = "String", length(max = 40))]
    cursor: Option<String>,
}

/// A run, and the text of the section that was asked for.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RunShowAnswer {
    #[serde(flatten)]
    overview: RunOverview,
    /// The text of the section, from the cursor on. Null if none was asked for.
    text: Option<String>,
}

impl McpTool for RunShow {
    const NAME: &'static str = "run_show";
    const TITLE: &'static str = "Show a recorded run";
    const DESCRIPTION: &'static str = "Show a recorded run: its calls, their sections with trust and tokens, attempts, \
        cost and value. With `section` it shows the text of a section as it was sent.";
    const OUTSIDE: &'static [&'static str] = &["/value", "/text", "/calls/*/attempts/*/failed"];
    const LISTS: &'static [&'static str] = &["/calls"];
    const RECORDED: RecordDepth = RecordDepth::Hashes;
    type Arguments = RunShowArguments;
    type Answer = Page<RunShowAnswer>;

    fn cursor(arguments: &RunShowArguments) -> Option<&str> {
        arguments.cursor.as_deref().filter(|_| arguments.section.is_none())
    }

    fn answer(call: &ToolCall, arguments: RunShowArguments) -> Result<(String, Self::Answer), Error> {
        if arguments.call.is_some() && arguments.section.is_none() {
            return Err(Error::invalid("`call` names the call whose section is wanted; name the `section` as well"));
        }
        let project = call.project()?;
        records::blocking(async {
            let store = records::look_at_records(&project).await?.value;
            let id = find_run(&store, &project, &arguments.run, Whose::Project, RunScope::Own).await?;
            let run = store.run(&id).await?;
            let mut hashes: Vec<String> = run.value.iter().cloned().collect();
            let section = section_hash(&run, &arguments)?;
            hashes.extend(section.clone());
            let texts = TextsByHash::load(&store, hashes).await?;
            store.close().await;
            let mut overview = RunOverview::new(&run, &texts);
            let short = id.short();
            let Some(hash) = section else {
                let long = overview.leave_out_long_value(MOST_TEXT);
                let long =
                    long.map_or_else(String::new, |bytes| format!(" Its value has {bytes} bytes and is left out."));
                let summary = format!("Run {short} with {} calls.{long}", run.calls.len());
                return Ok((summary, Page::whole(RunShowAnswer { overview, text: None })));
            };
            let text = texts.get(&hash).ok_or_else(|| Error::negative("the text of that section is not kept"))?;
            let start = parse_cursor(arguments.cursor.as_deref())?;
            let (text, next_cursor) = text_page(text, start)?;
            overview.leave_out_calls();
            overview.leave_out_long_value(0);
            let summary = format!("The text of a section of run {short}.");
            Ok((summary, Page { document: RunShowAnswer { overview, text: Some(text) }, next_cursor }))
        })
    }
}

/// The hash of the section's text that is asked for.
fn section_hash(run: &RunDetail, arguments: &RunShowArguments) -> Result<Option<String>, Error> {
    let Some(name) = &arguments.section else { return Ok(None) };
    let calls = run.calls.len();
    let call = run
        .calls
        .get(usize::from(arguments.call.unwrap_or_default()))
        .ok_or_else(|| Error::invalid(format!("`call`: the run has {calls} calls; count from 0")))?;
    let section = call.sections.iter().find(|section| section.name == *name).ok_or_else(|| {
        Error::invalid("`section`: the call has no section of that name; leave it out to see their names")
    })?;
    Ok(Some(section.text.clone()))
}

/// A page of a text, and the cursor for the next.
fn text_page(text: &str, start: usize) -> Result<(String, Option<String>), Error> {
    let rest = text.get(start..).ok_or_else(|| Error::invalid("`cursor` is none of this text's"))?;
    let end = rest.floor_char_boundary(MOST_TEXT);
    let page = rest.get(..end).unwrap_or_default();
    let next = (end < rest.len()).then(|| start.saturating_add(end).to_string());
    Ok((page.to_owned(), next))
}

/// Compares requests.
pub(super) struct RunDiff;

/// The runs to compare.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RunDiffArguments {
    /// A run, or one of its calls, such as `last:1`
    #[schemars(length(min = 1, max = 80))]
    first: String,
    /// The later one. Without it, each call is compared with the one that its cache could have been written by
    #[serde(default)]
    #[schemars(with = "String", length(max = 80))]
    second: Option<String>,
    /// `nextCursor` of the page before
    #[serde(default)]
    #[schemars(with = "String", length(max = 40))]
    cursor: Option<String>,
}

impl McpTool for RunDiff {
    const NAME: &'static str = "run_diff";
    const TITLE: &'static str = "Compare recorded runs";
    const DESCRIPTION: &'static str = "Compare two recorded requests: which section changed first, what changed in it, \
        and why the provider's cache missed.";
    const OUTSIDE: &'static [&'static str] = &["/comparisons/*/texts", "/comparisons/*/answers"];
    const LISTS: &'static [&'static str] = &["/comparisons"];
    const RECORDED: RecordDepth = RecordDepth::Hashes;
    type Arguments = RunDiffArguments;
    type Answer = Page<RunDiffOutput>;

    fn cursor(arguments: &RunDiffArguments) -> Option<&str> {
        arguments.cursor.as_deref()
    }

    fn answer(call: &ToolCall, arguments: RunDiffArguments) -> Result<(String, Self::Answer), Error> {
        let project: OpenProject = call.project()?;
        records::blocking(async {
            let options = DiffOptions {
                first: &arguments.first,
                second: arguments.second.as_deref(),
                whose: Whose::Project,
                listed: RunScope::Own,
            };
            // The notes are about prices and cache rules of other versions, which the documents have as unknown.
            let mut notes = Vec::new();
            let runs = Runs::look(&project, &options, &mut notes).await?;
            let pairs = runs.pairs(&mut notes).await?;
            let mut comparisons: Vec<RequestPairOutput> = pairs.iter().map(RequestPairOutput::new).collect();
            comparisons.iter_mut().for_each(|pair| pair.shorten_texts(MOST_DIFFERENCE));
            let summary = match pairs.as_slice() {
                [pair] => format!("One comparison: {}", pair.words()),
                pairs => format!("{} comparisons.", pairs.len()),
            };
            let former = &runs.former;
            let document = RunDiffOutput { run: former.row.id.0.clone(), calls: former.calls.len(), comparisons };
            Ok((summary, Page::whole(document)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_a_text_end_between_characters_and_are_all_of_it() {
        let text = "é".repeat(MOST_TEXT);
        let (mut all, mut cursor) = (String::new(), Some(0));
        while let Some(start) = cursor {
            let (page, next) = text_page(&text, start).unwrap();
            assert!(page.len() <= MOST_TEXT);
            all.push_str(&page);
            cursor = next.map(|next| next.parse().unwrap());
        }
        assert_eq!(all, text);
        assert!(text_page(&text, 1).is_err());
    }
}
