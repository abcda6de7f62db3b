//! The public sets: catalogues and requests with the tools that serve them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proem_guard::show;
use proem_select::catalogue::{Approvals, Capability, Catalogue, parse_lines};
use serde::Deserialize;

/// A request with what serves it, a line of a set.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct SelectionRequest {
    /// The request's words.
    pub(crate) query: String,
    /// The tools that serve it.
    #[serde(default)]
    pub(crate) tools: Vec<String>,
    /// The skills that serve it.
    #[serde(default)]
    pub(crate) skills: Vec<String>,
    /// The language of the words, such as `en`. Empty where the set doesn't say.
    #[serde(default)]
    pub(crate) language: String,
}

/// A catalogue whose entries are found by the names in the set.
#[derive(Debug)]
pub(crate) struct ToolCatalogue {
    pub(crate) catalogue: Catalogue,
    places: BTreeMap<String, usize>,
}

impl ToolCatalogue {
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        Ok(Self::new(&parse_lines(&path.display().to_string(), &read_data_file(path)?)))
    }

    fn new(parsed: &proem_select::catalogue::CatalogueContents) -> Self {
        let catalogue = Catalogue::new(parsed.clone(), &Approvals::default());
        let name =
            |capability: &Capability| show::exact_json(capability.own_name()).as_str().unwrap_or_default().to_owned();
        let places = (0..).zip(catalogue.entries()).map(|(place, entry)| (name(entry), place)).collect();
        Self { catalogue, places }
    }

    pub(crate) fn entries(&self) -> &[Capability] {
        self.catalogue.entries()
    }

    /// The places of the entries that serve a request. An unknown one is an error in the set.
    pub(crate) fn wanted(&self, request: &SelectionRequest) -> Result<BTreeSet<usize>, String> {
        let names = request.tools.iter().chain(&request.skills);
        let place = |name: &String| {
            self.places
                .get(name)
                .copied()
                .ok_or_else(|| format!("`{name}` of `{}` is not in the catalogue", request.query))
        };
        names.map(place).collect()
    }
}

pub(crate) fn read_requests(path: &Path) -> Result<Vec<SelectionRequest>, String> {
    let read = |(number, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| format!("`{}`, line {number}: {error}", path.display()))
    };
    (1..).zip(read_data_file(path)?.lines()).filter(|(_, line)| !line.trim().is_empty()).map(read).collect()
}

pub(crate) fn read_data_file(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("could not read `{}`: {error}", path.display()))
}

/// Numbers that look random and are the same on every machine: SplitMix64 (Steele, Lea and Flood,
/// *Fast Splittable Pseudorandom Number Generators*, 2014).
#[derive(Debug)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, or 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end.max(1)).unwrap_or(1);
        usize::try_from(self.next() % end).unwrap_or(0)
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last.saturating_add(1)));
        }
    }
}
