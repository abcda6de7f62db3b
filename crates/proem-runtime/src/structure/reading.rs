//! Reads contents and parses them, several at once.
//!
//! One git process streams the contents of all blobs. Threads parse what comes. Between them is a short queue, so that
//! memory stays bounded however fast git is.

use std::{
    sync::{
        Mutex, PoisonError,
        mpsc::{self, Receiver, Sender, SyncSender},
    },
    thread,
    time::Instant,
};

use proem_imports::{SourceFacts, SourceLanguage, extract_facts};

use crate::{
    Error,
    git::Session,
    parallel::thread_time,
    structure::{
        batch::{Object, ObjectCutter},
        cache::StructureCacheKey,
        listing::SourceContent,
        source_reading::{SourceGap, SourceResult, StructureLimits},
        want::Want,
    },
};

/// How many contents wait to be parsed.
const QUEUE: usize = 64;
/// The most threads that parse.
const THREADS: usize = 8;
/// The git command's name in errors.
const COMMAND: &str = "cat-file";

/// A content to read. It carries all that its result is for, so that no result can come to the wrong file.
#[derive(Debug)]
pub(crate) struct ReadingJob<'a> {
    /// Its place among all jobs, in the order of the paths.
    pub(crate) number: usize,
    pub(crate) key: StructureCacheKey,
    pub(crate) want: Want,
    pub(crate) content: &'a SourceContent,
    /// The files that have this content.
    pub(crate) files: Vec<WaitingFile<'a>>,
}

/// A file that waits for what is read of its content.
#[derive(Debug)]
pub(crate) struct WaitingFile<'a> {
    pub(super) path: &'a [u8],
    pub(super) reading: &'a mut Option<SourceResult>,
}

#[derive(Debug)]
pub(crate) enum ContentReading {
    Facts(SourceFacts),
    Lines(u32),
    Bytes(Vec<u8>),
}

/// A job with what became of it.
#[derive(Debug)]
pub(crate) struct FinishedJob<'a> {
    pub(crate) job: ReadingJob<'a>,
    pub(crate) result: Result<ContentReading, SourceGap>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadingBounds<'l> {
    pub(crate) limits: &'l StructureLimits,
    /// When it is over, whatever is still to be parsed.
    pub(crate) until: Instant,
}

/// A job whose content is here, to be parsed.
struct FetchedJob<'a> {
    job: ReadingJob<'a>,
    bytes: Vec<u8>,
}

/// Does all jobs within their bounds, and returns those that are done. The others were not reached.
pub(crate) fn read_sources<'a>(
    session: &Session<'_>,
    jobs: Vec<ReadingJob<'a>>,
    bounds: ReadingBounds<'_>,
    progress: &dyn Fn(usize, usize),
) -> Result<Vec<FinishedJob<'a>>, Error> {
    let total = jobs.len();
    let (queue, waiting) = mpsc::sync_channel(QUEUE);
    let waiting = Mutex::new(waiting);
    let (sender, done) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..threads().min(total) {
            let (sender, waiting) = (sender.clone(), &waiting);
            scope.spawn(move || parse_fetched(bounds, waiting, &sender));
        }
        drop(sender);
        let room = bounds.limits.bytes;
        let mut belt = Belt { queue, done, finished: Vec::new(), total, room, progress };
        let fed = feed_parsers(session, jobs, bounds.limits, &mut belt);
        let Belt { queue, done, mut finished, .. } = belt;
        // Entries in the queue are still parsed; without a sender the threads end.
        drop(queue);
        for job in done {
            finished.push(job);
            progress(finished.len(), total);
        }
        fed.map(|()| finished)
    })
}

fn threads() -> usize {
    thread::available_parallelism().map_or(2, usize::from).clamp(2, THREADS)
}

/// Between git and the threads that parse.
struct Belt<'a, 'p> {
    queue: SyncSender<FetchedJob<'a>>,
    done: Receiver<FinishedJob<'a>>,
    finished: Vec<FinishedJob<'a>>,
    /// How many jobs there are.
    total: usize,
    /// How many bytes may still be read.
    room: u64,
    progress: &'p dyn Fn(usize, usize),
}

