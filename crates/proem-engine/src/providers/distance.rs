//! How unlike two names are, to suggest the one that was meant.

/// The characters to insert, delete or replace to make `a` from `b` (Levenshtein 1966).
pub(crate) fn edit_distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (index, from) in a.chars().enumerate() {
        let mut next = vec![index.saturating_add(1)];
        for ((to, &diagonal), &above) in b.chars().zip(&row).zip(row.iter().skip(1)) {
            let left = next.last().copied().unwrap_or_default();
            let replaced = diagonal.saturating_add(usize::from(from != to));
            next.push(replaced.min(above.saturating_add(1)).min(left.saturating_add(1)));
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, expected) in [("", "", 0), ("", "abc", 3), ("abc", "", 3), ("kitten", "sitting", 3), ("é", "e", 1)]
        {
            assert_eq!(edit_distance(a, b), expected, "{a:?} {b:?}");
        }
    }
}
