//! Programs of PTC-Lisp at the command line and at a terminal.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use proem_engine::tokens::{OpenAi, TokenCounter as _};
use proem_lisp::documentation::PromptReference;
use serde_json::Value as Json;

use crate::fixture::{Fixture, Run};
use crate::guide;
use crate::terminal::screen::{Terminal, WIDE, start_on};

fn transcripts(runs: &[Run]) -> String {
    runs.iter().map(Run::transcript).collect::<Vec<_>>().join("\n")
}

#[test]
fn programs_run_and_end_as_their_exit_codes_say() {
    let fixture = Fixture::folder();
    fixture.write("in.json", "{\"orders\": [{\"total\": 10}, {\"total\": 5}]}\n");
    fixture.write("list.json", "[1]\n");
    fixture.write("twice.json", "{\"a\": 1, \"a\": 2}\n");
    fixture.write("huge.json", "{\"a\": 1e999}\n");
    fixture.write("curly.clj", "(str “a” \u{200b}\"b\")\n");
    let expression = |source: &str| fixture.proem(&["lisp", "run", "-e", source]);
    snapshot!(transcripts(&[
        expression("(+ 1 2)"),
        expression("(println \"a\\nb\") (print \"c\") {:return [\"x\\u001b[2J\" :k]}"),
        expression("(return 1)"),
        expression("(fail {:reason :empty})"),
        expression("(+ 1 nil)"),
        expression("(fitler odd? []) (let [x 1] (recr x))"),
        expression("(call \"group_by\" {})"),
        expression("(tool/get_orders {:day 1})"),
        expression("(range)"),
        expression("(let [x 1\n  (+ x 1))"),
        fixture.proem(&["lisp", "run", "--repair", "-e", "(let [x 1\n  (+ x 1))"]),
        fixture.proem(&["lisp", "run", "--repair", "--json", "-e", "(let [x 1\n  (+ y 1))"]),
        fixture.proem(&["lisp", "run", "curly.clj"]),
        fixture.proem(&["lisp", "run", "--input", "in.json", "--json", "-e", "(println 1) (sum-by :total ctx/orders)"]),
        fixture.proem(&["lisp", "run", "--json", "-e", "(fail {:a [1 nil]})"]),
        fixture.proem(&["lisp", "run", "--json", "-e", "(inc :a)"]),
        fixture.proem(&["lisp", "run", "--json", "-e", "(fn [x] x)"]),
        fixture.proem(&["lisp", "run", "--input", "list.json", "-e", "1"]),
        fixture.proem(&["lisp", "run", "--input", "twice.json", "-e", "1"]),
        fixture.proem(&["lisp", "run", "--input", "huge.json", "-e", "1"]),
        fixture.proem(&["lisp", "run", "--fuel", "100", "-e", "(loop [] (recur))"]),
        fixture.proem_with(&["lisp", "run", "-"], b"(* 6 7)"),
        fixture.proem(&["lisp", "run"]),
    ]));
}

