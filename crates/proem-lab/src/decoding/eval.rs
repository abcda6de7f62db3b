//! `proem-lab eval decoding`: which value is read of judged answers, beside two libraries that repair JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use proem_engine::contract::Contract;
use proem_engine::decode::decode_value;
use proem_score::interval::{Z95, wilson};
use serde::Deserialize;
use serde_json::Value as Json;

use super::modes;

/// Measures which value is read of judged answers, beside two libraries.
#[derive(Debug, Args)]
pub(crate) struct EvalDecoding {
    /// The Python that has `json_repair`.
    #[arg(long, value_name = "PROGRAM")]
    python: Option<PathBuf>,
    /// The folder whose `node_modules` has `jsonrepair`.
    #[arg(long, value_name = "DIR")]
    node: Option<PathBuf>,
    /// Show the answers of which another value is read than the one meant, and write nothing. An answer that was looked
    /// at measures nothing any more: mark it as `seen`.
    #[arg(long)]
    show: bool,
    /// The workspace's folder, whose `evals/decoding/scores.md` is written.
    #[arg(long, value_name = "DIR", default_value = ".")]
    to: PathBuf,
}

const FOLDER: &str = "evals/decoding";

/// The files of judged answers.
const FILES: [&str; 2] = ["answers.jsonl", "unseen.jsonl"];

/// The parts of the answers, in the order of the table.
const SPLITS: [&str; 6] = ["tune", "seen", "measure", "repair", "checked", UNSEEN];

/// The part whose answers are never shown: it stays a measure only while nobody repairs for it.
const UNSEEN: &str = "unseen";

/// Reads answers, one as a JSON text on each line, and writes what the library makes of each.
const PYTHON: &str = "import sys, json, json_repair
from importlib.metadata import version
print(json.dumps('json_repair ' + version('json_repair')))
for line in sys.stdin:
    try: print(json.dumps(json_repair.loads(json.loads(line)), allow_nan=False))
    except Exception: print('null')";
const NODE: &str = "const {jsonrepair} = require('jsonrepair');
const {version} = JSON.parse(require('fs').readFileSync('node_modules/jsonrepair/package.json', 'utf8'));
console.log(JSON.stringify('jsonrepair ' + version));
for (const line of require('fs').readFileSync(0, 'utf8').trimEnd().split('\\n')) {
    let value = null;
    try { value = JSON.parse(jsonrepair(JSON.parse(line))); } catch {}
    console.log(JSON.stringify(value));
}";

/// An answer with the value that was meant. `None` where the model is to be asked again.
#[derive(Debug, Deserialize)]
struct JudgedAnswer {
    origin: String,
    contract: String,
    split: String,
    answer: String,
    meant: Option<Json>,
}

/// A reader's answers, one for each judged answer.
struct Reader {
    name: String,
    values: Vec<Option<Json>>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    answers: usize,
    meant: usize,
    wrong: usize,
    lost: usize,
}

pub(crate) fn run_eval_decoding(args: &EvalDecoding) -> Result<String, String> {
    let folder = args.to.join(FOLDER);
    let contracts = contracts(&read_eval_file(&folder.join("contracts.json"))?)?;
    let mut answers: Vec<JudgedAnswer> = Vec::new();
    for name in FILES {
        for line in read_eval_file(&folder.join(name))?.lines() {
            answers.push(serde_json::from_str(line).map_err(|error| format!("`{name}`: {error}"))?);
        }
    }
    let mut readers = vec![Reader { name: "Proem".to_owned(), values: own_values(&answers, &contracts)? }];
    if let Some(python) = &args.python {
        readers.push(library(Command::new(python).args(["-c", PYTHON]), &answers, &contracts)?);
    }
    if let Some(node) = &args.node {
        readers.push(library(Command::new("node").args(["-e", NODE]).current_dir(node), &answers, &contracts)?);
    }
    if args.show {
        return Ok(wrong_readings(&answers, &readers));
    }
    let table = readers_table(&answers, &readers);
    let modes = modes::modes_table(&read_eval_file(&folder.join("modes.jsonl"))?)?;
    for (name, text) in [("scores.md", &table), ("modes.md", &modes)] {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|error| format!("could not write `{}`: {error}", path.display()))?;
    }
    Ok(format!("{table}\n{modes}"))
}

fn read_eval_file(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("could not read `{}`: {error}", path.display()))
}

