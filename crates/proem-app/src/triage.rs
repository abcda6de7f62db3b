//! Signals about projects: read from files that other systems wrote.

pub mod normalise;
