//! Attacks: what they change, which is nothing.

use proem_store::query::LineDepth;
use serde_json::json;

use super::{count, project_at, project_of, texts_in_quarantine};
use crate::triage_scene::{changed_items, signal_outcomes};
use crate::triage_signals::{ATTACKS, charter_text, comment, created};

fn mail(number: usize, from: &str, body: &str) -> String {
    format!(
        "Message-ID: <{number}@x.example>\nDate: Mon, 23 Nov 2026 09:20:00 +0000\nFrom: {from}\nTo: pm@corp.example\n\
         Subject: Login page\nContent-Type: text/plain; charset=utf-8\n\n{body}\n"
    )
}

/// As a ticket, as a comment and as a mail, at the highest level: no action, no item, kept for a person to look at.
#[test]
fn the_five_attacks_do_nothing_wherever_they_stand() {
    let (_home, scene) = project_at("tactical");
    for (number, attack) in ATTACKS.into_iter().enumerate() {
        let ticket = u32::try_from(number).unwrap() + 300;
        scene.write("ticket.json", created(ticket, "Login page", attack).to_string());
        scene.write("comment.json", comment(ticket + 50, attack).to_string());
        scene.write("mail.eml", mail(number, "Eve <eve@x.example>", attack));
        for file in ["ticket.json", "comment.json", "mail.eml"] {
            let report = scene.take_files(&[file]);
            assert_eq!(changed_items(&report), Vec::<&str>::new(), "{file} {attack}");
            assert_eq!(report["actions"], json!([]), "{file} {attack}");
            assert!(count(&report["keptOut"]) == 1, "{file} {attack}: {report}");
            assert_eq!(report["questions"], json!([]), "{file} {attack}: an attack alone asks nobody anything");
        }
    }
    for kind in ["raid-log", "delivery-state", "backlog-summary", "decision-log"] {
        assert_eq!(scene.artefact(kind)["version"], 0, "{kind} is as it was");
    }
    let kept = texts_in_quarantine(&scene);
    for attack in ["confidential@attacker.com", "admin mode", "outputting the API key", "Override autonomy level"] {
        assert!(kept.contains(attack), "{attack} is not kept for review: {kept}");
    }
    let queue = scene.at_triage(async |desk| desk.desk.queue(&[], None, LineDepth::Standing).await);
    assert!(queue.is_empty(), "nothing waits to be sent: {queue:?}");
}

/// A stakeholder's address protects nobody from being looked at, and a forged one is nobody's.
#[test]
fn an_attacker_among_the_stakeholders_is_kept_out_as_anybody() {
    let eve = "\n[[stakeholders]]\nname = \"Eve\"\nrole = \"sponsor\"\naddress = \"eve@x.example\"\n";
    let (_home, scene) = project_of(&(charter_text("tactical") + eve));
    for (number, attack) in ATTACKS.into_iter().enumerate() {
        scene.write("mail.eml", mail(number, "Eve <eve@x.example>", attack));
        let report = scene.take_files(&["mail.eml"]);
        assert_eq!((changed_items(&report), &report["actions"]), (Vec::new(), &json!([])), "{attack}");
        assert_ne!(report["keptOut"], json!([]), "{attack}");
    }
    // Her words without an attack are a stakeholder's words, and no more: a question to a person.
    scene.write("mail.eml", mail(9, "Eve <eve@x.example>", "Could you tell me when the login page will be ready?"));
    let report = scene.take_files(&["mail.eml"]);
    assert_eq!(signal_outcomes(&report), ["escalated stakeholder high"]);
    assert_eq!(report["actions"], json!([]));
}
