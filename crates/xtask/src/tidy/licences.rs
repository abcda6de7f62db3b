//! Everything in the resolved graph has a permitted licence, and nothing brings a C cryptography
//! library.
//!
//! Licences are SPDX expressions (<https://spdx.github.io/spdx-spec/v2.3/SPDX-license-expressions/>):
//! `OR` binds weaker than `AND`, `AND` weaker than `WITH`. Cargo's older form `MIT/Apache-2.0`
//! means `OR`.

use super::{
    duplicates::line_of_package,
    finding::TidyFinding,
    graph::{CrateGraph, ExternalCrate},
    tree::SourceTree,
};

/// Licences that ask for no more than a notice. CDLA-Permissive-2.0 is for data, such as the list of root certificates:
/// <https://cdla.dev/permissive-2-0/>.
const PERMITTED: &[&str] = &[
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Exceptions that only grant more.
const PERMITTED_EXCEPTIONS: &[&str] = &["LLVM-exception"];

/// Looks at every package from outside.
pub(crate) fn check_licences(tree: &SourceTree, graph: &CrateGraph) -> Vec<TidyFinding> {
    graph
        .packages
        .iter()
        .flat_map(|package| [check_licence(package), check_name(package)])
        .flatten()
        .map(|(problem, remedy, name)| {
            TidyFinding::in_file("Cargo.lock", problem, remedy).at(line_of_package(tree, name))
        })
        .collect()
}

type Problem<'a> = (String, &'static str, &'a str);

fn check_licence(package: &ExternalCrate) -> Option<Problem<'_>> {
    let ExternalCrate { name, version, licence } = package;
    let problem = match licence.as_deref().map(permits) {
        Some(Ok(true)) => return None,
        Some(Ok(false)) => format!("licence `{}` of `{name}` {version} is not permitted", licence.as_deref()?),
        Some(Err(error)) => format!("licence of `{name}` {version} can't be read: {error}"),
        None => format!("`{name}` {version} names no licence"),
    };
    Some((problem, "replace the dependency", name))
}

fn check_name(package: &ExternalCrate) -> Option<Problem<'_>> {
    let ExternalCrate { name, version, .. } = package;
    // `openssl-probe` is named after the folders of certificates that it looks for. It links nothing.
    let openssl = name.starts_with("openssl") && name != "openssl-probe";
    let refused = name.starts_with("aws-lc-") || openssl || name == "native-tls";
    let remedy = "choose the features of its parent that use rustls with ring";
    refused.then(|| (format!("`{name}` {version} needs a C cryptography library"), remedy, name.as_str()))
}

/// Whether an SPDX expression can be met with permitted licences alone.
fn permits(expression: &str) -> Result<bool, String> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let (permitted, rest) = parse_disjunction(&words)?;
    match rest.first() {
        None => Ok(permitted),
        Some(word) => Err(format!("unexpected `{word}` in `{expression}`")),
    }
}

type Parsed<'a, 'b> = Result<(bool, &'b [&'a str]), String>;

fn parse_disjunction<'a, 'b>(words: &'b [&'a str]) -> Parsed<'a, 'b> {
    let (mut permitted, mut rest) = parse_conjunction(words)?;
    while let ["OR", tail @ ..] = rest {
        let (next, after) = parse_conjunction(tail)?;
        (permitted, rest) = (permitted || next, after);
    }
    Ok((permitted, rest))
}

fn parse_conjunction<'a, 'b>(words: &'b [&'a str]) -> Parsed<'a, 'b> {
    let (mut permitted, mut rest) = parse_licence(words)?;
    while let ["AND", tail @ ..] = rest {
        let (next, after) = parse_licence(tail)?;
        (permitted, rest) = (permitted && next, after);
    }
    Ok((permitted, rest))
}

fn parse_licence<'a, 'b>(words: &'b [&'a str]) -> Parsed<'a, 'b> {
    match words {
        ["(", tail @ ..] => match parse_disjunction(tail)? {
            (permitted, [")", rest @ ..]) => Ok((permitted, rest)),
            _ => Err("a parenthesis isn't closed".to_owned()),
        },
        [] | ["OR" | "AND" | "WITH" | ")", ..] => Err("a licence is missing".to_owned()),
        [licence, "WITH", exception, rest @ ..] => {
            Ok((is_permitted(licence) && PERMITTED_EXCEPTIONS.contains(exception), rest))
        }
        [licence, rest @ ..] => Ok((is_permitted(licence), rest)),
    }
}

fn is_permitted(licence: &str) -> bool {
    // `+` means "or any later version": the version named is among them.
    PERMITTED.contains(&licence.strip_suffix('+').unwrap_or(licence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{finding::finding_lines, graph::sketch};

    #[test]
    fn evaluates_expressions() {
        for (expression, expected) in [
            ("MIT", true),
            ("GPL-3.0-only", false),
            ("MPL-2.0", false),
            ("MIT OR GPL-3.0-only", true),
            ("MIT AND GPL-3.0-only", false),
            ("MIT/Apache-2.0", true),
            ("GPL-2.0 / Apache-2.0", true),
            ("GPL-2.0 OR MIT AND Zlib", true),
            ("MIT OR Zlib AND GPL-2.0", true),
            ("(MIT OR GPL-2.0) AND GPL-2.0", false),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
            ("((ISC))", true),
            ("Apache-2.0 WITH LLVM-exception", true),
            ("Apache-2.0 WITH LLVM-exception AND MIT", true),
            ("MIT WITH Other-exception", false),
            ("Apache-2.0+", true),
            ("mit", false),
        ] {
            assert_eq!(permits(expression), Ok(expected), "{expression}");
        }
    }

    #[test]
    fn refuses_what_is_no_expression() {
        for expression in ["", "MIT OR", "AND MIT", "(MIT", "MIT)", "MIT Apache-2.0", "MIT WITH", "()"] {
            assert!(permits(expression).is_err(), "{expression}");
        }
    }

    fn problems(packages: &[(&str, &str, &str)]) -> Vec<String> {
        let tree = SourceTree::from([("Cargo.lock", "version = 4\nname = \"x\"\n")]);
        finding_lines(&check_licences(&tree, &sketch(&[], packages)))
    }

    #[test]
    fn permitted_licences_pass() {
        assert_eq!(problems(&[("x", "1.0.0", "MIT"), ("opens", "1.0.0", "ISC")]), Vec::<String>::new());
    }

    #[test]
    fn other_licences_and_none_are_found() {
        assert_eq!(
            problems(&[("x", "1.0.0", "GPL-3.0-only"), ("y", "1.0.0", "")]),
            [
                "Cargo.lock:2: licence `GPL-3.0-only` of `x` 1.0.0 is not permitted; replace the dependency",
                "Cargo.lock: `y` 1.0.0 names no licence; replace the dependency",
            ]
        );
        assert_eq!(
            problems(&[("x", "1.0.0", "MIT OR")]),
            ["Cargo.lock:2: licence of `x` 1.0.0 can't be read: a licence is missing; replace the dependency"]
        );
    }

    #[test]
    fn c_cryptography_is_found() {
        let packages = [("aws-lc-rs", "1.0.0", "ISC"), ("openssl-sys", "1.0.0", "MIT"), ("native-tls", "1.0.0", "MIT")];
        let found = problems(&packages);
        assert_eq!(found.len(), 3);
        assert_eq!(
            found.first().map(String::as_str),
            Some(
                "Cargo.lock: `aws-lc-rs` 1.0.0 needs a C cryptography library; \
                  choose the features of its parent that use rustls with ring"
            )
        );
    }
}
