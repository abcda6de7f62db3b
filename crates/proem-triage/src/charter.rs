//! A project as its file says: `.proem/triage/project.toml`.
//!
//! The file says who belongs to the project and how much may be done without asking, so it counts only as a person
//! vouched for it; whoever reads it sees to that.

mod trackers;

use std::{collections::BTreeSet, fmt};

use proem_engine::{
    policy::{AutonomyLevel, KnownRecipient, ProjectAllowances},
    run::Time,
};
use proem_guard::TreePlace;
use proem_text::{
    Audience,
    diagnostic::{Diagnostic, DiagnosticSeverity},
    span::Span,
};
use serde::Deserialize;
use toml::Spanned;

use super::{
    TriageProject,
    artefact::{FigurePlaces, SectionStates},
    date::parse_timestamp,
    signal::SignalSource,
    sources::SourceAudience,
};

pub use self::trackers::CharterTracker;

/// The most bytes of the file.
pub const MAX_CHARTER: usize = 256 * 1024;
/// The most stakeholders, own domains, mail servers and milestones, each.
const MOST: usize = 500;

/// The people and facts of a project.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectCharter {
    /// A UUID in lower case.
    pub id: String,
    /// Its name among people.
    pub name: String,
    /// The key that its tickets begin with, such as `TES`.
    pub key: String,
    /// Whether signals are worked on.
    pub status: CharterStatus,
    /// How much is done without asking.
    pub level: AutonomyLevel,
    /// The person who answers for everything without another owner.
    pub owner: String,
    /// The IANA name of the zone that its people live in.
    pub time_zone: String,
    /// From when to when they work, in minutes after midnight.
    pub working_hours: [u16; 2],
    /// The domains of the organisation.
    pub domains: Vec<String>,
    /// The mail servers whose word on a sender is believed.
    pub mail_servers: Vec<String>,
    /// Whom it concerns.
    pub stakeholders: Vec<CharterStakeholder>,
    /// The promises.
    pub milestones: Vec<CharterMilestone>,
    /// Further trackers that its tickets are in.
    pub trackers: Vec<CharterTracker>,
    /// The circles of readers of sources, where that is not the organisation.
    pub audiences: Vec<SourceAudience>,
    /// The fields of its tickets for figures that have no field of their own in Jira.
    pub figures: FigureFields,
    /// The names of its sections and statuses, beside those that ship.
    pub states: SectionStates,
    /// How many milliseconds the clocks of its people are ahead of UTC. The file names a zone, and whoever reads the file
    /// knows what that means at the moment; 0 until then.
    pub ahead_of_utc: i64,
}

/// Names of fields that each installation of Jira chooses for itself, such as `customfield_10016`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureFields {
    /// Story points, a number.
    #[serde(default)]
    pub points: Option<String>,
    /// The sprints of a ticket.
    #[serde(default)]
    pub sprints: Option<String>,
}

impl FigureFields {
    /// The places below a signal's fields, with the words for states.
    fn places(&self, words: &SectionStates) -> FigurePlaces {
        let place = |name: &Option<String>| TreePlace::pointer(&format!("/other/fields/{}", name.as_ref()?));
        FigurePlaces { points: place(&self.points), sprints: place(&self.sprints), words: words.clone() }
    }

    fn is_plain(&self) -> bool {
        let names = [&self.points, &self.sprints].into_iter().flatten();
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        names.into_iter().all(|name| !name.is_empty() && name.len() <= 100 && name.bytes().all(is_name))
    }
}

/// Whether signals are worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CharterStatus {
    /// They are.
    Active,
    /// They are taken in and wait.
    Paused,
    /// They are taken in, and nothing more will be done.
    Closed,
}

/// Somebody whom a project concerns.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CharterStakeholder {
    /// As people call them, and as messages greet them.
    pub name: String,
    /// The person's role in the project.
    #[serde(default)]
    pub role: String,
    /// The mail address.
    pub address: String,
    /// Whether the person belongs to the organisation. Without a word it is told by the own domains.
    #[serde(default)]
    pub inside: Option<bool>,
}

/// Something that was promised for a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CharterMilestone {
    /// As the project's file calls it.
    pub name: String,
    /// The day, in milliseconds since 1970, at its beginning in UTC.
    pub due: i64,
}

