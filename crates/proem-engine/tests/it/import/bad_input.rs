//! Every kind truncated, of an unknown version, or with code in it: refused with its line, and nothing is written.

use super::{import_beside, refuse};

/// A whole source of each kind.
const SOURCES: [(&str, &str); 11] = [
    (
        "a.prompt",
        "---\nmodel: m\ninput:\n  schema:\n    q: string\n---\n{{role \"system\"}}\nHelp.\n{{role \"user\"}}\n{{q}}\n",
    ),
    ("a.prompty", "---\nname: a\nmodel:\n  api: chat\n---\nsystem:\nHelp.\nuser:\n{{q}}\n"),
    (
        "p.yaml",
        "prompts: ['Say {{q}}']\nproviders: [x]\ntests:\n  - vars: { q: hi }\n    assert: [{ type: equals, value: hi }]\n",
    ),
    ("a.json", "{\"_type\": \"prompt\", \"template\": \"Say {q}\", \"input_variables\": [\"q\"]}"),
    (
        "few.json",
        "{\"_type\": \"few_shot\", \"examples\": [{\"a\": \"x\"}], \"example_prompt\": {\"template\": \"{a}\"}, \"suffix\": \"{q}\"}",
    ),
    (".claude/commands/a.md", "---\ndescription: a\n---\nSay $ARGUMENTS.\n"),
    ("a.prompt.md", "---\nmode: agent\n---\nSay ${input:q}.\n"),
    ("patterns/a/system.md", "# IDENTITY\nYou say {{q}}.\n"),
    ("Chat/skprompt.txt", "<message role=\"user\">{{$q}} &amp; more</message>"),
    ("call.json", "{\"model\": \"m\", \"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}"),
    ("a.j2", "Say {{ q }}{# why #}.\n"),
];

#[test]
fn a_source_cut_anywhere_is_imported_whole_or_refused_with_its_file() {
    for (path, text) in SOURCES {
        assert!(import_beside(path, text, &[]).is_ok(), "{path}");
        for end in text.char_indices().map(|(at, _)| at) {
            let cut = text.get(..end).unwrap();
            if let Err(problem) = import_beside(path, cut, &[]) {
                let file = path.rsplit('/').next().unwrap();
                assert!(problem.contains(file), "{path} cut at {end}: {problem}");
            }
        }
    }
}

#[test]
fn a_source_cut_within_its_structure_is_refused_by_its_line() {
    refuse("a.prompt", "---\nmodel: m\n", 1, "no end");
    refuse("a.prompt", "---\nmodel: m\n---\nHi {{q\n", 4, "no end");
    refuse("a.prompty", "---\nname: a\n", 1, "no end");
    refuse("p.yaml", "prompts: ['Say {{q}}'\nproviders: [x]\n", 2, "invalid indentation");
    refuse("a.json", "{\"_type\": \"prompt\", \"template\": \"Say", 1, "not JSON");
    refuse(".claude/commands/a.md", "---\ndescription: a\n", 1, "no end");
    refuse("a.prompt.md", "---\nmode: agent\nSay ${input:q}.\n", 1, "no end");
    refuse("a.prompt.md", "Say ${input:q\n", 1, "no end");
    refuse("patterns/a/system.md", "Say {{q\n", 1, "no end");
    refuse("s/skprompt.txt", "Say {{$q\n", 1, "no end");
    refuse("call.json", "{\"model\": \"m\", \"messages\": [{\"role\":", 1, "not JSON");
    refuse("a.j2", "Say\n{{ q\n", 2, "no end");
    refuse("a.txt", "Say {p}\nand {q\n", 2, "no end");
}

#[test]
fn an_unknown_form_is_refused_by_its_line() {
    refuse("a.prompty", "---\nname: a\nmodel: m\n$schema: 9\n---\nuser:\nx\n", 4, "not known");
    refuse("a.prompty", "---\nname: a\nmodel: m\ntemplate: liquid\n---\nuser:\nx\n", 4, "not known");
    refuse("a.json", "{\"_type\": \"prompt_v9\", \"template\": \"x\"}", 1, "`prompt_v9`");
    refuse("a.json", "{\"_type\": \"prompt\", \"template\": \"x\", \"template_format\": \"ejs\"}", 1, "`ejs`");
    refuse("f.yaml", "name: a\ntemplate: x\ntemplate_format: liquid\n", 3, "`liquid`");
    refuse(
        "call.json",
        "{\"model\": \"m\", \"messages\": [{\"role\": \"narrator\", \"content\": \"x\"}]}",
        1,
        "`narrator`",
    );
    refuse("p.yaml", "prompts: ['a']\nproviders: [x]\ntests: tests.xlsx\n", 3, "tests.xlsx");
}

#[test]
fn code_in_any_kind_is_refused_by_its_line() {
    refuse("a.prompt", "---\nmodel: m\n---\nHi\n{{> other}}\n", 5, "partial");
    refuse("a.prompty", "---\nmodel: m\n---\nuser:\n{% if q %}x{% endif %}\n", 5, "code");
    refuse("p.yaml", "prompts: ['a']\nproviders: [x]\nextensions: [file://a.js]\n", 3, "code");
    refuse("p.yaml", "prompts:\n  - 'exec: make'\nproviders: [x]\n", 2, "program");
    refuse(
        "p.yaml",
        "prompts: ['a {{q}}']\nproviders: [x]\ntests:\n  - vars: { q: a }\n    options: { transform: x }\n",
        5,
        "code",
    );
    refuse("a.json", "{\"_type\": \"prompt\", \"template\": \"{f(x)}\"}", 1, "not imported");
    refuse(
        "a.json",
        "{\"_type\": \"prompt\", \"template\": \"{{ f(x) }}\", \"template_format\": \"jinja2\"}",
        1,
        "calls",
    );
    refuse("a.prompt.md", "See ${workspaceFolder}.\n", 1, "editor");
    refuse("patterns/a/system.md", "a\n{{plugin:datetime:now}}\n", 2, "more than a name");
    refuse("s/skprompt.txt", "a\n{{Math.Add 1 2}}\n", 2, "call of a function");
    refuse("a.txt", "a {x!r}\n", 1, "conversion");
}

#[test]
fn each_fault_is_told_at_its_own_line_though_its_words_stand_twice() {
    let lines = |path: &str, text: &str| -> Vec<String> {
        let problem = import_beside(path, text, &[]).unwrap_err();
        problem.lines().filter_map(|line| line.trim().strip_prefix("--> ")).map(str::to_owned).collect()
    };
    let prompty = "---\nmodel: m\n---\nsystem:\n{% if a %}\n{% endif %}\n\nuser:\n{% if a %}\nx {% endif %}\n";
    assert_eq!(lines("a.prompty", prompty), ["a.prompty:5:1", "a.prompty:6:1", "a.prompty:9:1", "a.prompty:10:3"]);
    let block = "name: a\ntemplate: |\n  Hi\n  {{ f 1 }}\n  so {{ f 1 }}\ntemplate_format: semantic-kernel\n";
    assert_eq!(lines("f.yaml", block), ["f.yaml:4:3", "f.yaml:5:6"]);
}
