//! Gives a child a limit of memory.

use std::{io, process::Child};

/// Lets `child`, and what it starts, have at most `bytes` of memory of their own each (`RLIMIT_DATA`, setrlimit(2):
/// what is allocated, and what is mapped privately to be written).
///
/// Files that are mapped to be read don't count: the kernel can drop those pages at any time, and a limit of
/// addresses would stop programs that reserve far more than they use. The limit is set right after the child was
/// started, since setting it before would need unsafe code here; what the child got until then counts from then on,
/// and it gets no more once it is over.
///
/// # Errors
///
/// The system's error, unless the child has ended already or the system has no such limit.
#[cfg(target_os = "linux")]
pub(crate) fn confine(child: &Child, bytes: u64) -> io::Result<()> {
    use rustix::{
        io::Errno,
        process::{Pid, Resource, Rlimit, getrlimit, prlimit},
    };
    let Some(id) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else { return Ok(()) };
    // A child has its parent's limits. Nobody may raise what was lowered for all.
    let inherited = getrlimit(Resource::Data);
    let least = |inherited: Option<u64>| Some(inherited.map_or(bytes, |inherited| inherited.min(bytes)));
    let limit = Rlimit { current: least(inherited.current), maximum: least(inherited.maximum) };
    match prlimit(Some(id), Resource::Data, limit) {
        Ok(_) | Err(Errno::SRCH | Errno::NOSYS) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// This system has no limit of memory for one process.
#[cfg(not(target_os = "linux"))]
pub(crate) fn confine(_: &Child, _: u64) -> io::Result<()> {
    Ok(())
}