#[test]
fn inputs_and_results_are_checked_against_a_signature() {
    let fixture = Fixture::folder();
    fixture
        .write("in.json", "{\"orders\": [{\"id\": \"1\", \"total\": 10}, {\"id\": 2, \"total\": 5}], \"_key\": 7}\n");
    fixture.write("hostile.json", "{\"orders\": \"\\u001b[2J::error::x\\u202e\", \"_key\": \"sk-secret\"}\n");
    let run = |signature: &str, more: &[&str]| {
        let source = "(mapv :id ctx/orders)";
        fixture.proem(&[&["lisp", "run", "-e", source, "--signature", signature], more].concat())
    };
    let orders = "(orders [{id :int, total :number}], _key :int) -> ";
    let input = ["--input", "in.json"];
    let hostile = fixture.proem(&[
        "lisp",
        "run",
        "-e",
        "1",
        "--input",
        "hostile.json",
        "--signature",
        "(orders [:map], _key :int)",
    ]);
    assert!(!hostile.transcript().contains("sk-secret") && !hostile.transcript().contains('\u{1b}'));
    snapshot!(transcripts(&[
        run(&format!("{orders}[:int]"), &input),
        run(&format!("{orders}[:string]"), &input),
        run(&format!("{orders}[:string]"), &["--input", "in.json", "--json"]),
        run("(orders [{id :int, price :number}], day :string)", &input),
        run("(orders :int)", &["--input", "in.json", "--json"]),
        run("(order [:map]) -> [:int]", &input),
        run("f(orders :itn", &input),
        hostile,
    ]));
    // A result that doesn't fit keeps nothing.
    let kept = ["--memory", "kept.clj", "--signature", "() -> :string"];
    let wrong = fixture.proem(&[&["lisp", "run", "-e", "(memory/put :a 1)"], &kept[..]].concat());
    assert!(wrong.code() == 1 && !fixture.repo.join("kept.clj").exists(), "{}", wrong.transcript());
    let right = fixture.proem(&[&["lisp", "run", "-e", "(str (memory/put :a 1))"], &kept[..]].concat());
    assert!(right.code() == 0 && fixture.repo.join("kept.clj").exists(), "{}", right.transcript());
}

#[test]
fn calls_of_tools_are_checked_before_anything_runs() {
    let fixture = Fixture::folder();
    fixture.write(
        "tools.toml",
        "[tools]\nsearch = \"(query :string, limit :int?) -> [:map]\"\nnotify = \"(to (:team | :lead), items [{id :int, text :string}])\"\n",
    );
    fixture.write("wrong.toml", "[tools]\na-b = \"(x :int\"\na_b = \"()\"\n\"a b\" = \"()\"\nc = \"d()\"\n");
    fixture.write("none.toml", "search = \"()\"\n");
    fixture.write(
        "calls.clj",
        "(let [found (tool/search {:qery ctx/topc :limit \"3\"})\n      all (call \"search\")]\n  (tool/notify {:to :boss :items [{:id 1 :text (str all)} {:id \"2\"}]})\n  (tool/notify :to :lead :items (mapv identity found))\n  (tool/serach {:query \"x\"})\n  (tool/search [1 2]))\n",
    );
    let check = |tools: &str| {
        fixture.proem(&["lisp", "check", "calls.clj", "--signature", "(topic :string) -> :any", "--tools", tools])
    };
    snapshot!(transcripts(&[check("tools.toml"), check("wrong.toml"), check("none.toml"), check("gone.toml")]));
}

#[test]
fn sources_that_are_no_text_are_named_with_their_remedy() {
    let fixture = Fixture::folder();
    fixture.write("latin1.clj", b"(str \"ok\")\n; caf\xe9\n");
    fixture.write("binary.clj", b"(a)\0");
    fixture.write("empty.clj", "");
    fixture.write("comments.clj", "; one\n\n  ;; two\n");
    fixture.write("long.clj", " ".repeat(300_000));
    fixture.write("deep.clj", "(".repeat(1_000));
    fixture.write("good.clj", "(inc 1)\n");
    fixture.write("uses-memory.clj", "(inc kept)\n");
    fixture.write("kept.clj", "{:kept 1}\n");
    let runs = [
        fixture.proem(&["lisp", "check", "latin1.clj", "binary.clj", "empty.clj", "comments.clj", "long.clj"]),
        fixture.proem(&["lisp", "check", "good.clj", "uses-memory.clj"]),
        fixture.proem(&["lisp", "check", "good.clj", "uses-memory.clj", "--memory", "kept.clj"]),
        fixture.proem(&["lisp", "check", "."]),
        fixture.proem(&["lisp", "check", "gone.clj"]),
        fixture.proem(&["lisp", "run", "-e", "  , ; only this"]),
        fixture.proem_with(&["lisp", "run", "-"], b""),
    ];
    snapshot!(transcripts(&runs));
    let deep = fixture.proem(&["lisp", "check", "deep.clj"]);
    assert!(deep.code() == 1 && deep.stdout().contains("`lisp.nesting`"), "{}", deep.transcript());
}

