//! Does the same to many things, at once where the caller has threads for it.
//!
//! The crates that only compute start no threads; who calls them lends some. Invariant: what comes out depends on the
//! things alone, whoever works and in whatever order.

use std::fmt::Debug;
use std::sync::{Mutex, PoisonError};

/// The most pieces that a list is cut into, so that workers of different speed end together.
const PIECES: usize = 32;

/// Those who work.
pub trait Workers: Debug + Sync {
    /// Has `work` done once for each number below `pieces`, in any order and perhaps at once, and returns when all is
    /// done.
    fn each(&self, pieces: usize, work: &(dyn Fn(usize) + Sync));
}

/// Works through one piece behind the other, where it is called.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sequential;

impl Workers for Sequential {
    fn each(&self, pieces: usize, work: &(dyn Fn(usize) + Sync)) {
        (0..pieces).for_each(work);
    }
}

/// The results of `work` for each item, in their order.
pub fn map_with_workers<I: Sync, T: Send>(workers: &dyn Workers, items: &[I], work: impl Fn(&I) -> T + Sync) -> Vec<T> {
    let pieces: Vec<&[I]> = items.chunks(items.len().div_ceil(PIECES).max(1)).collect();
    let made: Vec<Mutex<Vec<T>>> = pieces.iter().map(|_| Mutex::new(Vec::new())).collect();
    workers.each(pieces.len(), &|number| {
        if let Some((items, place)) = pieces.get(number).zip(made.get(number)) {
            let answers = items.iter().map(&work).collect();
            *place.lock().unwrap_or_else(PoisonError::into_inner) = answers;
        }
    });
    let made = made.into_iter().map(|place| place.into_inner().unwrap_or_else(PoisonError::into_inner));
    // Workers that leave something undone cost time, and change nothing.
    made.zip(pieces)
        .flat_map(
            |(answers, items)| {
                if answers.len() == items.len() { answers } else { items.iter().map(&work).collect() }
            },
        )
        .collect()
}

/// The results of two pieces of work, which may run at once.
pub fn both<A: Send, B: Send>(
    workers: &dyn Workers,
    first: impl FnMut() -> A + Send,
    second: impl FnMut() -> B + Send,
) -> (A, B) {
    let (first, second) = (Errand::new(first), Errand::new(second));
    workers.each(2, &|number| if number == 0 { first.run() } else { second.run() });
    (first.answer(), second.answer())
}

/// Something to be done once, and what comes of it.
struct Errand<F, T>(Mutex<(F, Option<T>)>);

impl<F: FnMut() -> T, T> Errand<F, T> {
    const fn new(work: F) -> Self {
        Self(Mutex::new((work, None)))
    }

    fn run(&self) {
        let mut errand = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (work, answer) = &mut *errand;
        answer.get_or_insert_with(work);
    }

    /// The result. Work that the workers left undone is done here.
    fn answer(self) -> T {
        let (work, answer) = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        answer.unwrap_or_else(work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Workers that begin at the end, do the second piece twice and leave out the first.
    #[derive(Debug)]
    struct Careless;

    impl Workers for Careless {
        fn each(&self, pieces: usize, work: &(dyn Fn(usize) + Sync)) {
            (1..pieces).rev().chain([1]).for_each(work);
        }
    }

    #[test]
    fn both_pieces_are_done_once() {
        for workers in [&Sequential as &dyn Workers, &Careless] {
            let (mut first, mut second) = (0, String::new());
            let made = both(
                workers,
                || {
                    first += 1;
                    first
                },
                || {
                    second.push('x');
                    second.len()
                },
            );
            assert_eq!((made, first, second.as_str()), ((1, 1), 1, "x"), "{workers:?}");
        }
    }

    #[test]
    fn answers_stand_in_the_order_of_the_items() {
        for count in [0_usize, 1, 2, 31, 32, 33, 1_000] {
            let items: Vec<usize> = (0..count).collect();
            let doubled: Vec<usize> = items.iter().map(|item| item * 2).collect();
            for workers in [&Sequential as &dyn Workers, &Careless] {
                assert_eq!(map_with_workers(workers, &items, |item| item * 2), doubled, "{count} by {workers:?}");
            }
        }
    }
}
