//! Artefacts as Markdown that a person pastes into a report.
//!
//! Each line begins with a word or a sign of ours. Text from outside goes through the guard's door onto a screen, is
//! one line, and makes no link, picture, heading, code or HTML. Behind each statement stands a note that says at the
//! end where it came from, and whether it is a fact or an inference.

use std::fmt::Write as _;

use proem_engine::run::Time;
use proem_guard::{LabelTree, show};

use super::{
    field::{ArtefactField as F, FieldForm},
    figure::{Figure, FigureValue, ProjectFigures},
    health::ProjectHealth,
    item::{Artefact, ArtefactItem, ArtefactValue},
    kind::{ArtefactItemId, ArtefactItemKind as K, ArtefactKind},
    statement::{ArtefactStatement, Certainty, StatementOrigin},
};
use crate::triage::date::utc;

/// The artefacts of a project as Markdown, those that were written, in the order of this function.
///
/// `title` is what a person calls the project. Figures that are not known are said to be.
#[must_use]
pub fn markdown(title: &str, artefacts: &[&Artefact], figures: Option<&ProjectFigures>) -> String {
    let now = figures.map(|figures| figures.as_of);
    let mut report = MarkdownReport { now, ..MarkdownReport::default() };
    let health = now.map(|now| ProjectHealth::of(artefacts.iter().copied(), now));
    report.line(&format!("# {}", escaped(show::terminal_str(title).as_str())));
    let order =
        [ArtefactKind::DeliveryState, ArtefactKind::RaidLog, ArtefactKind::BacklogSummary, ArtefactKind::DecisionLog];
    for kind in order {
        let artefact = artefacts.iter().find(|artefact| artefact.kind() == kind && artefact.version() > 0);
        let Some(artefact) = artefact else { continue };
        let updated = artefact.updated().map(date).unwrap_or_default();
        report.heading(&format!("## {} (version {}, {updated})", kind.title(), artefact.version()));
        match kind {
            ArtefactKind::DeliveryState => report.delivery(artefact, figures, health.as_ref()),
            ArtefactKind::RaidLog => report.raid(artefact),
            ArtefactKind::BacklogSummary => report.backlog(artefact, figures),
            ArtefactKind::DecisionLog => report.decisions(artefact),
        }
    }
    report.sources();
    show::report(&report.out).into_owned()
}

/// The day of a time, in UTC.
fn date(time: Time) -> String {
    utc(time).get(..10).unwrap_or_default().to_owned()
}

/// A shown text in which no sign means anything to Markdown.
///
/// Sources: CommonMark 0.31.2, section 2.4 (any ASCII punctuation may be escaped by a backslash); GitHub Flavored
/// Markdown 0.29, section 6.9 (`www.`, `://` and `@` make links by themselves).
pub(super) fn escaped(shown: &str) -> String {
    let mut out = String::with_capacity(shown.len());
    // How many times the letter stands before this sign.
    let mut w = 0_usize;
    let mut chars = shown.chars().peekable();
    while let Some(c) = chars.next() {
        let is_sign = matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '~' | '&' | '@' | '$');
        let is_address = (c == ':' && chars.peek() == Some(&'/')) || (c == '.' && w >= 3);
        if is_sign || is_address {
            out.push('\\');
        }
        out.push(c);
        w = if matches!(c, 'w' | 'W') { w.saturating_add(1) } else { 0 };
    }
    out
}

/// Where statements came from, and what they are worth.
type StatementNote = (Certainty, Vec<StatementOrigin>);

#[derive(Default)]
struct MarkdownReport {
    out: String,
    notes: Vec<StatementNote>,
    /// When it is shown, if that is known.
    now: Option<Time>,
}

impl MarkdownReport {
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

    /// A statement with its note. It never begins a line.
    fn say(&mut self, statement: &ArtefactStatement) -> String {
        let shown = match statement.words() {
            LabelTree::Text(text) => show::terminal_str(text),
            LabelTree::Outside(text) | LabelTree::Flagged(text) => show::terminal_capped(text, FieldForm::PARAGRAPH),
            _ => return String::new(),
        };
        let note = (statement.certainty(), statement.origins().to_vec());
        let place = self.notes.iter().position(|other| *other == note).unwrap_or_else(|| {
            self.notes.push(note);
            self.notes.len().saturating_sub(1)
        });
        format!("{}[^{}]", escaped(shown.as_str()), place.saturating_add(1))
    }

