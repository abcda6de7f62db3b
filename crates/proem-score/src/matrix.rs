//! Systems of linear equations with a symmetric positive definite matrix.

use alloc::{vec, vec::Vec};

/// A square matrix, row by row.
#[derive(Debug, Clone)]
pub(crate) struct Matrix {
    size: usize,
    values: Vec<f64>,
}

impl Matrix {
    /// A matrix of zeros.
    pub(crate) fn zeros(size: usize) -> Self {
        Self { size, values: vec![0.0; size.saturating_mul(size)] }
    }

    /// One element. Outside the matrix there are zeros.
    pub(crate) fn get(&self, row: usize, column: usize) -> f64 {
        self.row(row).get(column).copied().unwrap_or_default()
    }

    /// Adds to one element.
    pub(crate) fn add(&mut self, row: usize, column: usize, value: f64) {
        let at = row.saturating_mul(self.size).saturating_add(column);
        if let Some(element) = self.values.get_mut(at) {
            *element += value;
        }
    }

    /// Adds `weight · x · xᵀ`, the lower triangle only.
    pub(crate) fn add_outer(&mut self, weight: f64, x: &[f64]) {
        for (index, (row, left)) in self.values.chunks_exact_mut(self.size.max(1)).zip(x).enumerate() {
            let scaled = weight * left;
            for (element, right) in row.iter_mut().zip(x).take(index.saturating_add(1)) {
                *element += scaled * right;
            }
        }
    }

    fn row(&self, row: usize) -> &[f64] {
        let start = row.saturating_mul(self.size);
        self.values.get(start..start.saturating_add(self.size)).unwrap_or_default()
    }

    /// Solves `self · x = right` by Cholesky's decomposition. Reads the lower triangle only.
    ///
    /// `None` if the matrix is not positive definite.
    pub(crate) fn solve(&self, right: &[f64]) -> Option<Vec<f64>> {
        let lower = self.cholesky()?;
        // Forwards: lower · y = right.
        let mut y: Vec<f64> = Vec::with_capacity(self.size);
        for (row, value) in right.iter().enumerate().take(self.size) {
            let known: f64 = lower.row(row).iter().zip(&y).map(|(a, b)| a * b).sum();
            y.push((value - known) / lower.get(row, row));
        }
        // Backwards: lowerᵀ · x = y.
        let mut x = vec![0.0; self.size];
        for row in (0..self.size).rev() {
            let known: f64 =
                x.iter().enumerate().skip(row + 1).map(|(below, value)| lower.get(below, row) * value).sum();
            let value = (y.get(row)? - known) / lower.get(row, row);
            *x.get_mut(row)? = value;
        }
        x.iter().all(|value: &f64| value.is_finite()).then_some(x)
    }

    /// The lower triangle `l` with `l · lᵀ = self`.
    fn cholesky(&self) -> Option<Self> {
        let mut lower = Self::zeros(self.size);
        for row in 0..self.size {
            for column in 0..=row {
                let known: f64 = lower.row(row).iter().zip(lower.row(column)).take(column).map(|(a, b)| a * b).sum();
                let rest = self.get(row, column) - known;
                if row == column {
                    // Relative to the diagonal, so that rounding isn't taken for curvature.
                    let enough = rest.is_finite() && rest > self.get(row, row) * 1e-13 && rest > 0.0;
                    if !enough {
                        return None;
                    }
                    lower.add(row, row, libm::sqrt(rest));
                } else {
                    lower.add(row, column, rest / lower.get(column, column));
                }
            }
        }
        Some(lower)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(rows: &[&[f64]]) -> Matrix {
        let mut matrix = Matrix::zeros(rows.len());
        for (row, values) in rows.iter().enumerate() {
            for (column, value) in values.iter().enumerate() {
                matrix.add(row, column, *value);
            }
        }
        matrix
    }

    #[test]
    fn solves_what_is_positive_definite() {
        let x = matrix(&[&[4.0], &[2.0, 5.0], &[1.0, 3.0, 6.0]]).solve(&[11.0, 21.0, 25.0]).unwrap();
        for (value, expected) in x.iter().zip([1.0, 2.0, 3.0]) {
            assert!((value - expected).abs() < 1e-12, "{x:?}");
        }
        assert_eq!(matrix(&[]).solve(&[]), Some(vec![]));
    }

    #[test]
    fn refuses_everything_else() {
        for rows in [&[&[0.0_f64][..]][..], &[&[-1.0]], &[&[1.0], &[1.0, 1.0]], &[&[1.0], &[2.0, 1.0]], &[&[f64::NAN]]]
        {
            assert_eq!(matrix(rows).solve(&[1.0, 1.0]), None, "{rows:?}");
        }
    }

    #[test]
    fn an_outer_product_fills_the_lower_triangle() {
        let mut matrix = Matrix::zeros(2);
        matrix.add_outer(2.0, &[1.0, 3.0]);
        assert_eq!(matrix.values, [2.0, 0.0, 6.0, 18.0]);
    }
}
