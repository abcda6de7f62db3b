//! Reads contents and parses them, several at once.
//!
//! One git process streams the contents of all blobs; threads parse what comes. Between them is a
//! short queue, so that memory stays bounded however fast git is.

use std::{
    sync::{
        Mutex, PoisonError,
        mpsc::{self, Receiver, Sender, SyncSender},
    },
    thread,
    time::Instant,
};

use proem_imports::{Manifests, SourceFacts, SourceLanguage, extract};

use crate::{
    Error,
    git::Session,
    structure::{
        SourceGap, StructureLimits,
        batch::{Object, ObjectCutter},
        languages,
        listing::SourceContent,
    },
};

/// How many contents wait to be parsed.
const QUEUE: usize = 64;
/// The most threads that parse.
const THREADS: usize = 8;
/// What the git command is called in errors.
const COMMAND: &str = "cat-file";

/// What is wanted of a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Want {
    /// What a source says.
    Facts(SourceLanguage),
    /// How many lines it has.
    Lines,
    /// The bytes of a project file.
    Manifest,
}

impl Want {
    /// What is wanted of the file at a path; `None` for what is no source.
    pub(super) fn of_path(path: &[u8]) -> Option<Self> {
        if Manifests::wanted(path) {
            return Some(Self::Manifest);
        }
        let lines = || languages::without_parser(path).map(|_| Self::Lines);
        SourceLanguage::of_path(path).map(Self::Facts).or_else(lines)
    }

    /// A number for it.
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Facts(language) => {
                let at = SourceLanguage::ALL.iter().position(|known| *known == language).unwrap_or_default();
                u8::try_from(at).unwrap_or_default()
            }
            Self::Lines => 0xff,
            Self::Manifest => 0xfe,
        }
    }
}

/// A content to read.
#[derive(Debug)]
pub(super) struct ReadingJob<'a> {
    pub(super) want: Want,
    pub(super) content: &'a SourceContent,
}

/// What was read of a content.
#[derive(Debug, Clone)]
pub(super) enum ContentReading {
    Facts(SourceFacts),
    Lines(u32),
    Bytes(Vec<u8>),
}

/// What became of a job.
type ReadingResult = Result<ContentReading, SourceGap>;

/// An outcome, with the place of its job.
type NumberedReading = (usize, ReadingResult);

/// Does all jobs within the limits and before `until`; the outcome of one that was not reached is `None`.
pub(super) fn read(
    session: &Session<'_>,
    jobs: &[ReadingJob<'_>],
    (limits, until): (&StructureLimits, Instant),
    progress: &dyn Fn(usize, usize),
) -> Result<Vec<Option<ReadingResult>>, Error> {
    let (queue, waiting) = mpsc::sync_channel(QUEUE);
    let waiting = Mutex::new(waiting);
    let (sender, done) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..threads().min(jobs.len()) {
            let (sender, waiting) = (sender.clone(), &waiting);
            scope.spawn(move || parse(jobs, (limits, until), waiting, &sender));
        }
        drop(sender);
        let outcomes = vec![None; jobs.len()];
        let mut belt = Belt { queue, done, outcomes, count: 0, room: limits.bytes, progress };
        let fed = feed(session, jobs, limits, &mut belt);
        let Belt { queue, done, mut outcomes, mut count, .. } = belt;
        // What is in the queue is still parsed; without a sender the threads end.
        drop(queue);
        for (at, outcome) in done {
            count = count.saturating_add(1);
            progress(count, jobs.len());
            if let Some(slot) = outcomes.get_mut(at) {
                *slot = Some(outcome);
            }
        }
        fed.map(|()| outcomes)
    })
}

fn threads() -> usize {
    thread::available_parallelism().map_or(2, usize::from).clamp(2, THREADS)
}

/// Between git and the threads that parse.
struct Belt<'a> {
    queue: SyncSender<(usize, Vec<u8>)>,
    done: Receiver<NumberedReading>,
    outcomes: Vec<Option<ReadingResult>>,
    /// How many outcomes there are.
    count: usize,
    /// How many bytes may still be read.
    room: u64,
    progress: &'a dyn Fn(usize, usize),
}

