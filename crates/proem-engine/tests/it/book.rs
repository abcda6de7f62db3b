//! Layers, locks, closures and what a check finds.
#![expect(clippy::unwrap_used, reason = "a test may stop at what it didn't expect")]

use std::collections::BTreeMap;

use proem_engine::ErrorKind;
use proem_engine::prompt::book::{Book, BookLayer, LockState, PromptVersion};
use proem_engine::prompt::check::check_book;
use proem_engine::prompt::file::PartialText;
use proem_engine::prompt::origin::Origin;
use proem_engine::tokens::OpenAi;

const PROMPT: &str = r#"---
input:
  schema: { a: string }
proem:
  version: 1.0.0
  output_schema: answer.schema.json
  sections:
    - { name: role, trust: constitution }
    - { name: evidence, trust: untrusted }
---
{{role "system"}}{{section "role"}}
You are a judge. You must answer. Never guess. {{> rules}}
{{role "user"}}{{section "evidence"}}
{{a}}
"#;

const FILES: [(&str, &str); 5] = [
    ("one/judge/1.0.0.prompt", PROMPT),
    ("one/judge/_rules.prompt", "Rules: {{> more}}"),
    ("one/judge/_more.prompt", "be brief."),
    ("one/judge/answer.schema.json", "{\"type\":\"object\"}"),
    ("one/judge/notes.txt", "unrelated"),
];

pub(crate) fn layer(origin: Origin, files: &[(&str, &str)]) -> BookLayer {
    let files = files.iter().map(|(path, text)| ((*path).to_owned(), PartialText::Template((*text).to_owned())));
    BookLayer { origin, files: files.collect() }
}

fn book(layers: Vec<BookLayer>) -> Book {
    Book::new(layers).unwrap()
}

fn version(book: &Book, name: &str) -> PromptVersion {
    let versions = book.versions().unwrap();
    versions.into_iter().find(|version| format!("{}@{}", version.prompt, version.version) == name).unwrap()
}

fn with(files: &[(&'static str, &'static str)]) -> BookLayer {
    let mut all: BTreeMap<&str, &str> = FILES.into();
    all.extend(files.iter().copied());
    layer(Origin::Embedded, &all.into_iter().collect::<Vec<_>>())
}

/// The layer with its own lock in it.
fn locked(mut layer: BookLayer) -> BookLayer {
    let lock = book(vec![layer.clone()]).lock(layer.origin).unwrap();
    layer.files.insert("book.lock".into(), PartialText::Template(lock));
    layer
}

#[test]
fn layers_override_file_by_file() {
    let user = layer(
        Origin::User,
        &[("one/judge/_more.prompt", "be kind."), ("one/judge/1.1.0.prompt", &PROMPT.replace("1.0.0", "1.1.0"))],
    );
    let book = book(vec![with(&[]), user]);
    assert_eq!(book.prompts().into_iter().collect::<Vec<_>>(), ["one/judge"]);
    let first = version(&book, "one/judge@1.0.0");
    let origins: Vec<(&str, Origin)> = first.files.iter().map(|(path, origin)| (path.as_str(), *origin)).collect();
    assert_eq!(
        origins,
        [
            ("one/judge/1.0.0.prompt", Origin::Embedded),
            ("one/judge/_more.prompt", Origin::User),
            ("one/judge/_rules.prompt", Origin::Embedded),
            ("one/judge/answer.schema.json", Origin::Embedded),
        ]
    );
    let prompt = book.prompt("one/judge", Some("1.0.0")).unwrap();
    assert!(prompt.system_literals().contains("be kind."), "{}", prompt.system_literals());
    assert_eq!(book.prompt("one/judge", None).unwrap().file.strict.version, "1.1.0");
}

