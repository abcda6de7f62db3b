//! Products of vectors.

/// Of each of so many dimensions in turn one product is added to a sum of its own, so that they can be made at once.
const LANES: usize = 8;

/// The dot product, added in a fixed order. The excess of the longer one counts for nothing.
#[must_use]
pub fn dot_product(a: &[f32], b: &[f32]) -> f32 {
    // Cut to one length first: the pieces of two lengths would not be beside each other.
    let common = a.len().min(b.len());
    let (a, b) = (a.get(..common).unwrap_or_default(), b.get(..common).unwrap_or_default());
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut lanes = [0.0_f32; LANES];
    for (a, b) in a.iter().zip(b) {
        lanes.iter_mut().zip(a).zip(b).for_each(|((lane, a), b)| *lane += a * b);
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    lanes.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    #[test]
    fn products_are_added() {
        let ten: [f32; 10] = core::array::from_fn(|at| f32::from(u8::try_from(at).unwrap()));
        assert_eq!(dot_product(&ten, &ten), 285.0);
        assert_eq!(dot_product(&[1.0, 2.0], &[3.0]), 3.0);
        assert_eq!(dot_product(&ten, &ten[..5]), 30.0);
        assert_eq!(dot_product(&[], &[1.0]), 0.0);
    }

    proptest! {
        /// Whole numbers of this size add up to the same in any order.
        #[test]
        fn no_dimension_is_left_out(pairs in vec((-99i16..99, -99i16..99), 0..40)) {
            let (a, b): (Vec<f32>, Vec<f32>) = pairs.iter().map(|(a, b)| (f32::from(*a), f32::from(*b))).unzip();
            let expected: i32 = pairs.iter().map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
            #[expect(clippy::cast_precision_loss, reason = "at most 40 times 9,801")]
            let expected = expected as f32;
            prop_assert_eq!(dot_product(&a, &b), expected);
        }
    }
}
