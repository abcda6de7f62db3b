//! Calls that are not made and stand in the record, effects that are off, tools under names of functions, and the
//! memory of runs with tools.

use crate::fixture::Fixture;
use crate::lisp_tools::{Oracle, RUN, SUM, fixture, killed_at};
use crate::terminal::screen::start;

/// A person at a terminal who answers each of a command's questions. Returns the rest of the screen, and the exit code.
fn answer_at_terminal(fixture: &Fixture, args: &[&str], (question, keys): (&str, &str)) -> (String, Option<i32>) {
    let mut command = fixture.command(&fixture.binary);
    command.args(args);
    let mut terminal = start(command).unwrap();
    terminal.until(question);
    terminal.press(keys);
    let left = terminal.end();
    (left.shown, left.code)
}

fn switch(fixture: &Fixture, position: &str) {
    let (shown, code) = answer_at_terminal(fixture, &["effects", position], ("[y/N]", "y\n"));
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains(&format!("effects are {position}")), "{shown}");
}

/// A program with an untrusted input, so that a person is asked.
fn ask_fixture(oracle: &Oracle) -> Fixture {
    let fixture = fixture(oracle, "");
    let path = fixture.base.join("poster.agent.toml");
    let agent = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, agent.replace("name = \"poster\"", "name = \"poster\"\nsignature = \"(n :int) -> :any\""))
        .unwrap();
    fixture.write("input.json", "{\"n\": 7}");
    fixture.write("one.clj", "(tool/put {:n ctx/n})");
    fixture
}

const ONE: [&str; 7] = ["lisp", "run", "one.clj", "--agent", "../poster.agent.toml", "--input", "input.json"];

#[test]
fn effects_off_stops_every_tool_that_may_change_something_until_they_are_on_again() {
    for flags in ["idempotent = true", ""] {
        let oracle = Oracle::new();
        let fixture = fixture(&oracle, flags);
        switch(&fixture, "off");
        let refused = fixture.proem(&RUN);
        assert_eq!(refused.code(), 1);
        let why =
            "effects are off in this project, so only tools with `effect = false` are called; `proem effects on` lets";
        assert!(refused.stderr().contains(why), "{}", refused.stderr());
        assert_eq!(oracle.counts(), []);
        let shown = fixture.proem(&["runs", "show", "last"]);
        for part in ["5 tool calls", "├─ 0 put  not made", "why        effects are off in this project"] {
            assert!(shown.answer().contains(part), "{part}: {}", shown.answer());
        }
        let replayed = fixture.proem(&["runs", "replay", "last"]);
        assert!(replayed.answer().contains("all as recorded"), "{}", replayed.stdout());
        switch(&fixture, "on");
        assert_eq!(fixture.proem(&RUN).answer(), SUM);
        assert_eq!(oracle.counts(), [(1, 1); 20]);
    }
    let oracle = Oracle::new();
    let free = fixture(&oracle, "effect = false");
    switch(&free, "off");
    assert_eq!(free.proem(&RUN).answer(), SUM, "it has no effect");
}

#[test]
fn a_yes_from_before_effects_went_off_is_good_for_nothing_and_the_call_is_asked_about_again() {
    let oracle = Oracle::new();
    let fixture = ask_fixture(&oracle);
    let ask = |what: (&str, &str)| answer_at_terminal(&fixture, &ONE, what);
    switch(&fixture, "off");
    let (shown, code) = ask(("Which one? [1-2]", "1\n"));
    assert_eq!(code, Some(1), "{shown}");
    assert!(shown.contains("effects are off in this project"), "{shown}");
    assert_eq!(oracle.counts(), []);
    switch(&fixture, "on");
    let (shown, code) = ask(("Which one? [1-2]", "1\n"));
    assert_eq!((code, oracle.counts()), (Some(0), vec![(1, 1)]), "{shown}");
}