#[test]
fn the_current_version_is_the_named_one_else_the_newest() {
    let versions: Vec<(String, String)> = ["1.0.0", "1.9.0", "1.10.0"]
        .iter()
        .map(|v| (format!("one/judge/{v}.prompt"), PROMPT.replace("1.0.0", v)))
        .collect();
    let mut files: Vec<(&str, &str)> = FILES.to_vec();
    files.extend(versions.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    let newest = book(vec![layer(Origin::Embedded, &files)]);
    assert_eq!(newest.current("one/judge").unwrap(), "1.10.0");
    let listed: Vec<(String, bool)> = newest.versions().unwrap().into_iter().map(|v| (v.version, v.current)).collect();
    assert_eq!(listed, [("1.0.0".to_owned(), false), ("1.9.0".to_owned(), false), ("1.10.0".to_owned(), true)]);
    let manifest = ("book.toml", "[current]\n\"one/judge\" = \"1.0.0\"\n");
    let user =
        |version: &str| layer(Origin::User, &[("book.toml", &format!("[current]\n\"one/judge\" = \"{version}\"\n"))]);
    files.push(manifest);
    assert_eq!(book(vec![layer(Origin::Embedded, &files)]).current("one/judge").unwrap(), "1.0.0");
    assert_eq!(book(vec![layer(Origin::Embedded, &files), user("1.9.0")]).current("one/judge").unwrap(), "1.9.0");
    let remarks = check_book(&book(vec![layer(Origin::Embedded, &files), user("3.0.0")]), &OpenAi::O200k).unwrap();
    assert!(remarks.iter().any(|r| r.text == "book.toml names 3.0.0 as current, which does not exist"), "{remarks:?}");
}

#[test]
fn a_version_is_locked_unlocked_or_edited() {
    let state = |layers: Vec<BookLayer>| version(&book(layers), "one/judge@1.0.0").state;
    assert_eq!(state(vec![with(&[])]), LockState::Unlocked);
    let embedded = locked(with(&[]));
    assert_eq!(state(vec![embedded.clone()]), LockState::Locked);
    let mut edited = embedded.clone();
    edited.files.insert("one/judge/_more.prompt".into(), PartialText::Template("be rude.".into()));
    assert_eq!(state(vec![edited]), LockState::Edited);
    // An upper layer's change is being written until that layer locks it.
    let user = layer(Origin::User, &[("one/judge/_more.prompt", "be kind.")]);
    let both = book(vec![embedded.clone(), user.clone()]);
    assert_eq!(version(&both, "one/judge@1.0.0").state, LockState::Unlocked);
    let mut user = user;
    user.files.insert("book.lock".into(), PartialText::Template(both.lock(Origin::User).unwrap()));
    assert_eq!(state(vec![embedded.clone(), user.clone()]), LockState::Locked);
    user.files.insert("one/judge/_more.prompt".into(), PartialText::Template("be odd.".into()));
    assert_eq!(state(vec![embedded, user]), LockState::Edited);
}

/// A user's book with `me/ask` 1.0.0 in two files, locked.
fn asking_layer() -> BookLayer {
    locked(layer(Origin::User, &[("me/ask/1.0.0.prompt", ASK), ("me/ask/_style.prompt", "Be brief.")]))
}

const ASK: &str = "---
proem:
  version: 1.0.0
  sections:
    - { name: role, trust: constitution }
---
{{role \"system\"}}{{section \"role\"}}
{{> style}}
";

/// The layer with some files written anew.
fn changed_layer(mut layer: BookLayer, files: &[(&str, &str)]) -> BookLayer {
    for (path, text) in files {
        layer.files.insert((*path).to_owned(), PartialText::Template((*text).to_owned()));
    }
    layer
}

/// The version of `me/ask` that is used of a book, or what is said instead.
#[track_caller]
fn check_use(layer: BookLayer, expected: Result<&str, &str>) {
    let book = book(vec![layer]);
    assert!(book.as_it_is("me/ask", "1.0.0").is_ok());
    let used = book.prompt("me/ask", None).map(|prompt| prompt.id.version);
    let used = used.map_err(|error| (error.kind(), error.to_string()));
    let edited = |words: &str| (ErrorKind::Edited, format!("{words} {WAYS}"));
    assert_eq!(used, expected.map(str::to_owned).map_err(edited));
}

const WAYS: &str = "since then\n  restore the locked files, or create a new version with the change, such as 1.0.1, and lock \
                    that";

#[test]
fn a_file_changed_under_a_locked_version_stops_its_prompt() {
    check_use(asking_layer(), Ok("1.0.0"));
    check_use(
        changed_layer(asking_layer(), &[("me/ask/notes.yaml", "not used"), ("me/other/1.0.0.prompt", ASK)]),
        Ok("1.0.0"),
    );
    let style = ("me/ask/_style.prompt", "Be long.");
    check_use(
        changed_layer(asking_layer(), &[style]),
        Err("`me/ask` 1.0.0 is locked, but `me/ask/_style.prompt` of your book was changed"),
    );
    check_use(
        changed_layer(asking_layer(), &[style, ("me/ask/1.0.0.prompt", &ASK.replace("> style", ">style"))]),
        Err("`me/ask` 1.0.0 is locked, but `me/ask/1.0.0.prompt`, `me/ask/_style.prompt` of your book were changed"),
    );
    // A new version with the change is the way on.
    let ask = ASK.replace("1.0.0", "1.1.0").replace("> style", "> tone");
    let next = changed_layer(asking_layer(), &[("me/ask/1.1.0.prompt", &ask), ("me/ask/_tone.prompt", "Be long.")]);
    assert!(book(vec![next.clone()]).prompt("me/ask", None).unwrap().id.version.starts_with("1.1.0+"));
    check_use(locked(next), Ok("1.1.0"));
}

#[test]
fn a_lock_that_names_no_files_still_tells_a_change() {
    let mut early = asking_layer();
    let lock = early.files["book.lock"].as_str().split("\n# The hash of each file").next().unwrap().to_owned();
    early.files.insert("book.lock".into(), PartialText::Template(lock));
    check_use(early.clone(), Ok("1.0.0"));
    check_use(
        changed_layer(early, &[("me/ask/_style.prompt", "Be long.")]),
        Err("`me/ask` 1.0.0 is locked, but one of `me/ask/1.0.0.prompt`, `me/ask/_style.prompt` of your book was \
             changed"),
    );
}

#[test]
fn another_combination_of_layers_is_nobodys_change() {
    let kind = layer(Origin::Project, &[("one/judge/_more.prompt", "be kind.")]);
    let user = layer(Origin::User, &[("one/judge/_rules.prompt", "My rules. {{> more}}")]);
    let lock = book(vec![with(&[]), kind.clone()]).lock(Origin::Project).unwrap();
    let both = book(vec![with(&[]), user.clone(), kind.clone()]);
    assert_eq!(both.lock(Origin::Project).unwrap(), lock, "a project's lock is the same for every user");
    let mut project = changed_layer(kind, &[("book.lock", &lock)]);
    let state = |layers: Vec<BookLayer>| version(&book(layers), "one/judge@1.0.0").state;
    assert_eq!(state(vec![with(&[]), project.clone()]), LockState::Locked);
    assert_eq!(state(vec![with(&[]), user, project.clone()]), LockState::Unlocked);
    // A file that doesn't count here is missing from its layer, and no change either.
    project.files.remove("one/judge/_more.prompt");
    assert_eq!(state(vec![with(&[]), project]), LockState::Unlocked);
    // A change of a lower layer is one, whatever is above.
    let mine = changed_layer(asking_layer(), &[("me/ask/_style.prompt", "Be long.")]);
    let above = layer(Origin::Project, &[("me/other/1.0.0.prompt", ASK)]);
    assert_eq!(book(vec![mine, above]).prompt("me/ask", None).unwrap_err().kind(), ErrorKind::Edited);
}

#[test]
fn what_was_edited_is_not_locked_again() {
    let edited = changed_layer(asking_layer(), &[("me/ask/_style.prompt", "Be long.")]);
    let error = book(vec![edited]).lock(Origin::User).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Edited);
    assert!(error.to_string().starts_with("`me/ask` 1.0.0 is locked, but `me/ask/_style.prompt`"), "{error}");
}

#[test]
fn a_lock_does_not_depend_on_what_lies_above() {
    let (embedded, user) = (with(&[]), layer(Origin::User, &[("one/judge/_more.prompt", "be kind.")]));
    let alone = book(vec![embedded.clone()]).lock(Origin::Embedded).unwrap();
    assert!(alone.contains("\"one/judge@1.0.0\" = \""), "{alone}");
    assert_eq!(book(vec![embedded.clone(), user.clone()]).lock(Origin::Embedded).unwrap(), alone);
    let project = layer(Origin::Project, &[("one/judge/_rules.prompt", "none")]);
    let below = book(vec![embedded.clone(), user.clone()]).lock(Origin::User).unwrap();
    assert!(below.contains("one/judge@1.0.0"), "{below}");
    assert_eq!(book(vec![embedded.clone(), user, project]).lock(Origin::User).unwrap(), below);
    let missing = book(vec![embedded]).lock(Origin::Project).unwrap_err();
    assert_eq!((missing.kind(), missing.to_string().as_str()), (ErrorKind::NotFound, "there is no project book"));
}

#[test]
fn an_unlocked_version_is_recorded_with_its_hash() {
    let open = book(vec![with(&[])]).prompt("one/judge", None).unwrap();
    let hash = open.id.version.strip_prefix("1.0.0+").unwrap();
    assert!(hash.len() == 12 && hash.bytes().all(|b| b.is_ascii_hexdigit()) && open.id.closure.starts_with(hash));
    let locked = book(vec![locked(with(&[]))]).prompt("one/judge", None).unwrap();
    assert_eq!((locked.id.version.as_str(), &locked.id.closure), ("1.0.0", &open.id.closure));
    assert_eq!((locked.id.agent.as_str(), locked.id.name.as_str()), ("one", "judge"));
}

#[test]
fn the_closure_is_the_file_its_partials_and_schemas() {
    let hash = |files: &[(&'static str, &'static str)]| version(&book(vec![with(files)]), "one/judge@1.0.0").closure;
    let same = hash(&[]);
    assert_eq!(
        hash(&[("one/judge/notes.txt", "changed"), ("one/judge/_other.prompt", "x"), ("two/x/1.0.0.prompt", "y")]),
        same
    );
    let edited: &'static str = PROMPT.replace("Never", "Do not").leak();
    for change in [
        ("one/judge/1.0.0.prompt", edited),
        ("one/judge/_rules.prompt", "Rules. {{> more}}"),
        ("one/judge/_more.prompt", "be long."),
        ("one/judge/answer.schema.json", "{}"),
    ] {
        assert_ne!(hash(&[change]), same, "{}", change.0);
    }
}

#[test]
fn what_does_not_exist_is_named_with_what_does() {
    let book = book(vec![with(&[])]);
    let check = |prompt: &str, version: Option<&str>, expected: &str| {
        let error = book.prompt(prompt, version).unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::NotFound, expected));
    };
    check("one/jugde", None, "no prompt `one/jugde`; the book has one/judge");
    check("one/jugde", Some("1.0.0"), "no prompt `one/jugde`; the book has one/judge");
    check("one/judge", Some("2.0.0"), "`one/judge` has no version `2.0.0`; there are 1.0.0");
    let broken = Book::new(vec![layer(Origin::User, &[("book.toml", "[current]\nx = 3\n")])]).unwrap_err();
    assert!(broken.to_string().starts_with("user book, book.toml: "), "{broken}");
    assert!(Book::new(vec![layer(Origin::User, &[("book.lock", "[versoins]\n")])]).is_err());
}

