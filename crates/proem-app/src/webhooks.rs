//! Webhooks of trackers and mailboxes: those of the user's configuration with their secrets, and the intake of what they
//! deliver.
//!
//! Invariants: the only credentials that are read here are secrets of webhooks, and none of them is one that actions
//! leave with. Signals are on the disk when [`TriageDesk::take_deliveries`] returns.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use proem_guard::show;
use proem_llm::secret::{SHORTEST, Secret};
use proem_runtime::Environment;
use proem_runtime::effects::credentials::{CredentialAccess, CredentialPlace, load};
use proem_runtime::files::{self, FileAccess};
use proem_triage::{DeliveryFault, NormalisedSignals, SourceContext, WebhookSource, normalise_delivery};

use crate::config::Config;
use crate::config::effects::CredentialFile;
use crate::config::webhooks::WebhookFile;
use crate::error::Error;
use crate::places::Places;
use crate::secrets;
use crate::triage::{IntakeCounts, TriageDesk};
use crate::when;

/// The deliveries a second that a webhook may make unless the configuration says otherwise.
const USUAL_RATE: NonZeroU32 = NonZeroU32::MIN.saturating_add(199);
/// The longest name of a webhook.
const MAX_NAME: usize = 64;
/// The longest secret that Asana may choose, in bytes.
const MAX_CHOSEN: usize = 256;
/// The folder of secrets that Asana chose, in the user's state.
const FOLDER: &str = "webhooks";

/// A webhook with its secret.
#[derive(Debug, Clone)]
pub struct Webhook {
    /// The end of its address: letters, digits, `-` and `_`.
    pub name: String,
    /// The system that sends it.
    pub source: WebhookSource,
    /// A folder in its project.
    pub root: PathBuf,
    /// Its secret. `None` for one of Asana before its handshake.
    pub secret: Option<Secret>,
    /// The most deliveries a second, over a longer time.
    pub per_second: NonZeroU32,
}

/// The webhooks of the user's configuration, by name.
///
/// # Errors
///
/// If there is none, or one of them is wrong, or its secret can't be read.
pub fn load_webhooks(places: &Places) -> Result<Vec<Webhook>, Error> {
    let config = Config::of_user(&places.config_file())?;
    if config.webhooks.is_empty() {
        let file = show::terminal_str(&places.config_file().display().to_string()).into_string();
        let problem = format!("no webhook is configured; add a table `[webhooks.NAME]` to `{file}`");
        return Err(Error::invalid(problem));
    }
    let environment = Environment::inherited();
    config.webhooks.iter().map(|(name, file)| load_webhook(name, file, &config, (places, &environment))).collect()
}

fn load_webhook(
    name: &str,
    file: &WebhookFile,
    config: &Config,
    (places, environment): (&Places, &Environment),
) -> Result<Webhook, Error> {
    let shown = show::terminal_str(name).into_string();
    let wrong = |problem: &str| Err(Error::invalid(format!("`webhooks.{shown}`: {problem}")));
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(is_name) {
        return wrong("its name is the end of an address; use up to 64 letters, digits, `-` and `_`");
    }
    if !file.project.is_absolute() {
        return wrong("`project` is not an absolute path; give the whole path of the project's folder");
    }
    let secret = match (&file.secret, file.source) {
        (Some(_), WebhookSource::Asana) => return wrong("Asana chooses the secret; leave `secret` out"),
        (None, WebhookSource::Asana) => kept_secret(places, name)?,
        (None, WebhookSource::Jira | WebhookSource::Graph) => {
            return wrong(
                "it has no `secret`; write `secret = { variable = \"NAME\" }` or `secret = { file = \"PATH\" }`",
            );
        }
        (Some(place), _) if config.effects.credentials.values().any(|sending| sending == place) => {
            return wrong("its secret is a credential of `effects`, with which actions leave; choose another one");
        }
        (Some(CredentialFile::Variable(variable)), _) => {
            Some(load_secret(name, &CredentialPlace::Variable(variable.clone()), environment)?)
        }
        (Some(CredentialFile::File(path)), _) => {
            Some(load_secret(name, &CredentialPlace::File(places.config.join(path)), environment)?)
        }
    };
    Ok(Webhook {
        name: name.to_owned(),
        source: file.source,
        root: file.project.clone(),
        secret,
        per_second: file.per_second.unwrap_or(USUAL_RATE),
    })
}

fn load_secret(name: &str, place: &CredentialPlace, environment: &Environment) -> Result<Secret, Error> {
    let named = format!("webhooks.{name}.secret");
    let secret = load(&named, place, CredentialAccess::Own(environment))
        .map_err(|refusal| Error::invalid(refusal.to_string()))?;
    if secret.expose().len() < SHORTEST {
        let problem =
            format!("`{named}` has fewer than {SHORTEST} characters, so it can be guessed; choose a longer one");
        return Err(Error::invalid(problem));
    }
    secrets::keep_from_print(&secret);
    Ok(secret)
}

fn secret_file(places: &Places, name: &str) -> PathBuf {
    places.state.join(FOLDER).join(name)
}

/// The secret that Asana chose for a webhook, if there was a handshake.
fn kept_secret(places: &Places, name: &str) -> Result<Option<Secret>, Error> {
    let path = secret_file(places, name);
    if path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
        return Ok(None);
    }
    load_secret(name, &CredentialPlace::File(path), &Environment::inherited()).map(Some)
}

/// Keeps the secret that Asana chose for a webhook, in place of an earlier one. Once this returns, it is on the disk.
///
/// # Errors
///
/// If it is no secret, or can't be written.
pub fn keep_webhook_secret(places: &Places, name: &str, chosen: &str) -> Result<Secret, Error> {
    let is_visible = chosen.bytes().all(|byte| byte.is_ascii_graphic());
    if !(SHORTEST..=MAX_CHOSEN).contains(&chosen.len()) || !is_visible {
        return Err(Error::invalid("the secret of the handshake is not 16 to 256 visible characters"));
    }
    let relative = Path::new(FOLDER).join(name);
    files::replace_file(&places.state, &relative, format!("{chosen}\n").as_bytes(), FileAccess::Private)?;
    let secret = Secret::new(format!("webhooks.{name}.secret"), chosen);
    secrets::keep_from_print(&secret);
    Ok(secret)
}

/// The outcome of deliveries that were taken in together.
#[derive(Debug)]
pub struct DeliveryIntake {
    /// For each delivery, in their order, whether its signals are stored.
    pub verdicts: Vec<Result<(), DeliveryFault>>,
    /// The signals of those that are.
    pub counts: IntakeCounts,
}

impl TriageDesk<'_> {
    /// Reads the signals of deliveries whose senders are known, and keeps them. A delivery that is refused stops no
    /// other.
    ///
    /// # Errors
    ///
    /// If the records can't be written. Then any part of the signals may be stored; the same deliveries a second time
    /// change nothing.
    pub async fn take_deliveries(&self, deliveries: &[(WebhookSource, &[u8])]) -> Result<DeliveryIntake, Error> {
        let context = SourceContext {
            now: when::time_now(),
            mail_servers: &self.charter.mail_servers,
            audiences: &self.charter.audiences,
        };
        let mut all = NormalisedSignals::default();
        let mut verdicts = Vec::with_capacity(deliveries.len());
        for (source, body) in deliveries {
            verdicts.push(normalise_delivery(*source, body, &context).map(|found| {
                all.signals.extend(found.signals);
                all.malformed.extend(found.malformed);
            }));
        }
        let counts = self.take_in(&all).await?;
        Ok(DeliveryIntake { verdicts, counts })
    }
}
