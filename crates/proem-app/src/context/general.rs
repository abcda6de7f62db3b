//! Tasks that name nothing of a repository: what it is, how it is built, where to start, and wishes such as "make it
//! faster".
//!
//! No word of such a task is in the files that answer it, so files are found by what they are: introductions,
//! manifests, entry points; for a wish, the code that changes most often. A task with any other word is none of these.

use proem_select::context::FilePurpose;
use proem_text::normalise::without_accents;
use proem_text::words::search_words;

use super::reply::{is_of_replies, is_program_name};

/// A kind of general task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum GeneralTask {
    /// A description of the project.
    About,
    /// A place to begin.
    Start,
    /// How it is built, installed, run and tested.
    Build,
    /// That it be better in a way that names no place.
    Wish,
}

/// Words of general tasks, in lower case and without marks: English, German, French, Spanish, Portuguese, Italian, Dutch,
/// Polish and Russian.
const WORDS: [(GeneralTask, &str); 4] = [
    (
        GeneralTask::About,
        "project repo repository codebase code package library app application program tool software architecture structure \
         overview summary purpose summarise summarize describe projekt programm anwendung architektur aufbau struktur uberblick \
         zweck projet depot logiciel bibliotheque apercu resume proyecto repositorio codigo estructura resumen arquitectura \
         projeto estrutura arquitetura resumo progetto struttura architettura panoramica overzicht doel structuur opbouw projektu \
         struktura architektura проект проекте проекта репозиторий код структура архитектура",
    ),
    (
        GeneralTask::Start,
        "start begin beginning entry entrypoint onboarding contribute contributing newcomer anfangen anfange beginne beginnen \
         einstieg mitarbeiten commencer commence debuter contribuer empezar empiezo comenzar contribuir comecar comeco iniziare \
         inizio cominciare contribuire begin zaczac начать",
    ),
    (
        GeneralTask::Build,
        "build built compile install installed installation setup run test tests deploy bauen baue gebaut ubersetzen kompilieren \
         installieren installiere ausfuhren starten construire compiler installer lancer executer construir compilar instalar \
         ejecutar executar costruire compilare installare eseguire bouwen compileren installeren draaien zbudowac skompilowac \
         zainstalowac uruchomic собрать установить запустить",
    ),
    (
        GeneralTask::Wish,
        "faster quicker speed performance perf optimise optimize optimisation optimization slow improve improvement cleaner clean \
         refactor simplify quality schneller langsam verbessern verbessere leistung plus-vite rapide rapidement ameliorer lent \
         rapido rapida mejorar rendimiento lento melhorar desempenho veloce piu-veloce migliorare sneller traag verbeteren \
         szybciej szybszy ulepszyc быстрее медленно улучшить",
    ),
];

/// Files that introduce a project or say how it is built: how a path ends, in lower case, and what that says.
const FILES: [(&str, GeneralTask); 30] = [
    ("readme", GeneralTask::About),
    ("docs/index", GeneralTask::About),
    ("docs/readme", GeneralTask::About),
    ("docs/architecture", GeneralTask::About),
    ("architecture", GeneralTask::About),
    ("contributing", GeneralTask::Start),
    ("development", GeneralTask::Start),
    ("hacking", GeneralTask::Start),
    ("makefile", GeneralTask::Build),
    ("justfile", GeneralTask::Build),
    ("cargo.toml", GeneralTask::Build),
    ("package.json", GeneralTask::Build),
    ("pyproject.toml", GeneralTask::Build),
    ("setup.py", GeneralTask::Build),
    ("go.mod", GeneralTask::Build),
    ("pom.xml", GeneralTask::Build),
    ("build.gradle", GeneralTask::Build),
    ("build.gradle.kts", GeneralTask::Build),
    ("cmakelists.txt", GeneralTask::Build),
    ("meson.build", GeneralTask::Build),
    ("configure.ac", GeneralTask::Build),
    ("composer.json", GeneralTask::Build),
    ("gemfile", GeneralTask::Build),
    ("mix.exs", GeneralTask::Build),
    ("build.sbt", GeneralTask::Build),
    ("package.swift", GeneralTask::Build),
    ("requirements.txt", GeneralTask::Build),
    ("dockerfile", GeneralTask::Build),
    ("tox.ini", GeneralTask::Build),
    ("noxfile.py", GeneralTask::Build),
];

/// Names without ending of files where programs and libraries begin.
const ENTRIES: [&str; 11] =
    ["main", "index", "app", "__main__", "__init__", "lib", "cli", "server", "program", "mod", "manage"];

/// The rank of workflows among what says how a project is built: behind its manifests and introductions.
const WORKFLOWS: usize = 40;

/// Entry points are at most so deep.
const DEEPEST_ENTRY: usize = 4;

