//! `proem tokens`

use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;

use proem_engine::providers::{Model, Providers, Tokeniser};
use proem_engine::tokens::{Exactness, OpenAi, TokenCounter};
use proem_guard::show;
use proem_runtime::git::GitProgram;
use proem_runtime::{Environment, files};
use proem_text::json;
use serde_json::json;

use crate::args::Tokens;
use crate::failure::Failure;
use crate::ui::{self, DIM, LEAD, grouped, styled};
use proem_app::calling;
use proem_app::config::Config;
use proem_app::factors::Factors;
use proem_app::places::Places;
use proem_app::project::Project;

/// The largest file that is counted, in bytes.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// A column of the table.
struct Column {
    title: String,
    exactness: Exactness,
    counter: Box<dyn TokenCounter>,
    basis: Basis,
}

/// What a count is made by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Basis {
    /// The model's own tokeniser.
    Own,
    /// Another tokeniser, by a factor that somebody measured.
    Measured,
    /// Another tokeniser, by the factor that recorded calls gave here.
    Fitted,
    /// Another tokeniser; how much the two differ is not known.
    Unmeasured,
}

/// One counted file.
struct Counted {
    name: String,
    bytes: usize,
    tokens: Vec<usize>,
}

pub(super) fn run(args: &Tokens) -> Result<ExitCode, Failure> {
    let columns = columns(args)?;
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

fn columns(args: &Tokens) -> Result<Vec<Column>, Failure> {
    let places = crate::places()?;
    let wanted = calling::WantedModel {
        model: args.model.as_deref(),
        provider: args.provider.as_deref(),
        prompt: Some("small"),
    };
    let asked = calling::ask(&config(args, &places)?, &Providers::load()?, &wanted, &Environment::inherited())?;
    let column = Column::of(asked.model, &Factors::load(&places)?);
    if args.model.is_some() || args.provider.is_some() {
        return Ok(vec![column]);
    }
    Ok(vec![Column::of_tokeniser(OpenAi::O200k), Column::of_tokeniser(OpenAi::Cl100k), column])
}

/// The configuration that counts in the folder; without git, the user's own.
fn config(args: &Tokens, places: &Places) -> Result<Config, Failure> {
    if GitProgram::find(&Environment::inherited()).is_err() {
        return Ok(Config::of_user(&places.config_file())?);
    }
    let project = Project::without_book(&args.root, places)?;
    ui::notes(&project.all_notes());
    Ok(project.config)
}

impl Column {
    fn of_tokeniser(tokeniser: OpenAi) -> Self {
        Self {
            title: tokeniser.name().to_owned(),
            exactness: Exactness::Exact,
            counter: Box::new(tokeniser),
            basis: Basis::Own,
        }
    }

    fn of(mut model: Model, factors: &Factors) -> Self {
        let fitted = factors.apply(&mut model).is_some();
        let basis = match &model.tokeniser {
            Tokeniser::Exact(_) => Basis::Own,
            Tokeniser::Estimate { .. } if fitted => Basis::Fitted,
            Tokeniser::Estimate { sources, .. } if sources.iter().any(|source| source == "unmeasured") => {
                Basis::Unmeasured
            }
            Tokeniser::Estimate { .. } => Basis::Measured,
        };
        let counter = model.counter();
        Self { title: model.name, exactness: counter.exactness(), counter, basis }
    }

    /// What an estimate is made by, in words; `None` for an exact count.
    fn estimate(&self) -> Option<String> {
        let how = format!("{} = {}", show::terminal_str(&self.title), self.counter.name());
        Some(match self.basis {
            Basis::Own => return None,
            Basis::Measured => format!("≈ is an estimate, because this tokeniser isn't public: {how}"),
            Basis::Fitted => format!("≈ is an estimate, based on recorded calls: {how}"),
            Basis::Unmeasured => format!(
                "≈ is an unverified estimate, because the tokeniser isn't known: {how}; `proem cost fit` compares it \
                 with recorded calls"
            ),
        })
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
        .map_err(|e| format!("is not UTF-8 from byte {} on; only text has tokens", e.utf8_error().valid_up_to()))
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
        Exactness::Exact => show::terminal_str(&column.title).into_string(),
        Exactness::Estimate => format!("≈ {}", show::terminal_str(&column.title)),
    };
    let shown = |file: &Counted| show::terminal_str(&file.name).into_string();
    let longest = counted.iter().map(|file| shown(file).chars().count()).max().unwrap_or(0).max(5);
    let widths: Vec<usize> = columns.iter().map(|column| title(column).chars().count().max(11)).collect();
    let mut head = format!("  {:longest$}  {:>13}", "file", "bytes");
    for (column, width) in columns.iter().zip(&widths) {
        head.push_str(&format!("  {:>width$}", title(column)));
    }
    let row = |(lead, name): (&str, &str), bytes: usize, tokens: &[usize]| {
        let mut line = format!("{lead}{name:longest$}  {:>13}", grouped(bytes));
        for (tokens, width) in tokens.iter().zip(&widths) {
            line.push_str(&format!("  {:>width$}", grouped(*tokens)));
        }
        line
    };
    let mut out = format!("{}\n", styled(DIM, &head));
    for file in counted {
        out.push_str(&format!("{}\n", row((LEAD, &shown(file)), file.bytes, &file.tokens)));
    }
    if counted.len() > 1 {
        let bytes = counted.iter().map(|file| file.bytes).sum();
        out.push_str(&format!("{}\n", row(("  ", "total"), bytes, &totals(columns, counted))));
    }
    ui::listing(&out)?;
    columns.iter().filter_map(Column::estimate).for_each(|words| ui::note(&words));
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
    ui::document(&json::pretty(&out))
}
