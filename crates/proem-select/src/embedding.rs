//! Vectors that represent meaning, and what makes them.
//!
//! Invariants: a [`Vector`] is finite, of unit length and carries the id of the model that made it. Two vectors of
//! different models are never compared. A text that says nothing to a model has no vector, which is something else than
//! a vector of zeros.

use core::fmt;

use proem_engine::error::{Error, ErrorKind};

/// The model that made a vector, such as `proem-static-1`. Another table is another id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModelId(String);

impl ModelId {
    /// The longest id in bytes.
    pub const MAX_BYTES: usize = 128;

    /// Checks an id: printable ASCII without spaces, 1 to 128 bytes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidInput`] for anything else.
    pub fn new(id: &str) -> Result<Self, Error> {
        let plain = !id.is_empty() && id.len() <= Self::MAX_BYTES && id.bytes().all(|byte| byte.is_ascii_graphic());
        if !plain {
            let problem = "a model's id is 1 to 128 printable ASCII characters without spaces";
            return Err(Error::new(ErrorKind::InvalidInput, problem));
        }
        Ok(Self(id.to_owned()))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A direction of unit length, made by one model.
#[derive(Debug, Clone, PartialEq)]
pub struct Vector {
    model: ModelId,
    values: Vec<f32>,
}

impl Vector {
    /// Takes what a model answered and brings it to unit length.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidVector`] if it has no dimension, a number that is infinite, or no length.
    pub fn new(model: &ModelId, mut values: Vec<f32>) -> Result<Self, Error> {
        let wrong = |why: &str| Error::new(ErrorKind::InvalidVector, format!("model `{model}` gave a vector {why}"));
        if values.is_empty() {
            return Err(wrong("without a dimension"));
        }
        let squares = values.iter().map(|value| f64::from(*value) * f64::from(*value)).sum::<f64>();
        if !squares.is_finite() {
            return Err(wrong("with a number that is not finite"));
        }
        if squares <= 0.0 {
            return Err(wrong("of length zero"));
        }
        let scale = 1.0 / squares.sqrt();
        for value in &mut values {
            #[expect(clippy::cast_possible_truncation, reason = "a quotient of magnitude at most 1")]
            let scaled = (f64::from(*value) * scale) as f32;
            *value = scaled;
        }
        Ok(Self { model: model.clone(), values })
    }

    /// The model that made it.
    #[must_use]
    pub const fn model(&self) -> &ModelId {
        &self.model
    }

    /// Its coordinates, of unit length together.
    #[must_use]
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// The cosine of the angle to another vector of the same model, −1 to 1.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidVector`] if another model made it or its dimension differs: there is no
    /// number that would say anything then.
    pub fn cosine(&self, other: &Self) -> Result<f32, Error> {
        if self.model != other.model {
            let problem =
                format!("vectors of `{}` and `{}` can't be compared; embed both with one", self.model, other.model);
            return Err(Error::new(ErrorKind::InvalidVector, problem));
        }
        if self.values.len() != other.values.len() {
            let (a, b) = (self.values.len(), other.values.len());
            let problem = format!("model `{}` gave vectors of {a} and of {b} dimensions", self.model);
            return Err(Error::new(ErrorKind::InvalidVector, problem));
        }
        Ok(proem_score::vector::dot_product(&self.values, &other.values).clamp(-1.0, 1.0))
    }
}

/// Turns texts into vectors.
///
/// One call may take several texts. An implementation answers with exactly one entry for each, in
/// order: `None` where the text says nothing to the model, such as one of emoji only.
pub trait Embedder {
    /// The model behind it.
    fn model(&self) -> &ModelId;

    /// Embeds each text.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Embedding`] if the model could not be asked, [`ErrorKind::InvalidVector`] if
    /// its answer is of no use.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Option<Vector>>, Error>;

    /// The pieces that its vectors are sums of. `None` where a model doesn't show them.
    fn pieces(&self) -> Option<&dyn PieceVocabulary> {
        None
    }
}

/// Asks an embedder, and checks that its answer has one entry of its own model for each text, all of
/// one dimension.
///
/// # Errors
///
/// The embedder's error, or [`ErrorKind::InvalidVector`] if its answer is of no use.
pub fn embed_texts(embedder: &dyn Embedder, texts: &[&str]) -> Result<Vec<Option<Vector>>, Error> {
    let invalid = |problem: String| Err(Error::new(ErrorKind::InvalidVector, problem));
    let (model, vectors) = (embedder.model(), embedder.embed(texts)?);
    if vectors.len() != texts.len() {
        return invalid(format!("model `{model}` gave {} vectors for {} texts", vectors.len(), texts.len()));
    }
    if let Some(other) = vectors.iter().flatten().find(|vector| vector.model() != model) {
        return invalid(format!("model `{model}` gave a vector of `{}`", other.model()));
    }
    let sizes = || vectors.iter().flatten().map(|vector| vector.values().len());
    if let (Some(least), Some(most)) = (sizes().min(), sizes().max())
        && least != most
    {
        return invalid(format!("model `{model}` gave vectors of {least} and of {most} dimensions"));
    }
    Ok(vectors)
}

/// The parts of words that a static model knows, each with a vector of its own.
///
/// They allow late interaction: each piece of a task is compared with each piece of a description
/// (Khattab and Zaharia, *ColBERT*, 2020), where one vector for each text would blur them.
pub trait PieceVocabulary: Sync {
    /// The pieces of a text in order; what the model doesn't know has none.
    fn cut(&self, text: &str) -> Vec<u32>;

    /// How much a piece weighs in a text's vector, 0 or more.
    fn weight(&self, piece: u32) -> f32;

    /// The cosines, −1 to 1, of the first of `others` to each of `pieces`, then of the second, and
    /// so on, into a buffer that is emptied first.
    fn write_similarities(&self, pieces: &[u32], others: &[u32], similarities: &mut Vec<f32>);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(id: &str) -> ModelId {
        ModelId::new(id).expect("a plain id")
    }

    #[test]
    fn takes_finite_numbers_only_and_brings_them_to_unit_length() {
        let vector = Vector::new(&model("m"), vec![3.0, 4.0]).expect("a direction");
        assert_eq!(vector.values(), [0.6, 0.8]);
        for (values, why) in [
            (vec![], "model `m` gave a vector without a dimension"),
            (vec![0.0, 0.0], "model `m` gave a vector of length zero"),
            (vec![1.0, f32::NAN], "model `m` gave a vector with a number that is not finite"),
            (vec![f32::INFINITY], "model `m` gave a vector with a number that is not finite"),
        ] {
            assert_eq!(Vector::new(&model("m"), values).expect_err(why).to_string(), why);
        }
    }

    #[test]
    fn vectors_of_two_models_never_meet() {
        let vector = |id: &str, values: &[f32]| Vector::new(&model(id), values.to_vec()).expect("a direction");
        assert_eq!(vector("a", &[1.0, 0.0]).cosine(&vector("a", &[0.0, 2.0])), Ok(0.0));
        let error = vector("a", &[1.0]).cosine(&vector("b", &[1.0])).expect_err("two models");
        assert_eq!(error.to_string(), "vectors of `a` and `b` can't be compared; embed both with one");
        let error = vector("a", &[1.0]).cosine(&vector("a", &[1.0, 1.0])).expect_err("two sizes");
        assert_eq!(error.to_string(), "model `a` gave vectors of 1 and of 2 dimensions");
        assert_eq!(error.kind(), ErrorKind::InvalidVector);
    }

    #[test]
    fn an_id_is_one_plain_word() {
        assert!(ModelId::new("proem-static-1").is_ok());
        for id in ["", "two words", "naïve", "a\nb", &"x".repeat(129)] {
            assert!(ModelId::new(id).is_err(), "{id:?}");
        }
    }
}
