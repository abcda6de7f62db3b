//! Artefacts as Markdown that a person reads and pastes into a report.
//!
//! Each line begins with a word or a sign of ours. Text from outside is plain words, as `clean.rs` makes them. Below an
//! item one line says where it came from and which parts of it somebody concluded.

use std::collections::BTreeSet;

use proem_engine::run::Time;
use proem_guard::show;

use super::{
    clean::{clean_markdown, without_markup},
    field::{ArtefactField as F, FieldForm},
    figure::{Figure, FigureValue, ProjectFigures},
    health::ProjectHealth,
    item::{Artefact, ArtefactItem, ArtefactValue},
    kind::{ArtefactItemId, ArtefactItemKind as K, ArtefactKind},
    sources::ReportSources,
    statement::{ArtefactStatement, Certainty, StatementOrigin},
};
use crate::date::utc_day;

/// A day in milliseconds.
const DAY: i64 = 86_400_000;
/// The most sources that a line names.
const MOST_SOURCES: usize = 3;
/// The most characters of a ticket or a name in a line of sources.
const SOURCE_WIDTH: usize = 80;

/// The terms of a report, beside the artefacts that it shows.
#[derive(Debug, Clone, Copy)]
pub struct ReportTerms<'r> {
    /// The project's name among people.
    pub title: &'r str,
    /// The figures. Those that are not known are said to be.
    pub figures: Option<&'r ProjectFigures>,
    /// The facts from all artefacts of the project that decide its colour, whichever of them are shown.
    pub health: Option<&'r ProjectHealth>,
    /// The origins of statements.
    pub sources: &'r ReportSources,
    /// How many milliseconds the clocks of its people are ahead of UTC.
    pub ahead_of_utc: i64,
}

/// The artefacts of a project as Markdown, those that were written, in the order of this function.
#[must_use]
pub fn artefacts_markdown(artefacts: &[&Artefact], terms: ReportTerms<'_>) -> String {
    let figures = terms.figures;
    let mut report = MarkdownReport { out: String::new(), terms, now: figures.map(|figures| figures.as_of) };
    report.line(&format!("# {}", without_markup(show::terminal_str(terms.title).as_str())));
    let order =
        [ArtefactKind::DeliveryState, ArtefactKind::RaidLog, ArtefactKind::BacklogSummary, ArtefactKind::DecisionLog];
    for kind in order {
        let artefact = artefacts.iter().find(|artefact| artefact.kind() == kind && artefact.version() > 0);
        let Some(artefact) = artefact else { continue };
        let updated = artefact.updated().map(|updated| report.day(updated)).unwrap_or_default();
        report.heading(&format!("## {} (version {}, {updated})", kind.title(), artefact.version()));
        match kind {
            ArtefactKind::DeliveryState => report.delivery(artefact, figures),
            ArtefactKind::RaidLog => report.raid(artefact),
            ArtefactKind::BacklogSummary => report.backlog(artefact, figures),
            ArtefactKind::DecisionLog => report.decisions(artefact),
        }
    }
    show::safe_report(&report.out).into_owned()
}

struct MarkdownReport<'r> {
    out: String,
    terms: ReportTerms<'r>,
    /// When it is shown, if that is known.
    now: Option<Time>,
}

