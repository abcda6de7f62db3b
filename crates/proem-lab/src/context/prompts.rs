//! `proem-lab eval prompts`: how much of what a commit changed is in the prompt that `proem assemble` makes for it:
//! places, and functions from their first line to their last.
//!
//! The whole command is run as its user runs it, on the parent of a past commit and its past alone. Beside it are whole
//! files, best first, until they have as many bytes as the prompt's section with code: by Proem's own order, which says
//! what choosing parts is worth, and by BM25 with path words without tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use proem_agents::assemble::code::without_long_comments;
use proem_select::context::{
    ContextTask, ContextWeights, Corpus, FilePurpose, FileRecord, FileSignals, LineSpan, file_signals,
};
use serde::Deserialize;

use super::cases::{Asker, Case, ChangedLines, Clone, git_stdout};
use super::definitions::weighted_score;
use super::eval::by_score;
use super::train::{eprint_line, workspace_weights};

/// Measures the prompts for past commits of clones that nobody tuned on.
#[derive(Debug, Args)]
pub(crate) struct EvalPrompts {
    /// A clone, in a folder that is or is in `OWNER+NAME`. Give it once for each.
    #[arg(long = "clone", value_name = "DIR", required = true)]
    clones: Vec<PathBuf>,
    /// The folder with the records of the clones.
    #[arg(long, value_name = "DIR")]
    cache: PathBuf,
    /// How many cases of each clone.
    #[arg(long, value_name = "N", default_value_t = 40)]
    cases: usize,
    /// Among how many of its newest commits.
    #[arg(long, value_name = "N", default_value_t = 4000)]
    window: usize,
    /// The program that makes the prompts.
    #[arg(long, value_name = "FILE", default_value = "target/release/proem")]
    proem: PathBuf,
    /// The workspace's folder, whose `evals/context/prompts.md` is written.
    #[arg(long, value_name = "DIR", default_value = ".")]
    to: PathBuf,
}

const WAYS: [&str; 4] =
    ["Proem", "whole files in its order", "the same, in the room of its sources", "whole files by BM25 without tests"];

/// The shown part of the changed places, by the ways in [`WAYS`].
#[derive(Debug, Default)]
struct Shown {
    cases: usize,
    /// Sums over cases of the share of places that were shown, and in how many cases one was.
    ways: [(f64, usize); WAYS.len()],
    /// In how many cases a function was changed, and how many were.
    with_functions: usize,
    functions: usize,
    /// Sums over those cases of the share of functions that were shown whole, and how many were.
    whole: [(f64, usize); WAYS.len()],
    bytes: usize,
}

/// A function that a case changed: the file, and the lines that have to be there for it to be whole.
type ChangedFunction = (String, BTreeSet<u32>);

/// The answer of `proem assemble --json`, as far as it is needed.
#[derive(Debug, Deserialize)]
struct AssembleAnswer {
    messages: Vec<AnswerMessage>,
}

#[derive(Debug, Deserialize)]
struct AnswerMessage {
    sections: Vec<AnswerSection>,
}

#[derive(Debug, Deserialize)]
struct AnswerSection {
    name: String,
    text: String,
}

pub(crate) fn run_eval_prompts(args: &EvalPrompts) -> Result<String, String> {
    let weights = workspace_weights(&args.to)?;
    let proem = args.proem.canonicalize().map_err(|error| {
        format!("`{}`: {error}; build it with `cargo build --release -p proem-cli`, or name it", args.proem.display())
    })?;
    let mut rows = Vec::new();
    for folder in &args.clones {
        let mut clone = Clone::open(folder, &args.cache)?;
        let cases = clone.cases(args.window, args.cases)?;
        eprint_line(&format!("{}: {} cases", clone.name, cases.len()));
        let past = PastRepository::new(folder, &args.cache, &clone.name)?;
        let mut shown = Shown::default();
        for case in &cases {
            measure_prompt(
                &mut shown,
                &mut clone,
                case,
                &PromptMaker { proem: &proem, past: &past, weights: &weights },
            )?;
        }
        if let Some(note) = clone.reader.keep() {
            eprint_line(&note);
        }
        rows.push((clone.name, shown));
    }
    let report = prompts_report(&rows, args);
    let path = args.to.join("evals/context/prompts.md");
    std::fs::write(&path, &report).map_err(|error| format!("could not write `{}`: {error}", path.display()))?;
    Ok(report)
}

/// The maker of a case's prompt, and the prompts to compare with.
struct PromptMaker<'m> {
    proem: &'m Path,
    past: &'m PastRepository,
    weights: &'m ContextWeights,
}

/// A bare repository with the objects of a clone, whose head can be any of its commits: nothing behind it is read.
struct PastRepository {
    folder: PathBuf,
    home: PathBuf,
}

