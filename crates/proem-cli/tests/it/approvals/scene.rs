//! A user with a policy of two mails, and a person who answers.

use serde_json::{Value as Json, json};

use crate::fixture::Fixture;
use crate::terminal::scene::proem;
use crate::terminal::screen::{WIDE, start_on};

/// A policy at a level: one mail that is held and one that is approved.
pub(super) fn policy_text(level: &str) -> String {
    let fields = "fields.subject = { role = \"text\", audience = \"internal\", required = true, max_bytes = 200 }\n\
                  fields.body = { role = \"text\", audience = \"internal\", required = true }\n";
    format!(
        "version = 1\nlevel = \"{level}\"\ndomains = [\"corp.example\"]\n\
         recipients = [{{ address = \"ada@corp.example\", name = \"Ada\", role = \"sponsor\" }}]\n\n\
         [lists]\nhold = {{ email_stakeholder = 30 }}\napproval = [\"email_external\", \"email_sponsor\"]\n\
         never = [\"delete_data\"]\n\n\
         [actions.email_stakeholder]\nlevel = \"tactical\"\nperform = \"mail\"\nexternal = \"email_external\"\n\
         target = {{ role = \"recipient\" }}\n{fields}\n\
         [actions.email_sponsor]\nperform = \"mail\"\ntarget = {{ role = \"recipient\" }}\n{fields}\n\
         [actions.email_external]\nperform = \"mail\"\ntarget = {{ role = \"recipient\" }}\n{fields}"
    )
}

/// A user with that policy, who has not switched effects on.
pub(super) fn user(level: &str) -> Fixture {
    let fixture = Fixture::folder();
    fixture.configure("policy.toml", &policy_text(level));
    fixture.configure("config.toml", "[effects.mail]\nfrom = \"projects@corp.example\"\n");
    fixture
}

/// An action as an agent gives it, to Ada and because of these signals.
pub(super) fn action(name: &str, signals: &[&str]) -> Json {
    let causes: Vec<Json> = signals.iter().map(|id| json!({ "id": id, "revision": "1" })).collect();
    json!({
        "action": name,
        "target": "ada@corp.example",
        "fields": { "subject": "Week 12", "body": "The release is on track." },
        "causes": causes,
    })
}

/// The screen, and the exit code, of a command whose one question a person answers. `None`, said out loud, if the
/// system has no terminal to give.
pub(crate) fn answered(fixture: &Fixture, args: &[&str], answer: &str) -> Option<(String, i32)> {
    let mut command = proem(fixture, args);
    command.env("NO_COLOR", "1");
    let mut terminal = start_on(WIDE, command)?;
    terminal.until("[y/N]");
    terminal.press(&format!("{answer}\n"));
    let left = terminal.end();
    Some((left.raw.replace('\r', ""), left.code.unwrap()))
}