impl MarkdownReport<'_> {
    fn line(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    fn heading(&mut self, heading: &str) {
        if !self.out.ends_with("\n\n") {
            self.line("");
        }
        self.line(heading);
        self.line("");
    }

    /// A time as the clocks of the project's people show it.
    const fn wall_clock(&self, moment: Time) -> Time {
        Time(moment.0.saturating_add(self.terms.ahead_of_utc))
    }

    /// The day of a time. One that represents a whole day is that day in every zone.
    fn day(&self, time: Time) -> String {
        let time = if time.0.rem_euclid(DAY) == 0 { time } else { self.wall_clock(time) };
        utc_day(time)
    }

    /// A field with a word of ours before it, if there is one.
    fn field(&self, item: &ArtefactItem, before: &str, field: F) -> String {
        let value = match item.fields.get(&field) {
            Some(ArtefactValue::Text(statement)) => statement_words(statement),
            Some(ArtefactValue::Word(word)) => word.replace('_', " "),
            Some(ArtefactValue::Date(time)) => self.day(*time),
            Some(ArtefactValue::RaidItems(items)) if !items.is_empty() => {
                items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
            }
            Some(ArtefactValue::Options(_) | ArtefactValue::RaidItems(_)) | None => return String::new(),
        };
        format!("{before}{value}")
    }

    /// The same, unless another field says it already.
    fn field_unless(&self, item: &ArtefactItem, before: &str, field: F, other: F) -> String {
        let is_said = item.text(field).zip(item.text(other)).is_some_and(|(text, other)| text.says_what(other));
        if is_said { String::new() } else { self.field(item, before, field) }
    }

    /// A list of the open items of a kind, each with its sources. `None` represents there being none.
    fn list(&mut self, heading: &str, artefact: &Artefact, kind: K, line: fn(&Self, &ArtefactItem) -> String) {
        self.heading(heading);
        let mut is_empty = true;
        for (id, item) in artefact.of_kind(kind).filter(|(_, item)| !item.status.is_over()) {
            is_empty = false;
            let (line, options) = (line(self, item), option_lines(item));
            // A sentence that goes on with a semicolon needs no full stop.
            self.line(&format!("- **{id}** {}", line.replace(".; ", "; ")));
            self.sources(item, "  ");
            if !options.is_empty() {
                self.line(&options);
            }
        }
        if is_empty {
            self.line("None.");
        }
    }

    /// An item's reference, unless the line of its sources names it.
    fn reference(&self, item: &ArtefactItem) -> String {
        let Some(reference) = item.text(F::SourceReference).map(statement_words) else { return String::new() };
        let signals = item.statements().flat_map(|(_, of)| of.origins()).filter_map(StatementOrigin::signal);
        let mut tickets = signals.filter_map(|signal| self.terms.sources.get(signal)?.ticket.as_ref());
        let is_named = tickets.any(|ticket| clean_markdown(ticket, SOURCE_WIDTH) == reference);
        if is_named { String::new() } else { format!("; source: {reference}") }
    }

    /// An item's origin, and those of its parts that somebody concluded.
    fn sources(&mut self, item: &ArtefactItem, indent: &str) {
        let mut names: Vec<String> = Vec::new();
        let mut gone = false;
        let origins: BTreeSet<&StatementOrigin> = item.statements().flat_map(|(_, of)| of.origins()).collect();
        for origin in origins {
            let name = self.source_name(origin);
            gone |= name.is_none();
            names.extend(name.filter(|name| !names.contains(name)));
        }
        let more = names.len().saturating_sub(MOST_SOURCES);
        names.truncate(MOST_SOURCES);
        if more > 0 {
            names.push(format!("{more} more"));
        }
        if gone {
            names.push("a text that was purged".to_owned());
        }
        if names.is_empty() {
            return;
        }
        let statements = || item.statements().filter(|(_, of)| of.certainty() == Certainty::Inference);
        let concluded: BTreeSet<F> = statements().map(|(field, _)| field).collect();
        let is_all = item.statements().all(|(_, of)| of.certainty() == Certainty::Inference);
        let concluded: Vec<&str> = concluded.into_iter().map(field_words).collect();
        let concluded = match concluded.as_slice() {
            [] => String::new(),
            _ if is_all => " (concluded)".to_owned(),
            fields => format!(". Concluded: {}", fields.join(", ")),
        };
        self.line(&format!("{indent}Sources: {}{concluded}.", names.join("; ")));
    }

    /// A source with its day, and with a link if its tracker has a page for it. `None` once its text is gone.
    fn source_name(&self, origin: &StatementOrigin) -> Option<String> {
        let signal = match origin {
            StatementOrigin::Person(person) => return Some(without_markup(show::terminal_str(person).as_str())),
            StatementOrigin::Signal(signal) => self.terms.sources.get(signal)?,
        };
        let sender = signal.sender.as_ref().map(|sender| clean_markdown(sender, SOURCE_WIDTH));
        let ticket = signal.ticket.as_ref().map(|ticket| clean_markdown(ticket, SOURCE_WIDTH));
        let name = match (ticket, &signal.link, sender) {
            (Some(ticket), Some(link), Some(sender)) => format!("[{}]({link}) by {sender}", without_brackets(&ticket)),
            (Some(ticket), Some(link), None) => format!("[{}]({link})", without_brackets(&ticket)),
            (Some(ticket), None, Some(sender)) => format!("{ticket} by {sender}"),
            (Some(only), None, None) | (None, _, Some(only)) => only,
            (None, _, None) => return None,
        };
        Some(format!("{name}, {}", self.day(signal.at)))
    }

    /// The items that are over, a line each.
    fn over(&mut self, artefact: &Artefact, names: F) {
        let over: Vec<(ArtefactItemId, &ArtefactItem)> =
            artefact.items().filter(|(id, item)| item.status.is_over() && id.kind.rule(names).is_some()).collect();
        if over.is_empty() {
            return;
        }
        self.heading("### Over");
        for (id, item) in over {
            let name = self.field(item, "", names);
            self.line(&format!("- **{id}** {}: {name}", status_words(item)));
        }
    }

    fn delivery(&mut self, artefact: &Artefact, figures: Option<&ProjectFigures>) {
        for (_, item) in artefact.of_kind(K::Health) {
            let (colour, summary) = (self.field(item, "", F::OverallStatus), self.field(item, "", F::StatusSummary));
            self.line(&format!("Status **{colour}**: {summary}"));
            self.sources(item, "");
            self.line("");
            if let Some(health) = self.terms.health {
                self.line(&format!("Counted now: {}; by rule {}.", health.in_words(), health.reason()));
                self.line(&format!("The rule: {}.", ProjectHealth::RULE));
                self.line("");
            }
        }
        match artefact.open(K::Sprint).next() {
            Some((_, item)) => {
                let name = self.field(item, "Sprint: ", F::Name);
                let days = [self.field(item, ", ", F::StartDate), self.field(item, " to ", F::EndDate)].concat();
                let goal = self.field(item, ". Goal: ", F::Goal);
                self.line(&format!("{name}{days}{goal}"));
                self.sources(item, "");
            }
            None => self.line("Sprint: none is open."),
        }
        if let Some(figures) = figures {
            self.heading("### Figures");
            self.figures(
                figures,
                &[
                    ("Points in the sprint", Figure::TotalPoints),
                    ("Points done", Figure::CompletedPoints),
                    ("Points done, per cent", Figure::CompletedPercent),
                    ("Points in progress", Figure::InProgressPoints),
                    ("Points blocked", Figure::BlockedPoints),
                    ("Tickets without points", Figure::UnestimatedItems),
                    ("Velocity, points a sprint", Figure::Velocity),
                    ("Velocity trend", Figure::VelocityTrend),
                    ("Mean cycle time, days", Figure::AverageCycleTimeDays),
                    ("Open blockers", Figure::OpenBlockers),
                    ("Active risks", Figure::ActiveRisks),
                ],
            );
        }
        self.list("### Milestones", artefact, K::Milestone, |report, item| {
            let (name, due) = (report.field(item, "", F::Name), report.field(item, ", due ", F::DueDate));
            format!("{name}{due}: {}{}", report.words(item), report.field(item, ". ", F::Notes))
        });
        self.list("### Blockers", artefact, K::Blocker, |report, item| {
            let (severity, text) = (report.field(item, "", F::Severity), report.field(item, ": ", F::Description));
            let ticket = report.field(item, "; ticket: ", F::SourceTicket);
            let rest = [report.field(item, "; RAID: ", F::RaidItem), report.field(item, "; since: ", F::RaisedDate)];
            format!("{severity}{text}{ticket}{}{}{}", rest.concat(), report.age(item), report.owner(item))
        });
        self.list("### Next actions", artefact, K::NextAction, |report, item| report.field(item, "", F::Action));
    }

    /// The state of an item when it is shown: one whose date has passed is overdue, whatever was written down.
    fn words(&self, item: &ArtefactItem) -> String {
        match self.now.filter(|now| item.is_overdue(self.wall_clock(*now))) {
            Some(_) => "overdue".to_owned(),
            None => status_words(item),
        }
    }

    /// For how long an item has been there, from the second day on.
    fn age(&self, item: &ArtefactItem) -> String {
        match self.now.and_then(|now| item.age_in_days(now)) {
            Some(1) => " (1 day)".to_owned(),
            Some(days) if days > 1 => format!(" ({days} days)"),
            _ => String::new(),
        }
    }

    fn owner(&self, item: &ArtefactItem) -> String {
        match item.text(F::Owner) {
            Some(owner) => format!("; owner: {}", statement_words(owner)),
            None => "; owner: **none**".to_owned(),
        }
    }

    fn raid(&mut self, artefact: &Artefact) {
        for (heading, kind) in [
            ("### Risks", K::Risk),
            ("### Assumptions", K::Assumption),
            ("### Issues", K::Issue),
            ("### Dependencies", K::Dependency),
        ] {
            self.list(heading, artefact, kind, |report, item| {
                let (severity, title) = (report.field(item, "", F::Severity), report.field(item, ": ", F::Title));
                let text = report.field_unless(item, "; detail: ", F::Description, F::Title);
                let step = report.field(item, "; next step: ", F::Mitigation);
                let since = [report.field(item, "; since: ", F::RaisedDate), report.age(item)].concat();
                let due = [since, report.field(item, "; due: ", F::DueDate)];
                let source = report.reference(item);
                format!(
                    "{severity}, {}{title}{text}{step}{}{}{source}",
                    report.words(item),
                    report.owner(item),
                    due.concat()
                )
            });
        }
        self.over(artefact, F::Title);
    }

    fn backlog(&mut self, artefact: &Artefact, figures: Option<&ProjectFigures>) {
        for (_, item) in artefact.of_kind(K::Backlog) {
            let (source, synced) = (self.field(item, "Source: ", F::Source), self.field(item, ", ", F::LastSynced));
            let scope = self.field(item, ". Scope: ", F::ScopeNotes);
            self.line(&format!("{source}{synced}{scope}"));
            self.sources(item, "");
        }
        if let Some(figures) = figures {
            self.heading("### Backlog figures");
            self.figures(
                figures,
                &[
                    ("Tickets not done", Figure::TotalItems),
                    ("To do", Figure::ToDo),
                    ("In progress", Figure::InProgress),
                    ("Blocked", Figure::Blocked),
                    ("Done this sprint", Figure::DoneThisSprint),
                    ("Critical", Figure::PriorityCritical),
                    ("High", Figure::PriorityHigh),
                    ("Medium", Figure::PriorityMedium),
                    ("Low", Figure::PriorityLow),
                    ("Unchanged for more than 7 days", Figure::Stale),
                    ("Without acceptance criteria", Figure::MissingCriteria),
                ],
            );
        }
        self.list("### Highlights", artefact, K::Highlight, |report, item| {
            let (ticket, flag) = (report.field(item, "", F::TicketId), report.field(item, " ", F::Flag));
            let (title, detail) = (report.field(item, ": ", F::Title), report.field(item, "; detail: ", F::Detail));
            format!("{ticket}{flag}{title}{detail}{}", report.field(item, "; next step: ", F::SuggestedAction))
        });
        self.list("### To refine", artefact, K::RefinementCandidate, |report, item| {
            let (ticket, title) = (report.field(item, "", F::TicketId), report.field(item, ": ", F::Title));
            format!("{ticket}{title}{}", report.field(item, "; lacks: ", F::Issue))
        });
    }

    fn decisions(&mut self, artefact: &Artefact) {
        self.list("### Decisions", artefact, K::Decision, |report, item| {
            let (title, made_by) = (report.field(item, "", F::Title), report.field(item, ", by ", F::MadeBy));
            let when = [report.field(item, ", ", F::Date), report.field(item, "; context: ", F::Context)].concat();
            let (decision, why) =
                (report.field(item, "; decided: ", F::Decision), report.field(item, "; because: ", F::Rationale));
            let raid = report.field(item, "; RAID: ", F::RelatedRaidItems);
            format!("{title}{made_by}{when}{decision}{why}{raid}")
        });
        self.over(artefact, F::Decision);
    }

    fn figures(&mut self, figures: &ProjectFigures, rows: &[(&str, Figure)]) {
        let counted = self.day(figures.as_of);
        self.line(&format!("Counted {counted}."));
        self.line("");
        // Figures that are unknown for the same reason share one line, behind the known ones.
        let mut unknown: Vec<(String, Vec<&str>)> = Vec::new();
        for (name, figure) in rows {
            let value = figures.get(*figure);
            if !matches!(value, FigureValue::Unknown(_)) {
                self.line(&format!("- {name}: {value}"));
                continue;
            }
            let value = value.to_string();
            match unknown.iter_mut().find(|(reason, _)| *reason == value) {
                Some((_, names)) => names.push(name),
                None => unknown.push((value, vec![name])),
            }
        }
        for (value, names) in unknown {
            self.line(&format!("- {}: *{value}*", names.join("; ")));
        }
    }
}