impl PastRepository {
    fn new(clone: &Path, cache: &Path, name: &str) -> Result<Self, String> {
        let home = std::path::absolute(cache).map_err(|error| error.to_string())?.join("prompts");
        let folder = home.join(name.replace('/', "+"));
        let objects = git_stdout(clone, &["rev-parse", "--path-format=absolute", "--git-path", "objects"])?;
        let info = folder.join("objects/info");
        std::fs::create_dir_all(&info).map_err(|error| format!("`{}`: {error}", info.display()))?;
        git_stdout(&folder, &["init", "--quiet", "--bare"])?;
        let alternates = info.join("alternates");
        std::fs::write(&alternates, objects).map_err(|error| format!("`{}`: {error}", alternates.display()))?;
        Ok(Self { folder, home })
    }

    /// Sets its head to the parent of a case's commit, and whoever asks to its author.
    fn before(&self, clone: &Clone, case: &Case) -> Result<String, String> {
        let parent = git_stdout(&clone.folder, &["rev-parse", &format!("{}^", case.commit)])?.trim().to_owned();
        git_stdout(&self.folder, &["update-ref", "--no-deref", "HEAD", &parent])?;
        let author = git_stdout(&clone.folder, &["log", "-1", "--format=%an%x00%ae", &case.commit])?;
        let (name, mail) = author.trim_end_matches('\n').split_once('\0').unwrap_or_default();
        for (key, value) in [("user.name", name), ("user.email", mail)] {
            git_stdout(&self.folder, &["config", key, value])?;
        }
        Ok(parent)
    }

    /// The section with code of the prompt for a task. Empty if there is none.
    fn code(&self, proem: &Path, task: &str) -> Result<String, String> {
        let mut command = Command::new(proem);
        for (name, folder) in [("CONFIG", "config"), ("STATE", "state"), ("CACHE", "cache")] {
            command.env(format!("XDG_{name}_HOME"), self.home.join(folder));
        }
        let output = command
            .env("HOME", &self.home)
            .args(["assemble", "--json", "--wait", "--root"])
            .arg(&self.folder)
            .args(["--", task])
            .output()
            .map_err(|error| format!("`{}`: {error}", proem.display()))?;
        if !output.status.success() {
            return Err(format!("`proem assemble`: {}", String::from_utf8_lossy(&output.stderr).trim()));
        }
        let answer: AssembleAnswer = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
        let mut sections = answer.messages.into_iter().flat_map(|message| message.sections);
        Ok(sections.find(|section| section.name == "code").map(|section| section.text).unwrap_or_default())
    }
}

fn measure_prompt(shown: &mut Shown, clone: &mut Clone, case: &Case, maker: &PromptMaker<'_>) -> Result<(), String> {
    let Some(tree) = clone.tree(case)? else { return Ok(()) };
    let mut changed = clone.changed_lines(case)?;
    changed.retain(|place| case.answers.contains(&place.path));
    if changed.is_empty() {
        return Ok(());
    }
    let parent = maker.past.before(clone, case)?;
    let code = maker.past.code(maker.proem, &case.task)?;
    let corpus = clone.corpus(case, &tree, Asker::Known)?;
    let signals = file_signals(&corpus.corpus, &ContextTask::new(&case.task), maker.weights);
    let of = |place: usize| signals.get(place);
    let ours =
        |signals: Option<&FileSignals>| signals.map_or(0.0, |signals| weighted_score(&maker.weights.all, signals));
    let words = |signals: Option<&FileSignals>| signals.and_then(|of| of.first()).map_or(0.0, |of| f64::from(*of));
    let uses = [FilePurpose::Code];
    let orders =
        [by_score(&corpus.corpus, &uses, |at| ours(of(at))), by_score(&corpus.corpus, &uses, |at| words(of(at)))];
    let [by_ours, by_words] = orders;
    let sources = bytes_of(&code, |path| by_ours.contains(&path));
    let whole = |order: &[&str], room| whole_files_within(clone, &parent, order, room);
    let ways =
        [shown_lines(&code), whole(&by_ours, code.len())?, whole(&by_ours, sources)?, whole(&by_words, code.len())?];
    let functions = functions_changed_by(clone, &parent, &corpus.corpus, &changed)?;
    shown.cases += 1;
    shown.bytes += code.len();
    shown.functions += functions.len();
    shown.with_functions += usize::from(!functions.is_empty());
    for ((way, of_functions), lines) in shown.ways.iter_mut().zip(&mut shown.whole).zip(ways) {
        add_share(way, changed.iter().map(|place| is_shown(place, &lines)));
        let found =
            functions.iter().filter(|(path, wanted)| lines.get(path).is_some_and(|lines| wanted.is_subset(lines)));
        let found = found.count();
        if !functions.is_empty() {
            add_share(of_functions, (0..functions.len()).map(|number| number < found));
            of_functions.1 = of_functions.1 - usize::from(found > 0) + found;
        }
    }
    Ok(())
}

