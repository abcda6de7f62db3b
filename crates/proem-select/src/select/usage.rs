//! Counts the requests that a capability was really used for.
//!
//! The table has counts of stems and a mean direction, never a request. A table of this kind ships with Proem, keyed by
//! a hash of name and description. Users add their own.

use std::collections::{BTreeMap, BTreeSet};

use super::query::Query;
use super::weights::WordWeights;
use crate::catalogue::{Capability, Sha256Hash};
use crate::embedding::{ModelId, Vector};
use proem_engine::error::{Error, ErrorKind};

/// Requests after which half of the full weight of usage is reached.
const HALF: f32 = 10.0;

/// The requests of one capability, in sum.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CapabilityUsage {
    /// How many requests.
    pub requests: u32,
    /// In how many of them each stem occurs, by the stem's number.
    pub stems: BTreeMap<u64, u32>,
    /// The sum of their directions, by one model.
    pub direction: Option<(ModelId, Vec<f32>)>,
}

impl CapabilityUsage {
    /// Adds a request.
    pub fn add(&mut self, query: &Query, vector: Option<&Vector>) {
        self.requests = self.requests.saturating_add(1);
        let stems = query.parts.first().into_iter().flat_map(|part| &part.words).flat_map(|word| &word.stems);
        let distinct: BTreeSet<u64> = stems.copied().collect();
        for stem in distinct {
            let count = self.stems.entry(stem).or_default();
            *count = count.saturating_add(1);
        }
        if let Some(vector) = vector {
            self.turn(vector.model(), vector.values());
        }
    }

    /// Keeps the stems that tell most: by count × weight, then number.
    pub fn keep(&mut self, most: usize, words: &WordWeights) {
        #[expect(clippy::cast_precision_loss, reason = "a count of requests")]
        let worth = |(stem, count): (&u64, &u32)| (*count as f32 * words.of_id(*stem), *stem);
        let mut worths: Vec<(f32, u64)> = self.stems.iter().map(worth).collect();
        worths.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let kept: BTreeSet<u64> = worths.into_iter().take(most).map(|(_, stem)| stem).collect();
        self.stems.retain(|stem, _| kept.contains(stem));
    }

    /// Adds the requests of another table for the same capability.
    pub fn join(&mut self, other: &Self) {
        self.requests = self.requests.saturating_add(other.requests);
        for (stem, count) in &other.stems {
            let sum = self.stems.entry(*stem).or_default();
            *sum = sum.saturating_add(*count);
        }
        if let Some((model, sum)) = &other.direction {
            self.turn(model, sum);
        }
    }

    /// Directions of another model, or of another dimension, are left out: they never meet.
    fn turn(&mut self, model: &ModelId, values: &[f32]) {
        let (own, sum) = self.direction.get_or_insert_with(|| (model.clone(), vec![0.0; values.len()]));
        if own == model && sum.len() == values.len() {
            sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
    }

    /// How much is known about it, 0 to below 1.
    pub(super) fn amount(&self) -> f32 {
        #[expect(clippy::cast_precision_loss, reason = "a count of requests; its last digits decide nothing")]
        let requests = self.requests as f32;
        requests / (requests + HALF)
    }
}

/// Usage of many capabilities.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UsageHistory {
    by_key: BTreeMap<Sha256Hash, CapabilityUsage>,
    by_name: BTreeMap<Sha256Hash, CapabilityUsage>,
}

/// A capability's key in the shipped table: the hash of its own name and its description.
#[must_use]
pub fn usage_key(capability: &Capability) -> Sha256Hash {
    let mut key = Sha256Hash::of(&[]);
    let description = &capability.definition().description;
    capability.own_name().measure(|name| {
        description.measure(|description| key = Sha256Hash::of(format!("{name}\n{description}").as_bytes()));
    });
    key
}

