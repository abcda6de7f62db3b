//! Words that say too little as the whole of a name.

/// Verbs that any module could have.
const BARE_VERBS: &[&str] = &[
    "add", "apply", "build", "call", "check", "close", "count", "create", "do", "draw", "end", "execute", "fill",
    "find", "get", "handle", "load", "look", "make", "open", "parse", "print", "process", "push", "put", "read",
    "render", "report", "run", "save", "say", "scan", "set", "show", "split", "start", "step", "store", "take", "tell",
    "update", "walk", "work", "write",
];

/// Participles that end in another way than `ed`.
const IRREGULAR: &[&str] = &[
    "begun",
    "bound",
    "bought",
    "broken",
    "brought",
    "built",
    "caught",
    "chosen",
    "cut",
    "done",
    "drawn",
    "driven",
    "fed",
    "felt",
    "found",
    "given",
    "gone",
    "grown",
    "heard",
    "held",
    "hidden",
    "kept",
    "known",
    "laid",
    "led",
    "left",
    "lost",
    "made",
    "meant",
    "met",
    "overtaken",
    "paid",
    "proven",
    "put",
    "read",
    "said",
    "seen",
    "sent",
    "shown",
    "sought",
    "spent",
    "spoken",
    "sworn",
    "taken",
    "taught",
    "thought",
    "thrown",
    "told",
    "torn",
    "won",
    "worn",
    "written",
];

/// Words in `ed` that are no participles.
const NO_PARTICIPLES: &[&str] =
    &["bed", "embed", "exceed", "feed", "need", "proceed", "seed", "shed", "speed", "succeed"];

/// Stems of files that could hold anything.
const VAGUE_STEMS: &[&str] = &[
    "asking", "common", "data", "helper", "helpers", "info", "manager", "mends", "misc", "ours", "over", "standing",
    "taking", "theirs", "util", "utils",
];

/// Whether a name is a participle and nothing else.
pub(super) fn is_participle(name: &str) -> bool {
    IRREGULAR.contains(&name)
        || (name.ends_with("ed") && name.len() > 3 && !name.contains('_') && !NO_PARTICIPLES.contains(&name))
}

/// Whether a name is a verb that says nothing of its object.
pub(super) fn is_bare_verb(name: &str) -> bool {
    BARE_VERBS.contains(&name)
}

/// Whether a file's stem leaves open what is in it.
pub(super) fn is_vague_stem(stem: &str) -> bool {
    VAGUE_STEMS.contains(&stem) || is_participle(stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn participles_are_told_from_words_that_end_alike() {
        for name in ["told", "refused", "written", "cut"] {
            assert!(is_participle(name), "{name}");
        }
        for name in ["seed", "embed", "refused_page", "red", "token", "children"] {
            assert!(!is_participle(name), "{name}");
        }
        assert!(is_vague_stem("made") && is_vague_stem("theirs") && !is_vague_stem("matches"));
    }
}