/// Checks outputs against a published schema.
#[track_caller]
fn check_schema(name: &str, outputs: &[&Run]) {
    let path = format!("{}/../../docs/reference/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
    let schema: Json = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for output in outputs {
        let object: Json = serde_json::from_str(output.stdout()).unwrap();
        let problems: Vec<String> = validator.iter_errors(&object).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{}: {problems:#?}", output.transcript());
    }
    assert!(!validator.is_valid(&serde_json::json!({ "value": 1 })));
}

#[test]
fn objects_for_scripts_match_their_published_schemas() {
    let fixture = Fixture::folder();
    fixture.write("good.clj", "(inc 1)\n");
    fixture.write("curly.clj", "(str “a”)\n");
    fixture.write("wrong.clj", "(let [x 1\n  (+ y 1))\n");
    fixture.write("latin1.clj", b"(str \"caf\xe9\")\n");
    fixture.write("empty.clj", "");
    let check = |files: &[&str]| fixture.proem(&[&["lisp", "check", "--json"], files].concat());
    let run = |source: &str| fixture.proem(&["lisp", "run", "--json", "-e", source]);
    let checks = [
        check(&["good.clj", "curly.clj"]),
        check(&["wrong.clj", "latin1.clj", "empty.clj"]),
        check(&["gone.clj", "good.clj"]),
    ];
    snapshot!(transcripts(&checks));
    check_schema("lisp-check", &checks.iter().collect::<Vec<_>>());
    let runs = [
        run("(println 1) {:a [1 2.5 nil \"x\"]}"),
        run("9007199254740993000000000"),
        run("(fail {:reason :empty})"),
        run("(+ 1 :a)"),
        run("(fitler odd? [])"),
        run("(let [x 1\n  (+ x 1))"),
    ];
    check_schema("lisp-run", &runs.iter().collect::<Vec<_>>());
    assert!(runs.iter().map(Run::code).eq([0, 0, 1, 1, 2, 2]), "{}", transcripts(&runs));
}

#[test]
fn names_are_looked_up() {
    let fixture = Fixture::folder();
    let doc = |args: &[&str]| fixture.proem(&[&["lisp", "doc"], args].concat());
    snapshot!(transcripts(&[
        doc(&["group-by"]),
        doc(&["clojure.string/join"]),
        doc(&["let"]),
        doc(&["fitler"]),
        doc(&["atom"]),
        doc(&["zzzzzzzz"]),
        doc(&["--search", "weekday"]),
        doc(&["--search", "zzzzzzzz"]),
    ]));
    let all = doc(&[]);
    assert!(all.answer().contains("Regular expressions\n") && all.answer().contains("(frequencies coll)"));
    assert_eq!(doc(&["--prompt", "lean"]).answer(), PromptReference::Lean.text());
    assert_eq!(doc(&["--prompt", "full"]).answer(), PromptReference::Full.text());
}

#[test]
fn the_texts_for_prompts_are_within_their_tokens() {
    for (reference, most) in [(PromptReference::None, 0), (PromptReference::Lean, 400), (PromptReference::Full, 14_000)]
    {
        let tokens = OpenAi::O200k.count(&reference.text());
        println!("{reference:?}: {tokens} tokens of {most}");
        assert!(tokens <= most && tokens >= most / 2, "{reference:?}: {tokens} tokens");
    }
}

#[test]
fn a_memory_lasts_from_run_to_run() {
    let fixture = Fixture::folder();
    let run = |source: &str| fixture.proem(&["lisp", "run", "--memory", "kept.clj", "-e", source]);
    let path = fixture.repo.join("kept.clj");
    let text = || fs::read_to_string(&path).unwrap();
    assert_eq!(run("(+ 1 1)").answer(), "2\n");
    assert!(!path.exists());
    assert_eq!(run("(defn twice [x] (* 2 x)) {:n 1 :return nil}").answer(), "nil\n");
    assert_eq!(text(), "{:twice (fn twice [x] (* 2 x)) :n 1}\n");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(run("(def n (twice (inc n)))").answer(), "4\n");
    // A failed program, a refused one and one whose value can't be printed keep nothing.
    let before = text();
    for (source, code) in
        [("(def n 9) (fail :no)", 1), ("(def n 9) (inc :a)", 1), ("(def n 9) (oops)", 2), ("(def n 9) (range)", 1)]
    {
        assert_eq!(run(source).code(), code, "{source}");
        assert_eq!(text(), before, "{source}");
    }
}

#[test]
fn a_memory_that_could_not_be_read_again_is_not_written() {
    let fixture = Fixture::folder();
    let run = |source: &str| fixture.proem(&["lisp", "run", "--memory", "kept.clj", "-e", source]);
    assert_eq!(run("(def n 1)").answer(), "1\n");
    let text = || fs::read_to_string(fixture.repo.join("kept.clj")).unwrap();
    let before = text();
    let deep = run("(def deep (reduce (fn [a _] [a]) nil (range 1000))) :done");
    assert!(deep.code() == 1 && deep.stderr().contains("the memory is not kept"), "{}", deep.transcript());
    assert_eq!(text(), before);
    // A file that is no memory is neither read nor replaced.
    for (content, message) in [
        (&b"[1 2]\n"[..], "a memory is a map"),
        (b"{:a (call \"x\")}\n", "there is no tool `x`"),
        (b"{:a \xff}\n", "is not UTF-8"),
        (b"{:a\n", "never closed"),
    ] {
        fixture.write("kept.clj", content);
        let refused = run("(def n 2)");
        assert!(refused.code() == 2 && refused.stderr().contains(message), "{}", refused.transcript());
        assert_eq!(fs::read(fixture.repo.join("kept.clj")).unwrap(), content);
    }
}

#[test]
fn a_memory_behind_a_link_or_in_no_folder_is_refused() {
    let fixture = Fixture::folder();
    fixture.write("real.clj", "{:a 1}\n");
    symlink(fixture.repo.join("real.clj"), fixture.repo.join("link.clj")).unwrap();
    for (path, message) in
        [("link.clj", "link"), ("none/kept.clj", "could not open the folder"), ("..", "names no file")]
    {
        let refused = fixture.proem(&["lisp", "run", "--memory", path, "-e", "(def b 2)"]);
        assert!(refused.code() >= 2 && refused.stderr().contains(message), "{}", refused.transcript());
    }
    assert_eq!(fs::read_to_string(fixture.repo.join("real.clj")).unwrap(), "{:a 1}\n");
}

#[test]
fn what_a_program_prints_obeys_neither_terminal_nor_runner() {
    let fixture = Fixture::folder();
    // The two halves of a command are printed far apart, so that they come in two pieces.
    let source =
        "(print \"##vso\") (reduce + (range 400000)) (println \"[task.setvariable]x\") (println \"\\u001b[2J\") 1";
    let run = fixture.proem(&["lisp", "run", "-e", source]);
    assert_eq!(run.answer(), "1\n");
    assert!(!run.stderr().contains("##vso[") && !run.stderr().contains('\u{1b}'), "{:?}", run.stderr());
    let json = fixture.proem(&["lisp", "run", "--json", "-e", source]);
    let printed = json.json();
    assert!(printed["output"].as_str().unwrap().contains("##vso[task.setvariable]x"), "{printed}");
    assert!(!json.stdout().contains("##vso["), "{}", json.stdout());
}

#[test]
fn settings_limit_programs_and_an_untrusted_project_only_lowers_them() {
    let fixture = Fixture::folder().committed();
    let count = |args: &[&str]| {
        let run = fixture.proem(&[&["lisp", "run", "-e", "(count (vec (range 1000)))"], args].concat());
        (run.code(), run.stdout().to_owned(), run.stderr().to_owned())
    };
    assert_eq!(count(&[]).0, 0);
    fixture.configure("config.toml", "[lisp]\ncollection_size = 500\nfuel = 100000\n");
    let (code, _, stderr) = count(&[]);
    assert!(code == 1 && stderr.contains("raise `lisp.collection_size`"), "{stderr}");
    // Somebody else's file neither raises a limit nor keeps its own higher one.
    fixture.write("proem.toml", "[lisp]\ncollection_size = 5000\nfuel = 1\n");
    let (code, _, stderr) = count(&[]);
    assert!(code == 1 && stderr.contains("1 units of fuel"), "{stderr}");
    assert!(stderr.contains("proem.toml (applied: lisp.fuel = 1)"), "{stderr}");
    // The person who types the command decides about its fuel.
    let (code, _, stderr) = count(&["--fuel", "50000"]);
    assert!(code == 1 && stderr.contains("collection_size"), "{stderr}");
    crate::assemble::trust(&fixture, "proem.toml");
    assert!(count(&["--fuel", "50000"]).0 == 0);
    fixture.write("proem.toml", "[lisp]\nfule = 10\n");
    crate::assemble::trust(&fixture, "proem.toml");
    let (code, _, stderr) = count(&[]);
    assert!(code == 2 && stderr.contains("fule"), "{stderr}");
}

#[test]
fn the_guide_goes_as_it_says() {
    let tried = guide::run(&Fixture::folder(), "lisp.md", &[]);
    assert_eq!((tried.files, tried.sessions), (5, 17));
}

#[test]
fn the_page_on_labels_goes_as_it_says() {
    let tried = guide::run(&Fixture::folder(), "../concepts/flow.md", &[]);
    assert_eq!((tried.files, tried.sessions), (2, 4));
}

/// A session at a terminal. `None`, said out loud, where the system has none.
fn session(fixture: &Fixture, args: &[&str]) -> Option<Terminal> {
    let mut command = fixture.command(&fixture.binary);
    command.args(["lisp", "repl"]).args(args).env("TERM", "xterm").env("NO_COLOR", "1");
    start_on(WIDE, command)
}

/// Types a line and waits for what it gives.
fn enter(terminal: &mut Terminal, line: &str, until: &str) {
    terminal.clear();
    terminal.press(&format!("{line}\r"));
    terminal.until(until);
    await_prompt(terminal);
}

/// Waits for the next prompt: keys that are pressed before are lost.
fn await_prompt(terminal: &mut Terminal) {
    terminal.until("\n=>");
}

#[test]
fn a_session_keeps_results_and_ends_expressions_alone() {
    let fixture = Fixture::folder();
    let Some(mut terminal) = session(&fixture, &[]) else { return };
    terminal.until("=>");
    for (line, until) in [
        ("(defn twice [x] (* 2 x))", "#function[twice]"),
        ("(twice 21)", "42"),
        ("(inc *1)", "43"),
        ("(println (str \"sh\" \"own\"))", "shown"),
        (":memory", "{:twice #function[twice]}"),
        ("(oops)", "has no value"),
        (":doc fitler", "did you mean `filter`?"),
        (":fuel 1000", "=>"),
        ("(loop [] (recur))", "used its 1000 units of fuel"),
        (":fuel", "1,000 units of fuel for each expression"),
        (":fuel 4000000000000", "=>"),
    ] {
        enter(&mut terminal, line, until);
    }
    type_over_two_lines(&mut terminal);
    // ^C ends the expression, and the session goes on as before.
    terminal.clear();
    terminal.press("(do (println (str \"be\" \"gun\")) (memory/put :lost 1) (loop [] (recur)))\r");
    terminal.until("begun");
    terminal.press("\u{3}");
    terminal.until("the expression was stopped");
    await_prompt(&mut terminal);
    enter(&mut terminal, "[(twice 4) memory/lost]", "[8 nil]");
    enter(&mut terminal, ":reset", "=>");
    enter(&mut terminal, "(twice 4)", "has no value");
    terminal.press("\u{4}");
    let left = terminal.end();
    assert_eq!(left.code, Some(0), "{}", left.raw);
}

/// Types a form over two lines, and a beginning that ^C gives up.
fn type_over_two_lines(terminal: &mut Terminal) {
    terminal.clear();
    terminal.press("(str \"one\"\r\"two\")\r");
    terminal.until("\"onetwo\"");
    await_prompt(terminal);
    terminal.clear();
    terminal.press("(given up\u{3}");
    await_prompt(terminal);
    enter(terminal, "(+ 40 4)", "44");
}

#[test]
fn lines_are_kept_for_the_user_alone_and_names_are_completed() {
    let fixture = Fixture::folder();
    let history = fixture.base.join("state/proem/lisp-history");
    let Some(mut terminal) = session(&fixture, &["--memory", "kept.clj"]) else { return };
    terminal.until("=>");
    enter(&mut terminal, "(def kept-value 7)", "\n7");
    enter(&mut terminal, " (str \"not kept\" \" for later\")", "not kept for later");
    // Tab goes on from what is begun, in the language and in memory.
    enter(&mut terminal, "(frequ\t [kept-v\t])", "{7 1}");
    terminal.press("\u{4}");
    assert_eq!(terminal.end().code, Some(0));
    assert_eq!(fs::read_to_string(&history).unwrap(), "\"(def kept-value 7)\"\n\"(frequencies [kept-value])\"\n");
    assert_eq!(fs::metadata(&history).unwrap().permissions().mode() & 0o777, 0o600);
    // The result of the last expression is a map, so its entries are kept too.
    assert_eq!(fs::read_to_string(fixture.repo.join("kept.clj")).unwrap(), "{:kept-value 7 7 1}\n");
    // The next session goes back to them.
    let Some(mut terminal) = session(&fixture, &["--memory", "kept.clj"]) else { return };
    terminal.until("=>");
    enter(&mut terminal, "\u{10}", "{7 1}");
    terminal.press("\u{4}");
    assert_eq!(terminal.end().code, Some(0));
}

#[test]
fn a_history_behind_a_link_is_left_alone() {
    let fixture = Fixture::folder();
    let state = fixture.base.join("state/proem");
    fs::create_dir_all(&state).unwrap();
    fixture.write("victim", "\"old\"\n");
    symlink(fixture.repo.join("victim"), state.join("lisp-history")).unwrap();
    let Some(mut terminal) = session(&fixture, &[]) else { return };
    terminal.until("lines of earlier sessions are left out");
    terminal.until("=>");
    enter(&mut terminal, "(+ 1 2)", "this line is not kept for later sessions");
    terminal.press("\u{4}");
    assert_eq!(terminal.end().code, Some(0));
    assert_eq!(fs::read_to_string(fixture.repo.join("victim")).unwrap(), "\"old\"\n");
}

#[test]
fn a_session_needs_a_terminal() {
    let run = Fixture::folder().proem_with(&["lisp", "repl"], b"(+ 1 2)\n");
    assert_eq!((run.code(), run.stdout()), (2, ""));
    assert!(run.stderr().contains("this needs a terminal"), "{}", run.stderr());
}

#[test]
fn values_on_a_terminal_are_written_with_escapes() {
    let fixture = Fixture::folder();
    let mut command = fixture.command(&fixture.binary);
    command.args(["lisp", "run", "-e", "[\"\\u202e\" (keyword \"a\\u001b[2J\")]"]);
    let Some(terminal) = start_on(WIDE, command) else { return };
    let left = terminal.end();
    assert_eq!(left.raw.replace('\r', ""), "[\"\\u202e\" :a\\u001b[2J]\n");
}
