//! The models' rules for pictures and files, and their token counts.

use std::num::NonZeroUsize;

use serde::Deserialize;

use super::{MediaFacts, MediaKind, MediaSource};

/// A model's rules for pictures and files, by its provider's documents.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MediaRules {
    /// The tokens of a picture.
    pub image: ImageTokens,
    /// The most tokens that one picture counts, for bounds.
    pub most_tokens: usize,
    /// The most bytes of a picture.
    pub image_bytes: NonZeroUsize,
    /// The most pixels of a picture's longer side.
    pub longest_side: NonZeroUsize,
    /// The most tokens of a document's page, its text and its picture. Absent if documents are not taken.
    pub page_tokens: Option<NonZeroUsize>,
    /// The most pages of a document.
    pub pages: Option<NonZeroUsize>,
    /// The most bytes of a document.
    pub document_bytes: Option<NonZeroUsize>,
    /// The documents of the provider that the figures are from.
    pub sources: Vec<String>,
}

/// How a provider counts a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(tag = "by", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ImageTokens {
    /// Squares of so many pixels, each a token. A picture with more of them is made smaller.
    Patches {
        /// The side of a square.
        side: NonZeroUsize,
        /// The most squares.
        most: usize,
        /// Hundredths of a token that each counts.
        percent: usize,
    },
    /// A base, and so much for each tile of 512 pixels once the picture fits 2,048 × 2,048 and its shorter side is
    /// 768 at most.
    Tiles {
        /// The tokens of any picture.
        base: usize,
        /// The tokens of each tile.
        tile: usize,
    },
}

/// The known support of a model for files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MediaSupport {
    /// It takes them, by these rules.
    Known(MediaRules),
    /// It takes none.
    Refused,
    /// Nobody knows: it is not listed.
    Unknown,
}

/// The tokens of a file for an unknown model: the dearest published counts.
const DEAREST: (usize, usize) = (16_384, 4_784 + 3_000);

/// The pages that a document counts as that doesn't list them, one for so many bytes.
const PAGE_BYTES: usize = 4 * 1024;

impl ImageTokens {
    /// The tokens of a picture of that size.
    #[must_use]
    pub fn count(self, width: u32, height: u32) -> usize {
        let (width, height) = (u64::from(width), u64::from(height));
        let tokens = match self {
            Self::Patches { side, most, percent } => {
                let side = wide(side.get());
                let patches = width.div_ceil(side).saturating_mul(height.div_ceil(side)).min(wide(most));
                patches.saturating_mul(wide(percent)).div_ceil(100)
            }
            Self::Tiles { base, tile } => {
                let (width, height) = fit_side(width, height, width.max(height), 2_048);
                let (width, height) = fit_side(width, height, width.min(height), 768);
                let tiles = width.div_ceil(512).saturating_mul(height.div_ceil(512));
                wide(base).saturating_add(wide(tile).saturating_mul(tiles))
            }
        };
        usize::try_from(tokens).unwrap_or(usize::MAX)
    }
}

/// The size at which `side` is `most` at most, rounded up.
const fn fit_side(width: u64, height: u64, side: u64, most: u64) -> (u64, u64) {
    if side <= most {
        return (width, height);
    }
    (width.saturating_mul(most).div_ceil(side), height.saturating_mul(most).div_ceil(side))
}

fn wide(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

impl MediaSupport {
    /// About how many tokens a file counts.
    #[must_use]
    pub fn tokens(&self, source: &MediaSource) -> usize {
        let MediaSource::Inline(facts) = source else { return self.most_tokens(source) };
        match (self, facts.width.zip(facts.height)) {
            (Self::Known(rules), Some((width, height))) => rules.image.count(width, height),
            (_, Some(_)) => self.most_tokens(source),
            (_, None) => {
                let pages = facts.pages.and_then(|pages| usize::try_from(pages).ok());
                let pages = pages.unwrap_or_else(|| facts.bytes.div_ceil(PAGE_BYTES));
                self.page_tokens().saturating_mul(pages.min(self.most_pages()))
            }
        }
    }

    /// The most tokens that a file can count.
    #[must_use]
    pub fn most_tokens(&self, source: &MediaSource) -> usize {
        if !source.is_image() {
            return self.page_tokens().saturating_mul(self.most_pages());
        }
        match self {
            Self::Known(rules) => rules.most_tokens,
            Self::Refused | Self::Unknown => DEAREST.0,
        }
    }

    fn page_tokens(&self) -> usize {
        match self {
            Self::Known(rules) => rules.page_tokens.map_or(DEAREST.1, NonZeroUsize::get),
            Self::Refused | Self::Unknown => DEAREST.1,
        }
    }

    fn most_pages(&self) -> usize {
        match self {
            Self::Known(rules) => rules.pages.map_or(MAX_PAGES, NonZeroUsize::get),
            Self::Refused | Self::Unknown => MAX_PAGES,
        }
    }

    /// Why a file can't be sent to the model of that name. `None` if it can, as far as is known.
    #[must_use]
    pub fn fault(&self, source: &MediaSource, model: &str) -> Option<String> {
        let rules = match self {
            Self::Known(rules) => rules,
            Self::Refused => return Some(format!("the model `{model}` takes no pictures or files; {ANOTHER}")),
            Self::Unknown => return None,
        };
        let is_image = source.is_image();
        if !is_image && rules.page_tokens.is_none() {
            return Some(format!("the model `{model}` takes pictures but no documents; {ANOTHER}"));
        }
        let MediaSource::Inline(facts) = source else { return None };
        let most = if is_image { Some(rules.image_bytes) } else { rules.document_bytes };
        if let Some(most) = most.map(NonZeroUsize::get).filter(|most| facts.bytes > *most) {
            let bytes = facts.bytes;
            return Some(format!("it has {bytes} bytes and `{model}` takes at most {most}; make it smaller"));
        }
        let longest = facts.width.max(facts.height).and_then(|side| usize::try_from(side).ok());
        let most = rules.longest_side.get();
        if let Some(side) = longest.filter(|side| *side > most) {
            return Some(format!("a side has {side} pixels and `{model}` takes at most {most}; make it smaller"));
        }
        let pages = facts.pages.and_then(|pages| usize::try_from(pages).ok());
        let most = self.most_pages();
        pages
            .filter(|pages| facts.kind == MediaKind::Pdf && *pages > most)
            .map(|pages| format!("it has {pages} pages and `{model}` takes at most {most}; split it"))
    }
}

/// The most pages that any provider of which nothing is known is expected to read.
const MAX_PAGES: usize = 100;

/// The remedy if a model takes no such file.
const ANOTHER: &str = "ask another one with `--model`, such as `small`, or leave the file out";

impl MediaFacts {
    /// Whether the file's size in the model's terms is known.
    #[must_use]
    pub const fn is_measured(&self) -> bool {
        self.width.is_some() || self.pages.is_some()
    }
}
