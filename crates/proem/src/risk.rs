//! How risky a change of a repository is.

pub use proem_risk::assess::Assessment;
pub use proem_risk::level::Level;

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use proem_risk::assess::Depth;
use proem_risk::level::{LevelReason, LevelRules, Thresholds};
use proem_runtime::Environment;
use proem_runtime::change::{ChangeLimits, parse_change_spec, read_change, resolve_change};
use proem_runtime::git::{GitProgram, discover_repository_around};
use proem_runtime::risk::{Assessor, AssessorOptions};

use crate::{Error, ErrorKind};

/// How far back changes count that were made together, in days: a year, as `proem risk` has it.
const WINDOW_DAYS: u32 = 365;

/// A change put before the past of its repository.
#[derive(Debug, Clone, PartialEq)]
pub struct RiskReport {
    /// How risky it is.
    pub level: Level,
    /// Why, the most important reason first.
    pub reasons: Vec<String>,
    /// The change's place among the repository's past commits in per cent, 100 the riskiest. `None` if the past is too
    /// short to say.
    pub percentile: Option<f64>,
    /// Its files, the riskiest first. Their paths are text from outside.
    pub files: Vec<(String, Level)>,
    /// The unknown facts, which are neither zero nor low.
    pub gaps: Vec<String>,
    /// Everything that was measured.
    pub assessment: Assessment,
}

/// Assesses a change: a revision such as `HEAD`, or a range such as `main..topic`.
///
/// Git answers. Nothing of the repository is run or kept.
///
/// ```no_run
/// let report = proem::risk::assess(".", "HEAD")?;
/// println!("{}: {}", report.level.as_str(), report.reasons.join("; "));
/// # Ok::<(), proem::Error>(())
/// ```
///
/// # Errors
///
/// [`ErrorKind::Invalid`] if the folder is in no repository or the revision is none, [`ErrorKind::Outside`] if git
/// cannot be asked.
pub fn assess(folder: impl AsRef<Path>, revision: &str) -> Result<RiskReport, Error> {
    let git = GitProgram::find(&Environment::inherited())?;
    let repository = discover_repository_around(&git, folder.as_ref(), git.limits().question)?.ok_or_else(|| {
        let folder = folder.as_ref().display();
        Error::new(ErrorKind::Invalid, format!("`{folder}` is not in a git repository; name a folder of one"))
    })?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok().and_then(|time| i64::try_from(time.as_secs()).ok());
    let now = now.ok_or_else(|| Error::new(ErrorKind::Outside, "the clock is before 1970; set it"))?;
    let resolved = resolve_change(&git, &repository, &parse_change_spec(revision), now)?;
    let options = AssessorOptions {
        changes: vec![resolved.clone()],
        first_parent: false,
        window_days: WINDOW_DAYS,
        now,
        cache: None,
        thresholds: Thresholds::shipped().map_err(|error| Error::of(ErrorKind::Bug, error))?,
        level_rules: LevelRules::Rank,
        incidents: None,
        coverage: None,
    };
    let assessor = Assessor::open(&git, &repository, options, &|_| ())?;
    let change = read_change(&git, &repository, &resolved, assessor.rules(), &ChangeLimits::default())?;
    let assessment = assessor.look(&change)?.assess(Depth::TierTwo)?;
    Ok(RiskReport {
        level: assessment.level,
        reasons: assessment.reasons.iter().map(LevelReason::in_words).collect(),
        percentile: assessment.score.rank.as_ref().map(|rank| rank.percentile),
        files: assessment.files.iter().map(|file| (file.path.clone(), file.level)).collect(),
        gaps: assessment.gaps.clone(),
        assessment,
    })
}

impl From<proem_runtime::Error> for Error {
    fn from(error: proem_runtime::Error) -> Self {
        use proem_runtime::Error as Failure;
        let kind = match &error {
            Failure::NoRevision { .. }
            | Failure::AmbiguousRevision { .. }
            | Failure::NoMergeBase { .. }
            | Failure::NoCommits => ErrorKind::Invalid,
            _ => ErrorKind::Outside,
        };
        Self::of(kind, error)
    }
}