fn contracts(text: &str) -> Result<BTreeMap<String, Contract>, String> {
    let schemas: BTreeMap<String, Json> =
        serde_json::from_str(text).map_err(|error| format!("`contracts.json`: {error}"))?;
    let compile = |(name, schema): (String, Json)| {
        let contract = Contract::new(&name, "", schema).map_err(|error| error.to_string())?;
        Ok((name, contract))
    };
    schemas.into_iter().map(compile).collect()
}

fn contract<'c>(contracts: &'c BTreeMap<String, Contract>, answer: &JudgedAnswer) -> Result<&'c Contract, String> {
    contracts.get(&answer.contract).ok_or_else(|| format!("there is no contract `{}`", answer.contract))
}

/// A run's accepted values: each meets its contract and lost nothing on the way.
fn own_values(answers: &[JudgedAnswer], contracts: &BTreeMap<String, Contract>) -> Result<Vec<Option<Json>>, String> {
    let read = |answer: &JudgedAnswer| {
        let contract = contract(contracts, answer)?;
        Ok(accepted_value(&answer.answer, contract))
    };
    answers.iter().map(read).collect()
}

/// The value that a run takes from an answer.
pub(super) fn accepted_value(answer: &str, contract: &Contract) -> Option<Json> {
    let decoded = decode_value(answer, contract).ok().filter(|decoded| decoded.losses().next().is_none())?;
    contract.accepts(&decoded.value).then_some(decoded.value)
}

/// A library's repair, if the result meets the contract.
fn library(
    command: &mut Command,
    answers: &[JudgedAnswer],
    contracts: &BTreeMap<String, Contract>,
) -> Result<Reader, String> {
    let failed = |error: std::io::Error| format!("could not run the library: {error}");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(failed)?;
    let mut input = child.stdin.take().ok_or("the library takes no input")?;
    let lines: String = answers.iter().map(|answer| format!("{}\n", Json::from(answer.answer.as_str()))).collect();
    // The library writes while it reads: only a thread of its own keeps both pipes moving.
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = child.wait_with_output().map_err(failed)?;
    writer.join().map_err(|_| "writing to the library failed".to_owned())?.map_err(failed)?;
    let text = String::from_utf8(output.stdout).map_err(|error| error.to_string())?;
    let mut lines = text.lines().map(|line| serde_json::from_str::<Json>(line).map_err(|error| error.to_string()));
    let name = lines.next().ok_or("the library wrote nothing; is it installed?")??;
    let values: Vec<Json> = lines.collect::<Result<_, _>>()?;
    if values.len() != answers.len() {
        return Err(format!("the library read {} of {} answers", values.len(), answers.len()));
    }
    let accepted = |(value, answer): (Json, &JudgedAnswer)| {
        Ok(Some(value).filter(|value| contract(contracts, answer).is_ok_and(|contract| contract.accepts(value))))
    };
    let values = values.into_iter().zip(answers).map(accepted).collect::<Result<_, String>>()?;
    Ok(Reader { name: name.as_str().unwrap_or("unnamed").to_owned(), values })
}

/// Whether `value` is what was meant. Numbers are compared by value: `3e1` is 30.
fn is_meant(answer: &JudgedAnswer, value: Option<&Json>) -> bool {
    match (value, &answer.meant) {
        (Some(value), Some(meant)) => is_same(value, meant),
        (value, meant) => value.is_none() && meant.is_none(),
    }
}

fn is_same(one: &Json, other: &Json) -> bool {
    match (one, other) {
        (Json::Number(one), Json::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Json::Array(one), Json::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Json::Object(one), Json::Object(other)) => {
            let is_same = |(name, one): (&String, &Json)| other.get(name).is_some_and(|other| is_same(one, other));
            one.len() == other.len() && one.iter().all(is_same)
        }
        (one, other) => one == other,
    }
}

/// Counts what a reader makes of the answers that `keep` keeps.
fn tally_answers(answers: &[JudgedAnswer], values: &[Option<Json>], keep: impl Fn(&JudgedAnswer) -> bool) -> Tally {
    let mut tally = Tally::default();
    for (answer, value) in answers.iter().zip(values).filter(|(answer, _)| keep(answer)) {
        tally.answers += 1;
        tally.meant += usize::from(answer.meant.is_some());
        tally.wrong += usize::from(value.is_some() && !is_meant(answer, value.as_ref()));
        tally.lost += usize::from(value.is_none() && answer.meant.is_some());
    }
    tally
}

