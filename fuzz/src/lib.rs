//! Laws that hold for every input, one module for each target of the fuzzer.
//!
//! They are a library, so that the workspace compiles and lints them and its tests hold the collected inputs to them.
//! `fuzz_targets` hands them what libFuzzer makes up.

pub mod action;
pub mod catalogue;
pub mod check;
pub mod clean;
pub mod contain;
pub mod context;
pub mod conversation;
pub mod decode;
pub mod delivery;
pub mod front_matter;
pub mod history;
pub mod import;
pub mod imports;
pub mod label_tree;
pub mod lisp_json;
pub mod lisp_pattern;
pub mod lisp_program;
pub mod lisp_signature;
pub mod lisp_source;
pub mod lisp_state;
pub mod media;
pub mod normalise;
pub mod policy;
pub mod prompt_file;
pub mod readers;
pub mod risk_files;
pub mod select;
pub mod sse;
pub mod static_model;
pub mod tokens;
pub mod triage;
pub mod views;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    /// The inputs that are kept for a target.
    fn collected(target: &str) -> Vec<PathBuf> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
        let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    }

    /// As libFuzzer hands inputs on to a law about texts: what is no text is skipped.
    fn text(bytes: &[u8], feed: fn(&str)) {
        if let Ok(text) = str::from_utf8(bytes) {
            feed(text);
        }
    }

    fn bytes(bytes: &[u8], feed: fn(&[u8])) {
        feed(bytes);
    }

    /// A test for each target, with how many inputs it has at least. The last input that is named where one fails
    /// breaks a law.
    macro_rules! hold {
        ($($target:ident: $kind:ident, $least:literal;)*) => {
            const TARGETS: &[&str] = &[$(stringify!($target)),*];
            $(
                #[test]
                fn $target() {
                    let inputs = collected(stringify!($target));
                    assert!(inputs.len() >= $least, "{} inputs", inputs.len());
                    for input in inputs {
                        eprintln!("{}", input.display());
                        $kind(&fs::read(&input).unwrap(), super::$target::feed);
                    }
                }
            )*
        };
    }

    hold! {
        action: text, 12;
        catalogue: text, 12;
        check: text, 10;
        clean: text, 12;
        contain: text, 12;
        context: bytes, 2;
        conversation: text, 12;
        decode: text, 12;
        delivery: bytes, 10;
        front_matter: text, 12;
        history: text, 12;
        import: text, 12;
        imports: bytes, 7;
        label_tree: text, 12;
        lisp_json: text, 24;
        lisp_pattern: bytes, 24;
        lisp_program: bytes, 24;
        lisp_signature: text, 16;
        lisp_source: text, 24;
        lisp_state: bytes, 16;
        media: bytes, 12;
        normalise: text, 12;
        policy: text, 12;
        prompt_file: text, 12;
        readers: bytes, 12;
        risk_files: bytes, 8;
        select: text, 12;
        sse: bytes, 12;
        static_model: bytes, 12;
        tokens: bytes, 12;
        triage: text, 12;
        views: text, 12;
    }

    #[test]
    fn every_target_is_among_them() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz_targets");
        let mut files: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        files.sort();
        assert_eq!(files, TARGETS);
    }
}
