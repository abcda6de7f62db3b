//! The inputs of runs: files, standard input, `--set`.

use std::io::{IsTerminal as _, Read as _};
use std::path::Path;
use std::sync::Arc;

use proem_engine::ordered::{Fields, Ordered};
use proem_runtime::files;

use crate::args::Run;
use crate::failure::Failure;
use crate::ui;

/// The most bytes of one run's inputs.
pub(super) const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The inputs of a single run.
pub(super) fn one(args: &Run) -> Result<Ordered, Failure> {
    let mut inputs = match &args.input {
        None => Fields::default().into(),
        Some(path) => {
            let shown = shown(path);
            let text = read(path, &shown)?;
            serde_json::from_str(&text).map_err(|error| not_json(&shown, &error))?
        }
    };
    set(&mut inputs, args)?;
    Ok(inputs)
}

/// Lays what `--set` says over inputs.
pub(super) fn set(inputs: &mut Ordered, args: &Run) -> Result<(), Failure> {
    let Ordered::Map(fields) = inputs else {
        return Err(Failure::usage("the input is not a JSON object; give one with the prompt's inputs by name"));
    };
    let fields = Arc::make_mut(fields);
    for (name, text) in &args.set {
        fields.insert(name.as_str(), Ordered::from(text.as_str()));
    }
    Ok(())
}

/// What messages call a file.
pub(super) fn shown(path: &Path) -> String {
    if path.as_os_str() == "-" {
        "standard input".to_owned()
    } else {
        format!("`{}`", proem_guard::show::terminal_str(&path.display().to_string()))
    }
}

fn not_json(shown: &str, error: &serde_json::Error) -> Failure {
    // The message of the parser doesn't quote what stands there.
    Failure::usage(format!("{shown} is not JSON: {error}; give an object with the prompt's inputs by name"))
}

fn read(path: &Path, shown: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = if path.as_os_str() == "-" {
        if std::io::stdin().is_terminal() {
            ui::note("reading the inputs from the terminal; end them with Ctrl-D");
        }
        std::io::stdin().lock().take(MAX_BYTES.saturating_add(1)).read_to_end(&mut bytes)
    } else {
        let file = files::open(path).map_err(|e| Failure::usage(format!("could not open {shown}: {e}")))?;
        file.take(MAX_BYTES.saturating_add(1)).read_to_end(&mut bytes)
    };
    read.map_err(|e| Failure::outside(format!("could not read {shown}: {e}")))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Failure::usage(format!("{shown} has more than {MAX_BYTES} bytes; give the prompt less to read")));
    }
    String::from_utf8(bytes).map_err(|_| Failure::usage(format!("{shown} is not UTF-8; convert it")))
}
