//! Writes the git commands that a person is advised to run: the one place that does.
//!
//! What git runs in a repository that somebody else made is chosen by that repository, also when a person runs it:
//! hooks, a file system monitor, a pager, `gpg`, transports. A command that is advised carries what switches those
//! off. None is advised that compares files' contents or writes the index (`status`, `diff`, `add`, `rm`), for those
//! run the filters that the repository configures under names of its own.

/// What a command is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Errand {
    /// To look at what is there; nothing is fetched.
    Here,
    /// To fetch, over HTTPS or SSH, with the user's own SSH and no helper for credentials.
    Fetch,
}

/// The command `git ARGS` with what makes it safe in a repository that somebody else made.
pub(crate) fn by_hand(errand: Errand, args: &str) -> String {
    const BOTH: &str = "-c core.fsmonitor=false -c core.hooksPath=/dev/null";
    match errand {
        // These two show no page, ask no `gpg` and write no index.
        Errand::Here if ["fsck", "rev-parse"].iter().any(|name| args.starts_with(name)) => {
            format!("GIT_ALLOW_PROTOCOL=none GIT_NO_LAZY_FETCH=1 git {BOTH} {args}")
        }
        Errand::Here => format!(
            "GIT_ALLOW_PROTOCOL=none GIT_NO_LAZY_FETCH=1 git --no-optional-locks --no-pager {BOTH} \
             -c log.showSignature=false {args}"
        ),
        Errand::Fetch => format!(
            "GIT_ALLOW_PROTOCOL=https:ssh GIT_ASKPASS= git {BOTH} -c core.sshCommand=ssh \
             -c core.alternateRefsCommand=true -c credential.helper= {args} --no-recurse-submodules \
             --no-auto-maintenance"
        ),
    }
}

/// What helps to see why `command` wrote too much.
pub(crate) fn look_at(command: &str) -> String {
    match command {
        "status" | "diff" | "diff-files" | "diff-index" => {
            "commit some of what is changed, or add irrelevant files to `.gitignore`".to_owned()
        }
        _ => format!("run `{}` to see its output", by_hand(Errand::Here, command)),
    }
}
