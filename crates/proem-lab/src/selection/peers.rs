//! The alternatives of a user: BM25 over words, one vector for each text, and both by rank.

use proem_embed::StaticModel;
use proem_guard::show;
use proem_score::bm25;
use proem_select::catalogue::{Capability, embedded_texts};
use proem_select::embedding::{Embedder as _, Vector};
use proem_text::words::search_words;

/// The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009).
const FUSION: f32 = 60.0;

/// A catalogue as the peers see it.
#[derive(Debug)]
pub(crate) struct Peers<'a> {
    embedder: &'a StaticModel<'a>,
    words: bm25::Index,
    vectors: Vec<Option<Vector>>,
}

impl<'a> Peers<'a> {
    pub(crate) fn new(entries: &[Capability], embedder: &'a StaticModel<'a>) -> Result<Self, String> {
        let mut builder = bm25::IndexBuilder::new(bm25::Bm25Parameters::default());
        let mut vectors = Vec::with_capacity(entries.len());
        for entry in entries {
            let exact = |text| show::exact_json(text).as_str().unwrap_or_default().to_owned();
            let text = format!("{} {}", exact(entry.own_name()), exact(&entry.definition().description));
            builder.add(&terms(&text));
            let about = embedded_texts(entry).first().map(exact).unwrap_or_default();
            let vector = embedder.embed(&[&about]).map_err(|error| error.to_string())?;
            vectors.push(vector.into_iter().next().flatten());
        }
        Ok(Self { embedder, words: builder.build(), vectors })
    }

    /// The entries in the order of BM25, of the vectors, and of both.
    pub(crate) fn orders(&self, request: &str) -> Result<[Vec<usize>; 3], String> {
        let lexical = descending_order(&self.words.score(&terms(request)));
        let asked = self.embedder.embed(&[request]).map_err(|error| error.to_string())?.into_iter().next().flatten();
        let cosine = |vector: &Option<Vector>| match (&asked, vector) {
            (Some(asked), Some(vector)) => asked.cosine(vector).map_err(|error| error.to_string()),
            _ => Ok(-1.0),
        };
        let semantic = descending_order(&self.vectors.iter().map(cosine).collect::<Result<Vec<_>, _>>()?);
        let mut fused = vec![0.0_f32; self.vectors.len()];
        for ranked in [&lexical, &semantic] {
            for (rank, entry) in ranked.iter().enumerate() {
                #[expect(clippy::cast_precision_loss, reason = "a rank")]
                let share = 1.0 / (FUSION + rank as f32 + 1.0);
                if let Some(slot) = fused.get_mut(*entry) {
                    *slot += share;
                }
            }
        }
        Ok([lexical, semantic, descending_order(&fused)])
    }
}

fn terms(text: &str) -> Vec<(u64, f32)> {
    let number = |word: String| {
        word.bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    };
    search_words(text).map(|word| (number(word), 1.0)).collect()
}

fn descending_order(scores: &[f32]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..scores.len()).collect();
    let score = |place: &usize| scores.get(*place).copied().unwrap_or(0.0);
    places.sort_by(|a, b| score(b).total_cmp(&score(a)).then(a.cmp(b)));
    places
}
