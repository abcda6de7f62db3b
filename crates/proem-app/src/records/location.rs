//! The place of the records: a file in the user's state, or the database that the user's configuration names.
//!
//! Invariants: only the user's own configuration names a database. No password is in an address, so that an address can
//! be shown.

use std::fmt;
use std::path::PathBuf;

use proem_guard::show;
use proem_llm::secret::Secret;
use proem_runtime::Environment;
use proem_store::{OpenedStore, Store, StoreOptions, StorePlace};

use crate::config::Config;
use crate::error::Error;
use crate::places::Places;
use crate::secrets::load_from_place;

/// The folder, in the user's state, of this machine's own files about databases.
#[cfg(feature = "postgres")]
const FOLDER: &str = "databases";

/// The place of a user's records.
#[derive(Debug, Clone)]
pub enum RecordsLocation {
    /// A file on this machine.
    File(PathBuf),
    /// A database on a server.
    Database(RecordsDatabase),
}

/// A database, as the configuration or a command names it. A build that reaches none has no value of this type.
#[derive(Debug, Clone)]
pub struct RecordsDatabase {
    #[cfg(feature = "postgres")]
    address: proem_store::DatabaseAddress,
    #[cfg(not(feature = "postgres"))]
    address: std::convert::Infallible,
    /// This machine's own files about it are beside this path.
    path: PathBuf,
}

impl RecordsLocation {
    /// The place that the user's configuration says.
    ///
    /// # Errors
    ///
    /// If it names a database in a wrong way, its password can't be loaded, or this build reaches none.
    pub fn configured(places: &Places, config: &Config) -> Result<Self, Error> {
        match &config.store.url {
            None => Ok(Self::File(places.records())),
            Some(url) => RecordsDatabase::parse("`store.url`", url, places, config).map(Self::Database),
        }
    }

    /// Whether there may be records. A database's are known once it is asked.
    #[must_use]
    pub fn may_hold_records(&self) -> bool {
        match self {
            Self::File(path) => path.exists(),
            Self::Database(_) => true,
        }
    }

    /// The path of the file, or of this machine's own files about the database.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        match self {
            Self::File(path) => path.clone(),
            Self::Database(database) => database.path.clone(),
        }
    }

    /// The place, as the store has it.
    pub(super) fn in_store(&self) -> StorePlace {
        match self {
            Self::File(path) => StorePlace::File(path.clone()),
            Self::Database(database) => database.in_store(),
        }
    }

    /// Opens the records that are there.
    pub(super) async fn open(&self, options: StoreOptions) -> Result<OpenedStore, proem_store::Error> {
        match self {
            Self::File(_) => Store::open(options).await,
            Self::Database(database) => database.open(options).await,
        }
    }
}

impl fmt::Display for RecordsLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => f.write_str(&show::terminal_str(&path.display().to_string()).into_string()),
            Self::Database(database) => database.fmt(f),
        }
    }
}

impl RecordsDatabase {
    /// Reads an address that stands at `place`, and loads its password from where the user's configuration
    /// says.
    ///
    /// # Errors
    ///
    /// If it is no address, has a password in it, the password is a credential that actions leave with, or this build
    /// reaches no database.
    pub fn parse(place: &str, url: &str, places: &Places, config: &Config) -> Result<Self, Error> {
        if has_password(url) {
            return Err(Error::invalid(format!(
                "{place} has a password in it; take it out, and name its place with \
                 `store.password = {{ variable = \"NAME\" }}` or `{{ file = \"PATH\" }}`"
            )));
        }
        let place_of_password = config.store.password.as_ref();
        if config.effects.credentials.values().any(|sending| Some(sending) == place_of_password) {
            let problem = "`store.password` is a credential of `effects`, with which actions leave; choose another one";
            return Err(Error::invalid(problem));
        }
        let environment = Environment::inherited();
        let load = |at| load_from_place(places, &environment, "store.password", at);
        let password = place_of_password.map(load).transpose()?;
        Self::of_address(place, url, places, password.as_ref())
    }

    #[cfg(feature = "postgres")]
    fn of_address(place: &str, url: &str, places: &Places, password: Option<&Secret>) -> Result<Self, Error> {
        let address = proem_store::DatabaseAddress::parse(url)
            .map_err(|why| Error::invalid(format!("{place} is no address of a database: {why}")))?;
        // A role or an option that changes leaves this machine's files where they are.
        let name: String = crate::trust::sha256_hex(address.database_name().as_bytes()).chars().take(16).collect();
        let path = places.state.join(FOLDER).join(name).join("records.db");
        let address = match password {
            Some(password) => address.with_password(password.expose()),
            None => address,
        };
        Ok(Self { address, path })
    }

    #[cfg(not(feature = "postgres"))]
    fn of_address(place: &str, _: &str, _: &Places, _: Option<&Secret>) -> Result<Self, Error> {
        Err(Error::invalid(format!(
            "{place} names a database, and this build of Proem keeps records in a file only; install it with \
             `cargo install --path crates/proem-cli --features postgres`"
        )))
    }

    /// The address that a job queue beside the records connects to.
    #[cfg(feature = "postgres")]
    #[must_use]
    pub const fn address(&self) -> &proem_store::DatabaseAddress {
        &self.address
    }

    #[cfg(feature = "postgres")]
    fn in_store(&self) -> StorePlace {
        StorePlace::Server(self.address.clone())
    }

    #[cfg(not(feature = "postgres"))]
    const fn in_store(&self) -> StorePlace {
        match self.address {}
    }

    #[cfg(feature = "postgres")]
    async fn open(&self, options: StoreOptions) -> Result<OpenedStore, proem_store::Error> {
        Store::open_on_server(options, self.address.clone()).await
    }

    #[cfg(not(feature = "postgres"))]
    async fn open(&self, _: StoreOptions) -> Result<OpenedStore, proem_store::Error> {
        match self.address {}
    }
}

impl fmt::Display for RecordsDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address.fmt(f)
    }
}

/// Whether an address has a password, behind the role or as an option.
fn has_password(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let role = authority.rsplit_once('@').map(|(role, _)| role);
    let options = rest.split_once('?').map_or("", |(_, options)| options);
    let is_password = |option: &str| option.split('=').next().is_some_and(|name| name.eq_ignore_ascii_case("password"));
    role.is_some_and(|role| role.contains(':')) || options.split('&').any(is_password)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_an_address_is_seen() {
        for (url, expected) in [
            ("postgres://proem@db.example/records", false),
            ("postgres://db.example:5432/records?sslmode=verify-full", false),
            ("postgres://proem:secret@db.example/records", true),
            ("postgres://proem:p%40ss@db.example/records", true),
            ("postgres://proem:a@b@db.example/records", true),
            ("postgres:///records?host=/run&Password=secret", true),
            ("proem:secret@db.example/records", true),
        ] {
            assert_eq!(has_password(url), expected, "{url}");
        }
    }
}
