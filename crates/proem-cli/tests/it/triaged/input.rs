//! Input that is too large, too odd, half or twice: each by itself, as a person meets it.

use proem_store::record::EscalationState;
use serde_json::json;

use super::{artefact, count, project, take_files, triaged};
use crate::approvals::scene::answered;
use crate::fixture::{Fixture, Locked, Run};
use crate::triage_scene::signal_outcomes;
use crate::triage_signals::{charter_text, created, flag_change, moved};

/// A mail of the sponsor, whose server is believed.
fn mail(id: &str, rest: &str) -> String {
    format!(
        "Authentication-Results: mx.corp.example; dmarc=pass header.from=corp.example\r\n\
         Message-ID: <{id}@corp.example>\r\nDate: Mon, 23 Nov 2026 09:10:00 +0000\r\n\
         From: Sam Okoro <sam@corp.example>\r\nTo: pm@corp.example\r\nSubject: {id}\r\nMIME-Version: 1.0\r\n{rest}"
    )
}

/// The same files once more are no work.
#[track_caller]
fn is_done_once(fixture: &Fixture, files: &[&str]) {
    let versions = || fixture.triage().status()["artefacts"].clone();
    let before = versions();
    let again = take_files(fixture, files);
    assert_eq!((&again["came"]["new"], &again["came"]["malformed"]), (&json!(0), &json!(0)), "{again}");
    for part in ["signals", "changes", "questions", "actions", "keptOut"] {
        assert_eq!(again[part], json!([]), "{part}");
    }
    assert_eq!(versions(), before);
}

/// Mails that say nothing that can be read are a stakeholder's all the same, and a person hears of them.
#[test]
fn mails_without_readable_text() {
    let fixture = project("artefact");
    let attachment = "Content-Type: application/pdf; name=\"plan.pdf\"\r\nContent-Disposition: attachment; \
                      filename=\"plan.pdf\"\r\nContent-Transfer-Encoding: base64\r\n\r\nJVBERi0xLjQK\r\n";
    fixture.write("no-text.eml", mail("no-text", "\r\n"));
    fixture.write("attachment.eml", mail("attachment", attachment));
    let mut latin = mail("charset", "Content-Type: text/plain; charset=utf-8\r\n\r\n").into_bytes();
    latin.extend(b"Gr\xfc\xdfe: wie steht es um die Pr\xfcfung?\r\n");
    fixture.write("charset.eml", latin);
    fixture.write("cut-off.eml", mail("cut-off", "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Ty"));
    let files = ["no-text.eml", "attachment.eml", "charset.eml", "cut-off.eml"];
    let sessions: Vec<String> =
        files.iter().map(|file| without_run_ids(&fixture.proem(&["triage", "run", file]))).collect();
    assert_eq!(fixture.triage().status()["signals"], json!({ "handled": 4 }));
    is_done_once(&fixture, &files);
    snapshot!(sessions.join("\n"));
}

/// A session without the ids of its questions, which hang on the records.
fn without_run_ids(run: &Run) -> String {
    let is_id = |word: &str| word.len() == 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let line = |line: &str| {
        let words: Vec<&str> = line.split(' ').map(|word| if is_id(word) { "[id]" } else { word }).collect();
        words.join(" ")
    };
    run.transcript().lines().map(line).collect::<Vec<_>>().join("\n") + "\n"
}

/// Each mistake in the project's file is said at its place, all of them at once, and nothing is done.
#[test]
fn a_typing_mistake_in_the_project_s_file() {
    let good = charter_text("artefact");
    let sessions: Vec<String> = [
        good.replace("level =", "levle ="),
        good.replace("[[stakeholders]]", "[[stakeholder]]"),
        good.replace("owner = \"Olivia Reyes\"", "owner = \" \""),
        good.replace("level = \"artefact\"", "level = artefact"),
        good.replace("2999-12-24", "24.12.2999").replace("name = \"Sam Okoro\"", "name = \"\""),
        good.replace("Europe/Lisbon", "Europe/Lissabon"),
        good.replace("id = \"0192f0c1-7a2b-4c3d-8e4f-5a6b7c8d9e0f\"", "id = \"payments\"")
            .replace("key = \"TES\"", "key = \"\""),
        good.split_at(90).0.to_owned(),
    ]
    .into_iter()
    .map(|text| {
        let fixture = Fixture::folder().unborn();
        fixture.write(".proem/triage/project.toml", text);
        fixture.write("signals.jsonl", flag_change(142).to_string());
        // The person who trusts it hears of it at once, if there is a terminal. The run says it anyway.
        let run = fixture.proem(&["triage", "run", "signals.jsonl"]);
        assert_eq!(run.code(), 2, "{}", run.stderr());
        run.transcript()
    })
    .collect();
    snapshot!(sessions.join("\n"));
}

