//! Nothing: see the reason in `Cargo.toml`.
