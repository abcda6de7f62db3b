//! Arithmetic of several kinds of evidence.

/// The inverse document frequency that `bm25` uses too.
pub(super) fn inverse_document_frequency(documents: usize, with: usize) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "counts of entries, at most some thousands")]
    let (n, df) = (documents as f32, with as f32);
    libm::logf(1.0 + (n - df + 0.5) / (df + 0.5))
}
