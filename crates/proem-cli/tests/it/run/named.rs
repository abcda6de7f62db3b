//! Prompt files that are in no book, and inputs that are plain text.

use proem_llm::scripted::Reply;
use serde_json::Value as Json;

use super::{FREE, fixture, settled, start};
use crate::fixture::Fixture;
use crate::records::{late_reply, spawn};

const FILE: &str = "---
model: small
input:
  schema: { text: string }
proem:
  version: 1.0.0
  sections:
    - { name: role, trust: constitution }
    - { name: text, trust: untrusted, cache: never, keep: required }
---
{{role \"system\"}}{{section \"role\"}}
Say what the text is about. {{> tone}}
{{role \"user\"}}{{section \"text\"}}
{{text}}
";

fn about() -> Reply {
    Reply::text("It is about a clock.")
}

fn put_prompt(fixture: &Fixture) {
    fixture.write("prompts/about.prompt", FILE);
    fixture.write("prompts/_tone.prompt", "Be brief.");
}

#[test]
fn a_prompt_file_is_run() {
    let server = start(vec![about(), about(), about(), about()]);
    let fixture = fixture(&server, "");
    put_prompt(&fixture);
    let sent = |number: usize| String::from_utf8(server.requests()[number].body.clone()).unwrap();
    let json = "{\"note\": \"a text that happens to be JSON\"}";
    let run = fixture.proem_with(&["run", "prompts/about.prompt", "--input", "-", "--input-text"], json.as_bytes());
    assert_eq!((run.code(), run.stdout()), (0, "It is about a clock.\n"), "{}", run.stderr());
    let first = sent(0);
    assert!(first.contains("Be brief.") && first.contains("{\\\"note\\\""), "{first}");
    // A prompt of the book with one input takes the same, and the file is none of its prompts.
    let free = fixture.proem_with(&["run", "reviews/free", "--input", "-", "--input-text"], json.as_bytes());
    assert_eq!(free.code(), 0, "{}", free.stderr());
    assert!(sent(1).contains("{\\\"note\\\""), "{}", sent(1));
    assert_eq!(FREE.matches("string").count(), 1);
    let listed = fixture.proem(&["book", "list"]);
    assert!(!listed.stdout().contains("./about"), "{}", listed.stdout());

    // It is replayed from its record, whatever became of the file.
    fixture.write("prompts/_tone.prompt", "Be verbose.");
    let replayed = fixture.proem(&["runs", "replay", "last~1"]);
    assert_eq!(replayed.code(), 0, "{}", replayed.transcript());
    let shown: Json = serde_json::from_str(fixture.proem(&["runs", "show", "last~1", "--json"]).stdout()).unwrap();
    assert!(shown.to_string().contains("./about"), "{shown}");

    // An object of nothing but that input is an object of inputs.
    let named = fixture.proem_with(&["run", "prompts/about.prompt", "--input", "-"], b"{\"text\": \"only this\"}");
    assert_eq!(named.code(), 0, "{}", named.stderr());
    assert!(sent(2).contains("only this") && !sent(2).contains("{\\\"text\\\""), "{}", sent(2));
}

#[test]
fn a_killed_run_of_a_prompt_file_goes_on_with_the_text_that_it_began_with() {
    let server = start(vec![late_reply(about(), 600_000), about()]);
    let fixture = fixture(&server, "");
    put_prompt(&fixture);
    let mut child = spawn(&fixture, &["run", "prompts/about.prompt", "--set", "text=a clock"]);
    server.await_requests(1);
    child.kill().unwrap();
    child.wait().unwrap();
    fixture.write("prompts/_tone.prompt", "Be verbose.");
    std::fs::remove_file(fixture.repo.join("prompts/about.prompt")).unwrap();
    let run = fixture.proem(&["runs", "resume", "last"]);
    assert_eq!((run.code(), run.stdout()), (0, "It is about a clock.\n"), "{}", run.transcript());
    let sent = server.requests();
    assert_eq!(sent[0].body, sent[1].body);
}

#[test]
fn what_a_prompt_file_uses_comes_from_its_folder() {
    let server = start(vec![]);
    let fixture = fixture(&server, "");
    put_prompt(&fixture);
    fixture.write("secret.json", "{}");
    fixture.write("prompts/leaves.prompt", FILE.replace("{{> tone}}", "{{> ../tone}}"));
    fixture.write(
        "prompts/schema.prompt",
        FILE.replace("version: 1.0.0", "version: 1.0.0\n  output_schema: ../secret.json"),
    );
    fixture.write("prompts/lacks.prompt", FILE.replace("{{> tone}}", "{{> voice}}"));
    fixture.write("prompts/plain.prompt", "Say it.");
    std::os::unix::fs::symlink("/etc/passwd", fixture.repo.join("prompts/_link.prompt")).unwrap();
    fixture.write("prompts/linked.prompt", FILE.replace("{{> tone}}", "{{> link}}"));
    let refused: Vec<String> = [
        &["run", "prompts/leaves.prompt", "--set", "text=x"][..],
        &["run", "prompts/schema.prompt", "--set", "text=x"],
        &["run", "prompts/lacks.prompt", "--set", "text=x"],
        &["run", "prompts/linked.prompt", "--set", "text=x"],
        &["run", "prompts/plain.prompt", "--set", "text=x"],
        &["run", "./prompts", "--set", "text=x"],
        &["run", "./gone.prompt", "--set", "text=x"],
        &["run", "prompts/about.prompt", "--set", "text=x", "--input", "secret.json"],
    ]
    .into_iter()
    .map(|args| settled(&server, &fixture.proem(args)))
    .collect();
    snapshot!(refused.join("\n").replace(fixture.base.to_str().unwrap(), "[base]"));
    assert_eq!(server.requests().len(), 0, "nothing was sent");
}

/// A draft that is in a book uses what counts there.
#[test]
fn a_draft_in_a_book_uses_the_book() {
    let server = start(vec![about()]);
    let fixture = fixture(&server, "");
    fixture.configure("book/reviews/about/_tone.prompt", "Be kind.");
    fixture.write("reviews/about/draft.prompt", FILE);
    let run = fixture.proem(&["run", "./reviews/about/draft.prompt", "--set", "text=x"]);
    assert_eq!(run.code(), 0, "{}", run.stderr());
    assert!(String::from_utf8(server.requests()[0].body.clone()).unwrap().contains("Be kind."));
}

/// The readings of single texts are tested with the use case.
#[test]
fn json_is_never_sent_as_text_unasked() {
    let server = start(vec![]);
    let fixture = fixture(&server, "");
    put_prompt(&fixture);
    let dry = |text: &str, more: &[&str]| {
        let args = [&["run", "prompts/about.prompt", "--dry-run"], more].concat();
        fixture.proem_with(&args, text.as_bytes())
    };
    for from in ["--input", "--batch"] {
        let refused = dry("{}", &[from, "-"]);
        let both = "could be the text of `text`, or the prompt's inputs by name";
        assert!(refused.code() == 2 && refused.stderr().contains(both), "{}", refused.transcript());
        let sent = dry("{}", &[from, "-", "--input-text"]);
        assert!(sent.answer().contains("{}"), "{}", sent.transcript());
    }
    // A prompt of several inputs has no text to send as it is.
    let several = ["run", "reviews/triage", "--dry-run", "--input", "-", "--input-text"];
    let refused = fixture.proem_with(&several, b"words");
    assert!(refused.code() == 2 && refused.stderr().contains("--file NAME=FILE"), "{}", refused.transcript());
    let repeated = fixture.proem_with(&several[..5], br#"{"title": "a", "title": "b"}"#);
    assert!(repeated.code() == 2 && repeated.stderr().contains("given twice"), "{}", repeated.transcript());
    let twice = dry("words", &["--input", "-", "--set", "text=others"]);
    assert!(twice.code() == 2 && twice.stderr().contains("given twice"), "{}", twice.transcript());
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn a_setting_is_sent_or_told_and_never_vanishes() {
    let server = start(vec![about()]);
    let fixture = fixture(&server, "");
    put_prompt(&fixture);
    let config =
        "config:\n  temperature: 0.5\n  maxOutputTokens: 77\n  topP: 0.95\n  topK: 40\n  stopSequences: [END]\n";
    fixture.write("prompts/set.prompt", FILE.replace("input:\n", &format!("{config}input:\n")));
    let run = ["run", "prompts/set.prompt", "--set", "text=x"];
    let body = fixture.proem(&[&run[..], &["--dry-run"]].concat()).json()["body"].clone();
    for (key, value) in [
        ("temperature", serde_json::json!(0.5)),
        ("max_tokens", serde_json::json!(77)),
        ("top_p", serde_json::json!(0.95)),
        ("top_k", serde_json::json!(40)),
        ("stop_sequences", serde_json::json!(["END"])),
    ] {
        assert_eq!(body[key], value, "{key}");
    }
    let local = fixture.proem(&[&run[..], &["--model", "openai/gpt-4o", "--dry-run"]].concat());
    assert!(
        local.stderr().contains("`top_k` of the prompt file: model `gpt-4o` does not support"),
        "{}",
        local.stderr()
    );

    let wrong = "config:\n  temprature: 0.5\n  max_tokens: 3\ntools: [search]\ninputs: {}\ninput:\n";
    let file = FILE.replace("input:\n", wrong).replace("{{text}}", "{{text}} {context}");
    fixture.write("prompts/wrong.prompt", &file);
    fixture.configure("book/reviews/wrong/1.0.0.prompt", &file.replace("{{> tone}}", ""));
    let ran = fixture.proem(&["run", "prompts/wrong.prompt", "--set", "text=x"]);
    let checked = fixture.proem(&["book", "check"]);
    for (told, text) in [("run", ran.stderr()), ("check", checked.stdout())] {
        for words in [
            "line 4: config has no key `temprature`, so it has no effect; did you mean `temperature`?",
            "line 5: config has no key `max_tokens`, so it has no effect; did you mean `maxOutputTokens`?",
            "line 6: `tools` has no effect",
            "line 7: the front matter has no key `inputs`, so it has no effect; did you mean `input`?",
            "`{context}` is sent as plain text; write `{{context}}`",
        ] {
            assert!(text.contains(words), "{told}, {words}: {text}");
        }
    }
    fixture.write("prompts/bad.prompt", FILE.replace("input:\n", "config: { topP: 1.5, topK: many }\ninput:\n"));
    let refused = fixture.proem(&["run", "prompts/bad.prompt", "--set", "text=x"]);
    assert!(refused.code() == 2 && refused.stderr().contains("config.topP is not a number from 0 to 1"));
    assert!(refused.stderr().contains("config.topK is not a positive whole number"), "{}", refused.stderr());
}

const PLAIN: &str = "---
model: small
input:
  schema: { name: string, tone?: string }
  default: { tone: kind }
output: { format: text }
---
{{role \"system\"}}
Answer in a careful way.
{{role \"user\"}}
# A letter
{{#if tone}}Hello {{name}}{{/if}}
";

/// A plain dotprompt file has no `proem` key: it runs from a path and from a book, and keeps no other from being locked.
#[test]
fn a_plain_dotprompt_file_runs_from_a_path_and_from_the_book() {
    let server = start(vec![about(), about()]);
    let fixture = fixture(&server, "");
    fixture.write("letter.prompt", PLAIN);
    fixture.write(".proem/book/mail/letter/1.0.0.prompt", PLAIN);
    fixture.write(".proem/book/mail/strict/1.0.0.prompt", FREE);
    for args in [&["book", "lock"][..], &["book", "check"], &["book", "show", "mail/letter"], &["book", "list"]] {
        let run = fixture.proem(args);
        assert_eq!(run.code(), 0, "{args:?}: {}", run.transcript());
        assert!(!run.transcript().contains("0.0.0"), "{}", run.transcript());
    }
    let lock = std::fs::read_to_string(fixture.repo.join(".proem/book/book.lock")).unwrap();
    assert!(lock.contains("mail/letter@1.0.0") && lock.contains("mail/strict@1.0.0"), "{lock}");
    // One that is nothing but its template declares its inputs by printing them.
    fixture.write("bare.prompt", "Hello {{name}}{{#if tone}}, {{tone}}{{/if}}");
    let bare = fixture.proem(&["run", "./bare.prompt", "--set", "name=Ann", "--dry-run"]);
    assert!(bare.stdout().contains("\\nHello Ann\\n"), "{}", bare.transcript());
    let missing = fixture.proem(&["run", "./bare.prompt", "--set", "tone=kind", "--dry-run"]);
    assert!(missing.stderr().contains("`name` is missing"), "{}", missing.transcript());
    fixture.configure("book/mail/letter/1.0.0.prompt", PLAIN);
    for prompt in ["./letter.prompt", "mail/letter"] {
        let run = fixture.proem(&["run", prompt, "--set", "name=# Ann"]);
        assert_eq!((run.code(), run.stdout()), (0, "It is about a clock.\n"), "{prompt}: {}", run.stderr());
        let sent: Json = server.requests().last().unwrap().json().unwrap();
        let user = sent["messages"][0]["content"][0]["text"].as_str().unwrap();
        // The text is the file's to the letter, between one pair of delimiters.
        assert!(user.contains("\n# A letter\nHello # Ann\n</UNTRUSTED_CONTEXT"), "{prompt}: {user}");
    }
}

const TYPED: &str = "---
model: small
input:
  schema: { title: string, count?: integer, urgent?: boolean }
proem:
  version: 1.0.0
  sections:
    - { name: facts, trust: untrusted, keep: required }
---
{{role \"user\"}}{{section \"facts\"}}
{{title}} {{#if count}}{{count}} {{/if}}{{#if urgent}}urgent{{/if}}
";

#[test]
fn a_table_is_a_batch() {
    let server = start(vec![]);
    let fixture = fixture(&server, "");
    fixture.write("typed.prompt", TYPED);
    fixture.write("rows.csv", "title,count,urgent\r\n\"It crashes, often\",3,true\r\n\"two\nlines\",,false\r\n");
    let run = fixture.proem(&["run", "./typed.prompt", "--batch", "rows.csv", "--dry-run"]);
    assert_eq!(run.code(), 0, "{}", run.stderr());
    let rows: Vec<&str> = run.stdout().lines().collect();
    assert!(rows[0].contains("It crashes, often 3 urgent") && rows[1].contains("two\\nlines"), "{rows:?}");
    for (text, problem) in [
        ("title,title\na,b\n", "two columns are called `title`"),
        ("title,count\na\n", "line 2: it has 1 fields, and the first row 2"),
        ("title,count\na,many\n", "the field `count` is not JSON"),
        ("title,colour\na,red\n", "`colour` not declared"),
        ("title\n\"open\n", "a field in quotes begins here and has no end"),
        ("", "the first row, with the names of the inputs, is missing"),
    ] {
        fixture.write("rows.csv", text);
        let run = fixture.proem(&["run", "./typed.prompt", "--batch", "rows.csv", "--dry-run"]);
        assert!(run.code() == 2 && run.stderr().contains(problem), "{problem}: {}", run.transcript());
    }
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn what_keeps_a_run_from_starting_is_json_too_and_says_what_to_do() {
    let server = start(vec![]);
    let fixture = fixture(&server, "");
    put_prompt(&fixture);
    let failed = fixture.proem(&["run", "prompts/gone.prompt", "--json"]);
    let output: Json = serde_json::from_str(failed.stdout()).unwrap();
    assert!(output["error"].as_str().unwrap().contains("gone.prompt") && failed.code() == 2, "{output}");
    // A dated name is sent as it is and has its family's limits.
    let dated = ["run", "prompts/about.prompt", "--set", "text=x", "--dry-run", "--model", "claude-haiku-4-5-20251001"];
    let run = fixture.proem(&dated);
    assert!(run.stderr().contains("has the limits and prices of its family, `claude-haiku-4-5`"), "{}", run.stderr());
    assert_eq!(run.json()["body"]["model"], "claude-haiku-4-5-20251001");
    for unknown in ["claude-haiku-4-5-2025", "claude-haiku-9-9-20251001"] {
        let run = fixture.proem(&[&dated[..6], &[unknown]].concat());
        assert!(run.code() == 2 && run.stderr().contains("no model or role"), "{unknown}: {}", run.transcript());
    }
    // A list in another language's words.
    fixture.write("prompts/list.prompt", FILE.replace("text: string", "text: string, tags: \"string[]\""));
    let run = fixture.proem(&["run", "prompts/list.prompt", "--set", "text=x"]);
    assert!(run.stderr().contains("a list is written `name(array): string`"), "{}", run.stderr());
}

/// A schema that is there and that nobody trusted is no missing one.
#[test]
fn an_untrusted_schema_is_told_as_such() {
    let server = start(vec![]);
    let fixture = fixture(&server, "");
    fixture.git(&["init", "-q"]);
    let file = FILE.replace("{{> tone}}", "").replace("version: 1.0.0", "version: 1.0.0\n  output_schema: a.json");
    fixture.write(".proem/book/a/b/1.0.0.prompt", &file);
    fixture.write(".proem/book/a/b/a.json", r#"{ "type": "object", "properties": {} }"#);
    let hash = proem_text::hex::encode_hex(<sha2::Sha256 as sha2::Digest>::digest(file.as_bytes()));
    let trusted = fixture.proem(&["trust", "--sha256", &hash, ".proem/book/a/b/1.0.0.prompt"]);
    assert_eq!(trusted.code(), 0, "{}", trusted.transcript());
    let run = fixture.proem(&["run", "a/b", "--set", "text=x"]);
    assert!(
        run.stderr().contains("schema `.proem/book/a/b/a.json` is not trusted; review with `proem trust`"),
        "{}",
        run.stderr()
    );
}

/// A partial that is there and that nobody trusted is no unknown one.
#[test]
fn an_untrusted_partial_is_told_as_such() {
    let server = start(vec![]);
    let fixture = fixture(&server, "");
    fixture.git(&["init", "-q"]);
    fixture.write(".proem/book/a/b/1.0.0.prompt", FILE);
    let hash = proem_text::hex::encode_hex(<sha2::Sha256 as sha2::Digest>::digest(FILE.as_bytes()));
    let trusted = fixture.proem(&["trust", "--sha256", &hash, ".proem/book/a/b/1.0.0.prompt"]);
    assert_eq!(trusted.code(), 0, "{}", trusted.transcript());
    let run = fixture.proem(&["run", "a/b", "--set", "text=x"]);
    assert!(run.stderr().contains("unknown partial `tone`"), "a partial that is not there: {}", run.stderr());
    let path = ".proem/book/a/b/_tone.prompt";
    fixture.write(path, "Be brief.");
    let run = fixture.proem(&["run", "a/b", "--set", "text=x"]);
    let expected = format!("the prompt's partial `{path}` is not trusted; review with `proem trust`");
    assert!(run.code() == 2 && run.stderr().contains(&expected), "{}", run.stderr());
}
