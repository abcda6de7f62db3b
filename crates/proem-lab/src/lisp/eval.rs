//! `proem-lab eval lisp`: how many expressions have the value that they have in Clojure.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;

use super::answers::{
    ANSWERS, Answer, DIVERGENCES, GENERATED, divergence_examples, has_foreign_literal, parse_answers,
};
use super::arguments::generate_expressions;
use super::clojure::{ask_clojure, install_clojure};
use super::others::{check_specification, check_suite};

/// Measures how far PTC-Lisp agrees with Clojure.
#[derive(Debug, Args)]
pub(crate) struct EvalLisp {
    /// Ask Clojure anew, installing it if needed, and write its answers instead of the table. Then build again.
    #[arg(long)]
    refresh: bool,
    /// The specification of the language's Elixir implementation, in Markdown.
    #[arg(long, value_name = "FILE", requires = "suite")]
    specification: Option<PathBuf>,
    /// A folder of Clojure's tests; with it, `evals/lisp/others.md` is written instead of the table.
    #[arg(long, value_name = "DIR", requires = "specification")]
    suite: Option<PathBuf>,
    /// The workspace's folder, whose answers or `evals/lisp/clojure.md` are written.
    #[arg(long, value_name = "DIR", default_value = ".")]
    to: PathBuf,
}

const ANSWERS_FILE: &str = "crates/proem-lisp/tests/data/clojure.tsv";
const RESULTS: &str = "evals/lisp/clojure.md";
const OTHERS: &str = "evals/lisp/others.md";

pub(crate) fn run_eval_lisp(args: &EvalLisp) -> Result<String, String> {
    if let (Some(specification), Some(suite)) = (&args.specification, &args.suite) {
        return compare_others(args, specification, suite);
    }
    let (name, text) = if args.refresh {
        (ANSWERS_FILE, refresh_answers(ANSWERS)?)
    } else {
        (RESULTS, agreement_table(&parse_answers(ANSWERS)))
    };
    write_eval_file(args, name, &text)?;
    Ok(if args.refresh { refresh_summary(&text) } else { text })
}

fn write_eval_file(args: &EvalLisp, name: &str, text: &str) -> Result<(), String> {
    let path = args.to.join(name);
    std::fs::write(&path, text).map_err(|error| format!("could not write `{}`: {error}", path.display()))
}

