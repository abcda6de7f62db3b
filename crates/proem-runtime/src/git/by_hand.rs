//! Writes the git commands that a person is advised to run: the one place that does.
//!
//! A repository that somebody else made chooses programs for git to run, also when a person runs git: hooks, a file
//! system monitor, a pager, `gpg`. A command in our advice switches those off. We advise none that compares files'
//! contents or writes the index (`status`, `diff`, `add`, `rm`), because those run the filters that the repository
//! configures under names of its own.

/// The command `git ARGS`, which looks at what is there, with what makes it safe in a repository that somebody else made.
///
/// There is none that fetches: what makes that safe is three lines long. A new clone reads no configuration of the old one.
pub(crate) fn by_hand(args: &str) -> String {
    const BOTH: &str = "-c core.fsmonitor=false -c core.hooksPath=/dev/null";
    // These two show no page, ask no `gpg` and write no index.
    if ["fsck", "rev-parse"].iter().any(|name| args.starts_with(name)) {
        return format!("GIT_ALLOW_PROTOCOL=none GIT_NO_LAZY_FETCH=1 git {BOTH} {args}");
    }
    format!(
        "GIT_ALLOW_PROTOCOL=none GIT_NO_LAZY_FETCH=1 git --no-optional-locks --no-pager {BOTH} \
         -c log.showSignature=false {args}"
    )
}

/// A command that helps to see why `command` wrote too much.
pub(crate) fn look_at(command: &str) -> String {
    match command {
        "status" | "diff" | "diff-files" | "diff-index" => {
            "commit some of what is changed, or add irrelevant files to `.gitignore`".to_owned()
        }
        _ => format!("run `{}` to see its output", by_hand(command)),
    }
}
