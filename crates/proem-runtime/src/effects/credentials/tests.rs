use super::*;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use jiff::Timestamp;
use proem_engine::effect::key::EffectKey;
use tempfile::TempDir;

use crate::effects::mail::{MailDraft, Mailbox};
use crate::effects::{mail, request};

fn environment(value: &str) -> Environment {
    [(OsString::from("PROEM_MAIL"), OsString::from(value))].into_iter().collect()
}

#[track_caller]
fn check(place: &CredentialPlace, access: CredentialAccess<'_>, expected: &str) {
    let found = load("mail", place, access);
    let found = found.map_or_else(|refusal| refusal.to_string(), |secret| format!("= {}", secret.expose()));
    assert_eq!(found, expected);
}

#[test]
fn variables_count_in_a_process_of_ones_own() {
    let place = CredentialPlace::Variable("PROEM_MAIL".to_owned());
    let missing = "no credential `mail`; set the environment variable PROEM_MAIL, or name a file in your configuration";
    let form = "the credential `mail` is not one line of 8 or more visible characters; set it again";
    for (value, expected) in [
        ("correct horse", "= correct horse"),
        ("correct horse\n", "= correct horse"),
        ("", missing),
        ("short", form),
        ("two\nlines of it", form),
        ("pässwörter", form),
    ] {
        check(&place, CredentialAccess::Own(&environment(value)), expected);
    }
    check(
        &place,
        CredentialAccess::FileAlone,
        "the credential `mail` is in a variable, which doesn't count here; put it into a file of mode 600 and name that \
         in your configuration",
    );
}

#[test]
fn files_count_if_nobody_else_can_read_them() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("mail");
    let place = CredentialPlace::File(path.clone());
    let here = path.display();
    let file = |expected: &str| check(&place, CredentialAccess::FileAlone, expected);
    file(&format!("no credential `mail`: there is no file `{here}`; create it with mode 600"));
    fs::write(&path, "correct horse\n").unwrap();
    for (mode, is_open) in [(0o600, false), (0o400, false), (0o640, true), (0o604, true), (0o620, true)] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let open = format!(
            "the credential `mail` can't be read: other users can access `{here}` (mode {mode:03o}); run `chmod 600 {here}`"
        );
        file(if is_open { &open } else { "= correct horse" });
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&path, "x".repeat(20_000)).unwrap();
    file("the credential `mail` is not one line of 8 or more visible characters; set it again");
    fs::rename(&path, folder.path().join("elsewhere")).unwrap();
    symlink(folder.path().join("elsewhere"), &path).unwrap();
    file(&format!(
        "the credential `mail` can't be read: `{here}` is a symbolic link, and links are not followed here; replace it \
         with what it points to"
    ));
}

/// The mail whose body and subject are these.
fn mail(subject: &str, body: &str) -> Vec<u8> {
    let mailbox = Mailbox { name: String::new(), address: "a@corp.example".to_owned() };
    let draft = MailDraft {
        from: mailbox.clone(),
        to: vec![mailbox],
        subject: subject.to_owned(),
        body: body.to_owned(),
        attachments: Vec::new(),
        date: Timestamp::UNIX_EPOCH,
    };
    mail::write_mail(&draft, &EffectKey::of_bytes([1; 32]), "corp.example").unwrap()
}

/// The request whose ticket and comment are these.
fn request(ticket: &str, text: &str) -> Vec<u8> {
    let template = serde_json::json!({
        "kind": "comment", "method": "POST", "url": "https://tickets.example/a/{ticket}", "body": {"text": "{text}"},
    });
    let values = [("ticket", ticket), ("text", text)].map(|(name, value)| (name.to_owned(), value.to_owned()));
    let template = serde_json::from_value(template).unwrap();
    request::write_ticket_request(&template, &BTreeMap::from(values), &EffectKey::of_bytes([1; 32])).unwrap()
}

#[test]
fn a_credential_is_found_in_what_leaves_however_it_is_written() {
    let secrets = [Secret::new("long", "a-longer=secret.of 30 characters"), Secret::new("short", "c=rrect\"h")];
    let filler = "x".repeat(60);
    for (text, expected) in [
        ("nothing of the kind".to_owned(), None),
        (format!("{filler} a-longer=secret.of 30 characters"), Some("long")),
        (format!("é{filler}c=rrect\"h"), Some("short")),
        ("é a-longer=secret.of 30 characters é".to_owned(), Some("long")),
    ] {
        let deliveries = [
            (OutboxForm::Mail, mail("x", &text)),
            (OutboxForm::Mail, mail(&text, "x")),
            (OutboxForm::Request, request("T-1", &text)),
            (OutboxForm::Request, request(&text, "x")),
        ];
        for (form, bytes) in deliveries {
            let delivery = DeliveryBytes { key: EffectKey::of_bytes([1; 32]), form, bytes: &bytes };
            assert_eq!(leaking(&delivery, &secrets).map(Secret::name), expected, "{form:?} {text}");
        }
    }
}
