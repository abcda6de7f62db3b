//! The labelled commits: tables of change metrics, one for each project.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use proem_risk::score::{ChangeFeatures, Feature, Scale};

/// One labelled commit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LabelledCommit {
    /// Unix time in seconds.
    pub(crate) date: i64,
    /// Whether it needed a fix.
    pub(crate) is_bug: bool,
    pub(crate) features: ChangeFeatures,
}

/// The commits of one project, oldest first.
#[derive(Debug, Clone)]
pub(crate) struct LabelledProject {
    /// The file's name without its endings.
    pub(crate) name: String,
    pub(crate) commits: Vec<LabelledCommit>,
}

/// The fewest commits with a label, and without it, that anything is learned from or measured on.
pub(crate) const FEWEST: usize = 30;

/// The most bytes of one table, unpacked.
const LARGEST: u64 = 1 << 30;

/// The names in a column's header. Some sets misspell entropy.
const ENTROPY: [&str; 2] = ["entropy", "entrophy"];

impl LabelledProject {
    /// Reads a table, packed with gzip or not.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let bytes = std::fs::read(path).map_err(|error| format!("could not read `{}`: {error}", path.display()))?;
        let mut text = String::new();
        let read = if bytes.starts_with(&[0x1f, 0x8b]) {
            flate2::read::MultiGzDecoder::new(bytes.as_slice()).take(LARGEST).read_to_string(&mut text)
        } else {
            bytes.as_slice().take(LARGEST).read_to_string(&mut text)
        };
        read.map_err(|error| format!("could not read `{}`: {error}", path.display()))?;
        let commits = parse_commits(&text).map_err(|problem| format!("`{}`: {problem}", path.display()))?;
        Ok(Self { name: stem(path), commits })
    }

    /// The first four fifths by time, and the rest.
    pub(crate) fn split(&self) -> (&[LabelledCommit], &[LabelledCommit]) {
        let end = self.commits.len().saturating_mul(4) / 5;
        self.commits.split_at_checked(end).unwrap_or((&self.commits, &[]))
    }
}

/// Refuses commits among which one label is too rare to say anything.
pub(crate) fn check_label_counts(name: &str, commits: &[LabelledCommit]) -> Result<(), String> {
    let bugs = commits.iter().filter(|commit| commit.is_bug).count();
    enough(name, bugs, commits.len().saturating_sub(bugs))
}

/// The same from counts.
pub(crate) fn enough(name: &str, bugs: usize, rest: usize) -> Result<(), String> {
    if bugs < FEWEST || rest < FEWEST {
        return Err(format!(
            "{name} has {bugs} commits that needed a fix and {rest} that didn't; at least {FEWEST} of each are needed"
        ));
    }
    Ok(())
}

/// All tables in a folder, by name.
pub(crate) fn projects(folder: &Path) -> Result<Vec<LabelledProject>, String> {
    let entries =
        std::fs::read_dir(folder).map_err(|error| format!("could not read `{}`: {error}", folder.display()))?;
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| format!("could not read `{}`: {error}", folder.display()))?.path();
        let name = path.to_string_lossy();
        if name.ends_with(".csv") || name.ends_with(".csv.gz") {
            paths.push(path);
        }
    }
    paths.sort();
    if paths.is_empty() {
        return Err(format!("`{}` holds no `.csv` or `.csv.gz` file", folder.display()));
    }
    paths.iter().map(|path| LabelledProject::read(path)).collect()
}

/// The scale of a project from at most 500 of its commits, evenly spread.
pub(crate) fn scale(commits: &[LabelledCommit]) -> Scale {
    let step = commits.len().div_ceil(500).max(1);
    let sample: Vec<ChangeFeatures> = commits.iter().step_by(step).map(|commit| commit.features).collect();
    Scale::of(&sample)
}

fn stem(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.trim_end_matches(".gz").trim_end_matches(".csv").to_owned()
}

/// The place of each column.
struct ColumnPlaces {
    date: usize,
    bug: usize,
    features: [usize; Feature::ALL.len()],
}