/// Adds the share of what was found, and whether anything was.
fn add_share(sum: &mut (f64, usize), found: impl ExactSizeIterator<Item = bool>) {
    let all = found.len().max(1);
    let found = found.filter(|is_found| *is_found).count();
    #[expect(clippy::cast_precision_loss, reason = "places of one commit")]
    let share = found as f64 / all as f64;
    sum.0 += share;
    sum.1 += usize::from(found > 0);
}

/// Whether a line of a place is shown.
fn is_shown(place: &ChangedLines, lines: &BTreeMap<String, BTreeSet<u32>>) -> bool {
    let ChangedLines { path, first, last, .. } = place;
    lines.get(path).is_some_and(|lines| lines.range(*first..=(*last).max(*first)).next().is_some())
}

/// The functions that were changed, innermost: from the line of the name to the last, without what is left out of comments.
fn functions_changed_by(
    clone: &Clone,
    parent: &str,
    corpus: &Corpus<'_>,
    changed: &[ChangedLines],
) -> Result<Vec<ChangedFunction>, String> {
    let mut found = Vec::new();
    let paths: BTreeSet<&str> = changed.iter().map(|place| place.path.as_str()).collect();
    for file in corpus.files.iter().filter(|file| paths.contains(file.path)) {
        let symbols = file.record.map(FileRecord::symbols).unwrap_or_default();
        let places = || changed.iter().filter(|place| place.path == file.path);
        let wanted = symbols.iter().filter(|symbol| {
            let own = LineSpan { first: symbol.own_line, last: symbol.lines.last };
            symbol.kind.runs() && places().any(|place| place.lie_in(own))
        });
        let wanted: Vec<LineSpan> = wanted.map(|symbol| LineSpan { first: symbol.own_line, ..symbol.lines }).collect();
        if wanted.is_empty() {
            continue;
        }
        let text = git_stdout(&clone.folder, &["show", &format!("{parent}:{}", file.path)])?;
        let lines: Vec<&str> = text.lines().collect();
        found.extend(wanted.into_iter().map(|span| {
            let left = without_long_comments(&lines, span);
            let left = left.into_iter().flat_map(|span| span.first..=span.last);
            // A line that containment breaks is still shown, and a blank line at the end of a part isn't.
            let has_text = |number: &u32| {
                let line = usize::try_from(*number).ok().and_then(|number| lines.get(number.checked_sub(1)?));
                line.is_some_and(|line| !line.trim().is_empty())
            };
            (file.path.to_owned(), left.filter(has_text).collect())
        }));
    }
    Ok(found)
}

/// Each line of a section with code behind the path of its file, with its number if it is one of the file's: what is
/// before a tab, or the next one.
fn by_file(code: &str) -> impl Iterator<Item = (&str, &str, Option<u32>)> {
    let (mut file, mut next) = ("", 1);
    code.lines().map(move |line| {
        let of_file = line.split_once('\t').map(|(number, _)| number.parse().unwrap_or(next));
        if let Some(number) = of_file.or_else(|| line.is_empty().then_some(next).filter(|_| !file.is_empty())) {
            next = number + 1;
            return (file, line, Some(number));
        }
        if let Some(note) = line.strip_prefix('[') {
            next += note.split(' ').next().and_then(|lines| lines.parse::<u32>().ok()).unwrap_or_default();
        } else if let Some((path, _)) = line.split_once(" (").filter(|_| line.ends_with(')')) {
            (file, next) = (path, 1);
        }
        (file, line, None)
    })
}

/// The lines of files that a section with code shows.
fn shown_lines(code: &str) -> BTreeMap<String, BTreeSet<u32>> {
    let mut found = BTreeMap::<String, BTreeSet<u32>>::new();
    for (file, _, number) in by_file(code) {
        if let Some(number) = number {
            found.entry(file.to_owned()).or_default().insert(number);
        }
    }
    found
}

/// How many bytes of a section with code are about files that count, with what is said of them.
fn bytes_of(code: &str, counts: impl Fn(&str) -> bool) -> usize {
    by_file(code).filter(|(file, ..)| counts(file)).map(|(_, line, _)| line.len() + 1).sum()
}

/// The lines of the first files in an order that have room together. Of the last, its head.
fn whole_files_within(
    clone: &Clone,
    parent: &str,
    order: &[&str],
    room: usize,
) -> Result<BTreeMap<String, BTreeSet<u32>>, String> {
    let (mut found, mut left) = (BTreeMap::new(), room);
    for path in order {
        let text = git_stdout(&clone.folder, &["show", &format!("{parent}:{path}")])?;
        let mut lines = BTreeSet::new();
        for (number, line) in (1_u32..).zip(text.split_inclusive('\n')) {
            let Some(rest) = left.checked_sub(line.len()) else {
                left = 0;
                break;
            };
            left = rest;
            lines.insert(number);
        }
        found.insert((*path).to_owned(), lines);
        if left == 0 {
            break;
        }
    }
    Ok(found)
}