impl CharterMilestone {
    /// The name as an action is aimed at it: an id, with a hyphen for all that no id has. `None` if nothing is left.
    #[must_use]
    pub fn reference(&self) -> Option<String> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let parts: Vec<&str> = self.name.split(|c| !is_plain(c)).filter(|part| !part.is_empty()).collect();
        (!parts.is_empty()).then(|| parts.join("-"))
    }
}

/// The problems of the file, each with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CharterError {
    /// The problems, in the order of the file.
    pub problems: Vec<String>,
}

impl fmt::Display for CharterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problems.join("\n"))
    }
}

impl std::error::Error for CharterError {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CharterFile {
    id: Spanned<String>,
    name: Spanned<String>,
    key: Spanned<String>,
    #[serde(default = "active")]
    status: CharterStatus,
    level: Spanned<String>,
    owner: Spanned<String>,
    time_zone: Spanned<String>,
    #[serde(default)]
    working_hours: Option<Spanned<[String; 2]>>,
    #[serde(default)]
    domains: Vec<Spanned<String>>,
    #[serde(default)]
    mail_servers: Vec<String>,
    #[serde(default)]
    stakeholders: Vec<Spanned<CharterStakeholder>>,
    #[serde(default)]
    milestones: Vec<MilestoneEntry>,
    #[serde(default)]
    trackers: Vec<Spanned<CharterTracker>>,
    #[serde(default)]
    audiences: Vec<Spanned<AudienceEntry>>,
    #[serde(default)]
    figures: Option<Spanned<FigureFields>>,
    #[serde(default)]
    states: Option<Spanned<SectionStates>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AudienceEntry {
    source: String,
    #[serde(default)]
    project: Option<String>,
    #[serde(default)]
    mailbox: Option<String>,
    audience: String,
}

const fn active() -> CharterStatus {
    CharterStatus::Active
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MilestoneEntry {
    name: String,
    due: Spanned<String>,
}

impl ProjectCharter {
    /// Reads the file. `path` is for errors.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, each with its line and a caret, as far as it is TOML; else where it is none.
    pub fn parse(text: &str, path: &str) -> Result<Self, CharterError> {
        let file: CharterFile = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            CharterError { problems: vec![CharterReader { text, path, problems: Vec::new() }.at(at, error.message())] }
        })?;
        let mut reader = CharterReader { text, path, problems: Vec::new() };
        let charter = reader.charter(file);
        if reader.problems.is_empty() { Ok(charter) } else { Err(CharterError { problems: reader.problems }) }
    }

    /// A moment as the clocks of its people show it, written as if they lived in UTC: its day is their day.
    #[must_use]
    pub const fn wall_clock(&self, moment: Time) -> Time {
        Time(moment.0.saturating_add(self.ahead_of_utc))
    }

    /// The fields of tickets that figures are counted from.
    #[must_use]
    pub fn places(&self) -> FigurePlaces {
        self.figures.places(&self.states)
    }

    /// The people of the project, for the classifier.
    #[must_use]
    pub fn people(&self) -> TriageProject {
        TriageProject {
            own_domains: self.domains.clone(),
            stakeholders: self.stakeholders.iter().map(|known| known.address.clone()).collect(),
            roles: self.stakeholders.iter().map(|known| (known.address.to_lowercase(), known.role.clone())).collect(),
        }
    }

    /// Whom and what actions may name because the file names them: the stakeholders, the own domains, the
    /// milestones, and the project with its tickets.
    #[must_use]
    pub fn allowances(&self) -> ProjectAllowances {
        let recipient = |known: &CharterStakeholder| KnownRecipient {
            address: known.address.clone(),
            name: known.name.clone(),
            role: known.role.clone(),
        };
        ProjectAllowances {
            recipients: self.stakeholders.iter().map(recipient).collect(),
            domains: self.domains.iter().cloned().collect(),
            ids: self
                .milestones
                .iter()
                .filter_map(CharterMilestone::reference)
                .chain(self.tracker_projects())
                .collect(),
            id_prefixes: self.tracker_projects().map(|project| format!("{project}-")).collect(),
        }
    }

    /// Whether an address belongs to nobody inside: by the stakeholder's own line, else by the own domains.
    #[must_use]
    pub fn is_outside(&self, address: &str) -> bool {
        let by_domain = || {
            let domain = address.rsplit_once('@').map_or("", |(_, domain)| domain).to_lowercase();
            !self.domains.iter().any(|own| domain == *own || domain.ends_with(&format!(".{own}")))
        };
        let inside = self.stakeholder(address).and_then(|known| known.inside);
        inside.map_or_else(by_domain, |is_inside| !is_inside)
    }

