//! Metrics, levels and assessments of small made-up repositories.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod co_change;
mod coupling;
mod findings;
mod incidents;
mod kamei;
mod laws;
mod levels;
mod ownership;
mod prior;
mod speed;
mod test_ratio;
mod world;
