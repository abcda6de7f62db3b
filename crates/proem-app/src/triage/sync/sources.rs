//! The feeds of a project: the parts of the configured sources that its file names.

use std::collections::BTreeSet;

use proem_llm::client::hosts::{HostScope, check_url};
use proem_triage::charter::ProjectCharter;
use proem_triage::sync::{SyncPlan, SyncSystem};

use crate::config::effects::{CredentialFile, EffectsFile};
use crate::config::sources::{SignalSourceFile, SignalSystem};
use crate::error::Error;
use crate::project::OpenProject;

/// The origin of Microsoft Graph.
pub(crate) const GRAPH: &str = "https://graph.microsoft.com";
/// The origin of Asana.
const ASANA: &str = "https://app.asana.com";

/// A part of a source that a project reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncFeed {
    /// The source, by its name in the configuration.
    pub source: String,
    /// The part of the source, and its address.
    pub plan: SyncPlan,
    /// The source as the configuration has it.
    pub(super) file: SignalSourceFile,
}

impl SyncFeed {
    /// Its name in the records: the source, and the part of it.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}", self.source, self.plan.part)
    }

    /// The addresses that its servers may have.
    pub(super) const fn source_hosts(&self) -> HostScope {
        source_hosts(&self.file)
    }
}

const fn source_hosts(file: &SignalSourceFile) -> HostScope {
    if file.private { HostScope::Private } else { HostScope::Public }
}

/// The feeds of a project, by name.
///
/// # Errors
///
/// If a source has no usable address, lacks its user, or reads with a credential that sends.
pub fn project_feeds(project: &OpenProject, charter: &ProjectCharter) -> Result<Vec<SyncFeed>, Error> {
    let mut feeds = Vec::new();
    for (source, file) in &project.config.sources {
        if !file.projects.is_empty() && !file.projects.iter().any(|key| key.eq_ignore_ascii_case(&charter.key)) {
            continue;
        }
        check_source(source, file, &project.config.effects)?;
        let (system, base) = match (file.system, file.url.as_deref()) {
            (SignalSystem::Jira, Some(url)) => (SyncSystem::Jira, url),
            (SignalSystem::Jira, None) => {
                let problem = format!("`sources.{source}.url` is not set; write it as `https://NAME.atlassian.net`");
                return Err(Error::invalid(problem));
            }
            (SignalSystem::Graph, url) => (SyncSystem::Graph, url.unwrap_or(GRAPH)),
            (SignalSystem::Asana, url) => (SyncSystem::Asana, url.unwrap_or(ASANA)),
        };
        for part in source_parts(system, file, charter) {
            let plan = SyncPlan { system, base: base.trim_end_matches('/').to_owned(), part, since: None };
            feeds.push(SyncFeed { source: source.clone(), plan, file: file.clone() });
        }
    }
    Ok(feeds)
}

/// The parts of a source that are this project's.
fn source_parts(system: SyncSystem, file: &SignalSourceFile, charter: &ProjectCharter) -> BTreeSet<String> {
    let tracked = |word: &str| {
        let trackers = charter.trackers.iter().filter(|tracker| tracker.source == word);
        trackers.map(|tracker| tracker.project.trim().to_owned()).collect::<BTreeSet<String>>()
    };
    match system {
        SyncSystem::Jira => {
            let mut keys = tracked("jira");
            keys.insert(charter.key.clone());
            keys
        }
        SyncSystem::Asana => tracked("asana"),
        SyncSystem::Graph => BTreeSet::from([file.user.clone().unwrap_or_else(|| "me".to_owned())]),
    }
}

fn check_source(source: &str, file: &SignalSourceFile, effects: &EffectsFile) -> Result<(), Error> {
    let invalid = |key: &str, problem: &str| Err(Error::invalid(format!("`sources.{source}.{key}` {problem}")));
    for (key, url) in [("url", file.url.as_deref()), ("login.url", file.login.as_ref().map(|login| login.url.as_str()))]
    {
        if let Some(Err(refusal)) = url.map(|url| check_url(url, source_hosts(file))) {
            return invalid(key, &format!("can't be used: {refusal}"));
        }
    }
    if file.url.as_deref().is_some_and(|url| url.contains(['?', '#'])) {
        return invalid("url", "has a query or a fragment; write the origin alone");
    }
    if file.system == SignalSystem::Jira && file.user.is_none() && file.login.is_none() {
        return invalid("user", "is not set; name the account whose API token the credential is");
    }
    let Some(place) = effects.credentials.get(&file.credential) else {
        let name = &file.credential;
        return invalid(
            "credential",
            &format!("is `{name}`, and `effects.credentials.{name}` is not set; say where it is"),
        );
    };
    // A process that reads strangers' words must have nothing to send with.
    if sending_credentials(effects).any(|(name, sends)| name == file.credential || sends == Some(place)) {
        return invalid("credential", "is one that sends mails or requests; make another one that may only read");
    }
    Ok(())
}

/// The credentials that mails and requests are sent with, by name, and their places.
fn sending_credentials(effects: &EffectsFile) -> impl Iterator<Item = (&str, Option<&CredentialFile>)> {
    let mail = effects.mail.server.iter().filter_map(|server| server.credential.as_deref());
    let graph = effects.mail.graph.iter().map(|graph| graph.credential.as_str());
    let servers = effects.servers.values().filter_map(|server| server.credential.as_deref());
    mail.chain(graph).chain(servers).map(|name| (name, effects.credentials.get(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, effects: &str, expected: &str) {
        let file: SignalSourceFile = toml::from_str(source).unwrap();
        let effects: EffectsFile = toml::from_str(effects).unwrap();
        let found = check_source("s", &file, &effects).map_or_else(|error| error.to_string(), |()| "good".to_owned());
        assert!(found.contains(expected), "{source}\n{found}");
    }

    #[test]
    fn a_source_reads_with_a_credential_of_its_own() {
        const JIRA: &str = "system = \"jira\"\nurl = \"https://corp.example\"\nuser = \"bot\"\ncredential = \"read\"\n";
        const READ: &str = "[credentials]\nread = { variable = \"READ\" }\nsend = { variable = \"SEND\" }\n";
        check(JIRA, READ, "good");
        check(JIRA, "", "`effects.credentials.read` is not set");
        let server = |credential: &str| {
            format!("{READ}[servers.tickets]\norigin = \"https://corp.example\"\ncredential = \"{credential}\"\n")
        };
        check(JIRA, &server("send"), "good");
        check(JIRA, &server("read"), "is one that sends");
        check(JIRA, &server("send").replace("SEND", "READ"), "is one that sends");
        let mail = format!("{READ}[mail.server]\nhost = \"m.example\"\ncredential = \"read\"\n");
        check(JIRA, &mail, "is one that sends");
        check(&JIRA.replace("user = \"bot\"\n", ""), READ, "`sources.s.user` is not set");
        check(&JIRA.replace("https://corp.example", "ftp://corp.example"), READ, "`sources.s.url` can't be used");
        check(&JIRA.replace("corp.example", "corp.example/?a=b"), READ, "has a query");
        check(&JIRA.replace("https://corp.example", "http://127.0.0.1:1"), READ, "declare it as private");
    }
}
