//! `proem tokens`

use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;

use proem_engine::providers::Providers;
use proem_engine::tokens::{Exactness, OpenAi, TokenCounter};
use proem_guard::show;
use proem_runtime::files;
use proem_text::json;
use serde_json::json;

use crate::args::Tokens;
use crate::factors::Factors;
use crate::failure::Failure;
use crate::places::Places;
use crate::ui::{self, DIM, grouped, styled};

/// The largest file that is counted, in bytes.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// A column of the table.
struct Column {
    title: String,
    exactness: Exactness,
    counter: Box<dyn TokenCounter>,
}

/// One counted file.
struct Counted {
    name: String,
    bytes: usize,
    tokens: Vec<usize>,
}

pub(super) fn run(args: &Tokens) -> Result<ExitCode, Failure> {
    let columns = columns(args.model.as_deref())?;
    let mut counted = Vec::new();
    let mut failures = Vec::new();
    for path in &args.files {
        let name = path.display().to_string();
        match read(path) {
            Ok(text) => {
                let tokens = columns.iter().map(|column| column.counter.count(&text)).collect();
                counted.push(Counted { name, bytes: text.len(), tokens });
            }
            Err(why) => failures.push(format!("`{}` {why}", show::terminal_str(&name))),
        }
    }
    if args.json {
        print_json(&columns, &counted, &failures)?;
    } else {
        print_table(&columns, &counted)?;
    }
    if failures.is_empty() { Ok(ExitCode::SUCCESS) } else { Err(Failure::outside(failures.join("\n"))) }
}

fn columns(model: Option<&str>) -> Result<Vec<Column>, Failure> {
    let (providers, factors) = (Providers::load()?, Factors::load(&Places::find()?)?);
    let of = |name: &str| -> Result<Column, Failure> {
        let mut model = providers.model(name)?.clone();
        factors.apply(&mut model);
        let counter = model.counter();
        Ok(Column { title: model.name.clone(), exactness: counter.exactness(), counter })
    };
    match model {
        Some(name) => Ok(vec![of(name)?]),
        None => Ok(vec![
            Column { title: "o200k".into(), exactness: Exactness::Exact, counter: Box::new(OpenAi::O200k) },
            Column { title: "cl100k".into(), exactness: Exactness::Exact, counter: Box::new(OpenAi::Cl100k) },
            of("small")?,
        ]),
    }
}

fn read(path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin().lock().take(MAX_BYTES.saturating_add(1)).read_to_end(&mut bytes)
    } else {
        files::open(path).and_then(|file| file.take(MAX_BYTES.saturating_add(1)).read_to_end(&mut bytes))
    };
    read.map_err(|e| format!("could not be read: {e}"))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!("is larger than {MAX_BYTES} bytes; split it"));
    }
    String::from_utf8(bytes)
        .map_err(|e| format!("is not UTF-8 from byte {} on; tokens are counted of text", e.utf8_error().valid_up_to()))
}

fn totals(columns: &[Column], counted: &[Counted]) -> Vec<usize> {
    let sum = |index: usize| counted.iter().filter_map(|file| file.tokens.get(index)).sum();
    (0..columns.len()).map(sum).collect()
}

fn print_table(columns: &[Column], counted: &[Counted]) -> Result<(), Failure> {
    if counted.is_empty() {
        return Ok(());
    }
    let title = |column: &Column| match column.exactness {
        Exactness::Exact => column.title.clone(),
        Exactness::Estimate => format!("≈ {}", column.title),
    };
    let shown = |file: &Counted| show::terminal_str(&file.name).into_string();
    let longest = counted.iter().map(|file| shown(file).chars().count()).max().unwrap_or(0).max(5);
    let widths: Vec<usize> = columns.iter().map(|column| title(column).chars().count().max(11)).collect();
    let mut head = format!("{:longest$}  {:>13}", "file", "bytes");
    for (column, width) in columns.iter().zip(&widths) {
        head.push_str(&format!("  {:>width$}", title(column)));
    }
    let row = |name: &str, bytes: usize, tokens: &[usize]| {
        let mut line = format!("{name:longest$}  {:>13}", grouped(bytes));
        for (tokens, width) in tokens.iter().zip(&widths) {
            line.push_str(&format!("  {:>width$}", grouped(*tokens)));
        }
        line
    };
    let mut out = format!("{}\n", styled(DIM, &head));
    for file in counted {
        out.push_str(&format!("{}\n", row(&shown(file), file.bytes, &file.tokens)));
    }
    if counted.len() > 1 {
        let bytes = counted.iter().map(|file| file.bytes).sum();
        out.push_str(&format!("{}\n", row("total", bytes, &totals(columns, counted))));
    }
    ui::listing(&out)?;
    if columns.iter().any(|column| column.exactness == Exactness::Estimate) {
        let names: Vec<String> = columns
            .iter()
            .filter(|column| column.exactness == Exactness::Estimate)
            .map(|column| format!("{} = {}", column.title, column.counter.name()))
            .collect();
        ui::note(&format!("≈ is an estimate, since this tokeniser isn't public: {}", names.join(", ")));
    }
    Ok(())
}

fn print_json(columns: &[Column], counted: &[Counted], failures: &[String]) -> Result<(), Failure> {
    let by_column = |tokens: &[usize]| -> serde_json::Value {
        columns
            .iter()
            .zip(tokens)
            .map(|(column, tokens)| (column.title.clone(), json!(tokens)))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    let files: Vec<serde_json::Value> = counted
        .iter()
        .map(|file| json!({ "file": file.name, "bytes": file.bytes, "tokens": by_column(&file.tokens) }))
        .collect();
    let counters: serde_json::Map<String, serde_json::Value> = columns
        .iter()
        .map(|column| {
            (column.title.clone(), json!({ "counter": column.counter.name(), "exactness": column.exactness }))
        })
        .collect();
    let out = json!({ "files": files, "totals": by_column(&totals(columns, counted)), "counters": counters, "unread": failures });
    ui::data(&format!("{}\n", json::pretty(&out)))
}
