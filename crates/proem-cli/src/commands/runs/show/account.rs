//! A run for a person's eyes.
//!
//! Texts of sections and answers may be an attacker's: each line of theirs is behind a mark, is escaped and cut, so
//! that it can't pass for a line of ours. No line is wider than a terminal, which would go on with it where marks are.

use anstyle::Style;
use jiff::tz::TimeZone;
use proem_agents::lisp::prompt::{PromptForm, specified_place};
use proem_engine::assembly::PromptId;
use proem_engine::call::{FailureKind, FailureSpeaker, NanoDollars, UsageEstimate};
use proem_engine::decode::PlacedRepair;
use proem_engine::profile::{Profile, Profiles};
use proem_engine::run::{BrokenRule, FallbackReason};
use proem_guard::show;
use proem_store::query::{AttemptRow, CallRow, RunState};
use proem_store::record::{CallState, Replayable, SectionRow};
use serde::Deserialize as _;
use serde_json::Value as Json;

use super::{RunView, profile, tools, turns};
use crate::commands::runs::list;
use crate::ui::{
    self, BLUE, BOLD, CYAN, DIM, GOES_ON, GREEN, RED, YELLOW, bar, cut_to_width, group_thousands, style_text,
    table_cell, width,
};
use proem_app::book::experiments::recorded_assignments;
use proem_app::runs::diff::provider_diagnosis::{self, DiagnosisAgreement};
use proem_app::runs::stored_text;
use proem_app::when;

/// The cells of a line. Eighty is the narrowest terminal in common use.
const WIDTH: usize = 80;
/// The cells of the longest bar.
const BAR: usize = 28;
/// The cells of a section's columns, its name and its bar apart.
const COLUMNS: usize = 42;
/// The cells before a fact.
const FACT: usize = 11;
/// The lines of a text that are shown unless all are asked for.
const LINES: usize = 3;
/// The mark of somebody's text.
const MARK: &str = "  │ ";
/// The cells of somebody's text beside its mark. The last one of the line is left free, since some terminals begin a
/// new line as soon as it is taken.
const TEXT: usize = WIDTH - 5;

struct RunPage<'p> {
    shown: &'p RunView<'p>,
    zone: &'p TimeZone,
    full: bool,
    out: String,
}

/// The whole run, as text for a terminal.
pub(super) fn run_account(shown: &RunView<'_>, zone: &TimeZone, full: bool) -> String {
    let mut page = RunPage { shown, zone, full, out: String::new() };
    page.head();
    page.out.push_str(&turns::turn_tree(&shown.turns, full));
    for (index, call) in shown.run.calls.iter().enumerate() {
        page.call(index, call);
    }
    page.out.push_str(&tools::tree(shown, full));
    page.value();
    page.learned();
    page.people();
    page.out
}

pub(super) fn group_tokens(tokens: u64) -> String {
    group_thousands(usize::try_from(tokens).unwrap_or(usize::MAX))
}

pub(super) fn or_unknown(count: Option<u64>) -> String {
    count.map_or_else(|| "unknown".to_owned(), group_tokens)
}

