//! Further trackers of a project, beside the key that its tickets begin with.

use proem_guard::show;
use serde::Deserialize;

use super::ProjectCharter;
use crate::signal::{ProjectSignal, SignalSource};

/// A project of a tracker whose tickets are the project's own.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CharterTracker {
    /// The word of the tracker, such as `asana`.
    pub source: String,
    /// The tracker's name for the project: a key of Jira, a number (gid) of Asana.
    pub project: String,
    /// The address of the tracker's pages, such as `https://corp.atlassian.net`, for links in reports.
    #[serde(default)]
    pub url: Option<String>,
}

impl CharterTracker {
    /// Its problem, if there is one.
    pub(super) fn problem(&self) -> Option<&'static str> {
        let is_tracker = matches!(SignalSource::parse(&self.source), Some(SignalSource::Jira | SignalSource::Asana));
        let said = self.project.trim();
        if !is_tracker {
            Some("`source` of a tracker is jira or asana; write one of them")
        } else if said.is_empty() || said.len() > 200 || said.chars().any(|c| c.is_control() || c.is_whitespace()) {
            Some("`project` of a tracker is a key of Jira, or the number in the address of an Asana project; write it")
        } else if self.url.as_deref().is_some_and(|url| !is_page_address(url)) {
            Some("`url` of a tracker is an address such as `https://corp.atlassian.net`; write it")
        } else {
            None
        }
    }
}

/// Whether an address is one of a web page, and holds nothing that ends a link or a line.
fn is_page_address(url: &str) -> bool {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '/' | '_' | '~');
    rest.is_some_and(|rest| rest.contains('.') && rest.len() <= 200 && rest.chars().all(is_plain))
}

impl ProjectCharter {
    /// The trackers' names for this project: the key that its tickets begin with, and the names of further trackers.
    pub(super) fn tracker_projects(&self) -> impl Iterator<Item = String> {
        let further = self.trackers.iter().map(|tracker| tracker.project.trim().to_owned());
        [self.key.clone()].into_iter().chain(further)
    }

    /// The address of the page of a signal's ticket. `None` if the file has no address of its tracker. Host and path
    /// are the file's, and the ticket is named only if it has the form of a key of Jira, or of a task of Asana, in a
    /// listed project.
    #[must_use]
    pub fn ticket_page(&self, signal: &ProjectSignal) -> Option<String> {
        let ticket = show::exact_json(signal.ticket.as_ref()?).as_str()?.to_ascii_uppercase();
        let (project, number) = match signal.source {
            SignalSource::Jira => ticket.rsplit_once('-').map(|(project, number)| (project.to_owned(), number))?,
            SignalSource::Asana => (show::exact_json(signal.project.as_ref()?).as_str()?.to_owned(), ticket.as_str()),
            SignalSource::Outlook | SignalSource::Mail | SignalSource::Plain => return None,
        };
        let of_source = self.trackers.iter().filter(|tracker| tracker.source == signal.source.as_str());
        let tracker = of_source.into_iter().find(|tracker| tracker.project.trim().eq_ignore_ascii_case(&project))?;
        let is_key = project.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let is_number = (1..=20).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit());
        let url = tracker.url.as_deref()?.trim_end_matches('/');
        (is_number && is_key).then(|| match signal.source {
            SignalSource::Asana => format!("{url}/0/{project}/{number}"),
            _ => format!("{url}/browse/{ticket}"),
        })
    }

    /// Whether a signal names a project of a tracker that is not this project's.
    #[must_use]
    pub fn is_of_other_project(&self, signal: &ProjectSignal) -> bool {
        let of_source = self.trackers.iter().filter(|tracker| tracker.source == signal.source.as_str());
        let mut own = of_source.map(|tracker| tracker.project.trim()).chain([self.key.as_str()]);
        let named = signal.project.as_ref();
        named.is_some_and(|named| named.measure(|named| !own.any(|own| named.eq_ignore_ascii_case(own))))
    }
}

#[cfg(test)]
mod tests {
    use proem_engine::run::Time;

    use super::*;
    use crate::{SourceContext, normalise_signals};

    const CHARTER: &str = "id = \"0192f0c1-7a2b-7c3d-8e4f-5a6b7c8d9e0f\"\nname = \"Checkout\"\nkey = \"TES\"\n\
                           level = \"artefact\"\nowner = \"Olivia\"\ntime_zone = \"UTC\"\n";

    fn with_url(url: &str) -> Result<ProjectCharter, String> {
        let text = format!("{CHARTER}[[trackers]]\nsource = \"jira\"\nproject = \"TES\"\nurl = {url:?}\n");
        ProjectCharter::parse(&text, "p").map_err(|error| error.to_string())
    }

    /// A ticket as Jira lists it, with another key and an address that the ticket itself claims.
    fn tracker_ticket(key: &str) -> ProjectSignal {
        let issue = serde_json::json!({
            "issues": [{ "id": "1", "key": "TES-1", "self": "https://evil.example/rest/api/2/issue/1",
                "fields": { "project": { "key": "TES" }, "summary": "Refunds" } }], "startAt": 0, "total": 1,
        });
        let context = SourceContext { now: Time(1_795_500_000_000), mail_servers: &[], audiences: &[] };
        let mut signal = normalise_signals(&issue.to_string(), &context).signals.remove(0);
        signal.ticket = signal.ticket.map(|ticket| ticket.map(|_| key.to_owned()));
        signal
    }

    #[test]
    fn a_link_leads_to_the_tracker_of_the_trusted_file_and_to_nobody_elses() {
        let charter = with_url("https://corp.atlassian.net/").unwrap();
        let check = |key: &str, expected: Option<&str>| {
            assert_eq!(charter.ticket_page(&tracker_ticket(key)).as_deref(), expected, "{key}");
        };
        check("TES-7", Some("https://corp.atlassian.net/browse/TES-7"));
        check("tes-7", Some("https://corp.atlassian.net/browse/TES-7"));
        for key in ["TES", "TES-", "TES-7)", "TES-7](http://evil.example)", "TES-7/../../x", "EVIL-7", "TES-٧", ""] {
            check(key, None);
        }
        assert_eq!(ProjectCharter::parse(CHARTER, "p").unwrap().ticket_page(&tracker_ticket("TES-7")), None);
    }

    #[test]
    fn an_address_that_could_end_a_link_is_refused() {
        for url in ["https://corp.example", "http://localhost.example:8080/jira"] {
            assert!(with_url(url).is_ok(), "{url}");
        }
        for url in [
            "javascript:alert(1)",
            "https://a.example/)x",
            "https://a.example/ x",
            "https://a.example\n",
            "corp.example",
        ] {
            let problem = with_url(url).unwrap_err();
            assert!(problem.contains("`url` of a tracker is an address such as"), "{url}: {problem}");
        }
    }
}
