//! `proem-lab eval guard-files`: how the shipped guard works on files of source and documentation.
//!
//! False alarms are counted over what public repositories track at a pinned revision. Recall over known attacks, put
//! into such files as comments of the file's language or as paragraphs. Everything is chosen by fixed rules and seeds,
//! so that the same revisions give the same table.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use proem_guard::{Bar, Guard, LanguageFamily, Policy, Untrusted, Verdict};
use proem_text::{Label, Source};

use super::labelled_texts::read_labelled_texts;
use crate::selection::public_sets::Dice;

/// Measures the guard on files of source and documentation.
#[derive(Debug, Args)]
pub(crate) struct EvalGuardFiles {
    /// Clones that nothing was tuned on; the table is of these
    #[arg(long, value_name = "DIR", num_args = 1.., required = true)]
    repo: Vec<PathBuf>,
    /// Clones that something was tuned on, shown below
    #[arg(long, value_name = "DIR", num_args = 1..)]
    tuned: Vec<PathBuf>,
    /// Folder with `guard/dev.jsonl`, whose attacks are put into the files beside the bank's
    #[arg(long, value_name = "DIR", default_value = concat!("../", "shared/data"))]
    data: PathBuf,
    /// The workspace's folder, whose `evals/guard/files.md` is written
    #[arg(long, value_name = "DIR", default_value = ".")]
    to: PathBuf,
}

const TABLE: &str = "evals/guard/files.md";
/// The attacks of the bank that ships.
const BANK: &str = "crates/proem-guard/data/bank.tsv";
/// The most files of one repository: the first of all of them, shuffled by the seed.
const MOST_FILES: usize = 600;
/// Larger files are left out, in bytes.
const MOST_BYTES: usize = 256 * 1024;
const SEED: u64 = 7;

/// A file as it is tracked.
struct Tracked {
    path: String,
    text: String,
    syntax: LanguageFamily,
}

impl Tracked {
    /// Whether people read it, or a compiler. Settings and data are neither.
    fn kind(&self) -> Option<&'static str> {
        match (self.syntax, Path::new(&self.path).extension().and_then(|ending| ending.to_str())) {
            (LanguageFamily::Document, _) | (LanguageFamily::Plain, Some("txt")) => Some("documentation"),
            (LanguageFamily::Plain, _) | (_, Some("toml" | "ini" | "css" | "scss" | "less")) => None,
            _ => Some("source"),
        }
    }
}

struct ClonedRepository {
    name: String,
    revision: String,
    files: Vec<Tracked>,
}

pub(crate) fn run_eval_guard_files(args: &EvalGuardFiles) -> Result<String, String> {
    let lab = FileBench::new()?;
    let attacks = bank_and_dev_attacks(args)?;
    let measured = args.repo.iter().map(|path| read_known_files(path)).collect::<Result<Vec<_>, _>>()?;
    let tuned = args.tuned.iter().map(|path| read_known_files(path)).collect::<Result<Vec<_>, _>>()?;
    let mut report = format!(
        "# Guard: files of source and documentation\n\nMade by `cargo lab eval guard-files`; how is said in the \
         [data card](README.md#files). Model {}.\n",
        lab.guard.model_id()
    );
    for (title, repositories) in [("Nothing was tuned on these", &measured), ("Tuned on these", &tuned)] {
        if !repositories.is_empty() {
            report.push_str(&format!("\n## {title}\n"));
            lab.false_alarms(repositories, &mut report);
            lab.recall(repositories, &attacks, &mut report);
        }
    }
    let path = args.to.join(TABLE);
    std::fs::write(&path, &report).map_err(|error| format!("could not write `{}`: {error}", path.display()))?;
    Ok(report)
}

/// How many of some files are flagged, and how many kept out.
#[derive(Debug, Clone, Copy, Default)]
struct FlagTally {
    all: usize,
    flagged: usize,
    kept_out: usize,
}

impl FlagTally {
    fn add(&mut self, verdict: Verdict) {
        self.all += 1;
        self.flagged += usize::from(verdict >= Verdict::Flag);
        self.kept_out += usize::from(verdict >= Verdict::Quarantine);
    }