#[test]
fn switching_effects_off_between_two_calls_of_a_resumed_run_stops_the_second() {
    let oracle = Oracle::new();
    let fixture = fixture(&oracle, "idempotent = true");
    assert!(killed_at(&fixture, &RUN, "after-tool-outcome#7"));
    let before = oracle.counts().len();
    switch(&fixture, "off");
    let refused = fixture.proem(&["runs", "resume", "last"]);
    assert_eq!((refused.code(), oracle.counts().len()), (1, before), "{}", refused.stderr());
}

/// A person sees why a tool failed; the program, which a model may have written, gets our words alone.
#[test]
fn a_failed_tools_own_words_stand_in_the_record_and_reach_no_program() {
    let fixture = Fixture::folder();
    let agent = "version = 1\nname = \"orders\"\n[tools.look]\nsignature = \"() -> :any\"\ndescription = \"x\"\neffect = false\n\
                 command = { argv = [\"sh\", \"-c\", \"printf 'a\\n\\nb\\nc\\nno table orders' >&2; exit 4\"], environment = [\"PATH\"] }\n";
    std::fs::write(fixture.base.join("orders.agent.toml"), agent).unwrap();
    let failed = fixture.proem(&["lisp", "run", "-e", "(tool/look {})", "--agent", "../orders.agent.toml"]);
    assert_eq!(failed.code(), 1, "{}", failed.stdout());
    assert!(failed.stderr().contains("it ended with exit code 4"), "{}", failed.stderr());
    assert!(!failed.stderr().contains("no table"), "{}", failed.stderr());
    let shown = fixture.proem(&["runs", "show", "last"]);
    for part in ["why        it ended with exit code 4", "it wrote   no table orders"] {
        assert!(shown.answer().contains(part), "{part}: {}", shown.answer());
    }
    let wrote = |args: &[&str]| fixture.proem(args).answer().matches("it wrote ").count();
    assert_eq!(
        [wrote(&["runs", "show", "last"]), wrote(&["runs", "show", "last", "--full"])],
        [3, 4],
        "the last lines"
    );
    let json = fixture.proem(&["runs", "show", "last", "--json"]).json();
    assert_eq!(json["tools"][0]["outcome"]["wrote"], "a\n\nb\nc\nno table orders", "{json}");
}

#[test]
fn calls_that_nobody_permitted_stand_in_the_tree_with_their_reason() {
    let oracle = Oracle::new();
    let fixture = ask_fixture(&oracle);
    let refused = fixture.proem(&ONE);
    assert_eq!(refused.code(), 1, "{}", refused.stdout());
    let shown = fixture.proem(&["runs", "show", "last"]);
    for part in [
        "1 tool call",
        "└─ 0 put  not made",
        "arguments  {\"n\":7}",
        "`n` from `ctx/n`",
        "why        nobody permitted it",
    ] {
        assert!(shown.answer().contains(part), "{part}: {}", shown.answer());
    }
    let json = fixture.proem(&["runs", "show", "last", "--json"]).json();
    assert_eq!((&json["tools"][0]["state"], &json["tools"][0]["attempts"]), (&"denied".into(), &0.into()));
    assert!(fixture.proem(&["runs", "replay", "last"]).answer().contains("all as recorded"));
    // A secret in an argument is refused when the call is planned, and the tree does not show it.
    fixture.write("one.clj", "(tool/put {:n (:_pin {:_pin 4711})})");
    let path = fixture.base.join("poster.agent.toml");
    let agent = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, agent.replace("(n :int) -> :any", "(_pin :int) -> :any")).unwrap();
    fixture.write("input.json", "{\"_pin\": 4711}");
    fixture.write("one.clj", "(tool/put {:n ctx/_pin})");
    assert_eq!(fixture.proem(&ONE).code(), 1);
    let shown = fixture.proem(&["runs", "show", "last"]);
    assert!(shown.answer().contains("└─ 0 put  not made") && shown.answer().contains("[Hidden]"), "{}", shown.answer());
    assert!(!shown.answer().contains("4711"), "{}", shown.answer());
    assert_eq!(oracle.counts(), []);
}

