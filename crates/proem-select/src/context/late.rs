//! The evidence for a file once the best of a first ranking are known: the fitting part of its folder, the files that
//! changed together with them, and the files that they import or are imported by.

use std::collections::{BTreeMap, BTreeSet};

use super::corpus::{CorpusFile, FilePurpose};
use super::record::FileRecord;
use super::scores::count_to_f32;
use super::signals::{Evidence, Signal, folder_of};
use super::words::Term;

impl Evidence<'_> {
    /// The signals that need the best files of a first ranking.
    pub(super) fn late(&mut self, first: &[f32], best: &[(usize, BTreeMap<usize, usize>)]) {
        self.folders(first);
        self.co_change(best);
        self.imports(best);
    }

    /// A folder whose other files fit speaks for a file: how likely the task is about one of them, by the first ranking.
    fn folders(&mut self, first: &[f32]) {
        let files = &self.corpus.files;
        let is_code = |file: usize| files.get(file).is_some_and(|file| file.used_for == FilePurpose::Code);
        let code = || first.iter().copied().enumerate().filter(|(file, _)| is_code(*file));
        let most = code().map(|(_, score)| score).fold(f32::MIN, f32::max);
        let mut odds = vec![0.0_f32; files.len()];
        for (file, score) in code() {
            if let Some(slot) = odds.get_mut(file) {
                *slot = libm::expf(score - most);
            }
        }
        let whole = odds.iter().sum::<f32>().max(f32::MIN_POSITIVE);
        let mut sums: BTreeMap<&str, f32> = BTreeMap::new();
        for (file, odds) in files.iter().zip(&odds) {
            *sums.entry(folder_of(file.path)).or_default() += *odds;
        }
        let others = |(file, own): (&CorpusFile<'_>, &f32)| {
            let folder = sums.get(folder_of(file.path)).copied().unwrap_or_default();
            // A file must not speak for itself.
            libm::sqrtf((folder - own).max(0.0) / whole)
        };
        let values: Vec<f32> = files.iter().zip(&odds).map(others).collect();
        self.fill(Signal::Folder, &values);
    }

    fn co_change(&mut self, best: &[(usize, BTreeMap<usize, usize>)]) {
        let mut values = vec![0.0_f32; self.corpus.files.len()];
        for (rank, (top, counts)) in best.iter().enumerate() {
            for (file, together) in counts {
                let of = self.touched_by.get(*top).map_or(0, Vec::len);
                // Pulled towards 0 where there is little to go by.
                let share = count_to_f32(*together)
                    / (count_to_f32(of) + 3.0)
                    / libm::sqrtf(count_to_f32(rank.saturating_add(1)));
                if let Some(slot) = values.get_mut(*file).filter(|_| file != top) {
                    *slot = slot.max(share);
                }
            }
        }
        self.fill(Signal::CoChange, &values);
    }

    /// How often each file changed together with one.
    pub(super) fn together(&self, with: usize) -> BTreeMap<usize, usize> {
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        for commit in self.touched_by.get(with).into_iter().flatten() {
            let touched = usize::try_from(*commit).ok().and_then(|commit| self.corpus.commits.get(commit));
            for file in touched.map(|commit| commit.files.as_slice()).unwrap_or_default() {
                let slot = counts.entry(usize::try_from(*file).unwrap_or(usize::MAX)).or_default();
                *slot = slot.saturating_add(1);
            }
        }
        counts
    }

    /// The importers of the best files, and their imports, by names.
    fn imports(&mut self, best: &[(usize, BTreeMap<usize, usize>)]) {
        let record = |file: usize| self.corpus.files.get(file).and_then(|file| file.record);
        let subject = |file: usize| self.paths.get(file).and_then(|path| path.subject);
        let wanted: BTreeSet<Term> =
            best.iter().filter_map(|(file, _)| record(*file)).flat_map(FileRecord::imports).collect();
        let names: BTreeSet<Term> = best.iter().filter_map(|(file, _)| subject(*file)).collect();
        let mut values = vec![0.0_f32; self.corpus.files.len()];
        for (number, value) in values.iter_mut().enumerate() {
            let is_imported = subject(number).is_some_and(|subject| wanted.contains(&subject));
            let imports = record(number).is_some_and(|record| names.iter().any(|name| record.has_import(*name)));
            *value = 0.5 * f32::from(u8::from(is_imported)) + 0.5 * f32::from(u8::from(imports));
        }
        self.fill(Signal::Imports, &values);
    }
}