impl ColumnPlaces {
    fn of(header: &str) -> Result<Self, String> {
        let names = cells(header);
        let mut missing = Vec::new();
        let mut find = |wanted: &[&str]| {
            let place = names.iter().position(|name| wanted.iter().any(|wanted| name.eq_ignore_ascii_case(wanted)));
            place.unwrap_or_else(|| {
                missing.extend(wanted.first().map(|name| format!("`{name}`")));
                0
            })
        };
        let columns = Self {
            date: find(&["date"]),
            bug: find(&["bug"]),
            features: Feature::ALL.map(|feature| match feature {
                Feature::Entropy => find(&ENTROPY),
                _ => find(&[feature.as_str()]),
            }),
        };
        if missing.is_empty() { Ok(columns) } else { Err(format!("the header lacks {}", missing.join(", "))) }
    }
}

fn parse_commits(text: &str) -> Result<Vec<LabelledCommit>, String> {
    let mut lines = (1..).zip(text.trim_start_matches('\u{feff}').lines()).filter(|(_, line)| !line.trim().is_empty());
    let (_, header) = lines.next().ok_or("it is empty")?;
    let columns = ColumnPlaces::of(header)?;
    let mut commits = lines
        .map(|(number, line)| {
            parse_commit(&columns, &cells(line)).map_err(|problem| format!("line {number}: {problem}"))
        })
        .collect::<Result<Vec<LabelledCommit>, String>>()?;
    // Stable, so that commits of one second stay in the order given.
    commits.sort_by_key(|commit| commit.date);
    normalise_entropy(&mut commits);
    Ok(commits)
}

fn parse_commit(columns: &ColumnPlaces, cells: &[&str]) -> Result<LabelledCommit, String> {
    let cell = |place: usize, name: &str| cells.get(place).copied().ok_or_else(|| format!("`{name}` is missing"));
    let wrong = |name: &str, text: &str, wanted: &str| format!("`{name}` is `{text}`, not {wanted}");
    let date = cell(columns.date, "date")?;
    let seconds = date.parse::<f64>().ok().filter(|seconds| seconds.abs() < 1e15);
    #[expect(clippy::cast_possible_truncation, reason = "below 10¹⁵")]
    let seconds = seconds.ok_or_else(|| wrong("date", date, "seconds since 1970"))? as i64;
    let is_bug = match cell(columns.bug, "bug")? {
        "1" | "1.0" | "True" | "true" => true,
        "0" | "0.0" | "False" | "false" => false,
        other => return Err(wrong("bug", other, "0 or 1")),
    };
    let mut values = [None; Feature::ALL.len()];
    for ((slot, place), feature) in values.iter_mut().zip(columns.features).zip(Feature::ALL) {
        let text = cell(place, feature.as_str())?;
        *slot = match text {
            "" => None,
            "True" | "true" => Some(1.0),
            "False" | "false" => Some(0.0),
            text => Some(text.parse::<f64>().map_err(|_| wrong(feature.as_str(), text, "a number"))?),
        };
    }
    Ok(LabelledCommit { date: seconds, is_bug, features: features_of_row(values) })
}

/// The numbers of a row, in the order of [`Feature::ALL`].
fn features_of_row(values: [Option<f64>; Feature::ALL.len()]) -> ChangeFeatures {
    let [ns, nd, nf, entropy, la, ld, lt, fix, ndev, age, nuc, exp, rexp, sexp] = values;
    let fix = fix.filter(|fix| fix.is_finite()).map(|fix| fix > 0.0);
    ChangeFeatures { ns, nd, nf, entropy, la, ld, lt, fix, ndev, age, nuc, exp, rexp, sexp }
}

/// Divides the entropy by log2 of the number of files where a set has it in bits, which shows by a
/// number above 1.
fn normalise_entropy(commits: &mut [LabelledCommit]) {
    let is_in_bits = commits.iter().any(|commit| commit.features.get(Feature::Entropy).is_some_and(|e| e > 1.0 + 1e-6));
    for features in commits.iter_mut().map(|commit| &mut commit.features).filter(|_| is_in_bits) {
        let files = features.get(Feature::Nf);
        features.entropy = features
            .get(Feature::Entropy)
            .zip(files)
            .map(|(entropy, files)| if files >= 2.0 { (entropy / libm::log2(files)).min(1.0) } else { 0.0 });
    }
}

