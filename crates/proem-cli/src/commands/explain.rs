//! The account of an assembly, for a person's eyes.

mod file_table;

use anstyle::Style;
use proem_agents::assemble::AssemblyAccount;
use proem_agents::assemble::output::{UntrustedFile, capability_tokens, degraded_reasons};
use proem_agents::assemble::place_facts::PlaceFacts;
use proem_agents::assemble::selecting::CapabilityCandidate;
use proem_engine::assembly::Assembly;
use proem_engine::cache::CachePlan;
use proem_engine::profile::Adaptation;
use proem_engine::providers::Model;
use proem_engine::report::{Report, SectionReport, SectionState};
use proem_engine::section::Trust;
use proem_engine::tokens::Exactness;
use proem_guard::show;
use proem_select::catalogue::Approval;
use proem_select::mode::ModeBasis;

use proem_app::assemble::TaskFinding;

use super::run::account::profile;
use crate::hints::OTHERWISE;
use crate::ui::{BLUE, BOLD, CYAN, DIM, GREEN, YELLOW, bar, group_thousands, style_text};

/// The sources of an account.
#[derive(Debug, Clone, Copy)]
pub(super) struct Account<'a> {
    pub(super) assembled: &'a AssemblyAccount,
    pub(super) gathered: &'a PlaceFacts,
    pub(super) model: &'a Model,
    pub(super) cache: &'a CachePlan,
    pub(super) untrusted: &'a [UntrustedFile],
    pub(super) selection: SelectionAccount<'a>,
    pub(super) adapted: Option<&'a Adaptation>,
    pub(super) finding: Option<&'a TaskFinding>,
}

/// The facts about selection that the assembly itself doesn't know.
#[derive(Debug, Clone, Copy)]
pub(super) struct SelectionAccount<'a> {
    pub(super) embedding_calls: usize,
    pub(super) degraded: &'a [String],
    pub(super) catalogue_tokens: Option<usize>,
}

/// Cells of the longest bar.
const BAR: usize = 28;
/// The longest text about something from outside, in characters.
const SHOWN: usize = 100;

/// A table with a bar for each section, and a sentence for each decision.
pub(super) fn explain_assembly(account: &Account<'_>) -> String {
    let mut out = String::from("\n");
    push_head(account, &mut out);
    push_section_table(account, &mut out);
    push_totals(account, &mut out);
    push_selection(account, &mut out);
    if let Some(finding) = account.finding {
        file_table::push_found_table(&account.assembled.found, finding, &mut out);
    }
    if let Some(adapted) = account.adapted {
        out.push('\n');
        out.push_str(&profile(adapted));
    }
    push_decisions(account, &mut out);
    out
}

fn push_account_line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

fn push_head(account: &Account<'_>, out: &mut String) {
    let (report, mode) = (&account.assembled.report, &account.assembled.mode);
    let counted = match report.counter.exactness {
        Exactness::Exact => format!("counted exactly by {}", report.counter.name),
        Exactness::Estimate => format!("estimated as {}", report.counter.name),
    };
    let prompt = style_text(BOLD, &format!("{} {}", report.prompt.name, report.prompt.version));
    push_account_line(out, &format!("{prompt}  for {}, {counted}", account.model.name));
    let otherwise = if mode.basis == ModeBasis::Default { format!("; {OTHERWISE}") } else { String::new() };
    let reason = show::terminal_str(&mode.reason);
    push_account_line(out, &format!("mode {}: {reason}{otherwise}", style_text(BOLD, mode.mode.as_str())));
    out.push('\n');
}

const fn trust_colour(trust: Trust) -> Style {
    match trust {
        Trust::Constitution | Trust::Rules => GREEN,
        Trust::Trusted => BLUE,
        Trust::Untrusted => YELLOW,
        Trust::Task => CYAN,
    }
}

fn push_section_table(account: &Account<'_>, out: &mut String) {
    push_sections(&account.assembled.report, &account.assembled.assembly, account.cache, out);
}

/// A row with a bar for each section of a request, and a line where the stable prefix ends.
pub(super) fn push_sections(report: &Report, assembly: &Assembly, cache: &CachePlan, out: &mut String) {
    let longest = report.sections.iter().map(|section| section.name.chars().count()).max().unwrap_or(0).max(7);
    let most = report.sections.iter().map(|section| section.tokens).max().unwrap_or(0);
    push_account_line(
        out,
        &style_text(DIM, &format!("{:longest$}  {:12}  {:7}  {:>7}", "section", "trust", "cache", "tokens")),
    );
    for section in &report.sections {
        push_account_line(out, &section_row(section, longest, most));
        for media in &section.media {
            push_account_line(out, &style_text(DIM, &format!("{:longest$}  {}", "", media.in_words())));
        }
        let boundary = assembly
            .boundaries
            .iter()
            .find(|index| assembly.sections.get(**index).is_some_and(|s| s.name == section.name));
        if let Some(index) = boundary {
            let tokens = assembly.sections.get(..=*index).unwrap_or_default().iter().map(|s| s.tokens).sum::<usize>();
            let planned = cache.breakpoints.iter().any(|breakpoint| breakpoint.after == *index);
            let what = if planned { "breakpoint" } else { "stable prefix ends here" };
            push_account_line(
                out,
                &style_text(
                    DIM,
                    &format!("{:┄<width$} {what}, {} tokens", "", group_thousands(tokens), width = longest + 32),
                ),
            );
        }
    }
}