fn status_words(item: &ArtefactItem) -> String {
    item.status.as_str().replace('_', " ")
}

/// The words of a statement, which never begin a line.
fn statement_words(statement: &ArtefactStatement) -> String {
    clean_markdown(statement.words(), FieldForm::PARAGRAPH)
}

/// A name between the brackets of a link.
fn without_brackets(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '[' | ']')).collect()
}

/// The options of a decision, each below its line.
fn option_lines(item: &ArtefactItem) -> String {
    let Some(ArtefactValue::Options(options)) = item.fields.get(&F::OptionsConsidered) else {
        return String::new();
    };
    let lines = options.iter().map(|option| {
        let reasons = |sign: &str, reasons: &[ArtefactStatement]| {
            reasons.iter().map(|reason| format!("; {sign}: {}", statement_words(reason))).collect::<String>()
        };
        let option_words = statement_words(&option.option);
        format!("  - Option: {option_words}{}{}", reasons("for", &option.pros), reasons("against", &option.cons))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A field's name in reports.
const fn field_words(field: F) -> &'static str {
    match field {
        F::OverallStatus => "status",
        F::StatusSummary => "summary",
        F::Name => "name",
        F::StartDate => "start",
        F::EndDate => "end",
        F::Goal => "goal",
        F::DueDate => "date",
        F::Notes => "note",
        F::Title => "title",
        F::Description | F::Detail => "detail",
        F::Severity => "severity",
        F::Owner => "owner",
        F::RaisedDate => "since",
        F::SourceTicket | F::TicketId => "ticket",
        F::RaidItem | F::RelatedRaidItems => "RAID item",
        F::Action => "action",
        F::Mitigation | F::SuggestedAction => "next step",
        F::Source | F::SourceReference => "source",
        F::LastSynced | F::Date => "day",
        F::ScopeNotes => "scope",
        F::Flag => "flag",
        F::Issue => "what it lacks",
        F::Context => "context",
        F::OptionsConsidered => "options",
        F::Decision => "decision",
        F::Rationale => "reason",
        F::MadeBy => "person",
    }
}