/// The cells of a line, without spaces and quotes around them. A comma within quotes parts nothing.
fn cells(line: &str) -> Vec<&str> {
    let mut is_quoted = false;
    let parts = line.split(|c: char| {
        is_quoted ^= c == '"';
        c == ',' && !is_quoted
    });
    parts.map(|cell| cell.trim().trim_matches('"')).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    const HEADER: &str = "_id,date,bug,ns,nd,nf,entropy,la,ld,lt,fix,ndev,age,nuc,exp,rexp,sexp";

    fn row(date: i64, la: u32) -> String {
        format!("x,{date},1,1,1,2,0.5,{la},2,300,0,4,1.5,9,100,20.5,30")
    }

    #[test]
    fn a_table_is_read_in_any_shape() {
        let plain = format!("{HEADER}\n{}\n{}\n", row(20, 7), row(10, 8));
        let shuffled = "bug,la,DATE,ns,nd,nf,entrophy,ld,lt,fix,ndev,age,nuc,exp,rexp,sexp,more\n\
                        1,7,20,1,1,2,0.5,2,300,0,4,1.5,9,100,20.5,30,\"a, b\"\n\
                        True,8.0,10.0,1,1,2,0.5,2,300,False,4,1.5,9,100,20.5,30,\n";
        let expected = parse_commits(&plain).unwrap();
        assert_eq!(expected.iter().map(|commit| commit.date).collect::<Vec<_>>(), [10, 20]);
        assert_eq!(expected[0].features.get(Feature::La), Some(8.0));
        for text in [shuffled.to_owned(), plain.replace('\n', "\r\n"), format!("\u{feff}{plain}\n\n")] {
            assert_eq!(parse_commits(&text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn packed_and_plain_tables_are_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let text = format!("{HEADER}\n{}\n", row(20, 7));
        std::fs::write(folder.path().join("b.csv"), &text).unwrap();
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(text.as_bytes()).unwrap();
        std::fs::write(folder.path().join("a.csv.gz"), packed.finish().unwrap()).unwrap();
        std::fs::write(folder.path().join("README.md"), "no table").unwrap();
        let projects = projects(folder.path()).unwrap();
        assert_eq!(projects.iter().map(|project| project.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(projects[0].commits, projects[1].commits);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let check = |text: &str, expected: &str| assert_eq!(parse_commits(text).unwrap_err(), expected);
        check("", "it is empty");
        check("_id,bug,ns,nd,nf,entropy,la,ld,lt,fix,ndev,nuc,exp,rexp", "the header lacks `date`, `age`, `sexp`");
        check(&format!("{HEADER}\n\nx,5"), "line 3: `bug` is missing");
        check(&format!("{HEADER}\n{}", row(5, 1).replace("0.5", "half")), "line 2: `entropy` is `half`, not a number");
        check(&format!("{HEADER}\n{}", row(5, 1).replacen(",1,", ",2,", 1)), "line 2: `bug` is `2`, not 0 or 1");
        check(&format!("{HEADER}\nx,today,1"), "line 2: `date` is `today`, not seconds since 1970");
        let folder = tempfile::tempdir().unwrap();
        let error = projects(folder.path()).unwrap_err();
        assert!(error.ends_with("holds no `.csv` or `.csv.gz` file"), "{error}");
    }

    #[test]
    fn an_empty_or_negative_cell_is_unknown() {
        let commits =
            parse_commits(&format!("{HEADER}\n{}\n", row(5, 1).replace("1.5", "").replace("300", "-1"))).unwrap();
        assert_eq!(commits[0].features.unknown(), [Feature::Lt, Feature::Age]);
    }

    #[test]
    fn entropy_in_bits_is_normalised() {
        let rows = [row(1, 1).replace("1,1,2,0.5", "1,1,4,1.5"), row(2, 1).replace("1,1,2,0.5", "1,1,1,0.0")];
        let commits = parse_commits(&format!("{HEADER}\n{}\n", rows.join("\n"))).unwrap();
        let entropy = |place: usize| commits[place].features.get(Feature::Entropy);
        assert_eq!((entropy(0), entropy(1)), (Some(0.75), Some(0.0)));
    }

    #[test]
    fn too_few_are_refused() {
        let commit = |is_bug| LabelledCommit { date: 0, is_bug, features: ChangeFeatures::default() };
        let mut commits: Vec<LabelledCommit> = (0..60).map(|n| commit(n % 2 == 0)).collect();
        assert_eq!(check_label_counts("p", &commits), Ok(()));
        commits.pop();
        let expected = "p has 30 commits that needed a fix and 29 that didn't; at least 30 of each are needed";
        assert_eq!(check_label_counts("p", &commits), Err(expected.to_owned()));
    }
}
