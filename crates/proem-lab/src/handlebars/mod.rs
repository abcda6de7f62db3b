//! How far templates agree with handlebars.js: its own assertions, read from its specification's files.

pub(crate) mod eval;
mod spec;
