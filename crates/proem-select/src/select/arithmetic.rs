//! Arithmetic of several kinds of evidence.

/// A product in eight lanes, added in a fixed order.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; 8];
    let (a_chunks, b_chunks) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f32 = a_chunks.remainder().iter().zip(b_chunks.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a_chunks.zip(b_chunks) {
        for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
            *lane += a * b;
        }
    }
    lanes.iter().sum::<f32>() + rest
}

/// The inverse document frequency that `bm25` uses too.
pub(super) fn idf(documents: usize, with: usize) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "counts of entries, at most some thousands")]
    let (n, df) = (documents as f32, with as f32);
    libm::logf(1.0 + (n - df + 0.5) / (df + 0.5))
}