impl UsageHistory {
    /// Reads a table: lines of `key<TAB>requests<TAB>stem:count …<TAB>model<TAB>direction`, numbers
    /// of stems in base 36, directions as hexadecimal bytes of signed integers.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFile`] naming the first line that is not of that form, or whose key an
    /// earlier one has.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut usage = Self::default();
        for (number, line) in (1_usize..).zip(text.lines()).filter(|(_, line)| !line.starts_with('#')) {
            let Some((key, used)) = parse_line(line) else {
                return Err(Error::new(
                    ErrorKind::InvalidFile,
                    format!("usage table: line {number} is not of its form"),
                ));
            };
            if usage.by_key.insert(key, used).is_some() {
                let problem = format!("usage table: line {number} has the key of an earlier one");
                return Err(Error::new(ErrorKind::InvalidFile, problem));
            }
        }
        Ok(usage)
    }

    /// Writes the table of capabilities known by their key.
    #[must_use]
    pub fn write(&self) -> String {
        self.by_key.iter().map(|(key, used)| write_line(key, used)).collect()
    }

    /// Adds requests to a capability known by its key.
    pub fn add(&mut self, key: Sha256Hash, used: &CapabilityUsage) {
        self.by_key.entry(key).or_default().join(used);
    }

    /// Adds a request that a capability was used for, by its name.
    pub fn add_request(&mut self, name: &str, query: &Query, vector: Option<&Vector>) {
        self.by_name.entry(Sha256Hash::of(name.as_bytes())).or_default().add(query, vector);
    }

    /// All that is known about a capability, by key, full name and own name.
    pub(super) fn of(&self, capability: &Capability) -> CapabilityUsage {
        let mut used = self.by_key.get(&usage_key(capability)).cloned().unwrap_or_default();
        // A file of usage may call it by either name.
        let mut names = vec![Sha256Hash::of(capability.name().as_str().as_bytes())];
        capability.own_name().measure(|own| names.push(Sha256Hash::of(own.as_bytes())));
        names.dedup();
        names.iter().filter_map(|name| self.by_name.get(name)).for_each(|more| used.join(more));
        used
    }
}

fn parse_line(line: &str) -> Option<(Sha256Hash, CapabilityUsage)> {
    let mut cells = line.split('\t');
    let (key, requests, stems) = (cells.next()?, cells.next()?, cells.next()?);
    let (model, direction) = (cells.next()?, cells.next()?);
    if cells.next().is_some() {
        return None;
    }
    let stem = |pair: &str| {
        let (stem, count) = pair.split_once(':')?;
        Some((u64::from_str_radix(digits_and_letters(stem)?, 36).ok()?, digits_and_letters(count)?.parse().ok()?))
    };
    let stems = stems.split(' ').filter(|pair| !pair.is_empty()).map(stem).collect::<Option<_>>()?;
    let requests: u32 = digits_and_letters(requests)?.parse().ok()?;
    let direction = match (model, direction) {
        ("-", "") => None,
        // The sum of as many unit vectors as there were requests is about as long.
        (model, direction) => Some((ModelId::new(model).ok()?, scaled_to(integers(direction)?, requests))),
    };
    Some((Sha256Hash::parse(key)?, CapabilityUsage { requests, stems, direction }))
}

/// Letters and digits only: the standard parsers take a sign too.
fn digits_and_letters(number: &str) -> Option<&str> {
    number.bytes().all(|byte| byte.is_ascii_alphanumeric()).then_some(number)
}

/// One number or more, two digits each.
fn integers(direction: &str) -> Option<Vec<f32>> {
    let (pairs, rest) = digits_and_letters(direction)?.as_bytes().as_chunks::<2>();
    let integer = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let integers =
        pairs.iter().map(|pair| Some(f32::from(integer(pair)?.cast_signed()))).collect::<Option<Vec<_>>>()?;
    (rest.is_empty() && !integers.is_empty()).then_some(integers)
}

fn scaled_to(mut values: Vec<f32>, requests: u32) -> Vec<f32> {
    let length = values.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    if length > 0.0 {
        for value in &mut values {
            #[expect(clippy::cast_possible_truncation, reason = "a coordinate of a sum of unit vectors")]
            let scaled = (f64::from(*value) / length * f64::from(requests)) as f32;
            *value = scaled;
        }
    }
    values
}

fn write_line(key: &Sha256Hash, used: &CapabilityUsage) -> String {
    let stems: Vec<String> = used.stems.iter().map(|(stem, count)| format!("{}:{count}", base36(*stem))).collect();
    let (model, direction) = used.direction.as_ref().map_or((String::from("-"), String::new()), |(model, sum)| {
        let most = sum.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        let byte = |value: &f32| {
            #[expect(clippy::cast_possible_truncation, reason = "brought to −127 to 127")]
            let byte = if most > 0.0 { libm::roundf(value / most * 127.0) as i8 } else { 0 };
            format!("{:02x}", byte.cast_unsigned())
        };
        (model.to_string(), sum.iter().map(byte).collect())
    });
    format!("{key}\t{}\t{}\t{model}\t{direction}\n", used.requests, stems.join(" "))
}

fn base36(mut number: u64) -> String {
    let mut digits = Vec::new();
    loop {
        let digit = u32::try_from(number % 36).ok().and_then(|digit| char::from_digit(digit, 36)).unwrap_or('0');
        digits.push(digit);
        number /= 36;
        if number == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}
