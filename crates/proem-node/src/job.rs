//! Work on texts, and its outcome as JSON.

use std::panic::{AssertUnwindSafe, catch_unwind};

use napi::bindgen_prelude::AsyncTask;
use napi::{Env, Status, Task};
use napi_derive::napi;
use proem::ErrorKind;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

type Work = Box<dyn FnOnce() -> napi::Result<String> + Send>;

/// Work on texts that JavaScript has done at once, or by a thread of Node's pool. It is done once.
#[napi]
pub(crate) struct Job {
    work: Option<Work>,
}

/// The work in a thread of Node's pool.
pub(crate) struct PooledJob(Option<Work>);

impl Job {
    /// The work, whose outcome becomes JSON. A panic becomes an error, and the process goes on.
    pub(crate) fn of<T: Serialize>(work: impl FnOnce() -> Result<T, proem::Error> + Send + 'static) -> Self {
        let work = move || {
            let done = catch_unwind(AssertUnwindSafe(work));
            let outcome = done.map_err(|_| error_of("bug", &["the library panicked; report it".to_owned()]))?;
            to_json(&outcome.map_err(|error| error_of_failure(&error))?)
        };
        Self { work: Some(Box::new(work)) }
    }
}

#[napi]
impl Job {
    /// Does the work.
    #[napi]
    pub fn now(&mut self) -> napi::Result<String> {
        take_work(&mut self.work)?()
    }

    /// Has a thread of Node's pool do the work.
    #[napi]
    pub fn later(&mut self) -> AsyncTask<PooledJob> {
        AsyncTask::new(PooledJob(self.work.take()))
    }
}

impl Task for PooledJob {
    type Output = String;
    type JsValue = String;

    fn compute(&mut self) -> napi::Result<String> {
        take_work(&mut self.0)?()
    }

    fn resolve(&mut self, _: Env, json: String) -> napi::Result<String> {
        Ok(json)
    }
}

fn take_work(work: &mut Option<Work>) -> napi::Result<Work> {
    work.take().ok_or_else(|| error_of("bug", &["work was asked for twice; report it".to_owned()]))
}

/// Reads JSON that the package's JavaScript side has written.
pub(crate) fn read_argument<T: DeserializeOwned>(text: &str, what: &str) -> napi::Result<T> {
    serde_json::from_str(text).map_err(|error| error_of("invalid", &[format!("{what} can't be read: {error}")]))
}

pub(crate) fn to_json(value: &impl Serialize) -> napi::Result<String> {
    serde_json::to_string(value).map_err(|error| error_of("bug", &[format!("the outcome is no JSON: {error}")]))
}

/// A failure of the library, as `typescript/errors.ts` reads it.
pub(crate) fn error_of_failure(error: &proem::Error) -> napi::Error {
    let kind = match error.kind() {
        ErrorKind::Invalid => "invalid",
        ErrorKind::Negative => "negative",
        ErrorKind::Exceeded => "exceeded",
        ErrorKind::Outside => "outside",
        _ => "bug",
    };
    error_of(kind, error.problems())
}

fn error_of(kind: &str, problems: &[String]) -> napi::Error {
    napi::Error::new(Status::GenericFailure, json!({ "kind": kind, "problems": problems }).to_string())
}