fn section_row(section: &SectionReport, longest: usize, most: usize) -> String {
    let style = trust_colour(section.trust);
    let name = style_text(style, &format!("{:longest$}", section.name));
    let facts = format!("{:12}  {:7}", section.trust.as_str(), section.cache.as_str());
    match section.state {
        SectionState::Empty => style_text(DIM, &format!("{:longest$}  {facts}        –  empty", section.name)),
        SectionState::Dropped => {
            format!("{name}  {facts}        –  {}", style_text(YELLOW, section.reason.as_deref().unwrap_or_default()))
        }
        SectionState::Kept | SectionState::Shrunk => {
            let note =
                section.reason.as_deref().map(|reason| format!("  {}", style_text(YELLOW, reason))).unwrap_or_default();
            format!(
                "{name}  {facts}  {:>7}  {}{note}",
                group_thousands(section.tokens),
                style_text(style, &bar(section.tokens, most, BAR))
            )
        }
    }
}

fn push_totals(account: &Account<'_>, out: &mut String) {
    let totals = &account.assembled.report.totals;
    let limit = totals.limit.map_or_else(
        || "no limit".to_owned(),
        |limit| format!("{} allowed", group_thousands(usize::try_from(limit).unwrap_or(usize::MAX))),
    );
    out.push('\n');
    push_account_line(
        out,
        &format!(
            "{} tokens ({limit}): {} stable, {} for this task; {} kept free for the answer",
            style_text(BOLD, &group_thousands(totals.tokens)),
            group_thousands(totals.prefix),
            group_thousands(totals.suffix),
            group_thousands(totals.output)
        ),
    );
    if let (Some(before), Some(saved)) = (totals.monolithic, totals.saved) {
        let word = if saved < 0 { "more" } else { "fewer" };
        let saved = usize::try_from(saved.unsigned_abs()).unwrap_or(usize::MAX);
        let percent = saved.saturating_mul(100) / before.max(1);
        let (saved, before) = (group_thousands(saved), group_thousands(before));
        push_account_line(out, &format!("{saved} tokens {word} than the prompt it replaces ({before}; {percent} %)"));
    }
    let fit = &account.assembled.report.fit;
    if fit.worth < fit.bound {
        push_account_line(
            out,
            &format!(
                "value kept: {}; no choice keeps more than {} (priority × share of each section)",
                fit.worth, fit.bound
            ),
        );
    }
    push_account_line(out, &format!("cache: {}", account.cache.sentence()));
    push_prefix_gain(account, out);
}

/// The gain of the stable prefix from the repository's own constant text, and whether that decides about caching.
fn push_prefix_gain(account: &Account<'_>, out: &mut String) {
    let assembly = &account.assembled.assembly;
    let end = assembly.boundaries.last().map_or(0, |last| last.saturating_add(1));
    let prefix = assembly.sections.get(..end).unwrap_or_default();
    let found: Vec<_> =
        prefix.iter().filter(|section| section.trust == Trust::Untrusted && section.tokens > 0).collect();
    if found.is_empty() {
        return;
    }
    let names: Vec<&str> = found.iter().map(|section| section.name.as_str()).collect();
    let tokens: usize = found.iter().map(|section| section.tokens).sum();
    let stable = account.cache.stable_tokens;
    let before = stable.saturating_sub(tokens);
    let minimum = account.model.min_prefix_tokens.map(std::num::NonZeroUsize::get);
    let decides = match minimum {
        Some(minimum) if before < minimum && stable >= minimum => {
            format!(", which reaches the {} that are needed to cache anything", group_thousands(minimum))
        }
        _ => String::new(),
    };
    push_account_line(
        out,
        &format!(
            "  {} of this repository: {} tokens, the stable prefix has {} instead of {}{decides}",
            names.join(", "),
            group_thousands(tokens),
            group_thousands(stable),
            group_thousands(before)
        ),
    );
}

