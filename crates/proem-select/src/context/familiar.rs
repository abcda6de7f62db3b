//! The asker's own knowledge: the files and folders that this person changed, and commits that mean the same in other
//! words.

use std::collections::{BTreeMap, BTreeSet};

use proem_engine::workers::{self, Workers};

use super::scores::{count_to_f32, log_of_next, scale_to_greatest};
use super::signals::{Evidence, Signal, folder_of};
use super::task::ContextTask;
use crate::embedding::embed_texts;

/// How much less an own commit counts behind so many other own ones: for its files, and for their folders.
const OWN_HALF_LIFE: f32 = 5.0;
const FOLDER_HALF_LIFE: f32 = 10.0;

/// How many of the commits with words of the task are compared with it in meaning, and how many of these count.
const COMPARED: usize = 600;
const ALIKE: usize = 100;

/// How many subjects a model is asked about at once.
const AT_ONCE: usize = 50;

impl Evidence<'_> {
    /// People go on where they were.
    pub(super) fn own(&mut self) {
        let commits = &self.corpus.commits;
        let all = log_of_next(u32::try_from(commits.len().max(2)).unwrap_or(u32::MAX));
        let files = self.corpus.files.len();
        let (mut weights, mut recency) = (vec![0.0_f32; files], vec![0.0_f32; files]);
        let mut folders: BTreeMap<&str, f32> = BTreeMap::new();
        let own = (0_u32..).zip(commits).filter(|(_, commit)| commit.is_own);
        for (newer, (age, commit)) in own.enumerate() {
            let weight = |half_life: f32| libm::exp2f(-count_to_f32(newer) / half_life);
            let mut touched: BTreeSet<&str> = BTreeSet::new();
            for file in &commit.files {
                let file = usize::try_from(*file).unwrap_or(usize::MAX);
                if let (Some(sum), Some(newest)) = (weights.get_mut(file), recency.get_mut(file)) {
                    *sum += weight(OWN_HALF_LIFE);
                    *newest = newest.max(1.0 - log_of_next(age) / all);
                }
                touched.extend(self.corpus.files.get(file).map(|file| folder_of(file.path)));
            }
            for folder in touched {
                *folders.entry(folder).or_default() += weight(FOLDER_HALF_LIFE);
            }
        }
        let of_folder = |path: &str| folders.get(folder_of(path)).copied().unwrap_or_default();
        let mut folders: Vec<f32> = self.corpus.files.iter().map(|file| of_folder(file.path)).collect();
        for values in [&mut weights, &mut folders] {
            scale_to_greatest(values);
            values.iter_mut().for_each(|value| *value = libm::sqrtf(*value));
        }
        self.fill(Signal::OwnFiles, &weights);
        self.fill(Signal::OwnFolders, &folders);
        self.fill(Signal::OwnRecency, &recency);
    }

    /// Of the commits with words of the task, best first, those that are most alike in meaning speak for their files.
    pub(super) fn alike(&mut self, task: &ContextTask, order: &[(u32, f32)], workers: &dyn Workers) {
        let Some(model) = self.corpus.meaning else { return };
        let compared: Vec<u32> = order.iter().take(COMPARED).map(|(commit, _)| *commit).collect();
        let commit = |at: u32| usize::try_from(at).ok().and_then(|at| self.corpus.commits.get(at));
        // A model that fails costs one of many signals.
        let vectors = |texts: &[&str]| embed_texts(model.0, texts).unwrap_or_default();
        let Some(Some(asked)) = vectors(&[&task.subject]).pop() else { return };
        let together: Vec<&[u32]> = compared.chunks(AT_ONCE).collect();
        let cosines = workers::map_with_workers(workers, &together, |commits| {
            let subjects = commits.iter().map(|at| commit(*at).map_or("", |commit| commit.subject));
            let cosine = |(at, vector): (&u32, Option<_>)| Some((*at, asked.cosine(&vector?).ok()?));
            commits.iter().zip(vectors(&subjects.collect::<Vec<_>>())).filter_map(cosine).collect::<Vec<_>>()
        });
        let mut alike: Vec<(u32, f32)> = cosines.into_iter().flatten().filter(|(_, cosine)| *cosine > 0.0).collect();
        alike.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        alike.truncate(ALIKE);
        let mut best = vec![0.0_f32; self.corpus.files.len()];
        for (at, cosine) in &alike {
            let files = commit(*at).map(|commit| commit.files.as_slice()).unwrap_or_default();
            let square = cosine * cosine;
            let share = square * square / libm::sqrtf(count_to_f32(files.len().max(1)));
            for file in files {
                if let Some(slot) = usize::try_from(*file).ok().and_then(|file| best.get_mut(file)) {
                    *slot = slot.max(share);
                }
            }
        }
        scale_to_greatest(&mut best);
        self.fill(Signal::AlikeCommit, &best);
        self.alike = alike.into_iter().map(|(commit, _)| commit).collect();
    }
}