/// A command that finds the records held says so, has changed nothing, and does all its work the next time.
#[test]
fn records_that_another_process_holds() {
    let fixture = project("artefact");
    triaged(&fixture, &[moved(1, "To Do", "In Progress")]);
    fixture.write("signals.jsonl", flag_change(142).to_string());
    let locked = Locked::of(&fixture);
    let run = fixture.proem(&["triage", "run", "signals.jsonl"]);
    locked.let_go();
    assert_eq!(run.code(), 3, "{}", run.stderr());
    assert!(run.stderr().contains("another process") && run.stderr().contains("records.db"), "{}", run.stderr());
    assert_eq!(artefact(&fixture, "raid-log")["version"], 0);
    assert_eq!(signal_outcomes(&take_files(&fixture, &["signals.jsonl"])), ["incorporated blocker high"]);
    is_done_once(&fixture, &["signals.jsonl"]);
}

/// A process that ends in the middle of a cycle, wherever: the next one finds everything, and asks nothing twice.
#[test]
fn a_cycle_that_was_killed_is_done_once() {
    let scope = created(8, "Please add wallets", "The sponsor asks for wallets to be part of the release, too.");
    for place in
        ["before-intake", "after-intake", "before-escalation", "after-escalation", "before-cycle", "after-cycle"]
    {
        let mut fixture = project("artefact");
        fixture.write("signals.jsonl", format!("{}\n{scope}\n", flag_change(142)));
        fixture.set("PROEM_FAILPOINT", place);
        let args = ["triage", "run", "signals.jsonl"];
        let ended = fixture.command(&fixture.binary).args(args).output().unwrap().status;
        assert_eq!(ended.code(), None, "{place} is passed");
        fixture.set("PROEM_FAILPOINT", "");
        take_files(&fixture, &["signals.jsonl"]);
        let raid = artefact(&fixture, "raid-log");
        assert_eq!((&raid["version"], count(&raid["content"]["items"])), (&json!(1), 1), "{place}");
        assert_eq!(fixture.triage().questions(None).len(), 1, "{place}");
        is_done_once(&fixture, &["signals.jsonl"]);
    }
}

/// A person's decision between a broken cycle and the next one is not asked for again.
#[test]
fn a_question_of_a_broken_cycle_that_was_answered_stays_answered() {
    let mut fixture = project("artefact");
    let scope = created(8, "Please add wallets", "The sponsor asks for wallets to be part of the release, too.");
    fixture.write("signals.jsonl", scope.to_string());
    fixture.set("PROEM_FAILPOINT", "fail:finish-cycle");
    assert_eq!(fixture.proem(&["triage", "run", "signals.jsonl"]).code(), 3);
    fixture.set("PROEM_FAILPOINT", "");
    let questions = fixture.triage().questions(Some(EscalationState::Open));
    let decide = ["escalations", "decide", &questions[0].id.0, "A"];
    let Some((said, code)) = answered(&fixture, &decide, "y") else { return };
    assert_eq!(code, 0, "{said}");
    take_files(&fixture, &["signals.jsonl"]);
    let all = fixture.triage().questions(None);
    assert_eq!(all.len(), 1, "{all:?}");
}

/// Half a file is kept for a person and named by its place. The whole one is worked on when it comes.
#[test]
fn half_a_file_and_then_the_whole_one() {
    let fixture = project("artefact");
    let whole = format!("{}\n{}\n", moved(1, "To Do", "In Progress"), flag_change(142));
    let half = whole.split_at(whole.len() - 200).0;
    fixture.write("signals.jsonl", half);
    let first = fixture.proem(&["triage", "run", "signals.jsonl"]);
    let failing = fixture.proem(&["triage", "run", "signals.jsonl", "--fail-on", "quarantine"]);
    fixture.write("signals.jsonl", half.split_at(half.len() - 50).0);
    let shorter = fixture.proem(&["triage", "run", "signals.jsonl", "--fail-on", "quarantine"]);
    fixture.write("signals.jsonl", &whole);
    let then = fixture.proem(&["triage", "run", "signals.jsonl"]);
    assert_eq!((first.code(), failing.code(), shorter.code(), then.code()), (0, 0, 1, 0));
    let kept = fixture.proem(&["queue", "quarantine", "--json"]).json();
    assert_eq!(count(&kept), 2, "what was half stays to be looked at: {kept}");
    is_done_once(&fixture, &["signals.jsonl"]);
    snapshot!(without_run_ids(&first) + "\n" + &without_run_ids(&then));
}