/// The answers that Proem reads another value of than the one meant.
fn wrong_readings(answers: &[JudgedAnswer], readers: &[Reader]) -> String {
    let mut text = String::new();
    for (answer, value) in answers.iter().zip(readers.iter().take(1).flat_map(|reader| &reader.values)) {
        if !is_meant(answer, value.as_ref()) && answer.split != UNSEEN {
            let JudgedAnswer { split, contract, answer, meant, .. } = answer;
            let of = |value: &Option<Json>| value.as_ref().map_or_else(|| "none".to_owned(), Json::to_string);
            _ = writeln!(text, "{split} {contract}: meant {}, read {}\n{answer}\n", of(meant), of(value));
        }
    }
    text
}

fn readers_table(answers: &[JudgedAnswer], readers: &[Reader]) -> String {
    let mut table = String::from(
        "# Decoding: scores\n\nMade by `cargo lab eval decoding --python PYTHON --node DIR`; the [card](README.md) says \
         what is counted. A library's value counts if it meets the contract. In brackets are the share and its 95 % \
         interval (Wilson).\n\n\
         | answers | reader | of | wrong value | of values | lost value |\n|---|---|---|---|---|---|\n",
    );
    let mut part = |name: &str, keep: &dyn Fn(&JudgedAnswer) -> bool| {
        for reader in readers {
            let Tally { answers, meant, wrong, lost } = tally_answers(answers, &reader.values, keep);
            let (wrong_share, lost_share) = (share(wrong, answers), share(lost, meant));
            _ = writeln!(
                table,
                "| {name} | {} | {answers} | {wrong} ({wrong_share}) | {meant} | {lost} ({lost_share}) |",
                reader.name
            );
        }
    };
    for split in SPLITS {
        part(split, &|answer| answer.split == split);
    }
    part("all", &|_| true);
    part("of a model", &|answer| answer.origin != "written");
    table
}

/// A share in percent with its 95 % interval.
fn share(part: usize, whole: usize) -> String {
    let [part, whole] = [part, whole].map(|count| u64::try_from(count).unwrap_or(u64::MAX));
    let percent = |thousandths: f64| format!("{:.1}", 100.0 * thousandths);
    let Some(between) = wilson(part, whole, Z95) else { return "-".to_owned() };
    let tenths = part.saturating_mul(1000).checked_div(whole).unwrap_or(0);
    format!("{}.{} %, {}–{}", tenths / 10, tenths % 10, percent(between.low), percent(between.high))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn wrong_and_lost_values_are_told_apart() {
        let answer = |meant: Option<Json>| JudgedAnswer {
            origin: "written".into(),
            contract: "c".into(),
            split: "tune".into(),
            answer: String::new(),
            meant,
        };
        let answers =
            [answer(Some(json!(1))), answer(Some(json!(1))), answer(Some(json!(1))), answer(None), answer(None)];
        let values = [Some(json!(1)), Some(json!(2)), None, Some(json!(3)), None];
        let expected = Tally { answers: 5, meant: 3, wrong: 2, lost: 1 };
        assert_eq!(tally_answers(&answers, &values, |_| true), expected);
        assert_eq!(share(1, 348), "0.2 %, 0.1–1.6");
    }

    #[test]
    fn the_committed_scores_are_those_of_this_decoder() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join(FOLDER);
        std::fs::create_dir_all(&to).unwrap();
        for name in FILES.into_iter().chain(["contracts.json", "modes.jsonl"]) {
            std::fs::copy(root.join(FOLDER).join(name), to.join(name)).unwrap();
        }
        let table =
            run_eval_decoding(&EvalDecoding { python: None, node: None, show: false, to: folder.path().to_owned() })
                .unwrap();
        let committed = std::fs::read_to_string(root.join(FOLDER).join("scores.md")).unwrap();
        let own = |text: &str| -> Vec<String> {
            text.lines().filter(|line| line.contains("| Proem |")).map(str::to_owned).collect()
        };
        assert_eq!(own(&table), own(&committed));
        let modes = std::fs::read_to_string(root.join(FOLDER).join("modes.md")).unwrap();
        assert!(table.ends_with(&modes), "{table}");
    }
}