/// The remarks of a check on the book with these files in it.
fn book_remarks(files: &[(&'static str, &'static str)]) -> Vec<String> {
    let remarks = check_book(&book(vec![with(files)]), &OpenAi::O200k).unwrap();
    remarks.into_iter().map(|r| format!("{} {}: {}", r.prompt, r.severity.as_str(), r.text)).collect()
}

/// A prompt whose section `facts`, static, has this body.
fn stable(schema: &str, body: &str) -> &'static str {
    format!(
        "---\ninput:\n  schema: {schema}\nproem:\n  version: 1.0.0\n  inputs: {{ x: {{ trust: trusted }} }}\n  sections:\n    - {{ name: facts, trust: trusted, cache: static }}\n---\n{{{{role \"system\"}}}}{{{{section \"facts\"}}}}\nYou are a judge. You must answer. Never guess.\n{body}\n"
    )
    .leak()
}

#[test]
fn a_good_book_has_no_remarks() {
    assert_eq!(book_remarks(&[]), [""; 0]);
}

#[test]
fn a_check_finds_what_is_wrong_with_a_book() {
    let first = |files: &[(&'static str, &'static str)], expected: &str| {
        let found = book_remarks(files);
        assert!(found.iter().any(|remark| remark.starts_with(expected)), "{expected}\n{found:#?}");
    };
    let mut edited = locked(with(&[]));
    edited.files.insert("one/judge/_more.prompt".into(), PartialText::Template("be rude.".into()));
    let found = check_book(&book(vec![edited]), &OpenAi::O200k).unwrap();
    let [remark] = found.as_slice() else { panic!("{found:?}") };
    assert!(remark.text.starts_with("`one/judge` 1.0.0 is locked, but one of `one/judge/1.0.0.prompt`, "), "{found:?}");
    first(
        &[("one/judge/_rules.prompt", "{{> nowhere}}")],
        "one/judge@1.0.0 error: unknown partial `nowhere`; known: rules",
    );
    first(
        &[("one/judge/answer.schema.json", "{\"type\":\"strnig\"}")],
        "one/judge@1.0.0 error: answer.schema.json: the schema does not compile: ",
    );
    first(&[("one/judge/answer.schema.json", "{")], "one/judge@1.0.0 error: answer.schema.json: not JSON: ");
    first(
        &[("one/judge/1.0.0.prompt", PROMPT.replace("answer.schema.json", "answer").leak())],
        "one/judge@1.0.0 error: proem.output_schema names `answer`, which is not in the folder of the prompt file",
    );
    first(
        &[("one/judge/1.0.0.prompt", PROMPT.replace(", trust: untrusted", "").leak())],
        "one/judge@1.0.0 error: section `evidence` has no `trust`",
    );
    first(
        &[("one/judge/2.0.0.prompt", PROMPT)],
        "one/judge@2.0.0 error: the file is named 2.0.0, but its proem.version is 1.0.0",
    );
    let volatile = "one/judge@1.0.0 error: section `facts` (static) prints `";
    let schema = "{ type: object, properties: { x: { type: string }, build_date: { type: string }, when: { type: string, format: date-time } }, required: [x, build_date, when] }";
    let trusted = |text: &str| {
        stable(schema, text)
            .replace(
                "x: { trust: trusted }",
                "x: { trust: trusted }, build_date: { trust: trusted }, when: { trust: trusted }",
            )
            .leak() as &'static str
    };
    first(&[("one/judge/1.0.0.prompt", trusted("{{build_date}}"))], &format!("{volatile}build_date`"));
    first(&[("one/judge/1.0.0.prompt", trusted("{{when}}"))], &format!("{volatile}when`"));
    assert_eq!(book_remarks(&[("one/judge/1.0.0.prompt", trusted("{{x}}"))]), [""; 0]);
    let literal = "one/judge@1.0.0 warning: section `facts` (static) contains the literal `";
    first(&[("one/judge/1.0.0.prompt", stable("{ x: string }", "{{x}} 2026-01-31"))], &format!("{literal}2026-01-31`"));
    let id = "123e4567-e89b-12d3-a456-426614174000";
    first(
        &[("one/judge/1.0.0.prompt", stable("{ x: string }", &format!("{{{{x}}}} ({id})")))],
        &format!("{literal}{id}`"),
    );
    first(
        &[(
            "one/judge/1.0.0.prompt",
            PROMPT.replace("  output_schema: answer.schema.json\n", "  budget: { input: 5 }\n").leak(),
        )],
        "one/judge@1.0.0 error: required sections have at least ",
    );
    let stating = |text: &str| PROMPT.replace("You are a judge. You must answer. Never guess.", text).leak();
    first(
        &[("one/judge/1.0.0.prompt", stating("Judge well."))],
        "one/judge@1.0.0 warning: the system prompt states no role, no responsibilities and no prohibitions",
    );
    for sound in ["You are a judge.", "You must answer.", "Never guess."] {
        assert_eq!(book_remarks(&[("one/judge/1.0.0.prompt", stating(sound))]), [""; 0], "{sound}");
    }
}