impl GeneralTask {
    /// The kind of a task that names nothing.
    pub(super) fn of(task: &str) -> Option<Self> {
        let (mut kinds, mut count) = (Vec::new(), 0_usize);
        for word in task.split_whitespace() {
            if is_program_name(word) {
                return None;
            }
            for part in search_words(word) {
                count = count.saturating_add(1);
                let plain = without_accents(&part.to_lowercase());
                let kind = WORDS.iter().find(|(_, list)| list.split_ascii_whitespace().any(|known| known == plain));
                match kind {
                    Some((kind, _)) => kinds.push(*kind),
                    None if is_of_replies(&plain) => {}
                    None => return None,
                }
            }
        }
        // One word alone is looked for as a name. A wish outweighs what it is about, and how it is built what it is.
        kinds.into_iter().max().filter(|_| count > 1)
    }

    /// How well a file answers, best first. `None` if it doesn't. With it goes why, in our words.
    pub(super) fn rank(self, path: &str, used_for: FilePurpose) -> Option<(usize, &'static str)> {
        if matches!(used_for, FilePurpose::Test | FilePurpose::Foreign) || self == Self::Wish {
            return None;
        }
        let depth = path.matches('/').count();
        let lower = path.to_lowercase();
        let name = lower.rsplit('/').next().unwrap_or_default();
        let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
        let known = FILES.iter().find(|(end, _)| match end.contains('/') {
            true => lower.split_once('.').map_or(lower.as_str(), |(stem, _)| stem) == *end,
            false => depth == 0 && (name == *end || (stem == *end && !end.contains('.'))),
        });
        let (kind, why) = match known {
            Some((_, Self::Build)) => (Self::Build, "says how the project is built"),
            Some((_, Self::Start)) => (Self::Start, "says how to work on the project"),
            Some(_) => (Self::About, "introduces the project"),
            None if lower.starts_with(".github/workflows/") => {
                return (self == Self::Build).then_some((WORKFLOWS, "builds, tests or publishes the project"));
            }
            // Entries below these folders begin an example and not the project.
            None if lower.starts_with("example") || lower.starts_with("doc") => return None,
            None if used_for == FilePurpose::Code && ENTRIES.contains(&stem) && depth <= DEEPEST_ENTRY => {
                (Self::Start, "is where a program or library begins")
            }
            None => return None,
        };
        let is_entry = known.is_none() && kind == Self::Start;
        let order: usize = match (self, kind) {
            (Self::About, Self::About) | (Self::Build, Self::Build) => 0,
            (Self::Start, Self::Start) if !is_entry => 1,
            (Self::Start, Self::About) => 0,
            (Self::Build, Self::Start) if !is_entry => 1,
            (Self::Build, Self::About) => 2,
            (_, Self::Start) => 3,
            (_, Self::Build) => 4,
            _ => 5,
        };
        Some((order.saturating_mul(16).saturating_add(depth), why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_without_any_other_word_is_general() {
        for (task, expected) in [
            ("What does this project do?", Some(GeneralTask::About)),
            ("explain the architecture", Some(GeneralTask::About)),
            ("Was macht dieses Projekt?", Some(GeneralTask::About)),
            ("how do I build it?", Some(GeneralTask::Build)),
            ("How do I run the tests?", Some(GeneralTask::Build)),
            ("comment compiler le projet ?", Some(GeneralTask::Build)),
            ("where do I start?", Some(GeneralTask::Start)),
            ("make it faster", Some(GeneralTask::Wish)),
            ("improve the performance of the code", Some(GeneralTask::Wish)),
            ("improve the performance of the parser", None),
            ("build the invoice", None),
            ("fix parse_line", None),
            ("", None),
            ("ok", None),
            ("start", None),
            ("package", None),
        ] {
            assert_eq!(GeneralTask::of(task), expected, "{task}");
        }
    }

    #[test]
    fn introductions_manifests_and_entry_points_answer() {
        let paths = [
            ("README.md", FilePurpose::Documentation),
            ("CONTRIBUTING.rst", FilePurpose::Documentation),
            ("Cargo.toml", FilePurpose::Configuration),
            ("src/main.rs", FilePurpose::Code),
            ("src/clock.rs", FilePurpose::Code),
            ("docs/conf.py", FilePurpose::Code),
            ("tests/main.rs", FilePurpose::Test),
            ("vendor/x/README.md", FilePurpose::Documentation),
        ];
        let order = |task: GeneralTask| {
            let mut found: Vec<(usize, &str)> =
                paths.iter().filter_map(|(path, used_for)| Some((task.rank(path, *used_for)?.0, *path))).collect();
            found.sort_unstable();
            found.into_iter().map(|(_, path)| path).collect::<Vec<_>>()
        };
        assert_eq!(order(GeneralTask::About), ["README.md", "CONTRIBUTING.rst", "src/main.rs", "Cargo.toml"]);
        assert_eq!(order(GeneralTask::Build), ["Cargo.toml", "CONTRIBUTING.rst", "README.md", "src/main.rs"]);
        assert_eq!(order(GeneralTask::Start), ["README.md", "CONTRIBUTING.rst", "src/main.rs", "Cargo.toml"]);
        assert!(order(GeneralTask::Wish).is_empty());
    }
}