/// A folder for questions to Clojure, gone with the closure's end.
fn with_folder<T>(work: impl FnOnce(&Path) -> Result<T, String>) -> Result<T, String> {
    let folder = std::env::temp_dir().join(format!("proem-lab-lisp-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| format!("could not make `{}`: {error}", folder.display()))?;
    let result = work(&folder);
    std::fs::remove_dir_all(&folder).map_err(|error| format!("could not remove `{}`: {error}", folder.display()))?;
    result
}

/// Counts other people's statements into a file, and lists those that differ.
fn compare_others(args: &EvalLisp, specification: &Path, suite: &Path) -> Result<String, String> {
    let text = std::fs::read_to_string(specification)
        .map_err(|error| format!("could not read `{}`: {error}", specification.display()))?;
    install_clojure()?;
    let all = [check_specification(&text), with_folder(|folder| check_suite(suite, folder))?];
    let mut out = String::from(
        "# PTC-Lisp: other people's statements\n\nMade by `cargo lab eval lisp --specification FILE --suite DIR`; \
         [README](README.md) has the sources and the rule.\n\n| | the same | differing | left out |\n|---|---|---|---|\n",
    );
    for (name, statements) in ["results in the specification", "assertions of the test suite"].iter().zip(&all) {
        _ = writeln!(
            out,
            "| {name} | {} | {} | {} |",
            statements.same,
            statements.differing.len(),
            statements.left_out
        );
    }
    write_eval_file(args, OTHERS, &out)?;
    for [source, ours, stated] in all.iter().flat_map(|statements| &statements.differing) {
        _ = writeln!(out, "\n{source}\n  here:   {ours}\n  stated: {stated}");
    }
    Ok(out)
}

/// The file of answers made anew: expressions written by hand stay, others are those of the table of arguments.
pub(super) fn refresh_answers(file: &str) -> Result<String, String> {
    install_clojure()?;
    let mut numbers: BTreeMap<String, u32> =
        parse_answers(file).into_iter().filter_map(|answer| Some((answer.source, answer.divergence?))).collect();
    let by_hand = file.split_once(GENERATED).map_or(file, |(by_hand, _)| by_hand);
    let (comments, questions): (Vec<&str>, Vec<&str>) = by_hand.lines().partition(|line| line.starts_with("# "));
    let mut sources: Vec<String> = questions
        .iter()
        .map(|line| line.split('\t').next().unwrap_or(line).to_owned())
        .filter(|line| !line.is_empty())
        .collect();
    // The examples of the divergences are asked as well, so that nothing there is only claimed.
    for example in divergence_examples() {
        numbers.insert(example.source.to_owned(), example.number);
        if !sources.iter().any(|source| source == example.source) {
            sources.push(example.source.to_owned());
        }
    }
    let written = sources.len();
    let known: BTreeSet<String> = sources.iter().cloned().collect();
    sources.extend(generate_expressions().into_iter().filter(|source| !known.contains(source)));
    let answers = with_folder(|folder| ask_clojure(&sources, folder))?;
    let mut out = comments.iter().fold(String::new(), |out, line| out + line + "\n");
    for (place, (source, answer)) in sources.iter().zip(answers).enumerate() {
        if place == written {
            _ = writeln!(out, "{GENERATED}");
        }
        let Some(answer) = answer else { continue };
        let number = numbers.get(source).copied();
        let number = number.map(|number| format!("\t{number}")).unwrap_or_default();
        _ = writeln!(out, "{source}\t{answer}{number}");
    }
    Ok(out)
}

fn refresh_summary(file: &str) -> String {
    let answers = parse_answers(file);
    let open = answers.iter().filter(|answer| answer.divergence.is_none()).filter_map(open_line);
    let open: Vec<String> = open.collect();
    format!("{} answers, {} disagreements without a number\n{}", answers.len(), open.len(), open.concat())
}

fn open_line(answer: &Answer) -> Option<String> {
    let ours = answer.disagreement()?;
    let kind = if has_foreign_literal(&answer.answer) { " (a character or ratio)" } else { "" };
    Some(format!("{}\n  here:    {ours}\n  Clojure: {}{kind}\n", answer.source, answer.answer))
}

/// The name that the expression calls, or what it is instead.
fn function_of(source: &str) -> &str {
    let name = source.strip_prefix('(').and_then(|inner| inner.split([' ', ')']).next()).unwrap_or_default();
    let is_name = name.starts_with(|c: char| c.is_alphabetic() || "+-*/=<>.".contains(c));
    if is_name { name } else { "literals and calls of values" }
}

/// How the expressions about one function came out.
#[derive(Debug, Default)]
struct Agreement {
    all: usize,
    differing: BTreeMap<Option<u32>, usize>,
}

impl Agreement {
    fn add(&mut self, differs: Option<Option<u32>>) {
        self.all += 1;
        if let Some(number) = differs {
            *self.differing.entry(number).or_default() += 1;
        }
    }

    fn same(&self) -> usize {
        self.all - self.differing.values().sum::<usize>()
    }

    fn numbers(&self) -> String {
        let counts = self.differing.iter().map(|(number, count)| match number {
            Some(number) => format!("{count} by {number}"),
            None => format!("{count} without a number"),
        });
        counts.collect::<Vec<_>>().join(", ")
    }
}

/// The table of agreement by function, and every disagreement by the number of its divergence.
fn agreement_table(answers: &[Answer]) -> String {
    let mut total = Agreement::default();
    let mut functions: BTreeMap<&str, Agreement> = BTreeMap::new();
    let mut disagreements: BTreeMap<Option<u32>, Vec<String>> = BTreeMap::new();
    for answer in answers {
        let ours = answer.disagreement();
        let differs = ours.as_ref().map(|_| answer.divergence);
        total.add(differs);
        functions.entry(function_of(&answer.source)).or_default().add(differs);
        if let Some(ours) = ours {
            let cells = [answer.source.as_str(), &ours, &answer.answer].map(markdown_cell).join(" | ");
            disagreements.entry(answer.divergence).or_default().push(format!("| {cells} |\n"));
        }
    }
    let mut out = format!(
        "# PTC-Lisp next to Clojure\n\nMade by `cargo lab eval lisp`; [README](README.md) has the rule. \
         Clojure 1.11.1 gave the answers.\n\n| expressions | |\n|---|---|\n| all | {} |\n| the same value | {} |\n\
         | another one, by a numbered divergence | {} |\n| another one without a number | {} |\n\n\
         ## By function\n\n| function | expressions | the same | differing |\n|---|---|---|---|\n",
        total.all,
        total.same(),
        total.differing.iter().filter(|(number, _)| number.is_some()).map(|(_, count)| count).sum::<usize>(),
        total.differing.get(&None).copied().unwrap_or(0),
    );
    for (function, agreement) in &functions {
        let (all, same, numbers) = (agreement.all, agreement.same(), agreement.numbers());
        _ = writeln!(out, "| {} | {all} | {same} | {numbers} |", function.replace('|', "\\|"));
    }
    out.push_str("\n## By divergence\n\nThe titles and reasons are in [the reference](../../docs/reference/lisp/divergences.md).\n");
    for (number, lines) in &disagreements {
        let title = number.and_then(divergence_title).unwrap_or("Without a number");
        _ = writeln!(
            out,
            "\n### {title}\n\n| expression | here | Clojure |\n|---|---|---|\n{}",
            lines.concat().trim_end()
        );
    }
    out
}

fn divergence_title(number: u32) -> Option<&'static str> {
    let titles = DIVERGENCES.lines().filter_map(|line| line.strip_prefix("## "));
    titles.into_iter().find(|title| title.starts_with(&format!("{number}. ")))
}

fn markdown_cell(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|").replace('`', "'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_table_is_that_of_the_answers() {
        let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(RESULTS);
        assert_eq!(agreement_table(&parse_answers(ANSWERS)), std::fs::read_to_string(committed).unwrap());
    }

    #[test]
    fn every_expression_is_written_by_hand_or_generated_from_the_table() {
        let generated: BTreeSet<String> = generate_expressions().into_iter().collect();
        let (by_hand, rest) = ANSWERS.split_once(GENERATED).unwrap();
        assert!(!by_hand.is_empty());
        for answer in parse_answers(rest) {
            assert!(generated.contains(&answer.source), "{} is in neither", answer.source);
        }
    }

    #[test]
    fn a_disagreement_without_a_number_is_listed_as_one() {
        let answers = parse_answers("(inc 1)\t2\n(inc 2)\t4\n(get {\"a\" 1} :a)\tnil\t5\n(inc nil)\tERR\n");
        let table = agreement_table(&answers);
        assert!(table.contains("| inc | 3 | 2 | 1 without a number |"), "{table}");
        assert!(table.contains(
            "### Without a number\n\n| expression | here | Clojure |\n|---|---|---|\n| `(inc 2)` | `3` | `4` |"
        ));
        assert!(table.contains("| get | 1 | 0 | 1 by 5 |"), "{table}");
    }
}
