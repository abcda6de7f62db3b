//! The names that the agents' files of a folder use together.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::places::project_of;
use super::servers::{offered_servers, tool_lists};
use super::settings;
use super::settings_tree::SettingsNode;

/// The servers and tools that the files of a folder name, and the files that their commands name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentSurvey {
    /// The commands and addresses of each server, by the folder of its project and its name.
    servers: BTreeMap<(String, String), BTreeSet<String>>,
    /// How many lists have a tool of that name.
    tools: BTreeMap<String, usize>,
    /// Paths that a command names, from the folder that it runs in.
    referred: BTreeSet<String>,
}

impl AgentSurvey {
    /// Takes in a file. `path` is relative to the project's root.
    pub fn add(&mut self, path: &str, text: &str) {
        let Some(syntax) = settings::syntax_of(path) else { return };
        let Some(root) = SettingsNode::parse(text, syntax) else { return };
        for (server, _) in offered_servers(&root) {
            let key = (project_of(path), server.name.to_owned());
            self.servers.entry(key).or_default().insert(server.start);
        }
        for list in tool_lists(&root) {
            let names: BTreeSet<&str> = list.items().iter().filter_map(|tool| tool.get("name")?.text()).collect();
            for name in names {
                let count = self.tools.entry(name.to_owned()).or_default();
                *count = count.saturating_add(1);
            }
        }
        for finding in settings::judge_settings_file(path, text, syntax, &Self::default()) {
            self.referred.extend(finding.refers);
        }
    }

    /// Whether a command of the settings names the file at `path`, which is relative to the project's root.
    #[must_use]
    pub fn refers_to(&self, path: &str) -> bool {
        self.referred.contains(path)
    }

    /// The files that commands of the settings name, relative to the project's root, whether there are such files or not.
    pub fn referred_paths(&self) -> impl Iterator<Item = &Path> {
        self.referred.iter().map(Path::new)
    }

    pub(super) fn has_other_server(&self, project: &str, name: &str, start: &str) -> bool {
        let key = (project.to_owned(), name.to_owned());
        self.servers.get(&key).is_some_and(|starts| starts.iter().any(|other| other != start))
    }

    pub(super) fn has_tool_twice(&self, name: &str) -> bool {
        self.tools.get(name).is_some_and(|count| *count > 1)
    }
}
