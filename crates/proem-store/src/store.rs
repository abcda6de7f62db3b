//! The store: opened once for each process, cheap to clone.
//!
//! [`crate::write`] has everything that can be written with it, and [`crate::query`] everything that can be read, one
//! file each.

use std::sync::Arc;

use crate::error::{Error, Unusable};
use crate::sql::{Queue, Write};
use crate::sqlite::Site;

/// The records of this user's installation.
#[derive(Debug, Clone)]
pub struct Store {
    /// The place it is read from.
    pub(crate) site: Arc<Site>,
    /// The queue of writers. `None` if the store was opened for reading.
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