    /// The stakeholder of an address, whatever its case.
    #[must_use]
    pub fn stakeholder(&self, address: &str) -> Option<&CharterStakeholder> {
        self.stakeholders.iter().find(|known| known.address.eq_ignore_ascii_case(address))
    }

    /// The owner's address, if the owner is among the stakeholders and belongs to the organisation.
    #[must_use]
    pub fn owner_address(&self) -> Option<&str> {
        let owner = self.stakeholders.iter().find(|known| known.name.trim() == self.owner)?;
        let domain = owner.address.rsplit_once('@').map_or("", |(_, domain)| domain);
        let is_own = self.domains.iter().any(|own| own.eq_ignore_ascii_case(domain));
        owner.inside.unwrap_or(is_own).then_some(owner.address.as_str())
    }
}

/// Whether a text is a name: one line of 1 to 200 characters.
fn is_charter_name(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty() && text.chars().count() <= 200 && !text.chars().any(char::is_control)
}

struct CharterReader<'t> {
    text: &'t str,
    path: &'t str,
    problems: Vec<String>,
}

impl CharterReader<'_> {
    /// A problem with the line that it is in, and a caret below it.
    fn at(&self, byte: usize, problem: &str) -> String {
        let diagnostic = Diagnostic {
            severity: DiagnosticSeverity::Error,
            message: problem.to_owned(),
            span: Some(Span::new(byte, byte)),
            help: None,
        };
        diagnostic.render(self.path, self.text).trim_end().to_owned()
    }

    fn say(&mut self, byte: usize, problem: &str) {
        let problem = self.at(byte, problem);
        self.problems.push(problem);
    }

    fn charter(&mut self, file: CharterFile) -> ProjectCharter {
        if !is_uuid(file.id.as_ref()) {
            self.say(file.id.span().start, "`id` is no UUID; write 32 hexadecimal digits as 8-4-4-4-12");
        }
        for (value, name) in [(&file.name, "name"), (&file.key, "key"), (&file.owner, "owner")] {
            if !is_charter_name(value.as_ref()) {
                self.say(value.span().start, &format!("`{name}` is one line of 1 to 200 characters; write it"));
            }
        }
        let level = AutonomyLevel::parse(file.level.as_ref()).unwrap_or_else(|| {
            self.say(file.level.span().start, "`level` is one of monitoring, artefact and tactical; write one of them");
            AutonomyLevel::Monitoring
        });
        let working_hours = file.working_hours.map_or([540, 1_050], |hours| {
            let times = hours.as_ref().each_ref().map(|time| minutes(time));
            match times {
                [Some(from), Some(to)] if from < to => [from, to],
                _ => {
                    let problem = "`working_hours` are two times such as [\"09:00\", \"17:30\"], the earlier one first";
                    self.say(hours.span().start, problem);
                    [540, 1_050]
                }
            }
        });
        let counts = [
            file.domains.len(),
            file.mail_servers.len(),
            file.stakeholders.len(),
            file.milestones.len(),
            file.audiences.len(),
            file.trackers.len(),
        ];
        if counts.into_iter().any(|count| count > MOST) {
            self.say(0, &format!("a list has more than {MOST} entries; shorten it"));
        }
        if let Some(fields) = file.figures.as_ref().filter(|fields| !fields.as_ref().is_plain()) {
            let problem = "`points` and `sprints` are names of fields in Jira, such as `customfield_10016`";
            self.say(fields.span().start, problem);
        }
        let states = file.states.as_ref();
        if let Some(words) = states.filter(|words| words.as_ref().all().any(|word| !is_charter_name(word))) {
            self.say(
                words.span().start,
                "the name of a section or status is one line of 1 to 200 characters; write it",
            );
        }
        for tracker in &file.trackers {
            if let Some(problem) = tracker.as_ref().problem() {
                self.say(tracker.span().start, problem);
            }
        }
        self.stakeholders_twice(&file.stakeholders);
        let domains = file.domains.into_iter().map(|domain| self.domain(domain)).collect();
        let stakeholders = file.stakeholders.into_iter().map(|known| self.stakeholder(known)).collect::<Vec<_>>();
        let milestones = file.milestones.into_iter().map(|entry| self.milestone(entry)).collect();
        let audiences = file.audiences.iter().filter_map(|entry| self.audience(entry)).collect();
        ProjectCharter {
            id: file.id.into_inner().to_ascii_lowercase(),
            name: file.name.into_inner().trim().to_owned(),
            key: file.key.into_inner().trim().to_owned(),
            status: file.status,
            level,
            owner: file.owner.into_inner().trim().to_owned(),
            time_zone: file.time_zone.into_inner(),
            working_hours,
            domains,
            mail_servers: file.mail_servers,
            stakeholders,
            milestones,
            trackers: file.trackers.into_iter().map(Spanned::into_inner).collect(),
            audiences,
            figures: file.figures.map(Spanned::into_inner).unwrap_or_default(),
            states: file.states.map(Spanned::into_inner).unwrap_or_default(),
            ahead_of_utc: 0,
        }
    }

    fn domain(&mut self, domain: Spanned<String>) -> String {
        let said = domain.as_ref();
        let is_plain = said.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'));
        if !said.contains('.') || !is_plain || said.starts_with('.') || said.ends_with('.') {
            self.say(domain.span().start, "a domain has letters, digits, dots and hyphens, such as `corp.example`");
        }
        domain.into_inner().to_ascii_lowercase()
    }

    fn stakeholder(&mut self, known: Spanned<CharterStakeholder>) -> CharterStakeholder {
        let address = &known.as_ref().address;
        let has_parts = address.rsplit_once('@').is_some_and(|(name, domain)| !name.is_empty() && domain.contains('.'));
        if !has_parts || address.chars().any(|c| c.is_whitespace() || c.is_control()) || address.len() > 254 {
            self.say(known.span().start, "`address` is no mail address; write one such as `sam@corp.example`");
        }
        if known.as_ref().name.trim().is_empty() {
            self.say(known.span().start, "`name` of a stakeholder is empty; write the name");
        }
        known.into_inner()
    }

    /// An address twice would let the later line say that somebody is inside whom the earlier one calls outside.
    fn stakeholders_twice(&mut self, stakeholders: &[Spanned<CharterStakeholder>]) {
        let mut known = BTreeSet::new();
        for stakeholder in stakeholders {
            if !known.insert(stakeholder.as_ref().address.to_lowercase()) {
                self.say(stakeholder.span().start, "this address is listed twice; keep one line for each person");
            }
        }
    }

    /// The circle that a line names. `None` once its problem is listed.
    fn audience(&mut self, entry: &Spanned<AudienceEntry>) -> Option<SourceAudience> {
        let AudienceEntry { source, project, mailbox, audience } = entry.as_ref();
        let at = entry.span().start;
        let source = SignalSource::parse(source);
        let is_mail = matches!(source, Some(SignalSource::Mail | SignalSource::Outlook));
        let problem = match (source, project, mailbox) {
            (None, ..) => "`source` is one of jira, outlook, asana, mail and plain; write one of them",
            (Some(_), Some(_), _) if is_mail => "a mail is of no project; write `mailbox`, or leave both out",
            (Some(_), _, Some(_)) if !is_mail => "a ticket is in no mailbox; write `project`, or leave both out",
            (Some(_), _, Some(address)) if !address.contains('@') => {
                "`mailbox` is no mail address; write one such as `list@corp.example`"
            }
            (Some(_), Some(key), _) if key.trim().is_empty() => "`project` is empty; write the key of a project",
            _ => "",
        };
        let audience = Audience::parse(audience);
        let problem = match audience {
            _ if !problem.is_empty() => problem,
            None => "`audience` is one of public, external, internal and restricted; write one of them",
            Some(_) => "",
        };
        if !problem.is_empty() {
            self.say(at, problem);
        }
        let (source, audience) = source.zip(audience).filter(|_| problem.is_empty())?;
        Some(SourceAudience { source, project: project.clone(), mailbox: mailbox.clone(), audience })
    }

    fn milestone(&mut self, entry: MilestoneEntry) -> CharterMilestone {
        let due = parse_timestamp(&format!("{}T00:00:00Z", entry.due.as_ref())).unwrap_or_else(|_| {
            self.say(entry.due.span().start, "`due` is no day; write it as 2026-12-24");
            0
        });
        CharterMilestone { name: entry.name, due }
    }
}

