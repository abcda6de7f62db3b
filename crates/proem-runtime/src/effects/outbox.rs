//! A folder that actions leave into as files, for a person or another program to take further.
//!
//! Invariants: a file appears under its name with all of its bytes or not at all. No file is ever replaced. An action
//! has one file, named after its key, whoever asks how often.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::Error;
use crate::error::path_on_screen;
use crate::files::{
    FOLDER, FileAccess, FileContent, NewFileFailure, read_regular, sync_folder, unexpected_file_type, write_in_stages,
};

use super::{DeliveryBytes, DeliveryOutcome, DeliveryTrouble};

/// Puts a delivery's bytes into the folder `outbox`, which is there already, on a thread that may wait for the disk.
///
/// A file of the same bytes that is there already is the action's own, from an attempt whose end nobody wrote down.
/// One of other bytes is not, and what became of the action is then for a person to find out.
pub(super) async fn put_in_outbox(delivery: &DeliveryBytes<'_>, outbox: &Path) -> DeliveryOutcome {
    let DeliveryBytes { key, form, bytes } = *delivery;
    let (bytes, outbox) = (bytes.to_vec(), outbox.to_path_buf());
    let put = move || put_here(&DeliveryBytes { key, form, bytes: &bytes }, &outbox);
    tokio::task::spawn_blocking(put).await.unwrap_or_else(|gone| {
        let message = format!("the thread that puts it into the outbox is gone ({gone}); look whether it is there");
        DeliveryOutcome::Unknown(DeliveryTrouble::new(message))
    })
}

/// As [`put_in_outbox`], on this thread.
fn put_here(delivery: &DeliveryBytes<'_>, outbox: &Path) -> DeliveryOutcome {
    if let Err(error) = check_folder(outbox) {
        return DeliveryOutcome::NotSent(DeliveryTrouble::new(error));
    }
    let name = delivery.key.file_name(delivery.form);
    match write_in_stages(outbox, Path::new(&name), delivery.bytes, FileAccess::Private) {
        Ok(()) => DeliveryOutcome::Sent { answer: None },
        Err(NewFileFailure::Unseen(Error::Exists { path })) => there_already(delivery, outbox, &path),
        Err(NewFileFailure::Unseen(error)) => {
            let message = format!("nothing was put into the outbox: {error}");
            DeliveryOutcome::NotSent(DeliveryTrouble::new(message))
        }
        Err(NewFileFailure::Seen(error)) => {
            let message =
                format!("`{name}` is in the outbox and may not survive a crash: {error}; look whether it is there");
            DeliveryOutcome::Unknown(DeliveryTrouble::new(message))
        }
    }
}

/// Whether the folder is one of this user's that nobody else can put files into.
fn check_folder(outbox: &Path) -> Result<(), String> {
    let metadata = outbox.symlink_metadata().map_err(|error| Error::io("look at", outbox)(error).to_string())?;
    if !metadata.is_dir() {
        return Err(unexpected_file_type(outbox, metadata.file_type(), FOLDER).to_string());
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(format!(
            "the outbox `{}` belongs to another user; name a folder of your own",
            path_on_screen(outbox)
        ));
    }
    let mode = metadata.mode() & 0o777;
    if mode & 0o022 != 0 {
        return Err(Error::TooOpen { path: outbox.to_path_buf(), mode, wanted: 0o700 }.to_string());
    }
    Ok(())
}

