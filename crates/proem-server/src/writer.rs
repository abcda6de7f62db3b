//! Stores deliveries in groups, one thread for each project.
//!
//! Deliveries that come while others are written share the next transaction, so that a flood costs few of them. The
//! project is opened anew every two seconds, so that a charter that nobody trusts any more counts soon.

use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Duration;

use proem_app::places::Places;
use proem_app::project::OpenProject;
use proem_app::triage::TriageDesk;
use proem_app::{Error, records};
use proem_store::StoreAccess;
use proem_triage::{DeliveryFault, WebhookSource};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::body::DeliveryBody;
use crate::event::{ServeEvent, ServeListener};

/// The most deliveries that wait for a project.
const MOST_WAITING: usize = 1_024;
/// The most deliveries of a group.
const MOST_TOGETHER: usize = 256;
/// The most bytes of a group: its signals are in memory at once.
const MOST_BYTES: usize = 2 << 20;
/// How long a project stays open.
const DESK_TIME: Duration = Duration::from_secs(2);
/// After how many failures in a row the rest of a group is given up.
const MOST_FAILURES: usize = 2;

/// The writer's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriterAnswer {
    /// The signals are on the disk; for a probe, the records can be written.
    Stored,
    /// The delivery is refused.
    Refused(DeliveryFault),
    /// The records can't be written.
    Failed,
}

/// Anything that a writer does.
#[derive(Debug)]
pub(crate) enum WriterWork {
    Delivery { source: WebhookSource, body: DeliveryBody },
    Probe,
}

#[derive(Debug)]
struct WriterJob {
    work: WriterWork,
    answer: oneshot::Sender<WriterAnswer>,
}

impl WriterJob {
    fn delivery(&self) -> Option<(WebhookSource, &[u8])> {
        match &self.work {
            WriterWork::Delivery { source, body } => Some((*source, &body.bytes)),
            WriterWork::Probe => None,
        }
    }

    /// Gives the body's memory back, and answers. Whoever asked may have gone, which changes nothing.
    fn reply(self, answer: WriterAnswer) {
        drop(self.work);
        _ = self.answer.send(answer);
    }
}

/// The way to a project's writer.
#[derive(Debug, Clone)]
pub(crate) struct ProjectQueue(mpsc::Sender<WriterJob>);

impl ProjectQueue {
    /// Hands work over. `None` if too much waits, or the writer has ended.
    pub(crate) fn offer(&self, work: WriterWork) -> Option<oneshot::Receiver<WriterAnswer>> {
        let (answer, receiver) = oneshot::channel();
        self.0.try_send(WriterJob { work, answer }).ok().map(|()| receiver)
    }

    /// How much waits.
    pub(crate) fn waiting(&self) -> usize {
        self.0.max_capacity().saturating_sub(self.0.capacity())
    }
}

/// A project's writer.
#[derive(Debug)]
pub(crate) struct ProjectWriter {
    pub(crate) queue: ProjectQueue,
    finish: CancellationToken,
    thread: JoinHandle<()>,
}

impl ProjectWriter {
    /// Starts the thread of a project.
    ///
    /// # Errors
    ///
    /// If the project can't be triaged, its records can't be written, or no thread can be started.
    pub(crate) async fn start(root: PathBuf, places: Places, tell: ServeListener) -> Result<Self, Error> {
        let (sender, queue) = mpsc::channel(MOST_WAITING);
        let (opened, is_open) = oneshot::channel();
        let finish = CancellationToken::new();
        let runtime = records::runtime()?;
        let mut desk = ProjectDesk { root, places, tell, finish: finish.clone(), problem: None };
        let work = move || {
            runtime.block_on(async {
                let found = desk.open_once().await;
                let is_usable = found.is_ok();
                // The starter waits for this.
                _ = opened.send(found);
                if is_usable {
                    desk.write_all(queue).await;
                }
            });
        };
        let thread = std::thread::Builder::new().name("webhooks".to_owned()).spawn(work);
        let thread = thread.map_err(|error| Error::outside(format!("no thread can be started: {error}")))?;
        is_open.await.map_err(|error| Error::bug("the writer of webhooks ended", error))??;
        Ok(Self { queue: ProjectQueue(sender), finish, thread })
    }

    /// Writes what waits, takes nothing more, and waits for the end. It blocks.
    pub(crate) fn end(self) {
        self.finish.cancel();
        _ = self.thread.join();
    }
}

struct ProjectDesk {
    root: PathBuf,
    places: Places,
    tell: ServeListener,
    finish: CancellationToken,
    /// The problem that was told last. It is told once until it is over.
    problem: Option<String>,
}

