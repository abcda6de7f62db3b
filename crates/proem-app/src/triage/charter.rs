//! The project's own file: who belongs to it, and how much happens without asking.

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use proem_engine::policy::{AutonomyLevel, Policy, ProjectAllowances};
use proem_engine::run::Time;
use proem_triage::charter::ProjectCharter;

use crate::error::Error;
use crate::message::Hint;
use crate::project::OpenProject;
use crate::records;
use crate::trust::sha256_hex;
use crate::when;

/// The file's path, relative to the project's root.
pub const CHARTER: &str = ".proem/triage/project.toml";

/// The project as its file says.
///
/// # Errors
///
/// If there is none, nobody trusted it, or something in it is wrong, with every problem and its place.
pub fn read_charter(project: &OpenProject) -> Result<ProjectCharter, Error> {
    if project.root.is_none() {
        return Err(Error::invalid("this is a bare git repository, which has no folder for the project's file"));
    }
    let Some(bytes) = project.read(CHARTER)? else {
        return Err(Error::invalid(format!("there is no {CHARTER} here")).hinting(Hint::SetUpTriage));
    };
    // Its problems come first: nobody can trust an unreadable file.
    let charter = parse_charter(&bytes)?;
    if !project.trust.is_trusted_by_hash(CHARTER, &sha256_hex(&bytes)) {
        let problem = format!("{CHARTER} is not trusted, so nobody is known by it");
        return Err(Error::invalid(problem).hinting(Hint::ReviewTrust));
    }
    Ok(charter)
}

/// Whom and what actions may name because the project's file names them. Nobody and nothing unless this user trusts
/// the file.
#[must_use]
pub fn allowances(project: &OpenProject) -> ProjectAllowances {
    let bytes = project.read(CHARTER).ok().flatten();
    let bytes = bytes.filter(|bytes| project.trust.is_trusted_by_hash(CHARTER, &sha256_hex(bytes)));
    bytes.and_then(|bytes| parse_charter(&bytes).ok()).map(|charter| charter.allowances()).unwrap_or_default()
}

/// The text of the file that [`read_charter`] reads.
///
/// # Errors
///
/// If it is missing or can't be read.
pub fn charter_text(project: &OpenProject) -> Result<String, Error> {
    let gone = || Error::invalid(format!("there is no {CHARTER} here")).hinting(Hint::SetUpTriage);
    let bytes = project.read(CHARTER)?.ok_or_else(gone)?;
    String::from_utf8(bytes).map_err(|_| Error::invalid(format!("{CHARTER} is not UTF-8")))
}

/// Reads the bytes of the file, trusted or not.
///
/// # Errors
///
/// Every problem with its place.
pub fn parse_charter(bytes: &[u8]) -> Result<ProjectCharter, Error> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| Error::invalid(format!("{CHARTER} is not UTF-8 from byte {} on", error.valid_up_to())))?;
    let mut charter = ProjectCharter::parse(text, CHARTER).map_err(|error| Error::invalid(error.to_string()))?;
    if !is_zone(&charter.time_zone) {
        let zone = proem_guard::show::terminal_str(&charter.time_zone).into_string();
        let problem = format!("{CHARTER}: no time zone `{zone}`; write `time_zone` like \"Europe/Lisbon\"");
        return Err(Error::invalid(problem));
    }
    charter.ahead_of_utc = ahead_of_utc(&charter.time_zone, when::time_now());
    Ok(charter)
}

/// The zone in which times of a project are shown: that of a project's file that this user trusts, else the zone
/// of the user's configuration.
///
/// # Errors
///
/// If the configured zone is unknown.
pub fn project_zone(project: &OpenProject) -> Result<TimeZone, Error> {
    let own = read_charter(project).ok().and_then(|charter| TimeZone::get(&charter.time_zone).ok());
    own.map_or_else(|| records::booking_zone(&project.config.budget), Ok)
}

/// How many milliseconds a zone's clocks are ahead of UTC at a moment; 0 for a zone that this system does not know.
fn ahead_of_utc(zone: &str, now: Time) -> i64 {
    let zone = TimeZone::get(zone).unwrap_or(TimeZone::UTC);
    let moment = Timestamp::from_millisecond(now.0).unwrap_or(Timestamp::UNIX_EPOCH);
    i64::from(zone.to_offset(moment).seconds()).saturating_mul(1_000)
}

/// Whether there is a time zone of that name. The names that the program knows itself are asked first: the system has a
/// file for each of its own, and all of them are opened to find one.
fn is_zone(name: &str) -> bool {
    let bundled = TimeZoneDatabase::bundled();
    bundled.available().any(|known| known.as_str().eq_ignore_ascii_case(name)) || TimeZone::get(name).is_ok()
}

/// The level of autonomy in force: the file's if this user trusted it, else the policy's. A file that nobody
/// trusted only lowers it, and one that is unreadable lowers it to the lowest.
#[must_use]
pub fn autonomy_in_force(project: &OpenProject, policy: &Policy) -> AutonomyLevel {
    match project.read(CHARTER) {
        Ok(None) => policy.level(),
        Ok(Some(bytes)) => match parse_charter(&bytes) {
            Ok(charter) if project.trust.is_trusted_by_hash(CHARTER, &sha256_hex(&bytes)) => charter.level,
            Ok(charter) => charter.level.min(policy.level()),
            Err(_) => AutonomyLevel::Monitoring,
        },
        Err(_) => AutonomyLevel::Monitoring,
    }
}