impl<'a> Belt<'a, '_> {
    /// Hands a job's content on, and takes what is done. False if there is no room for more.
    fn content(&mut self, job: ReadingJob<'a>, bytes: Vec<u8>) -> bool {
        if self.room == 0 {
            return false;
        }
        self.room = self.room.saturating_sub(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        // The threads take from the queue until it is closed, so there is one to send to.
        let _ = self.queue.send(FetchedJob { job, bytes });
        // Taken as they come and not at the end, so that whoever listens hears of them.
        while let Ok(job) = self.done.try_recv() {
            self.finish(job);
        }
        true
    }

    fn finish(&mut self, job: FinishedJob<'a>) {
        self.finished.push(job);
        (self.progress)(self.finished.len(), self.total);
    }
}

/// Feeds the contents of `jobs` to the threads: those that are here, and then git's.
fn feed_parsers<'a>(
    session: &Session<'_>,
    jobs: Vec<ReadingJob<'a>>,
    limits: &StructureLimits,
    belt: &mut Belt<'a, '_>,
) -> Result<(), Error> {
    (belt.progress)(0, jobs.len());
    let mut ids = Vec::new();
    let mut asked = Vec::new();
    for job in jobs.into_iter().take(limits.files) {
        match job.content {
            SourceContent::Blob(id) => {
                ids.extend_from_slice(id.as_bytes());
                ids.push(b'\n');
                asked.push(job);
            }
            SourceContent::Bytes(bytes) => {
                if !belt.content(job, bytes.clone()) {
                    return Ok(());
                }
            }
            SourceContent::Unread(why) => belt.finish(FinishedJob { job, result: Err(*why) }),
        }
    }
    if asked.is_empty() {
        return Ok(());
    }
    let mut batch = ObjectCutter::new(limits.source.bytes);
    let (mut asked, mut full) = (asked.into_iter(), false);
    let mut take = |object: Object| {
        // Git answers in the order in which it is asked, one object for each id.
        let job = asked.next().ok_or(Error::GitAnswer { command: COMMAND })?;
        match object {
            Object::Blob(bytes) => full = !belt.content(job, bytes),
            Object::TooLarge => belt.finish(FinishedJob { job, result: Err(SourceGap::TooLarge) }),
            Object::Missing => belt.finish(FinishedJob { job, result: Err(SourceGap::Missing) }),
        }
        // Any error ends git. This one is not reported.
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

/// Parses what is fetched until nothing more comes. After the end of the time it is thrown away.
fn parse_fetched<'a>(
    bounds: ReadingBounds<'_>,
    waiting: &Mutex<Receiver<FetchedJob<'a>>>,
    done: &Sender<FinishedJob<'a>>,
) {
    loop {
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(FetchedJob { job, bytes }) = next else { return };
        // The queue is emptied all the same: whoever feeds it may wait for a place in it.
        if Instant::now() >= bounds.until {
            continue;
        }
        let result = match job.want {
            Want::Facts(language) => facts(language, &bytes, bounds),
            Want::Lines => Ok(ContentReading::Lines(count_filled_lines_of_bytes(&bytes))),
            Want::Manifest | Want::Record(_) => Ok(ContentReading::Bytes(bytes)),
        };
        // The receiver stays until the threads have ended.
        let _ = done.send(FinishedJob { job, result });
    }
}

fn facts(language: SourceLanguage, bytes: &[u8], bounds: ReadingBounds<'_>) -> Result<ContentReading, SourceGap> {
    let ReadingBounds { limits, until } = bounds;
    // The processor's time: whether a source is too slow must not depend on what else the machine does.
    let end = thread_time().saturating_add(limits.parse_time);
    let mut give_up = || thread_time() >= end || Instant::now() >= until;
    extract_facts(language, bytes, &limits.source, &mut give_up).map(ContentReading::Facts).map_err(|unread| {
        match unread {
            proem_imports::ExtractError::TooLarge => SourceGap::TooLarge,
            proem_imports::ExtractError::TimedOut if thread_time() >= end => SourceGap::TimedOut,
            proem_imports::ExtractError::TimedOut => SourceGap::NotReached,
            _ => SourceGap::NoParser,
        }
    })
}

/// How many lines hold more than white space.
fn count_filled_lines_of_bytes(bytes: &[u8]) -> u32 {
    let full = bytes.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).count();
    u32::try_from(full).unwrap_or(u32::MAX)
}