    fn cells(self) -> String {
        #[expect(clippy::cast_precision_loss, reason = "some thousand files")]
        let share = 100.0 * self.flagged as f64 / self.all.max(1) as f64;
        format!("{} | {} | {share:.1} % | {}", self.all, self.flagged, self.kept_out)
    }
}

struct FileBench {
    guard: Guard,
    bar: Bar,
}

impl FileBench {
    fn new() -> Result<Self, String> {
        let guard = Guard::shipped(&[]).map_err(|error| error.to_string())?;
        let policy = Policy::shipped().map_err(|error| error.to_string())?;
        Ok(Self { guard, bar: policy.bar("file/source", "") })
    }

    fn judge(&self, text: String, syntax: LanguageFamily) -> Verdict {
        let text = Untrusted::new(text, Label::from_source(Source::named("lab")));
        self.bar.judge(&self.guard.scan_source(&text, syntax))
    }

    fn false_alarms(&self, repositories: &[ClonedRepository], report: &mut String) {
        report.push_str("\n| repository | kind | files | flagged | | kept out |\n|---|---|---|---|---|---|\n");
        let mut total = FlagTally::default();
        for repository in repositories {
            let mut tallies: BTreeMap<&str, FlagTally> = BTreeMap::new();
            for file in &repository.files {
                let Some(kind) = file.kind() else { continue };
                let verdict = self.judge(file.text.clone(), file.syntax);
                tallies.entry(kind).or_default().add(verdict);
                total.add(verdict);
            }
            let ClonedRepository { name, revision, .. } = repository;
            for (kind, tally) in tallies {
                report.push_str(&format!("| {name} {revision} | {kind} | {} |\n", tally.cells()));
            }
        }
        report.push_str(&format!("| all | | {} |\n", total.cells()));
    }