fn there_already(delivery: &DeliveryBytes<'_>, outbox: &Path, path: &Path) -> DeliveryOutcome {
    let unknown = |message: String| DeliveryOutcome::Unknown(DeliveryTrouble::new(message));
    match read_regular(path, delivery.bytes.len()) {
        // Its folder may not have been saved before the crash that this attempt follows.
        Ok(Some(FileContent::Whole(bytes))) if bytes == delivery.bytes => match sync_folder(outbox) {
            Ok(()) => DeliveryOutcome::Sent { answer: None },
            Err(error) => unknown(error.to_string()),
        },
        Ok(Some(_)) => unknown(format!(
            "`{}` is there already with other bytes; find out who put it there and whether it went further",
            path_on_screen(path)
        )),
        Ok(None) => unknown(format!("`{}` was there and has gone; find out who took it", path_on_screen(path))),
        Err(error) => unknown(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use proem_engine::effect::key::{EffectKey, OutboxForm};
    use tempfile::TempDir;

    const BYTES: &[u8] = b"Subject: x\r\n\r\ny\r\n";
    const NAME: &str = "0707070707070707070707070707070707070707070707070707070707070707.eml";

    /// A folder that an action goes to after `arrange`, and what became of it.
    #[track_caller]
    fn check(arrange: impl FnOnce(&Path), expected: &str) {
        let folder = TempDir::new().unwrap();
        let outbox = folder.path().join("outbox");
        fs::create_dir(&outbox).unwrap();
        fs::set_permissions(&outbox, fs::Permissions::from_mode(0o700)).unwrap();
        arrange(&outbox);
        let delivery = DeliveryBytes { key: EffectKey::of_bytes([7; 32]), form: OutboxForm::Mail, bytes: BYTES };
        let found = match put_here(&delivery, &outbox) {
            DeliveryOutcome::Sent { .. } => {
                assert_eq!(fs::read(outbox.join(NAME)).unwrap(), BYTES);
                assert_eq!(fs::read_dir(&outbox).unwrap().count(), 1);
                "sent".to_owned()
            }
            DeliveryOutcome::Failed(trouble) => format!("failed: {}", trouble.message),
            DeliveryOutcome::NotSent(trouble) => format!("not sent: {}", trouble.message),
            DeliveryOutcome::Unknown(trouble) => format!("unknown: {}", trouble.message),
        };
        assert_eq!(found.replace(&folder.path().display().to_string(), ""), expected);
        _ = fs::set_permissions(&outbox, fs::Permissions::from_mode(0o700));
    }

    #[test]
    fn a_file_appears_once_and_whole() {
        check(|_| (), "sent");
        check(|outbox| fs::write(outbox.join(NAME), BYTES).unwrap(), "sent");
    }

    #[test]
    fn another_file_of_the_name_is_never_replaced() {
        let other = format!(
            "unknown: `/outbox/{NAME}` is there already with other bytes; find out who put it there and whether it went \
             further"
        );
        check(|outbox| fs::write(outbox.join(NAME), b"other").unwrap(), &other);
        check(|outbox| fs::write(outbox.join(NAME), [BYTES, b"more"].concat()).unwrap(), &other);
        let link = format!(
            "unknown: `/outbox/{NAME}` is a symbolic link, and links are not followed here; replace it with what it \
             points to"
        );
        check(|outbox| symlink("elsewhere", outbox.join(NAME)).unwrap(), &link);
        let folder = format!("unknown: `/outbox/{NAME}` is a folder, not a regular file; move it elsewhere");
        check(|outbox| fs::create_dir(outbox.join(NAME)).unwrap(), &folder);
    }

    #[test]
    fn what_is_no_folder_of_this_user_alone_takes_nothing() {
        check(
            |outbox| {
                fs::remove_dir(outbox).unwrap();
                symlink("/tmp", outbox).unwrap();
            },
            "not sent: `/outbox` is a symbolic link, and links are not followed here; replace it with what it points to",
        );
        check(
            |outbox| {
                fs::remove_dir(outbox).unwrap();
                rustix::fs::mknodat(rustix::fs::CWD, outbox, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
                    .unwrap();
            },
            "not sent: `/outbox` is a named pipe, not a folder; move it elsewhere",
        );
        check(
            |outbox| fs::remove_dir(outbox).unwrap(),
            "not sent: could not look at `/outbox`: No such file or directory (os error 2)",
        );
        check(
            |outbox| fs::set_permissions(outbox, fs::Permissions::from_mode(0o777)).unwrap(),
            "not sent: other users can access `/outbox` (mode 777); run `chmod 700 /outbox`",
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_folder_that_takes_no_file_has_nothing() {
        // The system's own folder of this process is ours, and nobody can write into it.
        let folder = std::path::PathBuf::from(format!("/proc/{}", std::process::id()));
        let delivery = DeliveryBytes { key: EffectKey::of_bytes([7; 32]), form: OutboxForm::Mail, bytes: BYTES };
        let outcome = put_here(&delivery, &folder);
        let DeliveryOutcome::NotSent(trouble) = outcome else { panic!("{outcome:?}") };
        assert!(
            trouble.message.starts_with("nothing was put into the outbox: could not create `/proc/"),
            "{trouble:?}"
        );
    }
}
