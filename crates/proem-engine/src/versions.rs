//! The versions of our own code that made the bytes of a request.
//!
//! A prompt file has a version of its own; what turns it into bytes has one here: how text from outside is
//! contained, how templates are rendered, what a profile says, and the form that a contract is shown as. Each is raised where it is defined, in the
//! change that gives other bytes for the same record. A record names those that it was made with, so that a
//! replay which differs can say why.

use proem_guard::contain;
use serde::{Deserialize, Serialize};

use crate::{contract, profile, prompt};

/// The versions that a request was made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Versions {
    /// Of profiles: [`profile::VERSION`].
    pub profile: u32,
    /// Of containment: [`contain::VERSION`].
    pub containment: u32,
    /// Of rendering: [`prompt::RENDERING`].
    pub rendering: u32,
    /// Of the form that a contract is shown as: [`contract::FORM`].
    #[serde(default = "first_version")]
    pub form: u32,
}

const fn first_version() -> u32 {
    1
}

/// Those of a record that names none, since it is from before they were written down.
impl Default for Versions {
    fn default() -> Self {
        Self { profile: 1, containment: 1, rendering: 1, form: first_version() }
    }
}

/// One of them that is not what it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct VersionChange {
    /// Which: `profile`, `containment`, `rendering` or `form`.
    pub what: &'static str,
    /// The version in the record.
    pub recorded: u32,
    /// Today's version.
    pub today: u32,
}

impl Versions {
    /// Those of this build.
    pub const TODAY: Self = Self {
        profile: profile::VERSION,
        containment: contain::VERSION,
        rendering: prompt::RENDERING,
        form: contract::FORM,
    };

    /// Those of this build that are others than the recorded ones.
    #[must_use]
    pub fn changed(self) -> Vec<VersionChange> {
        self.changed_to(Self::TODAY)
    }

    fn changed_to(self, today: Self) -> Vec<VersionChange> {
        let all = [
            ("profile", self.profile, today.profile),
            ("containment", self.containment, today.containment),
            ("rendering", self.rendering, today.rendering),
            ("form", self.form, today.form),
        ];
        let all = all.into_iter().map(|(what, recorded, today)| VersionChange { what, recorded, today });
        all.filter(|changed| changed.recorded != changed.today).collect()
    }
}

/// The versions that a record was made with and those of today, in words: `containment 1` and `containment 2`.
#[must_use]
pub fn version_change_words(changed: &[VersionChange]) -> (String, String) {
    let listed = |version: fn(&VersionChange) -> u32| {
        let words: Vec<String> = changed.iter().map(|one| format!("{} {}", one.what, version(one))).collect();
        match words.split_last() {
            None => String::new(),
            Some((last, [])) => last.clone(),
            Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        }
    };
    (listed(|one| one.recorded), listed(|one| one.today))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_is_named() {
        let check = |recorded: [u32; 3], today: [u32; 3], was: &str, is: &str| {
            let of =
                |[profile, containment, rendering]: [u32; 3]| Versions { profile, containment, rendering, form: 1 };
            assert_eq!(version_change_words(&of(recorded).changed_to(of(today))), (was.to_owned(), is.to_owned()));
        };
        check([1, 1, 1], [1, 1, 1], "", "");
        check([1, 1, 1], [1, 2, 1], "containment 1", "containment 2");
        check([1, 1, 1], [2, 1, 3], "profile 1 and rendering 1", "profile 2 and rendering 3");
        check(
            [4, 1, 1],
            [2, 2, 2],
            "profile 4, containment 1 and rendering 1",
            "profile 2, containment 2 and rendering 2",
        );
    }

    #[test]
    fn a_record_names_its_versions() {
        let written = serde_json::to_value(Versions::default()).unwrap();
        assert_eq!(written, serde_json::json!({ "profile": 1, "containment": 1, "rendering": 1, "form": 1 }));
        let older = serde_json::json!({ "profile": 1, "containment": 1, "rendering": 1 });
        assert_eq!(serde_json::from_value::<Versions>(older).unwrap(), Versions::default());
        assert_eq!(Versions::TODAY.changed(), []);
    }
}
