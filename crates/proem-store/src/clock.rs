//! The time on this machine.

use proem_engine::run::Time;

/// The time.
pub(crate) fn system_now() -> Time {
    Time(jiff::Timestamp::now().as_millisecond())
}

/// A time as it is shown.
pub(crate) fn ledger_time_words(time: Time) -> String {
    jiff::Timestamp::from_millisecond(time.0).map_or_else(|_| time.0.to_string(), |time| format!("{time:.0}"))
}
