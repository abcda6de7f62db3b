//! `proem-lab pack`: raw data becomes the files that crates embed.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use proem_embed::{StaticModel, StaticModelParts};
use proem_select::embedding::Embedder as _;

use crate::npy::Array;

/// The thing to pack.
#[derive(Debug, Subcommand)]
pub(crate) enum Pack {
    /// Packs a static embedding model: a table of `i8`, its scales of `f2` and its vocabulary.
    Embed {
        /// Folder with `table-256-int8.npy`, `scale-256.npy` and `vocab.txt`.
        #[arg(long, value_name = "DIR")]
        from: PathBuf,
        /// File to write.
        #[arg(long, value_name = "FILE")]
        to: PathBuf,
    },
}

/// Runs the command and says what it made.
pub(crate) fn run_pack(pack: &Pack) -> Result<String, String> {
    match pack {
        Pack::Embed { from, to } => pack_embedding(from, to),
    }
}

fn pack_embedding(from: &Path, to: &Path) -> Result<String, String> {
    let file = pack_raw_folder(from, &|_, scale| scale)?;
    let model = StaticModel::load(&file).map_err(|error| error.to_string())?;
    model.verify().map_err(|error| error.to_string())?;
    std::fs::write(to, &file).map_err(|error| format!("could not write `{}`: {error}", to.display()))?;
    let (id, rows, dimension) = (model.model(), model.rows(), model.dimension());
    Ok(format!("{id}: {rows} rows of {dimension}, {} bytes, written to {}\n", file.len(), to.display()))
}

/// Packs the raw files of a folder, each row's scale as `scale` makes it.
pub(crate) fn pack_raw_folder(from: &Path, scale_of: &dyn Fn(usize, f32) -> f32) -> Result<Vec<u8>, String> {
    let read = |name: &str| {
        let path = from.join(name);
        std::fs::read(&path).map_err(|error| format!("could not read `{}`: {error}", path.display()))
    };
    let named = |name: &str, problem: String| format!("`{}`: {problem}", from.join(name).display());
    let (table, scale, vocabulary) = ("table-256-int8.npy", "scale-256.npy", "vocab.txt");
    let (table_bytes, scale_bytes) = (read(table)?, read(scale)?);
    let text = String::from_utf8(read(vocabulary)?).map_err(|error| named(vocabulary, error.to_string()))?;

    let rows = Array::parse(&table_bytes).map_err(|problem| named(table, problem))?;
    let (values, dimension) = rows.bytes_of_rows().map_err(|problem| named(table, problem))?;
    let scales =
        Array::parse(&scale_bytes).and_then(|array| array.halves()).map_err(|problem| named(scale, problem))?;
    let tokens: Vec<&str> = text.lines().collect();

    let scales: Vec<f32> = scales.into_iter().enumerate().map(|(row, scale)| scale_of(row, scale)).collect();
    proem_embed::pack(&StaticModelParts { dimension, tokens: &tokens, scales: &scales, values: &values })
        .map_err(|error| error.to_string())
}
