//! Artefacts: what stands in them, how they change, what is counted and how they are shown.

mod schema;
