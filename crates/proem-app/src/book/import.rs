//! Imports prompts of other tools into a book.
//!
//! Invariants: nothing is written if anything is refused. No file that exists is changed. No file outside the folder of
//! a source is read, and no link is followed below it; what is written is untrusted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use proem_engine::prompt::book::{Book, BookLayer};
use proem_engine::prompt::check::check_book;
use proem_engine::prompt::file::PartialText;
use proem_engine::prompt::import::{
    ImportKind, ImportSource, MAX_SOURCE_BYTES, UnknownChecks, WrittenPrompt, files_beside_source, read_prompts,
    recognise_source, write_prompt,
};
use proem_engine::prompt::origin::Origin;
use proem_engine::tokens::OpenAi;
use proem_guard::show;
use proem_runtime::files::{self, FileAccess, FileContent};
use proem_text::diagnostic::DiagnosticSeverity;

use crate::error::Error;
use crate::places::Places;
use crate::project::{BOOK, find_git, locate_project};

/// The source and target of an import.
#[derive(Debug, Clone)]
pub struct ImportOptions {
    /// The prompt files to import, in the order given.
    pub files: Vec<PathBuf>,
    /// A folder in the project whose book takes the prompts.
    pub root: PathBuf,
    /// The book's folder, instead of the project's.
    pub to: Option<PathBuf>,
    /// The folder of the book that the prompts go into.
    pub agent: String,
    /// The kind of every file. `None` tells it from each file's name and keys.
    pub kind: Option<ImportKind>,
    /// The treatment of tests' parts that no case can express.
    pub unknown_checks: UnknownChecks,
}

/// A prompt that was imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedFile {
    /// The file it came from, escaped for display.
    pub source: String,
    /// The kind of that file.
    pub kind: ImportKind,
    /// Its files in the book, and what was not carried over.
    pub written: WrittenPrompt,
}

/// The imported files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BookImport {
    /// The book's folder, escaped for display.
    pub folder: String,
    /// Whether that is the project's own book, which is used once it is trusted.
    pub is_of_project: bool,
    /// The prompts in the order of the files.
    pub prompts: Vec<ImportedFile>,
    /// Files that several prompts share and that the book didn't have, relative to it.
    pub shared: Vec<String>,
}

/// Reads every file, and writes the prompts if all of them can be imported.
///
/// # Errors
///
/// With everything that is refused, each with its file and line. Then nothing was written.
pub fn import_prompts(options: &ImportOptions, places: &Places) -> Result<BookImport, Error> {
    let mut problems: Vec<String> = Vec::new();
    let mut prompts: Vec<ImportedFile> = Vec::new();
    if !is_folder_name(&options.agent) {
        problems.push(format!(
            "`{}` is no folder of a book; use letters, digits, `-` and `_`",
            import_path(Path::new(&options.agent))
        ));
    }
    for file in &options.files {
        match read_import_source(file, options) {
            Ok(read) => prompts.extend(read),
            Err(error) => problems.push(error.to_string()),
        }
    }
    let (root, below, folder) = import_destination(options, places)?;
    problems.extend(name_problems(&prompts, &folder));
    problems.extend(book_problems(&prompts));
    let shared = new_shared_files(&prompts, &folder, &mut problems);
    if !problems.is_empty() {
        let as_error = |problem: &String| match problem.starts_with("error: ") {
            true => problem.trim_end().to_owned(),
            false => format!("error: {problem}"),
        };
        let problems: Vec<String> = problems.iter().map(as_error).collect();
        return Err(Error::invalid(format!("{}\nnothing was written", problems.join("\n"))));
    }
    std::fs::create_dir_all(&root)
        .map_err(|e| Error::outside(format!("could not create `{}`: {e}", import_path(&root))))?;
    for (path, text) in prompts.iter().flat_map(|prompt| &prompt.written.files).chain(shared.clone()) {
        files::write_new(&root, &below.join(path), text.as_bytes(), FileAccess::Shared)?;
    }
    let shared = shared.into_keys().cloned().collect();
    Ok(BookImport { folder: import_path(&folder), is_of_project: options.to.is_none(), prompts, shared })
}

/// The folder under which is written, the book below it, and both together.
fn import_destination(options: &ImportOptions, places: &Places) -> Result<(PathBuf, PathBuf, PathBuf), Error> {
    if let Some(to) = &options.to {
        return Ok((to.clone(), PathBuf::new(), to.clone()));
    }
    let (root, _) = locate_project(&options.root, &find_git(places)?)?;
    let root = root.ok_or_else(|| {
        Error::invalid(format!("`{}` is in a bare repository; name a folder with --to", import_path(&options.root)))
    })?;
    let folder = root.join(BOOK);
    Ok((root, PathBuf::from(BOOK), folder))
}