impl ProjectDesk {
    /// Opens the project and its records, so that what is wrong from the start is said at the start.
    async fn open_once(&self) -> Result<(), Error> {
        let project = OpenProject::without_book(&self.root, &self.places)?;
        TriageDesk::open(&project, StoreAccess::Write).await?.value.close().await;
        Ok(())
    }

    async fn write_all(&mut self, mut queue: mpsc::Receiver<WriterJob>) {
        loop {
            let first = tokio::select! {
                biased;
                job = queue.recv() => job,
                () = self.finish.cancelled(), if !queue.is_closed() => {
                    queue.close();
                    continue;
                }
            };
            let Some(first) = first else { break };
            let problem = self.write_some(first, &mut queue).await.err().map(|error| error.to_string());
            if let Some(error) = problem.clone().filter(|_| problem != self.problem) {
                (self.tell)(&ServeEvent::Problem { error });
            }
            self.problem = problem;
        }
    }

    /// Opens the project, and writes for some time. After a failure the project is opened anew.
    async fn write_some(&self, first: WriterJob, queue: &mut mpsc::Receiver<WriterJob>) -> Result<(), Error> {
        let opened = OpenProject::without_book(&self.root, &self.places);
        let project = match opened {
            Ok(project) => project,
            Err(error) => return refuse_waiting(first, queue, error),
        };
        let desk = match TriageDesk::open(&project, StoreAccess::Write).await {
            Ok(desk) => desk.value,
            Err(error) => return refuse_waiting(first, queue, error),
        };
        let until = Instant::now() + DESK_TIME;
        let mut next = Some(first);
        let mut written = Ok(());
        while let Some(job) = next {
            written = write_group(&desk, group_of(job, queue)).await;
            if written.is_err() || Instant::now() >= until {
                break;
            }
            next = tokio::select! {
                biased;
                job = queue.recv() => job,
                () = tokio::time::sleep_until(until) => None,
                () = self.finish.cancelled() => None,
            };
        }
        desk.close().await;
        written
    }
}

/// Refuses a job and all that wait behind it, so that each of them does not wait for the same failure.
fn refuse_waiting(first: WriterJob, queue: &mut mpsc::Receiver<WriterJob>, error: Error) -> Result<(), Error> {
    first.reply(WriterAnswer::Failed);
    while let Ok(job) = queue.try_recv() {
        job.reply(WriterAnswer::Failed);
    }
    Err(error)
}

/// A job, and those that wait behind it.
fn group_of(first: WriterJob, queue: &mut mpsc::Receiver<WriterJob>) -> Vec<WriterJob> {
    let size = |job: &WriterJob| job.delivery().map_or(0, |(_, body)| body.len());
    let mut bytes = size(&first);
    let mut group = vec![first];
    while group.len() < MOST_TOGETHER && bytes < MOST_BYTES {
        let Ok(job) = queue.try_recv() else { break };
        bytes = bytes.saturating_add(size(&job));
        group.push(job);
    }
    group
}

async fn write_group(desk: &TriageDesk<'_>, group: Vec<WriterJob>) -> Result<(), Error> {
    let deliveries: Vec<(WebhookSource, &[u8])> = group.iter().filter_map(WriterJob::delivery).collect();
    match desk.take_deliveries(&deliveries).await {
        Ok(intake) => {
            let mut verdicts = intake.verdicts.into_iter();
            for job in group {
                let verdict = job.delivery().and_then(|_| verdicts.next());
                job.reply(verdict.map_or(WriterAnswer::Stored, writer_answer));
            }
            Ok(())
        }
        Err(error) => {
            write_one_by_one(desk, group).await;
            Err(error)
        }
    }
}

/// Writes each job of a group that failed alone, so that one of them spoils no other.
async fn write_one_by_one(desk: &TriageDesk<'_>, group: Vec<WriterJob>) {
    let is_alone = group.len() == 1;
    let mut failures = if is_alone { MOST_FAILURES } else { 0 };
    for job in group {
        let deliveries: Vec<(WebhookSource, &[u8])> = job.delivery().into_iter().collect();
        let taken = if failures < MOST_FAILURES { desk.take_deliveries(&deliveries).await.ok() } else { None };
        failures = if taken.is_some() { 0 } else { failures.saturating_add(1) };
        let verdict = taken.map(|intake| intake.verdicts.into_iter().next().unwrap_or(Ok(())));
        job.reply(verdict.map_or(WriterAnswer::Failed, writer_answer));
    }
}

fn writer_answer(verdict: Result<(), DeliveryFault>) -> WriterAnswer {
    verdict.map_or_else(WriterAnswer::Refused, |()| WriterAnswer::Stored)
}