impl Belt<'_> {
    /// Hands on a content, and takes what is done; false if there is no room for more.
    fn content(&mut self, job: usize, bytes: Vec<u8>) -> bool {
        if self.room == 0 {
            return false;
        }
        self.room = self.room.saturating_sub(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        // The threads take from the queue until it is closed, so there is one to send to.
        let _ = self.queue.send((job, bytes));
        while let Ok((at, outcome)) = self.done.try_recv() {
            self.settle(at, outcome);
        }
        true
    }

    fn settle(&mut self, job: usize, outcome: ReadingResult) {
        if let Some(slot) = self.outcomes.get_mut(job) {
            *slot = Some(outcome);
        }
        self.count = self.count.saturating_add(1);
        (self.progress)(self.count, self.outcomes.len());
    }
}

/// Feeds the contents of `jobs` to the threads: those that are here, and then git's.
fn feed(
    session: &Session<'_>,
    jobs: &[ReadingJob<'_>],
    limits: &StructureLimits,
    belt: &mut Belt<'_>,
) -> Result<(), Error> {
    (belt.progress)(0, jobs.len());
    let mut ids = Vec::new();
    let mut asked = Vec::new();
    for (at, job) in jobs.iter().enumerate().take(limits.files) {
        match job.content {
            SourceContent::Blob(id) => {
                ids.extend_from_slice(id.as_bytes());
                ids.push(b'\n');
                asked.push(at);
            }
            SourceContent::Bytes(bytes) => {
                if !belt.content(at, bytes.clone()) {
                    return Ok(());
                }
            }
            SourceContent::Unread(why) => belt.settle(at, Err(*why)),
        }
    }
    if asked.is_empty() {
        return Ok(());
    }
    let mut batch = ObjectCutter::new(limits.source.bytes);
    let (mut asked, mut full) = (asked.into_iter(), false);
    let mut take = |object: Object| {
        let at = asked.next().ok_or(Error::GitAnswer { command: COMMAND })?;
        match object {
            Object::Blob(bytes) => full = !belt.content(at, bytes),
            Object::TooLarge => belt.settle(at, Err(SourceGap::TooLarge)),
            Object::Missing => belt.settle(at, Err(SourceGap::Missing)),
        }
        // Any error ends git; this one is not reported.
        if full { Err(Error::TooMuchOutput { command: COMMAND, cap: 0 }) } else { Ok(()) }
    };
    let args = [COMMAND, "--batch", "--buffer"];
    let streamed = session.stream(&args, &[], ids, &mut |piece| batch.push(piece, &mut take));
    match streamed {
        // Out of time, or of room: the rest is not reached.
        Err(Error::TimedOut { .. }) => Ok(()),
        Err(_) if full => Ok(()),
        Ok(()) if !batch.is_between() || asked.next().is_some() => Err(Error::GitAnswer { command: COMMAND }),
        other => other,
    }
}

/// Parses what is delivered until nothing more comes; after `until` it is thrown away.
fn parse(
    jobs: &[ReadingJob<'_>],
    (limits, until): (&StructureLimits, Instant),
    waiting: &Mutex<Receiver<(usize, Vec<u8>)>>,
    done: &Sender<NumberedReading>,
) {
    loop {
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((at, bytes)) = next else { return };
        let Some(job) = jobs.get(at).filter(|_| Instant::now() < until) else { continue };
        let outcome = match job.want {
            Want::Facts(language) => facts(language, &bytes, limits, until),
            Want::Lines => Ok(ContentReading::Lines(lines(&bytes))),
            Want::Manifest => Ok(ContentReading::Bytes(bytes)),
        };
        // The receiver stays until the threads have ended.
        let _ = done.send((at, outcome));
    }
}

fn facts(language: SourceLanguage, bytes: &[u8], limits: &StructureLimits, until: Instant) -> ReadingResult {
    let now = Instant::now();
    let end = now.checked_add(limits.parse_time).unwrap_or(until);
    let mut give_up = || Instant::now() >= end.min(until);
    extract(language, bytes, &limits.source, &mut give_up).map(ContentReading::Facts).map_err(|unread| match unread {
        proem_imports::ExtractError::TooLarge => SourceGap::TooLarge,
        proem_imports::ExtractError::TimedOut if end < until => SourceGap::TimedOut,
        proem_imports::ExtractError::TimedOut => SourceGap::NotReached,
        _ => SourceGap::NoParser,
    })
}

/// How many lines hold more than white space.
fn lines(bytes: &[u8]) -> u32 {
    let full = bytes.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).count();
    u32::try_from(full).unwrap_or(u32::MAX)
}