/// Each candidate with its score, what speaks for it, and why it was left out.
fn push_selection(account: &Account<'_>, out: &mut String) {
    let calls = account.selection.embedding_calls;
    let Some(selected) = &account.assembled.selected else {
        push_account_line(out, &style_text(DIM, &format!("the catalogue is empty; embedding calls: {calls}")));
        return;
    };
    let all = account.selection.catalogue_tokens.unwrap_or(0);
    let (entries, named) = (group_thousands(selected.entries), group_thousands(capability_tokens(account.assembled)));
    out.push('\n');
    push_account_line(
        out,
        &format!(
            "{}  {entries} in the catalogue ({} tokens with all of them, {named} with those in the prompt); embedding \
             calls: {calls}",
            style_text(BOLD, "tools and skills"),
            group_thousands(all)
        ),
    );
    let longest = selected.candidates.iter().map(|candidate| candidate.name.chars().count()).max().unwrap_or(0);
    for candidate in &selected.candidates {
        let (style, verdict) = match candidate.cut {
            None => (GREEN, "chosen".to_owned()),
            Some(reason) => (DIM, reason.in_words().to_owned()),
        };
        let name = style_text(style, &format!("{:longest$}", candidate.name));
        let approved = if candidate.approval == Approval::Approved { "" } else { ", not approved" };
        push_account_line(
            out,
            &format!(
                "  {:.2}  {name}  {:5}  {verdict}{approved}: {}",
                candidate.score,
                candidate.kind.as_str(),
                candidate_evidence(candidate)
            ),
        );
    }
    if selected.abstained {
        push_account_line(
            out,
            &format!("no tool or skill is relevant: none reaches the score {:.2}", selected.threshold),
        );
    }
    if selected.cut {
        push_account_line(out, "only the beginning of the task was used to select tools and skills");
    }
}

/// The evidence for a candidate, in words.
fn candidate_evidence(candidate: &CapabilityCandidate) -> String {
    let mut parts = Vec::new();
    if !candidate.words.is_empty() {
        let words: Vec<String> = candidate.words.iter().map(|word| show::terminal_str(word).into_string()).collect();
        parts.push(format!("shares {}", words.join(", ")));
    }
    let of = |name: &str| candidate.evidence.iter().find(|(known, _)| *known == name).map_or(0.0, |(_, value)| *value);
    parts.push(format!("meaning {:.2}", of("meaning")));
    if of("used") > 0.0 {
        parts.push(format!("used for similar requests {:.2}", of("used words")));
    }
    if let Some(example) = &candidate.example {
        parts.push(format!("example \"{}\"", show::terminal_capped(example, SHOWN)));
    }
    if candidate.part > 0 {
        parts.push(format!("by sentence {}", candidate.part));
    }
    parts.join("; ")
}

fn push_decisions(account: &Account<'_>, out: &mut String) {
    let assembled = account.assembled;
    for section in assembled.report.sections.iter().filter(|section| !section.neutralised.is_empty()) {
        let kinds: Vec<String> = section.neutralised.iter().map(|(kind, count)| format!("{kind} × {count}")).collect();
        push_account_line(out, &format!("neutralised in `{}`: {}", section.name, kinds.join(", ")));
    }
    let (memories, activity) = (&assembled.memories, &assembled.activity);
    let instructing = memories.instructing.saturating_add(activity.instructing);
    let unrelated = memories.unrelated.saturating_add(activity.unrelated);
    let over = memories.over.saturating_add(activity.over);
    let withheld = memories.withheld.saturating_add(activity.withheld);
    if [instructing, withheld, unrelated, over].iter().any(|count| *count > 0) {
        push_account_line(
            out,
            &format!(
                "memories and events left out: {instructing} that contain instructions, {withheld} that the injection \
                 scan rejected, {unrelated} unrelated to the task, {over} over the limit"
            ),
        );
    }
    assembled
        .noted
        .iter()
        .for_each(|noted| push_account_line(out, &style_text(YELLOW, &format!("guard: {}", noted.in_words()))));
    assembled
        .left_out
        .iter()
        .for_each(|text| push_account_line(out, &format!("left out: {}", show::terminal_str(text))));
    for file in account.untrusted {
        push_account_line(out, &format!("not trusted: {} ({})", show::terminal_str(&file.path), file.effect));
    }
    let missed = account.finding.iter().flat_map(|finding| &finding.context.gaps);
    for gap in account.gathered.gaps.iter().chain(missed) {
        let about =
            gap.about.as_ref().map(|about| format!(" [{}]", show::terminal_capped(about, SHOWN))).unwrap_or_default();
        push_account_line(out, &format!("unknown: {}: {}{about}", gap.what, gap.why));
    }
    for reason in degraded_reasons(assembled, account.selection.degraded) {
        push_account_line(out, &style_text(DIM, &format!("degraded: {}", show::terminal_str(&reason))));
    }
}