#[test]
fn a_tool_may_have_a_functions_name_and_is_called_with_its_namespace() {
    let oracle = Oracle::new();
    let fixture = fixture(&oracle, "idempotent = true");
    let path = fixture.base.join("poster.agent.toml");
    let agent = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, agent.replace("tools.put", "tools.count")).unwrap();
    let run = |source: &str| fixture.proem(&["lisp", "run", "-e", source, "--agent", "../poster.agent.toml"]);
    assert_eq!(run("[(tool/count {:n 3}) (count [1 2])]").answer(), "[30 2]\n");
    let bare = run("(count {:n 3})");
    assert_eq!(bare.code(), 2);
    assert!(bare.stderr().contains("write `(tool/count …)` for the tool"), "{}", bare.stderr());
}

#[test]
fn a_resumed_program_writes_its_memory_and_never_over_another_programs() {
    let oracle = Oracle::new();
    let fixture = fixture(&oracle, "idempotent = true");
    fixture.write("twenty.clj", "(let [a (tool/put {:n 1}) b (tool/put {:n 2})] {:seen [a b] :return (+ a b)})");
    let run: Vec<&str> = RUN.into_iter().chain(["--memory", "kept.clj"]).collect();
    let file = fixture.repo.join("kept.clj");
    assert!(killed_at(&fixture, &run, "after-tool#2"));
    assert!(!file.exists());
    assert_eq!(fixture.proem(&["runs", "resume", "last"]).answer(), "30\n");
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(kept.contains(":seen") && kept.contains("{:sources [\"tool/put\"] :audience :external}"), "{kept}");
    // The next program finds it, under the labels that it had.
    assert_eq!(fixture.proem(&["lisp", "run", "-e", "seen", "--memory", "kept.clj"]).answer(), "[10 20]\n");
    assert!(killed_at(&fixture, &run, "after-tool#2"));
    std::fs::write(&file, "{:mine 1}\n").unwrap();
    let refused = fixture.proem(&["runs", "resume", "last"]);
    assert_eq!(refused.code(), 1, "{}", refused.stderr());
    assert_eq!(refused.stdout(), "30\n", "the value is printed all the same");
    assert!(refused.stderr().contains("another program has changed"), "{}", refused.stderr());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{:mine 1}\n");
}

#[test]
fn a_memory_file_keeps_labels_and_no_secret() {
    let fixture = Fixture::folder();
    fixture.write("inbox.json", "[{\"from\": \"eve\"}]");
    fixture.write("pin.json", "4711");
    let memory = ["--memory", "kept.clj"];
    let run = |args: &[&str]| fixture.proem(&[&["lisp", "run"], args, &memory[..]].concat());
    assert_eq!(run(&["-e", "(def mails ctx/mail) (def n 1)", "--label", "mail=inbox.json"]).code(), 0);
    let found = run(&["-e", "(count mails)", "--json"]).json();
    assert_eq!((&found["value"], &found["label"]["sources"]), (&1.into(), &serde_json::json!(["mail"])));
    let clean = run(&["-e", "n", "--json"]).json();
    assert_eq!(clean["label"]["sources"], serde_json::json!([]), "a value beside it has none");
    let secret = run(&["-e", "(def pin ctx/pin) 1", "--secret", "pin=pin.json"]);
    assert_eq!(secret.code(), 1);
    assert!(secret.stderr().contains("the memory is not kept: it holds a secret"), "{}", secret.stderr());
    let text = std::fs::read_to_string(fixture.repo.join("kept.clj")).unwrap();
    assert!(!text.contains("4711") && text.contains("{:sources [\"mail\"] :audience :public}"), "{text}");
    // Taking the table off takes no label off.
    fixture.write("kept.clj", text.split_once("\n[").unwrap().0);
    let broken = run(&["-e", "n"]);
    assert_eq!(broken.code(), 2, "{}", broken.stdout());
    assert!(broken.stderr().contains("`ctx/kept-label-1` has no label behind the memory"), "{}", broken.stderr());
}
