//! The address of a database.

use std::fmt;
use std::str::FromStr as _;

use sqlx::ConnectOptions as _;
use sqlx::postgres::{PgConnectOptions, PgSslMode};

/// The address of a database of PostgreSQL's, with the role and the password to use.
///
/// Neither [`fmt::Debug`] nor [`fmt::Display`] shows the password.
#[derive(Clone)]
pub struct DatabaseAddress {
    options: Box<PgConnectOptions>,
}

/// The settings of every session. An idle holder of the lock that writers share, such as a stopped process, loses it with
/// its session.
const SESSION: [(&str, &str); 5] = [
    ("search_path", "proem,pg_catalog"),
    ("lock_timeout", "10s"),
    ("idle_in_transaction_session_timeout", "30s"),
    ("tcp_keepalives_idle", "30"),
    ("client_min_messages", "warning"),
];

impl DatabaseAddress {
    /// Reads an address such as `postgres://role@host/database?sslmode=verify-full`. A host other than this machine is
    /// reached over TLS only, unless the address says otherwise.
    ///
    /// # Errors
    ///
    /// The reason, without the address: it may hold a password.
    pub fn parse(text: &str) -> Result<Self, String> {
        if !text.starts_with("postgres://") && !text.starts_with("postgresql://") {
            return Err("an address begins with `postgres://`".to_owned());
        }
        let options = PgConnectOptions::from_str(text).map_err(|error| match error {
            sqlx::Error::Configuration(why) => why.to_string(),
            _ => "it is no address of a database".to_owned(),
        })?;
        if options.get_database().is_none() {
            return Err("it names no database; add one behind the host, as in `postgres://host/records`".to_owned());
        }
        let is_near = options.get_socket().is_some() || ["localhost", "127.0.0.1", "::1"].contains(&options.get_host());
        let options =
            if text.contains("sslmode") || is_near { options } else { options.ssl_mode(PgSslMode::VerifyFull) };
        let options = options.application_name("proem").statement_cache_capacity(200).options(SESSION);
        Ok(Self { options: Box::new(options.disable_statement_logging()) })
    }

    /// Sets the password, so that the address itself needs none.
    #[must_use]
    pub fn with_password(self, password: &str) -> Self {
        Self { options: Box::new(self.options.password(password)) }
    }

    /// The options of connections that a job queue in the same database uses: the schema of the records is not searched.
    #[must_use]
    pub fn queue_options(&self) -> PgConnectOptions {
        PgConnectOptions::clone(&self.options).options([("search_path", "public")])
    }

    /// The database with its server, whoever connects and however.
    #[must_use]
    pub fn database_name(&self) -> String {
        let options = &self.options;
        let host =
            options.get_socket().map_or_else(|| options.get_host().to_owned(), |path| path.display().to_string());
        format!("{host}:{}/{}", options.get_port(), options.get_database().unwrap_or_default())
    }

    pub(crate) fn options(&self) -> &PgConnectOptions {
        &self.options
    }
}

impl fmt::Display for DatabaseAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "postgres://{}@{}", self.options.get_username(), self.database_name())
    }
}

impl fmt::Debug for DatabaseAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseAddress({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_shows_no_password() {
        let address = DatabaseAddress::parse("postgres://ada:s3cret@db.example:5433/records").unwrap();
        assert_eq!(address.to_string(), "postgres://ada@db.example:5433/records");
        assert!(!format!("{address:?}").contains("s3cret"));
        assert!(matches!(address.options().get_ssl_mode(), PgSslMode::VerifyFull));
        let near = DatabaseAddress::parse("postgres://ada@localhost/records").unwrap().with_password("s3cret");
        assert!(!format!("{near:?} {near}").contains("s3cret"));
        assert!(matches!(near.options().get_ssl_mode(), PgSslMode::Prefer));
    }

    #[test]
    fn other_addresses_are_refused() {
        let check = |text: &str, expected: &str| assert_eq!(DatabaseAddress::parse(text).unwrap_err(), expected);
        check("mysql://host/records", "an address begins with `postgres://`");
        check("postgres://host", "it names no database; add one behind the host, as in `postgres://host/records`");
    }
}