/// Minutes after midnight of a time such as `09:30`.
fn minutes(time: &str) -> Option<u16> {
    let (hours, minutes) = time.split_once(':')?;
    let number = |digits: &str| {
        let is_plain = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_plain.then(|| digits.parse::<u16>().ok()).flatten()
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    (hours < 24 && minutes < 60).then(|| hours.saturating_mul(60).saturating_add(minutes))
}

/// Whether a text is a UUID as it is written (RFC 9562, section 4).
fn is_uuid(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    lengths == [8, 4, 4, 4, 12] && parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"
id = "0192f0c1-7a2b-7c3d-8e4f-5a6b7c8d9e0f"
name = "Mobile checkout"
key = "MCU"
level = "artefact"
owner = "Olivia Reyes"
time_zone = "Europe/Lisbon"
working_hours = ["09:00", "17:30"]
domains = ["corp.example"]
mail_servers = ["mx.corp.example"]

[[stakeholders]]
name = "Sam Okoro"
role = "sponsor"
address = "sam@corp.example"

[[milestones]]
name = "Beta"
due = "2026-12-24"
"#;

    #[test]
    fn a_file_says_who_and_what() {
        let charter = ProjectCharter::parse(WHOLE, "project.toml").unwrap();
        assert_eq!((charter.key.as_str(), charter.level), ("MCU", AutonomyLevel::Artefact));
        assert_eq!(charter.working_hours, [540, 1_050]);
        assert_eq!(charter.milestones[0].due, 1_798_070_400_000);
        assert_eq!(charter.stakeholder("SAM@corp.example").unwrap().name, "Sam Okoro");
        assert_eq!(charter.people().stakeholders, ["sam@corp.example"]);
    }

    #[test]
    fn every_problem_has_its_place() {
        let check = |from: &str, to: &str, expected: &str| {
            let error = ProjectCharter::parse(&WHOLE.replace(from, to), "project.toml").unwrap_err();
            assert_eq!(error.to_string(), expected);
        };
        check(
            "level = \"artefact\"",
            "level = \"full\"",
            "error: `level` is one of monitoring, artefact and tactical; write one of them\n --> project.toml:5:9\n  |\n\
             5 | level = \"full\"\n  |         ^",
        );
        check(
            "owner =",
            "ownr =",
            "error: unknown field `ownr`, expected one of `id`, `name`, `key`, `status`, `level`, `owner`, `time_zone`, \
             `working_hours`, `domains`, `mail_servers`, `stakeholders`, `milestones`, `trackers`, `audiences`, `figures`, `states`\n --> project.toml:6:1\n  |\n\
             6 | ownr = \"Olivia Reyes\"\n  | ^",
        );
        let of = |line: &str| format!("[[audiences]]\n{line}\n\n[[milestones]]");
        for line in [
            "source = \"slack\"\naudience = \"public\"",
            "source = \"jira\"\naudience = \"everybody\"",
            "source = \"jira\"\nmailbox = \"list@corp.example\"\naudience = \"public\"",
            "source = \"mail\"\nproject = \"OPEN\"\naudience = \"public\"",
            "source = \"mail\"\nmailbox = \"list\"\naudience = \"public\"",
        ] {
            let error = ProjectCharter::parse(&WHOLE.replace("[[milestones]]", &of(line)), "p").unwrap_err();
            assert_eq!(error.problems.len(), 1, "{error}");
        }
        let named = of("source = \"jira\"\nproject = \"OPEN\"\naudience = \"public\"");
        let charter = ProjectCharter::parse(&WHOLE.replace("[[milestones]]", &named), "p").unwrap();
        assert_eq!(charter.audiences[0].project.as_deref(), Some("OPEN"));
        for (from, to) in [
            ("0192f0c1-", "0192f0c1"),
            ("\"MCU\"", "\"\""),
            ("09:00", "18:00"),
            ("[\"corp.example\"]", "[\"corp\"]"),
            ("sam@corp.example", "sam at corp.example"),
            ("2026-12-24", "Christmas"),
        ] {
            let error = ProjectCharter::parse(&WHOLE.replacen(from, to, 1), "project.toml").unwrap_err();
            assert_eq!(error.problems.len(), 1, "{error}");
        }
        let several = WHOLE.replace("\"MCU\"", "\" \"").replace("2026-12-24", "soon");
        assert_eq!(ProjectCharter::parse(&several, "project.toml").unwrap_err().problems.len(), 2);
    }
}
