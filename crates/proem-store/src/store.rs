//! The store: opened once for each process, cheap to clone.
//!
//! What can be written with it is in [`crate::write`], what can be read in [`crate::query`], one file for each.

use std::sync::Arc;

use crate::error::{Error, Unusable};
use crate::sqlite::{Queue, Site, Write};

/// The records of this user's installation.
#[derive(Debug, Clone)]
pub struct Store {
    /// Where it is read.
    pub(crate) site: Arc<Site>,
    /// Where it is written; `None` if it was opened to be read.
    pub(crate) queue: Option<Queue>,
}

impl Store {
    /// Has something written, and waits until it is on the disk.
    pub(crate) async fn write<W: Write>(&self, what: W) -> Result<W::Answer, Error> {
        let Some(queue) = &self.queue else {
            let why = "it was opened read-only".to_owned();
            return Err(Unusable::Unwritable { path: self.site.path.clone(), why }.into());
        };
        queue.write(what).await
    }
}