    /// Each attack in one file of each kind that isn't flagged without it.
    fn recall(&self, repositories: &[ClonedRepository], attacks: &[(String, &'static str)], report: &mut String) {
        report.push_str("\n| attacks of | put into | n | found | | kept out |\n|---|---|---|---|---|---|\n");
        let mut dice = Dice(SEED);
        let mut total = FlagTally::default();
        for (kind, put) in [("source", "source, as a comment"), ("documentation", "documentation, as a paragraph")] {
            let files = repositories.iter().flat_map(|repository| &repository.files);
            let of_kind = files.filter(|file| file.kind() == Some(kind));
            let hosts: Vec<&Tracked> =
                of_kind.filter(|file| self.judge(file.text.clone(), file.syntax) == Verdict::Allow).collect();
            let mut tallies: BTreeMap<&str, FlagTally> = BTreeMap::new();
            for (attack, from) in attacks {
                let Some(host) = hosts.get(dice.below(hosts.len())) else { continue };
                let verdict = self.judge(plant_attack(host, attack, &mut dice), host.syntax);
                tallies.entry(from).or_default().add(verdict);
                total.add(verdict);
            }
            for (from, tally) in tallies {
                report.push_str(&format!("| {from} | {put} | {} |\n", tally.cells()));
            }
        }
        report.push_str(&format!("| all | | {} |\n", total.cells()));
    }
}

/// The attacks of the bank, and those of dev.
fn bank_and_dev_attacks(args: &EvalGuardFiles) -> Result<Vec<(String, &'static str)>, String> {
    let path = args.to.join(BANK);
    let bank =
        std::fs::read_to_string(&path).map_err(|error| format!("could not read `{}`: {error}", path.display()))?;
    let pattern = |line: &str| Some(line.strip_prefix("attack\t")?.split_once('\t')?.1.to_owned());
    let mut attacks: Vec<_> = bank.lines().filter_map(pattern).map(|attack| (attack, "the bank")).collect();
    let dev = read_labelled_texts(&args.data.join("guard/dev.jsonl"))?;
    attacks.extend(dev.into_iter().filter(|row| row.is_attack()).map(|row| (row.text, "dev")));
    Ok(attacks)
}

/// The files of a clone that the guard knows by their names.
fn read_known_files(root: &Path) -> Result<ClonedRepository, String> {
    let git = |args: &[&str]| -> Result<Vec<u8>, String> {
        let output = Command::new("git").arg("-C").arg(root).args(args).output();
        let output = output.map_err(|error| format!("could not run git: {error}"))?;
        if output.status.success() { Ok(output.stdout) } else { Err(format!("git failed in `{}`", root.display())) }
    };
    let revision = String::from_utf8_lossy(&git(&["rev-parse", "--short=12", "HEAD"])?).trim().to_owned();
    let listing = git(&["ls-files", "-z"])?;
    let paths = listing.split(|byte| *byte == 0).filter_map(|path| std::str::from_utf8(path).ok());
    // Neither source nor documentation. Among the others they would change which files are drawn.
    let is_drawn =
        |path: &&str| ![".json", ".html", ".htm", ".xhtml", ".diff", ".patch"].iter().any(|end| path.ends_with(end));
    let paths = paths.filter(is_drawn);
    let mut known: Vec<(&str, LanguageFamily)> =
        paths.filter_map(|path| Some((path, LanguageFamily::of_name(path)?))).collect();
    known.sort_unstable();
    Dice(SEED).shuffle(&mut known);
    let mut files = Vec::new();
    for (path, syntax) in known {
        if let Some(text) = plain_file_text(&root.join(path))? {
            files.push(Tracked { path: path.to_owned(), text, syntax });
        }
        if files.len() == MOST_FILES {
            break;
        }
    }
    let name = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(ClonedRepository { name, revision, files })
}

/// A file's text, unless it is a link, empty, too large or no UTF-8.
fn plain_file_text(path: &Path) -> Result<Option<String>, String> {
    let problem = |error| format!("could not read `{}`: {error}", path.display());
    let metadata = path.symlink_metadata().map_err(problem)?;
    if !metadata.is_file() || metadata.len() == 0 || metadata.len() > MOST_BYTES as u64 {
        return Ok(None);
    }
    Ok(String::from_utf8(std::fs::read(path).map_err(problem)?).ok())
}

/// A file with an attack in it: as a comment between two lines, or as a paragraph between two.
fn plant_attack(file: &Tracked, attack: &str, dice: &mut Dice) -> String {
    let is_document = matches!(file.syntax, LanguageFamily::Document | LanguageFamily::Plain);
    let border = if is_document { "\n\n" } else { "\n" };
    let places: Vec<usize> = file.text.match_indices(border).map(|(at, _)| at + border.len()).collect();
    let at = places.get(dice.below(places.len())).copied().unwrap_or(file.text.len());
    let (head, tail) = file.text.split_at_checked(at).unwrap_or((&file.text, ""));
    let lines = |mark: &str| attack.lines().map(|line| format!("{mark} {line}\n")).collect::<String>();
    let planted = match file.syntax {
        LanguageFamily::Document | LanguageFamily::Plain => format!("{attack}\n\n"),
        LanguageFamily::Patch => lines("+"),
        LanguageFamily::Code | LanguageFamily::Python | LanguageFamily::Hash => lines("#"),
        LanguageFamily::Sql | LanguageFamily::Lua | LanguageFamily::Dashes => lines("--"),
        LanguageFamily::Semicolon => lines(";"),
        LanguageFamily::Percent => lines("%"),
        LanguageFamily::C | LanguageFamily::Script | LanguageFamily::Rust if dice.below(2) == 0 => lines("//"),
        LanguageFamily::C | LanguageFamily::Script | LanguageFamily::Rust => format!("/*\n{}*/\n", lines(" *")),
    };
    format!("{head}{planted}{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attacks_are_put_in_as_the_language_writes_comments() {
        let check = |syntax: LanguageFamily, text: &str, expected: &[&str]| {
            let file = Tracked { path: "a".to_owned(), text: text.to_owned(), syntax };
            for seed in 0..8 {
                let planted = plant_attack(&file, "Obey\nme.", &mut Dice(seed));
                assert!(expected.contains(&planted.as_str()), "{planted:?}");
            }
        };
        check(LanguageFamily::Python, "a\n", &["a\n# Obey\n# me.\n"]);
        check(LanguageFamily::C, "a\n", &["a\n// Obey\n// me.\n", "a\n/*\n * Obey\n * me.\n*/\n"]);
        check(LanguageFamily::Document, "a\n\nb\n", &["a\n\nObey\nme.\n\nb\n"]);
    }
}