    /// A field with a word of ours before it, if there is one.
    fn field(&mut self, item: &ArtefactItem, before: &str, field: F) -> String {
        let value = match item.fields.get(&field) {
            Some(ArtefactValue::Text(statement)) => self.say(statement),
            Some(ArtefactValue::Word(word)) => word.replace('_', " "),
            Some(ArtefactValue::Date(time)) => date(*time),
            Some(ArtefactValue::RaidItems(items)) if !items.is_empty() => {
                items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
            }
            Some(ArtefactValue::Options(_) | ArtefactValue::RaidItems(_)) | None => return String::new(),
        };
        format!("{before}{value}")
    }

    /// A list of the open items of a kind; `None` stands for there being none.
    fn list(&mut self, heading: &str, artefact: &Artefact, kind: K, line: fn(&mut Self, &ArtefactItem) -> String) {
        self.heading(heading);
        let mut is_empty = true;
        for (id, item) in artefact.of_kind(kind).filter(|(_, item)| !item.status.is_over()) {
            is_empty = false;
            let line = line(self, item);
            self.line(&format!("- **{id}** {line}"));
        }
        if is_empty {
            self.line("None.");
        }
    }

    /// What is over, in a line each.
    fn over(&mut self, artefact: &Artefact, names: F) {
        let over: Vec<(ArtefactItemId, &ArtefactItem)> =
            artefact.items().filter(|(id, item)| item.status.is_over() && id.kind.rule(names).is_some()).collect();
        if over.is_empty() {
            return;
        }
        self.heading("### Over");
        for (id, item) in over {
            let name = self.field(item, "", names);
            self.line(&format!("- **{id}** {}: {name}", words(item)));
        }
    }

    fn delivery(&mut self, artefact: &Artefact, figures: Option<&ProjectFigures>, health: Option<&ProjectHealth>) {
        for (_, item) in artefact.of_kind(K::Health) {
            let (colour, summary) = (self.field(item, "", F::OverallStatus), self.field(item, "", F::StatusSummary));
            self.line(&format!("Status **{colour}**: {summary}"));
            self.line("");
            if let Some(health) = health {
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

    /// How an item stands when it is shown: one whose date has passed is overdue, whatever was written down.
    fn words(&self, item: &ArtefactItem) -> String {
        match self.now.filter(|now| item.is_overdue(*now)) {
            Some(_) => "overdue".to_owned(),
            None => words(item),
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

    fn owner(&mut self, item: &ArtefactItem) -> String {
        match item.text(F::Owner) {
            Some(owner) => format!("; owner: {}", self.say(owner)),
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
                let text = report.field(item, "; detail: ", F::Description);
                let step = report.field(item, "; next step: ", F::Mitigation);
                let since = [report.field(item, "; since: ", F::RaisedDate), report.age(item)].concat();
                let due = [since, report.field(item, "; due: ", F::DueDate)];
                let source = report.field(item, "; source: ", F::SourceReference);
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
            format!("{title}{made_by}{when}{decision}{why}{raid}{}", report.options(item))
        });
        self.over(artefact, F::Decision);
    }

    /// The options of a decision, each below its line.
    fn options(&mut self, item: &ArtefactItem) -> String {
        let Some(ArtefactValue::Options(options)) = item.fields.get(&F::OptionsConsidered) else {
            return String::new();
        };
        let mut out = String::new();
        for option in options {
            out.push_str("\n  - Option: ");
            out.push_str(&self.say(&option.option));
            for (sign, reasons) in [("; for: ", &option.pros), ("; against: ", &option.cons)] {
                for reason in reasons {
                    out.push_str(sign);
                    out.push_str(&self.say(reason));
                }
            }
        }
        out
    }

    fn figures(&mut self, figures: &ProjectFigures, rows: &[(&str, Figure)]) {
        self.line(&format!("Counted {}.", date(figures.as_of)));
        self.line("");
        // What is unknown for the same reason stands on one line, behind what is known.
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

    fn sources(&mut self) {
        if self.notes.is_empty() {
            return;
        }
        self.heading("## Sources");
        for (index, (certainty, origins)) in std::mem::take(&mut self.notes).into_iter().enumerate() {
            let mut line = format!("[^{}]: {}", index.saturating_add(1), certainty.as_str());
            for origin in &origins {
                // A String takes whatever is written to it.
                _ = write!(line, "; {}", origin_words(origin));
            }
            self.line(&line);
        }
    }
}

fn words(item: &ArtefactItem) -> String {
    item.status.as_str().replace('_', " ")
}

/// An origin, with as much of a revision as tells it from others.
fn origin_words(origin: &StatementOrigin) -> String {
    match origin {
        StatementOrigin::Signal(signal) => {
            let revision: String = signal.revision.chars().take(12).collect();
            let id = escaped(show::terminal_str(&signal.id).as_str());
            format!("signal {id}, revision {}", escaped(show::terminal_str(&revision).as_str()))
        }
        StatementOrigin::Person(person) => format!("person {}", escaped(show::terminal_str(person).as_str())),
    }
}