fn prompts_report(rows: &[(String, Shown)], args: &EvalPrompts) -> String {
    let mut out = String::from(
        "# Context: what of a change stands in its prompt\n\nWritten by `cargo lab eval prompts`; which cases, and of what, says the \
         [data card](README.md). Whole files have as many bytes as the prompt's own section with code, which has tests, documents \
         and reasons as well; in the room of its sources they have what is left without tests and documents.\n\n## Functions\n\nOf \
         the functions that a commit changed in sources, the share that the prompt for its message shows whole, from the line of \
         the name to the last (long comments may be shortened): the mean over cases, and in brackets all functions together; in \
         per cent.\n\n",
    );
    let of_functions = |shown: &Shown| (shown.with_functions, shown.functions, shown.whole);
    out.push_str(&prompts_table(rows, ("functions", &of_functions)));
    out.push_str(
        "\n## Places\n\nOf the places that it changed, the share of which a line is shown, the mean over cases, and in brackets the cases \
         in which one is; in per cent.\n\n",
    );
    let of_places = |shown: &Shown| (shown.cases, shown.cases, shown.ways);
    out.push_str(&prompts_table(rows, ("cases", &of_places)));
    _ = writeln!(out, "\nCases: at most {} of the newest {} commits of each clone.", args.cases, args.window);
    out
}

/// How many cases there are, how many things are counted, and of each way the sum of shares and how many were found.
type Counts<'c> = &'c dyn Fn(&Shown) -> (usize, usize, [(f64, usize); WAYS.len()]);

#[expect(clippy::cast_precision_loss, reason = "a few hundred cases, and some megabytes")]
fn prompts_table(rows: &[(String, Shown)], (counted, counts): (&str, Counts<'_>)) -> String {
    let mut out = format!(
        "| repository | {counted} | {} | kB of code |\n|---|---:|---:|---:|---:|---:|---:|\n",
        WAYS.join(" | ")
    );
    let mut sums = [(0.0, 0.0); WAYS.len()];
    for (name, shown) in rows {
        let (cases, all, ways) = counts(shown);
        let mut cells = Vec::new();
        for (sum, (share, found)) in sums.iter_mut().zip(ways) {
            let (share, found) = (100.0 * share / cases.max(1) as f64, 100.0 * found as f64 / all.max(1) as f64);
            *sum = (sum.0 + share, sum.1 + found);
            cells.push(format!("{share:.1} ({found:.1})"));
        }
        let kilobytes = shown.bytes as f64 / 1_000.0 / shown.cases.max(1) as f64;
        _ = writeln!(out, "| {name} | {all} | {} | {kilobytes:.1} |", cells.join(" | "));
    }
    let all = rows.len().max(1) as f64;
    let means = sums.map(|(share, found)| format!("{:.1} ({:.1})", share / all, found / all));
    _ = writeln!(out, "| mean | | {} | |", means.join(" | "));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_belong_to_the_file_above_them() {
        let code = "Files.\n\nsrc/a.rs (Rust; changed)\n[2 lines, 12 definitions not shown]\n3\tfn a() {\n\
                    [2 lines not shown]\n6\t    b() (c)\n\n\t}\n\nsrc/b.rs (Rust)\n1\tx\n9\ty\n";
        let lines = shown_lines(code);
        // The blank line between two files is taken for one of the first.
        assert_eq!(lines["src/a.rs"], BTreeSet::from([3, 6, 7, 8, 9]));
        assert_eq!(lines["src/b.rs"], BTreeSet::from([1, 9]));
        assert_eq!(bytes_of(code, |path| path == "src/b.rs"), "src/b.rs (Rust)\n1\tx\n9\ty\n".len());
        let is_shown = |path: &str, first, last| {
            is_shown(&ChangedLines { path: path.to_owned(), first, last, is_insertion: false }, &lines)
        };
        assert!(is_shown("src/a.rs", 5, 6) && is_shown("src/a.rs", 3, 3));
        assert!(!is_shown("src/a.rs", 4, 5) && !is_shown("src/c.rs", 1, 9));
    }

    #[test]
    fn what_is_inserted_behind_a_function_does_not_change_it() {
        let place = |first, is_insertion| ChangedLines { path: String::new(), first, last: first, is_insertion };
        let lines = LineSpan { first: 3, last: 9 };
        assert!(place(9, false).lie_in(lines) && place(8, true).lie_in(lines) && place(3, true).lie_in(lines));
        assert!(!place(9, true).lie_in(lines) && !place(10, false).lie_in(lines));
    }
}