fn read_import_source(file: &Path, options: &ImportOptions) -> Result<Vec<ImportedFile>, Error> {
    let text = read_import_file(file)?;
    let path = file.to_string_lossy().replace('\\', "/");
    let kind = match options.kind {
        Some(kind) => kind,
        None => recognise_source(&path, &text)?,
    };
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut beside = BTreeMap::new();
    for wanted in files_beside_source(kind, &path, &text)? {
        // A path that leads out of the folder is not read. The reader then refuses the file that names it.
        let is_below =
            Path::new(&wanted).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if !is_below {
            continue;
        }
        if let Some(content) = files::read_beneath(folder, Path::new(&wanted), MAX_SOURCE_BYTES)? {
            beside.insert(wanted.clone(), import_text(content, &folder.join(&wanted))?);
        }
    }
    let folder = folder_name(file);
    let source = ImportSource {
        path: &path,
        folder: &folder,
        text: &text,
        beside: &beside,
        unknown_checks: options.unknown_checks,
    };
    let prompts = read_prompts(kind, &source)?;
    let source = import_path(file);
    let written = prompts.iter().map(|prompt| {
        let written = write_prompt(prompt, &options.agent)?;
        Ok(ImportedFile { source: source.clone(), kind, written })
    });
    written.collect()
}

/// The name of the folder that a file is in.
fn folder_name(file: &Path) -> String {
    let whole = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_path_buf());
    whole.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned()
}

fn read_import_file(file: &Path) -> Result<String, Error> {
    match files::read_regular(file, MAX_SOURCE_BYTES) {
        Ok(Some(content)) => import_text(content, file),
        Ok(None) => Err(Error::invalid(format!("`{}` does not exist; check the path", import_path(file)))),
        Err(error) => Err(Error::invalid(error.to_string())),
    }
}

fn import_text(content: FileContent, file: &Path) -> Result<String, Error> {
    match content {
        FileContent::Whole(bytes) => String::from_utf8(bytes)
            .map_err(|_| Error::invalid(format!("`{}` is not UTF-8; save it as UTF-8", import_path(file)))),
        FileContent::Cut(_) => {
            Err(Error::invalid(format!("`{}` is larger than {MAX_SOURCE_BYTES} bytes; split it", import_path(file))))
        }
    }
}

/// Two prompts of one name, in the files or in the book.
fn name_problems(prompts: &[ImportedFile], folder: &Path) -> Vec<String> {
    let mut problems = Vec::new();
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    let mut told: BTreeSet<&str> = BTreeSet::new();
    for prompt in prompts {
        let name = prompt.written.prompt.as_str();
        let remedy = "rename the file, or import it with another `--agent`";
        if let Some(other) = seen.insert(name, &prompt.source) {
            problems.push(format!("`{other}` and `{}` would both be `{name}`; {remedy}", prompt.source));
        } else if folder.join(name).exists() && told.insert(name) {
            problems.push(format!("`{}`: `{}` already has `{name}`; {remedy}", prompt.source, import_path(folder)));
        }
    }
    problems
}

/// The files that prompts share and that the book doesn't have yet. One that was changed there is a problem.
fn new_shared_files<'p>(
    prompts: &'p [ImportedFile],
    folder: &Path,
    problems: &mut Vec<String>,
) -> BTreeMap<&'p String, &'p String> {
    let mut shared: BTreeMap<&String, &String> = prompts.iter().flat_map(|prompt| &prompt.written.shared).collect();
    shared.retain(|path, text| match files::read_beneath(folder, Path::new(path), MAX_SOURCE_BYTES) {
        Ok(None) => true,
        Ok(Some(FileContent::Whole(bytes))) if bytes == text.as_bytes() => false,
        Ok(Some(_)) => {
            problems.push(format!(
                "`{}` already has another `{path}`, which the import would write; import with another `--agent`",
                import_path(folder)
            ));
            false
        }
        Err(error) => {
            problems.push(error.to_string());
            false
        }
    });
    shared
}

/// The problems of the prompts as a book, so that nothing is written that `proem book check` refuses.
fn book_problems(prompts: &[ImportedFile]) -> Vec<String> {
    let files = prompts.iter().flat_map(|prompt| prompt.written.files.iter().chain(&prompt.written.shared));
    let files: BTreeMap<String, PartialText> =
        files.map(|(path, text)| (path.clone(), PartialText::Template(text.clone()))).collect();
    let book = Book::new(vec![BookLayer { origin: Origin::Project, files }]);
    let remarks = book.and_then(|book| check_book(&book, &OpenAi::O200k));
    let source = |name: &str| {
        let of = prompts.iter().find(|prompt| name.starts_with(&format!("{}@", prompt.written.prompt)));
        of.map_or("", |prompt| prompt.source.as_str()).to_owned()
    };
    match remarks {
        Ok(remarks) => remarks
            .iter()
            .filter(|remark| remark.severity == DiagnosticSeverity::Error)
            .map(|remark| {
                format!("`{}`: the prompt file made of it is refused: {}", source(&remark.prompt), remark.text)
            })
            .collect(),
        Err(error) => vec![error.to_string()],
    }
}

fn is_folder_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}

fn import_path(path: &Path) -> String {
    show::terminal_str(&path.display().to_string()).into_string()
}
