//! Recognises authors that are programs.

use alloc::string::String;

use super::Person;

/// Programs that commit under a name or address without `[bot]`, as their makers document them or as they are in large
/// public histories. Words joined by `-`.
const KNOWN: &[&str] = &[
    // Updates of dependencies.
    "dependabot",
    "dependabot-preview",
    "greenkeeper",
    "greenkeeperio-bot",
    "pyup-bot",
    "renovate",
    "renovate-bot",
    "scala-steward",
    "snyk-bot",
    "whitesource-renovate",
    // Builds and releases.
    "azure-pipelines",
    "circleci",
    "github-action",
    "github-actions",
    "github-actions-bot",
    "gitlab-bot",
    "jenkins",
    "jenkins-bot",
    "jenkinsci-bot",
    "pre-commit-ci",
    "pre-commit-ci-bot",
    "release-please",
    "semantic-release-bot",
    "travis-ci",
    "zuul",
    // Merges and mirrors.
    "bors",
    "bors-servo",
    "copybara-service",
    "facebook-github-bot",
    "k8s-ci-robot",
    "k8s-merge-robot",
    "mergify",
    "openstack-proposal-bot",
    "rust-bors",
    "tensorflower-gardener",
    // Upkeep of texts and pictures.
    "allcontributors",
    "allcontributors-bot",
    "codecov-io",
    "crowdin-bot",
    "imgbot",
    "imgbotapp",
    "lgtm-com",
    "restyled-commits",
    "transifex-bot",
    "web-flow",
    "weblate",
];

/// Addresses of programs whose local part alone says too little.
const ADDRESSES: &[&str] = &[
    "bot@renovateapp.com",
    "gardener@tensorflow.org",
    "hosted@weblate.org",
    "noreply-travis@travis-ci.org",
    "support@dependabot.com",
    "support@pyup.io",
];

/// Whether a person is a program: `[bot]` in the name or address, the mark of GitHub's applications, or
/// one of the known ones by the whole name or the whole local part of the address. A part of a name is
/// never enough.
#[must_use]
pub fn is_bot(person: &Person) -> bool {
    let name = person.name.to_lowercase();
    if name.contains("[bot]") || person.mail.contains("[bot]") || ADDRESSES.contains(&person.mail.as_str()) {
        return true;
    }
    let local = person.mail.split('@').next().unwrap_or_default();
    // GitHub's private addresses have the number of the account before the login.
    let login = match local.split_once('+') {
        Some((number, login)) if number.bytes().all(|byte| byte.is_ascii_digit()) => login,
        _ => local,
    };
    is_known_bot(&name) || is_known_bot(login)
}

fn is_known_bot(text: &str) -> bool {
    let mut joined = String::with_capacity(text.len());
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        if !joined.is_empty() {
            joined.push('-');
        }
        joined.push_str(word);
    }
    KNOWN.contains(&joined.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, mail: &str, expected: bool) {
        assert_eq!(is_bot(&Person { mail: mail.into(), name: name.into() }), expected, "{name} <{mail}>");
    }

    #[test]
    fn marked_and_known_programs() {
        check("dependabot[bot]", "49699333+dependabot[bot]@users.noreply.github.com", true);
        check("Dependabot[BOT]", "x@y", true);
        check("github-actions", "41898282+github-actions@users.noreply.github.com", true);
        check("GitHub Actions", "actions@github.com", true);
        check("GitHub Action", "action@github.com", true);
        check("Renovate Bot", "bot@renovateapp.com", true);
        check("WhiteSource Renovate", "x@y", true);
        check("Someone", "bot@renovateapp.com", true);
        check("Kubernetes Prow Robot", "k8s-ci-robot@users.noreply.github.com", true);
        check("Travis CI", "builds@travis-ci.org", true);
        check("semantic-release-bot", "semantic-release-bot@martynus.net", true);
        check("Weblate (bot)", "hosted@weblate.org", true);
        check("TensorFlower Gardener", "gardener@tensorflow.org", true);
    }

    #[test]
    fn people_with_such_names() {
        check("Bot", "robot@example.org", false);
        check("Bob Ott", "bott@example.org", false);
        check("Jean Abbott", "abbott@example.org", false);
        check("Zuulema Jenkinson", "zj@jenkinson.example", false);
        check("Tom Jenkins", "tom.jenkins@example.org", false);
        check("Ann", "ann@jenkins.io", false);
        check("Ann", "ann+github-actions@example.org", false);
        check("Renovated Homes", "info@renovate.example", false);
        check("", "", false);
    }
}
