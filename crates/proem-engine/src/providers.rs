//! Models: their limits, tokenisers, cache rules and prices, from one data file.
//!
//! Values missing from the file are `None`, never zero. The types don't allow a zero. Request formats belong to
//! `proem-llm`.

mod caching;
mod distance;
mod file;
mod model;
mod prices;
mod provider;
mod unlisted_models;

pub use self::{
    caching::{CacheControl, CacheRules, Lifetime, PrefixStage},
    model::{CallEnforcement, EnforcementSource, Model, OperatorRole, OutputKey, Quirk, SchemaEnforcement, Tokeniser},
    prices::{CacheWrite, Prices},
    provider::Provider,
};

use std::collections::BTreeMap;

pub(crate) use self::distance::edit_distance;
use crate::error::{Error, ErrorKind};

/// The file that is built in.
const BUILT_IN: &str = include_str!("../data/providers.toml");

/// Every known model, and the roles that prompt files name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Providers {
    version: String,
    roles: BTreeMap<String, String>,
    models: BTreeMap<String, Model>,
}

impl Providers {
    /// The file of the models that are built in, for records.
    #[must_use]
    pub const fn shipped() -> &'static str {
        BUILT_IN
    }

    /// The models that are built in. Parses the file: call it once.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFile`] if the file that was built in is not well formed.
    pub fn load() -> Result<Self, Error> {
        Self::parse(BUILT_IN)
    }

    /// The file's version, as in `2026-11`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// All models, by name.
    pub fn models(&self) -> impl Iterator<Item = &Model> {
        self.models.values()
    }

    /// The model of that name, or the one that a role represents.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnknownModel`] with the nearest name and all that are known.
    pub fn model(&self, name_or_role: &str) -> Result<&Model, Error> {
        let name = self.roles.get(name_or_role).map_or(name_or_role, String::as_str);
        self.models.get(name).ok_or_else(|| Error::new(ErrorKind::UnknownModel, self.unknown(name_or_role)))
    }

    /// The model whose entry holds for a name with a date behind it, as in `claude-haiku-4-5-20251001`: providers give
    /// each release of a model a dated name, and change neither its prices nor its limits with it.
    #[must_use]
    pub fn family(&self, dated: &str) -> Option<&Model> {
        let is_digits =
            |text: &str, count: usize| text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
        let (rest, last) = dated.rsplit_once('-')?;
        let name = if is_digits(last, 8) {
            rest
        } else {
            let (rest, month) = rest.rsplit_once('-').filter(|_| is_digits(last, 2))?;
            let (name, year) = rest.rsplit_once('-').filter(|_| is_digits(month, 2))?;
            is_digits(year, 4).then_some(name)?
        };
        self.models.get(name)
    }

    fn unknown(&self, name: &str) -> String {
        let names = self.roles.keys().chain(self.models.keys());
        // At most a third of the letters may differ, or the suggestion is no help.
        let near = names
            .map(|known| (edit_distance(name, known), known))
            .filter(|(distance, known)| distance.saturating_mul(3) <= known.chars().count())
            .min();
        let hint = near.map_or_else(String::new, |(_, known)| format!("; did you mean `{known}`?"));
        let roles: Vec<String> = self.roles.iter().map(|(role, model)| format!("{role} ({model})")).collect();
        let models: Vec<&str> = self.models.keys().map(String::as_str).collect();
        format!("no model or role `{name}`{hint}\n  roles: {}\n  models: {}", roles.join(", "), models.join(", "))
    }
}

#[cfg(test)]
mod tests;
