//! Writes the project's own file.
//!
//! Invariants: what is there is never changed. The file is trusted only if the person at the terminal, who saw its
//! text, said so.

use std::path::{Path, PathBuf};

use proem_engine::policy::AutonomyLevel;
use proem_runtime::files::{self, FileAccess};
use proem_text::hex;

use super::charter::{CHARTER, parse_charter};
use crate::error::Error;
use crate::operator::Operator;
use crate::places::Places;
use crate::project::{find_git, locate_project};
use crate::trust::TrustStore;

/// The values for the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CharterValues {
    /// The project's name among people.
    pub name: String,
    /// The key that its tickets begin with.
    pub key: String,
    /// How much is done without asking.
    pub level: AutonomyLevel,
    /// The person who answers for everything without another owner.
    pub owner: String,
    /// The IANA name of the zone.
    pub time_zone: String,
    /// The organisation's own domains.
    pub domains: Vec<String>,
    /// The mail servers whose word on a sender is believed.
    pub mail_servers: Vec<String>,
    /// Whom it concerns: name and address.
    pub stakeholders: Vec<[String; 2]>,
    /// The promises: name and day.
    pub milestones: Vec<[String; 2]>,
}

/// The file as it would be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedCharter {
    /// The content of `triage.toml` as it would be written.
    pub text: String,
    root: PathBuf,
    repository: String,
}

/// Plans the file for the project around a folder. Nothing is written.
///
/// # Errors
///
/// If the folder is a bare repository, there is a file already, or a value can't be in it, with every problem.
pub fn plan_charter(folder: &Path, places: &Places, values: &CharterValues) -> Result<PlannedCharter, Error> {
    let (root, repository) = locate_project(folder, &find_git(places)?)?;
    let Some(root) = root else {
        return Err(Error::invalid("this is a bare git repository, which has no folder for the project's file"));
    };
    if files::read_beneath(&root, Path::new(CHARTER), crate::trust::MAX_FILE_BYTES)?.is_some() {
        return Err(Error::invalid(format!("{CHARTER} is there already; edit it, nothing was written")));
    }
    let text = new_charter_text(values)?;
    parse_charter(text.as_bytes())?;
    Ok(PlannedCharter { text, root, repository })
}

impl PlannedCharter {
    /// Writes the file; with an operator, who saw it and agreed, it is trusted as well.
    ///
    /// # Errors
    ///
    /// If it can't be written or trusted.
    pub fn write(&self, places: &Places, operator: Option<&Operator>) -> Result<(), Error> {
        let store = TrustStore::new(places.state.clone());
        store.check()?;
        files::write_new(&self.root, Path::new(CHARTER), self.text.as_bytes(), FileAccess::Shared)?;
        match operator {
            Some(_) => store.trust(&self.repository, &[(CHARTER.to_owned(), self.text.clone().into_bytes())]),
            None => Ok(()),
        }
    }
}

fn new_charter_text(values: &CharterValues) -> Result<String, Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::outside(format!("the system gives no random numbers: {error}")))?;
    let quoted = |text: &str| toml::Value::from(text).to_string();
    let list = |texts: &[String]| texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", ");
    let mut out = format!(
        "# Who belongs to the project, and how much triage does without asking. Whoever changes this file has to\n\
         # have it trusted anew.\nid = {}\nname = {}\nkey = {}  # Tickets begin with it: {}-1.\nstatus = \"active\"\n\
         level = {}  # monitoring, artefact or tactical.\nowner = {}\ntime_zone = {}\n\
         working_hours = [\"09:00\", \"17:30\"]\n\n# The organisation's own. Everybody else is outside.\ndomains = [{}]\n\
         # Their word on who sent a mail is believed.\nmail_servers = [{}]\n",
        quoted(&uuid(bytes)),
        quoted(&values.name),
        quoted(&values.key),
        values.key.escape_debug(),
        quoted(values.level.as_str()),
        quoted(&values.owner),
        quoted(&values.time_zone),
        list(&values.domains),
        list(&values.mail_servers),
    );
    for [name, address] in &values.stakeholders {
        out.push_str(&format!("\n[[stakeholders]]\nname = {}\naddress = {}\n", quoted(name), quoted(address)));
    }
    for [name, due] in &values.milestones {
        out.push_str(&format!("\n[[milestones]]\nname = {}\ndue = {}\n", quoted(name), quoted(due)));
    }
    Ok(out)
}

/// A random UUID (RFC 9562, section 5.4).
fn uuid(mut bytes: [u8; 16]) -> String {
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let digits = hex::encode_hex(bytes);
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
}
