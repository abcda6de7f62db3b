//! The documents below `docs/reference/`, generated and compared with what is committed.
//!
//! `cargo xtask docs` runs this with `PROEM_UPDATE_REFERENCE=1`, which writes them instead.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may stop the test; clippy's exceptions cover test functions only"
)]

use std::{
    fs,
    num::{NonZeroU64, NonZeroUsize},
    path::PathBuf,
    process::Command,
};

use proem_engine::providers::{CacheControl, Model, Prices, Provider, Providers, Tokeniser};

/// Compares a document with the committed one, or writes it.
#[track_caller]
fn check(name: &str, generated: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
    if std::env::var_os("PROEM_UPDATE_REFERENCE").is_some_and(|value| value == "1") {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, generated).unwrap();
        return;
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    let differs = committed.lines().zip(generated.lines()).position(|(old, new)| old != new);
    let line = differs.unwrap_or_else(|| committed.lines().count().min(generated.lines().count())) + 1;
    assert!(committed == generated, "docs/reference/{name} is out of date from line {line} on; run `cargo xtask docs`");
}

/// The binary's output, 100 columns wide.
fn proem_output(args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_proem"));
    let output = command.env_clear().env("COLUMNS", "100").env("HOME", "/nowhere").args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Text without the spaces that clap leaves at line ends.
fn trimmed(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[test]
fn command_line() {
    let mut out = String::from(
        "# The command line\n\nData goes to standard output, everything else to standard error. Exit codes: 0 success,\n\
         1 a finding or a negative answer, 2 a usage or configuration error, 3 an external failure (git,\n\
         network, files), 130 ended at once by a second ^C.\n",
    );
    let mut commands = vec![Vec::new()];
    while let Some(path) = commands.pop() {
        let help = trimmed(&proem_output(&[&path[..], &["--help"]].concat()));
        let title = [&["proem"][..], &path].concat().join(" ");
        out.push_str(&format!("\n## `{title}`\n\n```text\n{help}```\n"));
        let below = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
        // A continued line is indented further.
        let begun = below.filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')));
        let names: Vec<String> = begun.filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect();
        for name in names.into_iter().rev().filter(|name| name != "help") {
            commands.push([&path[..], &[&*name.leak()]].concat());
        }
    }
    check("cli.md", &out);
}

#[test]
fn configuration() {
    check("configuration.md", &proem_output(&["reference"]));
}

/// The names of the schemas, as the command lists them.
fn schema_names() -> Vec<String> {
    let listed = proem_output(&["schema"]);
    listed.lines().map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
}

#[test]
fn schemas() {
    for name in schema_names() {
        check(&format!("{name}.schema.json"), &proem_output(&["schema", &name]));
    }
}

#[test]
fn every_schema_file_can_be_printed_and_is_a_schema() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut files: Vec<String> =
        files.filter_map(|file| file.strip_suffix(".schema.json").map(str::to_owned)).collect();
    files.sort();
    assert_eq!(files, schema_names(), "`proem schema` lists the names in order");
    for name in files {
        let schema = serde_json::from_str(&proem_output(&["schema", &name])).unwrap();
        jsonschema::meta::validate(&schema).unwrap_or_else(|problem| panic!("{name}: {problem}"));
        jsonschema::validator_for(&schema).unwrap();
    }
}

#[test]
fn models() {
    let providers = Providers::load().unwrap();
    let mut out = format!(
        "# Models\n\nWhat Proem knows about models, as of {}. `small` is {}, `large` is\n{}. An empty cell is unknown, never \
         zero. A counter with a factor is an estimate, since the\ntokeniser isn't public; `not measured` says that nobody \
         checked the factor. The data file with its\nremarks is `crates/proem-engine/data/providers.toml`.\n\n\
         | model | provider | window | longest answer | shortest cached prefix | counter |\n|---|---|---:|---:|---:|---|\n",
        providers.version(),
        providers.model("small").unwrap().name,
        providers.model("large").unwrap().name,
    );
    for model in providers.models() {
        let counter = model.counter().name().to_owned();
        let remark = match &model.tokeniser {
            Tokeniser::Estimate { sources, .. } if sources.iter().any(|source| source == "unmeasured") => {
                ", not measured"
            }
            _ => "",
        };
        out.push_str(&format!(
            "| {} | {} | {} | {} | {} | {counter}{remark} |\n",
            model.name,
            provider(model),
            token_count(model.context_tokens),
            token_count(model.output_tokens),
            token_count(model.min_prefix_tokens)
        ));
    }
    out.push_str("\n## Prices\n\nIn dollars per million tokens.\n\n| model | prompts | input | output | cache read | cache write | seen |\n|---|---|---:|---:|---:|---|---|\n");
    for model in providers.models() {
        model.prices.iter().for_each(|prices| out.push_str(&price_row(model, prices)));
    }
    out.push_str("\n## Sources\n\n");
    for model in providers.models() {
        let mode = match model.caching.mode {
            CacheControl::Explicit => "caches up to breakpoints",
            CacheControl::Implicit => "caches by itself",
            CacheControl::Never => "caches nothing",
        };
        out.push_str(&format!("- {} ({mode}): {}\n", model.name, addresses(model)));
    }
    check("models.md", &out);
}

fn provider(model: &Model) -> &'static str {
    match model.provider() {
        Provider::Anthropic => "Anthropic",
        Provider::OpenAi => "OpenAI",
    }
}

fn token_count(count: Option<NonZeroUsize>) -> String {
    let Some(count) = count else { return String::new() };
    let digits = count.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap()).collect();
    groups.join(",")
}

/// Nano-dollars a token as dollars a million tokens.
fn dollars(price: NonZeroU64) -> String {
    format!("{}.{:03}", price.get() / 1000, price.get() % 1000).trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn price_row(model: &Model, prices: &Prices) -> String {
    let prompts = prices.up_to_tokens.map_or_else(
        || if model.prices.len() > 1 { "longer".to_owned() } else { "any".to_owned() },
        |limit| format!("up to {}", token_count(Some(limit))),
    );
    let writes: Vec<String> = prices
        .cache_writes
        .iter()
        .map(|write| format!("{} for {} min", dollars(write.price), write.seconds.get() / 60))
        .collect();
    format!(
        "| {} | {prompts} | {} | {} | {} | {} | {} |\n",
        model.name,
        dollars(prices.input),
        dollars(prices.output),
        prices.cache_read.map(dollars).unwrap_or_default(),
        writes.join(", "),
        prices.as_of
    )
}

fn addresses(model: &Model) -> String {
    let measured = match &model.tokeniser {
        Tokeniser::Exact(_) => &[][..],
        Tokeniser::Estimate { sources, .. } => sources,
    };
    let mut all: Vec<String> = Vec::new();
    let sources = model.sources.iter().chain(&model.caching.sources).chain(measured);
    for source in sources.filter(|source| source.starts_with("https://")) {
        let address = format!("<{source}>");
        if !all.contains(&address) {
            all.push(address);
        }
    }
    all.join(", ")
}
