//! The time of a sweep of actions to the outbox, beside two plain loops with as many files of the same bytes on the
//! same disk, in turns: one syncs each file and renames it, the other links it and syncs the folder too, as the outbox
//! does.
//!
//! `cargo bench -p proem-runtime --bench outbox`
#![expect(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a bench reads the clock and prints")]

use std::fs::{self, File, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use proem_engine::effect::key::{EffectKey, OutboxForm};
use proem_runtime::effects::mail::{MailDraft, Mailbox, write_mail};
use proem_runtime::effects::{DeliveryBytes, DeliveryOutcome, DeliveryRoute, deliver_unpermitted};
use tempfile::TempDir;

/// How many actions are swept.
const ACTIONS: u64 = 1_000;
/// How often, in turns with the plain loop.
const ROUNDS: usize = 3;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mails: Vec<_> = (0..ACTIONS).map(mail).collect();
    let (mut swept, mut renamed, mut linked) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let folder = TempDir::new_in(".").unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).unwrap();
        swept.push(runtime.block_on(sweep(folder.path(), &mails)));
        let folder = TempDir::new_in(".").unwrap();
        renamed.push(time_puts(&mails, |key, bytes| rename(folder.path(), key, bytes)));
        let folder = TempDir::new_in(".").unwrap();
        linked.push(time_puts(&mails, |key, bytes| put_by_link(folder.path(), key, bytes)));
    }
    for (name, mut times) in [
        ("swept to the outbox", swept),
        ("write, sync, rename", renamed),
        ("write, sync, link, sync the folder", linked),
    ] {
        times.sort_unstable();
        let best = times.first().copied().unwrap_or_default();
        println!("{name}: {} ms for {ACTIONS} (best of {ROUNDS}: {times:?})", best.as_millis());
    }
}

fn mail(number: u64) -> (EffectKey, Vec<u8>) {
    let mut bytes = [0; 32];
    bytes.iter_mut().zip(number.to_be_bytes()).for_each(|(byte, digit)| *byte = digit);
    let key = EffectKey::of_bytes(bytes);
    let mailbox = Mailbox { name: "Somebody".to_owned(), address: "somebody@corp.example".to_owned() };
    let draft = MailDraft {
        from: mailbox.clone(),
        to: vec![mailbox],
        subject: format!("Build {number} is red"),
        body: "A line of a mail as people write them.\n".repeat(20),
        attachments: Vec::new(),
        date: Timestamp::UNIX_EPOCH,
    };
    (key, write_mail(&draft, &key, "corp.example").unwrap())
}

async fn sweep(outbox: &Path, mails: &[(EffectKey, Vec<u8>)]) -> Duration {
    let begun = Instant::now();
    for (key, bytes) in mails {
        let delivery = DeliveryBytes { key: *key, form: OutboxForm::Mail, bytes };
        let outcome = deliver_unpermitted(&delivery, &DeliveryRoute::Outbox(outbox), &[]).await;
        let DeliveryOutcome::Sent { .. } = outcome else { panic!("{outcome:?}") };
    }
    begun.elapsed()
}

fn time_puts(mails: &[(EffectKey, Vec<u8>)], put: impl Fn(&EffectKey, &[u8])) -> Duration {
    let begun = Instant::now();
    mails.iter().for_each(|(key, bytes)| put(key, bytes));
    begun.elapsed()
}

fn save(path: &Path, bytes: &[u8]) {
    let mut file = File::create(path).unwrap();
    file.write_all(bytes).unwrap();
    file.sync_all().unwrap();
}

fn rename(folder: &Path, key: &EffectKey, bytes: &[u8]) {
    let temporary = folder.join("temporary");
    save(&temporary, bytes);
    fs::rename(&temporary, folder.join(key.file_name(OutboxForm::Mail))).unwrap();
}

fn put_by_link(folder: &Path, key: &EffectKey, bytes: &[u8]) {
    let temporary = folder.join("temporary");
    save(&temporary, bytes);
    fs::hard_link(&temporary, folder.join(key.file_name(OutboxForm::Mail))).unwrap();
    File::open(folder).unwrap().sync_all().unwrap();
    fs::remove_file(&temporary).unwrap();
}