impl RunPage<'_> {
    fn line(&mut self, text: &str) {
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn fact(&mut self, name: &str, fact: &str) {
        self.wrapped((DIM, &format!("{name:9}  ")), fact, FACT);
    }

    /// A text behind its head, on as many lines as it needs. All but the first are indented, and begin with a mark of
    /// ours, since they may go on with somebody else's words.
    fn wrapped(&mut self, (style, head): (Style, &str), text: &str, indent: usize) {
        let head_cells = width::text_cells(head);
        // The first line has less room where the head is longer than the indentation.
        let room = WIDTH.saturating_sub(head_cells.max(indent));
        for (index, line) in width::wrap_at_words(text, room).iter().enumerate() {
            match index {
                0 => self.line(&format!("{}{line}", style_text(style, head))),
                _ => self.line(&format!("{GOES_ON:>indent$}{line}")),
            }
        }
    }

    /// Parts of a line, of which those that find no room are on a line of their own below it.
    fn packed(&mut self, parts: &[(Style, &str)]) {
        let mut taken = 0_usize;
        for (index, (style, part)) in parts.iter().enumerate() {
            let mut part = *part;
            if index > 0 && taken.saturating_add(width::text_cells(part)) > WIDTH {
                let end = self.out.trim_end_matches(' ').len();
                self.out.truncate(end);
                self.out.push_str("\n    ");
                (part, taken) = (part.trim_start(), 4);
            }
            self.out.push_str(&style_text(*style, part));
            taken = taken.saturating_add(width::text_cells(part));
        }
        self.out.push('\n');
    }

    fn head(&mut self) {
        let run = self.shown.run;
        let row = &run.row;
        let (words, style) = list::run_state_word(row.state);
        let prompt = cut_to_width(&format!("{}/{}", row.prompt.agent, row.prompt.name), 30);
        let version = cut_to_width(&row.prompt.version, 18);
        let id = &row.id.0;
        self.line(&format!(
            "{} {prompt} {version}  {}",
            style_text(BOLD, &cut_to_width(id, 16)),
            style_text(style, words)
        ));
        let because =
            run.because.as_ref().map(|because| match serde_json::from_value::<FallbackReason>(because.clone()) {
                Ok(because) => because.in_words(),
                Err(_) => cut_to_width(&because.to_string(), 80),
            });
        if let Some(because) = because {
            self.fact("because", &because);
        }
        self.fact("who", &cut_to_width(&row.actor, 80));
        let took = row.numbers.took_ms.map_or_else(String::new, |took| format!(", took {} ms", group_tokens(took)));
        self.fact("when", &format!("{}{took}", when::date_and_clock(row.started, self.zone)));
        self.fact("project", &cut_to_width(&row.project.0, 240));
        if let Some(parent) = &row.parent {
            self.fact("fork of", &cut_to_width(&parent.0, 16));
        }
        for assigned in recorded_assignments(&run.settings) {
            let (name, version) = (cut_to_width(&assigned.experiment, 30), cut_to_width(&assigned.version, 18));
            self.fact(
                "experiment",
                &format!("{name} chose {version} for subject {}", cut_to_width(&assigned.subject, 16)),
            );
        }
        if let Some(line) = row.line {
            self.fact("line", &group_tokens(line.into()));
        }
        let at =
            if row.endpoint.is_empty() { String::new() } else { format!(" at {}", cut_to_width(&row.endpoint, 24)) };
        if row.model.is_empty() {
            let programs = row.kind == proem_app::lisp::running::KIND;
            self.fact("model", if programs { "none; a program called tools" } else { "no model was asked" });
        } else {
            self.fact(
                "model",
                &format!("{}{at}, asked for as {}", cut_to_width(&row.model, 32), cut_to_width(&row.role, 24)),
            );
        }
        if run.calls.iter().any(|call| !call.body.is_empty()) {
            let cost = row.cost.map_or_else(|| "cost unknown".to_owned(), |cost| cost.to_string());
            let (read, written) = (or_unknown(row.input_tokens), or_unknown(row.output_tokens));
            let cached = or_unknown(row.cache_read_tokens);
            self.fact("used", &format!("{read} tokens in ({cached} from the cache), {written} out, {cost}"));
        }
        let replay = match &run.replayable {
            Replayable::Yes => format!("`proem runs replay {}`", row.id.short()),
            Replayable::No(why) => format!("not possible: {}", cut_to_width(why, 74)),
        };
        self.fact("replay", &replay);
        if run.resumable && matches!(row.state, RunState::Interrupted | RunState::Asking) {
            self.fact("resume", &format!("`proem runs resume {}`", row.id.short()));
        }
    }

    fn call(&mut self, index: usize, call: &CallRow) {
        let what = if call.body.is_empty() {
            "assembled only; no model was asked".to_owned()
        } else {
            let tool =
                call.tool.as_deref().map_or_else(String::new, |tool| format!(", bound to {}", cut_to_width(tool, 24)));
            format!("call {index}{tool}")
        };
        let counted = format!("  {} tokens by {},", group_tokens(call.tokens), cut_to_width(&call.counter, 24));
        let stable = format!(" {} of them stable", group_tokens(call.stable_tokens));
        self.out.push('\n');
        self.packed(&[(BOLD, &what), (Style::new(), &counted), (Style::new(), &stable)]);
        let PromptId { agent, name, version, .. } = &call.prompt;
        if call.prompt != self.shown.run.row.prompt {
            self.fact(
                "prompt",
                &format!("{} {}", cut_to_width(&format!("{agent}/{name}"), 40), cut_to_width(version, 32)),
            );
        }
        self.sections(call);
        for cut in self.shown.cuts(call) {
            self.wrapped((YELLOW, "  "), &show::terminal_str(&cut).into_string(), 4);
        }
        if call.body.is_empty() {
            return;
        }
        self.listed("not sent to the provider", &call.dropped, |one| {
            let path = one.get("path")?.as_str()?;
            Some(format!("{}: {}", cut_to_width(path, 40), cut_to_width(one.get("why")?.as_str()?, 56)))
        });
        for attempt in &call.attempts {
            self.attempt(attempt);
        }
        if let Some(Some(found)) = self.shown.beside.get(index) {
            let agreement = match found.theirs.agreement {
                DiagnosisAgreement::Agrees => "agreeing",
                DiagnosisAgreement::Disagrees => "disagreeing",
                DiagnosisAgreement::Undecided => "undecided",
            };
            self.wrapped((DIM, &format!("    ours, beside {}, {agreement}: ", found.first)), &found.words, 4);
        }
        self.answer(call);
        self.listed("repaired", &call.repairs, |one| {
            serde_json::from_value::<PlacedRepair>(one.clone()).ok().map(|repair| repair.in_words())
        });
        self.listed("wrong", &call.problems, broken_contract);
    }

    /// The items of a JSON list, each in words. One of a form that is not known is shown as it is.
    fn listed(&mut self, name: &str, list: &Json, words: impl Fn(&Json) -> Option<String>) {
        for one in list.as_array().into_iter().flatten() {
            let words = words(one).unwrap_or_else(|| cut_to_width(&one.to_string(), 80));
            self.wrapped((YELLOW, &format!("  {name}: ")), &words, 4);
        }
    }

    fn sections(&mut self, call: &CallRow) {
        let longest = call
            .sections
            .iter()
            .map(|section| cut_to_width(&section.name, 24).chars().count())
            .max()
            .unwrap_or(0)
            .max(7);
        let most = call.sections.iter().map(|section| section.tokens).max().unwrap_or(0);
        let head = format!("{:longest$}  {:6}  {:12}  {:7}  {:>7}", "section", "role", "trust", "cache", "tokens");
        self.line(&style_text(DIM, &head));
        let named = call.sections.iter().fold(0_u64, |sum, section| sum.saturating_add(section.tokens));
        // The part before all sections: the tools with their schemas, and the request's own frame.
        let mut sum = call.tokens.saturating_sub(named);
        if sum > 0 {
            let before = format!("{:longest$}  {:6}  {:12}  {:7}  {:>7}", "(tools)", "", "", "", group_tokens(sum));
            self.line(&style_text(DIM, &before));
        }
        let is_of_mission = PromptForm::of_prompt(&call.prompt.agent, &call.prompt.name).is_some();
        let mut sections: Vec<&SectionRow> = call.sections.iter().collect();
        if is_of_mission {
            // The order of the specification, in which a preview prints them as well.
            sections.sort_by_key(|section| specified_place(&section.name));
        }
        for section in sections {
            sum = sum.saturating_add(section.tokens);
            self.section(section, longest, most);
            match (self.shown.media(call, &section.name), self.shown.texts.get(&section.text)) {
                (Some(media), _) => self.wrapped((DIM, "  "), &media.in_words(), 4),
                (None, Some(text)) => self.text(text),
                (None, None) => self.line(&style_text(DIM, "  (the text is not kept)")),
            }
            if section.boundary && !is_of_mission {
                let words = format!(" stable prefix ends here, {} tokens", group_tokens(sum));
                let width = longest.saturating_add(40).min(WIDTH.saturating_sub(words.len()));
                self.line(&style_text(DIM, &format!("{:┄<width$}{words}", "")));
            }
        }
        if is_of_mission {
            self.order_sent(call);
        }
    }

    /// The order in which the sections were sent, where they are shown in another one.
    fn order_sent(&mut self, call: &CallRow) {
        let mut parts: Vec<String> = Vec::new();
        let mut sum = call.tokens;
        call.sections.iter().for_each(|section| sum = sum.saturating_sub(section.tokens));
        for section in &call.sections {
            sum = sum.saturating_add(section.tokens);
            let end = if section.boundary {
                format!(" (stable until here, {} tokens)", group_tokens(sum))
            } else {
                String::new()
            };
            parts.push(format!("{}{end}", cut_to_width(&section.name, 24)));
        }
        self.wrapped((DIM, "sent as    "), &parts.join(", "), FACT);
    }

    fn section(&mut self, section: &SectionRow, longest: usize, most: u64) {
        let style = trust_word_colour(&section.trust);
        let name = style_text(style, &table_cell(&section.name, longest));
        let cached = match section.cache.as_str() {
            "static" => GREEN,
            "per-run" => CYAN,
            _ => DIM,
        };
        let count = |tokens: u64| usize::try_from(tokens).unwrap_or(usize::MAX);
        let bar = bar(count(section.tokens), count(most), BAR.min(WIDTH.saturating_sub(longest + COLUMNS)));
        self.line(&format!(
            "{name}  {}  {}  {}  {:>7}  {}",
            table_cell(&section.role, 6),
            style_text(style, &table_cell(&section.trust, 12)),
            style_text(cached, &table_cell(&section.cache, 7)),
            group_tokens(section.tokens),
            style_text(style, &bar)
        ));
    }

    /// Somebody's text: its first lines, or all of it.
    fn text(&mut self, text: &str) {
        // Blank lines at the end say nothing to an eye. `--body` has every byte.
        let lines: Vec<&str> = text.trim_end_matches(['\n', '\r']).lines().collect();
        let most = if self.full { lines.len() } else { LINES };
        for line in lines.iter().take(most) {
            let shown = show::terminal_str(line).into_string();
            let parts =
                if self.full { width::fold_at_cells(&shown, TEXT) } else { vec![width::cut_to_cells(&shown, TEXT)] };
            for part in parts {
                self.line(&format!("{}{part}", style_text(DIM, MARK)));
            }
        }
        let left = lines.len().saturating_sub(most);
        if left > 0 {
            let more = ui::count_with_noun(u64::try_from(left).unwrap_or(u64::MAX), "more line");
            self.line(&style_text(DIM, &format!("  ┆ {more}; --full shows all")));
        }
    }

    fn attempt(&mut self, attempt: &AttemptRow) {
        let status = attempt.status.map_or_else(|| "no answer".to_owned(), |status| format!("status {status}"));
        let failed = attempt.failed.as_deref().map_or_else(String::new, |kind| format!(", {}", cut_to_width(kind, 24)));
        let waited = if attempt.waited_ms > 0 {
            format!(" after {} ms", group_tokens(attempt.waited_ms))
        } else {
            String::new()
        };
        let booked = match (attempt.state.as_str(), attempt.booked) {
            ("open", _) => {
                let most = attempt.most.map_or_else(|| "an unknown price".to_owned(), |most| most.to_string());
                (CYAN, format!("in progress, {most} reserved"))
            }
            (_, Some(booked)) if attempt.corrected.is_some() => (Style::new(), format!("corrected by hand: {booked}")),
            ("unsent", _) => (Style::new(), "no tokens were used".to_owned()),
            ("unknown", Some(NanoDollars(0))) => (YELLOW, "usage unknown, free on this machine".to_owned()),
            ("unknown", Some(booked)) => (YELLOW, format!("usage unknown, charged in full: {booked}")),
            ("unknown", None) => (YELLOW, "usage and price unknown".to_owned()),
            (_, Some(booked)) => (Style::new(), booked.to_string()),
            (_, None) => (Style::new(), "cost unknown".to_owned()),
        };
        let known = attempt.usage.as_ref().filter(|usage| usage.doubt.is_none());
        let usage = known.map_or_else(String::new, |usage| {
            if let Some(UsageEstimate { input, output }) = usage.estimate {
                return format!("at most {} in, {} out (estimated), ", group_tokens(input), group_tokens(output));
            }
            let cached = usage.cache_read.filter(|read| *read > 0);
            let cached = cached.map_or_else(String::new, |read| format!(" ({} from the cache)", group_tokens(read)));
            format!("{} in{cached}, {} out, ", or_unknown(usage.input), or_unknown(usage.output))
        });
        let head = format!("  attempt {}, try {}: ", attempt.id.0, attempt.attempt.saturating_add(1));
        let (style, booked) = booked;
        if attempt.state == "open" {
            self.line(&format!("{head}{}", style_text(style, &booked)));
            return;
        }
        let (bytes, took) = (group_tokens(attempt.bytes), group_tokens(attempt.took_ms));
        let sent = if attempt.status.is_none() && attempt.failed.is_none() {
            // A process that dies writes down neither what came back nor how long that took.
            "its result is unknown".to_owned()
        } else {
            format!("{status}{failed}, {bytes} bytes in {took} ms{waited}")
        };
        self.wrapped((Style::new(), &head), &sent, 4);
        self.line(&format!("    {usage}{}", style_text(style, &booked)));
        if let Some(doubt) = attempt.usage.as_ref().and_then(|usage| usage.doubt) {
            self.wrapped((DIM, "    because: "), &doubt.in_words(), 4);
        }
        if let Some(found) = attempt.usage.as_ref().and_then(|usage| usage.diagnosis.as_ref()) {
            self.wrapped(
                (DIM, "    the cache, in the provider's words: "),
                &provider_diagnosis::provider_diagnosis(found),
                4,
            );
        }
        if let Some(why) = &attempt.corrected {
            self.wrapped((DIM, "    because: "), &show::terminal_str(why).into_string(), 4);
        }
    }

    /// The answer, as the model wrote it.
    fn answer(&mut self, call: &CallRow) {
        let finish =
            call.finish.as_deref().map_or_else(String::new, |finish| format!(", {}", cut_to_width(finish, 24)));
        let words = match call.state {
            CallState::Pending => style_text(CYAN, "under way"),
            CallState::Answered => format!("answered{finish}"),
            CallState::Failed if call.attempts.is_empty() => style_text(RED, "never sent"),
            CallState::Failed => style_text(RED, "failed"),
            CallState::Unknown => style_text(YELLOW, "unknown: it may have been answered, but no answer was received"),
        };
        self.line(&format!("  {words}"));
        let Some(result) = self.shown.result(call) else {
            if call.result.is_some() {
                self.line(&style_text(DIM, "  (the answer is not kept)"));
            }
            return;
        };
        for piece in result.get("content").and_then(Json::as_array).into_iter().flatten() {
            for text in [stored_text(piece, "text"), stored_text(piece, "arguments")].into_iter().flatten() {
                self.text(text);
            }
        }
        if let Some(message) = stored_text(&result, "message") {
            self.text(message);
        }
        if let Some(said) = stored_text(&result, "said") {
            let kind = result.get("kind").cloned().and_then(|kind| FailureKind::deserialize(kind).ok());
            let speaker = kind.map_or(FailureSpeaker::Provider, FailureKind::speaker);
            self.line(match speaker {
                FailureSpeaker::Provider => "  the provider said:",
                FailureSpeaker::Model => "  the model had written:",
            });
            self.text(said);
        }
    }

    fn value(&mut self) {
        let Some(hash) = self.shown.run.value.as_deref() else { return };
        self.line(&format!("\n{}", style_text(BOLD, "value")));
        match self.shown.texts.get(hash) {
            Some(text) => self.text(text),
            None => self.line(&style_text(DIM, "  (the value is not kept)")),
        }
    }

    fn learned(&mut self) {
        for (prompt, profile) in self.shown.run.profiles.iter().flat_map(Profiles::all) {
            self.profile(prompt, profile);
        }
    }

    /// The lessons and wishes that a prompt showed. `prompt` is its name if a run has several.
    fn profile(&mut self, prompt: Option<&str>, profile: &Profile) {
        let lines = profile::profile_lines(profile);
        if lines.is_empty() {
            return;
        }
        let of = prompt.map_or_else(String::new, |prompt| format!(" of {}", cut_to_width(prompt, 60)));
        self.line(&format!("\n{}{of}", style_text(BOLD, "profile")));
        let most = if self.full { usize::MAX } else { WIDTH - 14 };
        for line in lines {
            self.wrapped((DIM, &format!("  {:11} ", line.kind)), &cut_to_width(line.text, most), 14);
            for why in line.why.iter().flat_map(|why| width::wrap_at_words(why, WIDTH - 14)) {
                self.line(&style_text(DIM, &format!("{:14}{why}", "")));
            }
        }
    }

    /// The questions, and persons' words.
    fn people(&mut self) {
        for approval in &self.shown.run.approvals {
            let answer = approval.answer.and_then(|answer| approval.options.get(usize::try_from(answer).ok()?));
            let answer = answer.map_or_else(|| "it was not answered".to_owned(), |answer| cut_to_width(answer, 40));
            self.out.push('\n');
            self.wrapped((BOLD, "asked: "), &cut_to_width(&approval.question, 140), 7);
            self.line(&format!("  {answer} ({})", cut_to_width(&approval.actor, 34)));
            if let Some(words) = approval.words.as_deref().filter(|words| !words.is_empty()) {
                self.wrapped((DIM, "  because: "), &cut_to_width(words, 140), 11);
            }
        }
        for feedback in &self.shown.run.feedback {
            let style = if feedback.verdict == "good" { GREEN } else { RED };
            let verdict = cut_to_width(&feedback.verdict, 8);
            self.out.push('\n');
            match feedback.note.as_str() {
                "" => self.line(&style_text(style, &verdict)),
                note => self.wrapped((style, &format!("{verdict}: ")), &cut_to_width(note, 140), 2),
            }
            self.line(&format!(
                "  {}, {}",
                cut_to_width(&feedback.actor, 40),
                when::date_and_clock(feedback.at, self.zone)
            ));
        }
    }
}

/// The part of an answer that broke its contract. A run that keeps only hashes has the rule alone.
fn broken_contract(one: &Json) -> Option<String> {
    if let Ok(broken) = serde_json::from_value::<BrokenRule>(one.clone()) {
        let place = if broken.path.is_empty() { "the answer" } else { &broken.path };
        let (place, rule) = (cut_to_width(place, 32), cut_to_width(&broken.rule, 24));
        return Some(format!("`{place}` violates `{rule}`; expected: {}", cut_to_width(&broken.expected, 60)));
    }
    Some(format!("a value violates `{}`; the value itself is not kept", cut_to_width(one.get("rule")?.as_str()?, 24)))
}

fn trust_word_colour(trust: &str) -> Style {
    match trust {
        "constitution" | "rules" => GREEN,
        "trusted" => BLUE,
        "task" => CYAN,
        // An unknown source is not trusted.
        _ => YELLOW,
    }
}
