//! Which changes are meant.

use proem_runtime::change::{Batch, Spec, parse};

use crate::args::risk::Risk;
use crate::failure::Failure;
use proem_app::project::now;
use proem_app::when;

/// Which changes are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Each of these.
    Changes(Vec<Spec>),
    /// Every commit of these on its own.
    Each(Batch),
}

impl Wanted {
    pub(super) fn of(args: &Risk) -> Result<Self, Failure> {
        if let Some(since) = &args.since {
            let since = when::since(since, when::now(), &jiff::tz::TimeZone::UTC)?;
            let seconds = since.0.div_euclid(1000);
            if seconds > now() {
                return Err(Failure::usage("--since names a time in the future"));
            }
            return Ok(Self::Each(Batch::Since(seconds)));
        }
        let specs: Vec<Spec> = args.revisions.iter().map(|text| parse(text)).collect();
        match (args.staged, args.worktree, specs.as_slice()) {
            (true, ..) => Ok(Self::Changes(vec![Spec::Staged])),
            (_, true, _) => Ok(Self::Changes(vec![Spec::WorkTree])),
            (.., []) => Ok(Self::Changes(vec![Spec::Auto])),
            (.., [Spec::Range(from, to)]) if args.each => Ok(Self::Each(Batch::Range(from.clone(), to.clone()))),
            _ if args.each => Err(Failure::usage("--each takes one range, such as main..feature")),
            _ => Ok(Self::Changes(specs)),
        }
    }
}
