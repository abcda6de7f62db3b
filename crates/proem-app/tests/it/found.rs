//! An engineer's searches: three small repositories, ten tasks each, with the files that must and must not be found.

use proem_agents::assemble::output::assemble_output;
use proem_agents::assemble::settings::ContextDepth;
use proem_app::assemble::{
    AssembleOptions, AssemblyChoice, AssemblyRecord, MadeAssembly, Start, TaskAuthor, bounded_task,
};
use proem_app::context::{ContextPatience, FileChoice};
use proem_app::records;
use proem_app::records::learning::Adapting;
use proem_app::records::writing::RecordChoice;
use proem_select::mode::{GitChanges, Hints, Interaction, Mode};
use serde_json::{Value as Json, json};

use crate::Home;

/// A task with words that must and that must not be in its prompt.
type Case<'c> = (&'c [&'c str], &'c [&'c str], &'c [&'c str]);

/// The options of an assembly for a task, with more behind it as the command has it.
pub(crate) fn assembly_options(home: &Home, args: &[&str]) -> AssembleOptions {
    let (task, more) = args.split_first().unwrap();
    let author = if more.contains(&"--task-untrusted") { TaskAuthor::Outside } else { TaskAuthor::Caller };
    let mut options = AssembleOptions {
        task: bounded_task((*task).to_owned(), author).unwrap(),
        named: (*task).to_owned(),
        root: home.work.clone(),
        hints: Hints::default(),
        model: None,
        provider: None,
        budget: None,
        output_tokens: None,
        prompt_version: None,
        adapting: Adapting::default(),
        context: None,
        patience: ContextPatience::Short,
        choice: FileChoice::new(task, &[], &[]).unwrap(),
        record: RecordChoice::AsConfigured,
    };
    let mut words = more.iter();
    while let Some(word) = words.next() {
        let mut value = || *words.next().unwrap();
        match *word {
            "--task-untrusted" => assert_eq!(author, TaskAuthor::Outside),
            "--interactive" => options.hints.interaction = Interaction::Interactive,
            "--budget" => options.budget = Some(value().parse().unwrap()),
            "--mode" => options.hints.explicit = Some(if value() == "act" { Mode::Act } else { Mode::Plan }),
            "--git-changes" => {
                options.hints.git_changes = if value() == "yes" { GitChanges::Yes } else { GitChanges::No };
            }
            "--context" => options.context = Some(serde_json::from_value::<ContextDepth>(json!(value())).unwrap()),
            word => assert_eq!(word, "", "{more:?}"),
        }
    }
    options
}

/// The prompt for a task as programs get it.
pub(crate) fn assembled_prompt(home: &Home, args: &[&str]) -> Json {
    assembled_with(home, &assembly_options(home, args))
}

/// The same by these options.
pub(crate) fn assembled_with(home: &Home, options: &AssembleOptions) -> Json {
    let mut project = home.project();
    let choice = AssemblyChoice::new(options, &project).unwrap();
    let start = Start::gather(options, choice, &project).unwrap();
    records::runtime().unwrap().block_on(async {
        let record = AssemblyRecord::new(options, &start, &project, &mut Vec::new()).await.unwrap();
        let mut made = MadeAssembly::new(options, start, record, &mut project).unwrap();
        assert_eq!(made.record(options, &project).await, []);
        let extra = made.extra(&project).unwrap();
        json!(assemble_output(&options.task, &made.gathered, &made.assembled, extra))
    })
}

/// The sections of a prompt that hold what was found, by name.
fn section_texts(prompt: &Json, names: &[&str]) -> String {
    let messages = prompt["messages"].as_array().unwrap().iter();
    let sections = messages.flat_map(|message| message["sections"].as_array().unwrap());
    let wanted = sections.filter(|section| names.contains(&section["name"].as_str().unwrap()));
    wanted.map(|section| section["text"].as_str().unwrap()).collect()
}

const FOUND: [&str; 10] = [
    "commands",
    "rule-files",
    "outline",
    "nearer-rules",
    "folder-rules",
    "rule-sections",
    "diff",
    "code",
    "commits",
    "repository",
];

fn check(home: &Home, cases: &[Case<'_>]) {
    for (args, must, must_not) in cases {
        let prompt = assembled_prompt(home, args);
        let text = section_texts(&prompt, &FOUND);
        for words in *must {
            assert!(text.contains(words), "{args:?} lacks {words:?}:\n{text}");
        }
        for words in *must_not {
            assert!(!text.contains(words), "{args:?} has {words:?}:\n{text}");
        }
        assert_eq!(prompt["messages"], assembled_prompt(home, args)["messages"], "{args:?}");
    }
}

fn rust() -> Home {
    let home = Home::with_repository("");
    home.write("Cargo.toml", "[package]\nname = \"tally\"\nversion = \"0.1.0\"\n\n[workspace]\n");
    home.write(".cargo/config.toml", "[alias]\nlint = \"clippy --all-targets\"\n");
    home.write("AGENTS.md", "# Rules\n\nNo panics.\n\n## Parsers\n\nReturn every problem.\n");
    home.write("src/lib.rs", "//! Tallies votes.\n\npub mod count;\npub mod parse;\n");
    home.write(
        "src/parse.rs",
        "//! Reads ballots.\n\n/// One ballot.\npub struct Ballot {\n    pub name: String,\n}\n\n/// Reads a \
         ballot from a line.\npub fn parse_ballot(line: &str) -> Option<Ballot> {\n    let name = line.trim();\n    \
         (!name.is_empty()).then(|| Ballot { name: name.to_owned() })\n}\n",
    );
    home.write(
        "src/count.rs",
        "//! Counts ballots.\n\nuse crate::parse::Ballot;\n\n/// The votes for a name.\npub fn count_votes(ballots: \
         &[Ballot], name: &str) -> usize {\n    ballots.iter().filter(|ballot| ballot.name == name).count()\n}\n",
    );
    home.write("tests/count.rs", "use tally::count::count_votes;\n\n#[test]\nfn nobody_votes() {\n    assert_eq!(count_votes(&[], \"a\"), 0);\n}\n");
    home.write("docs/format.md", "# The format\n\nOne ballot a line.\n");
    home.commit("tally votes");
    home.write("src/count.rs", "//! Counts ballots, twice.\n\npub fn count_votes() -> usize {\n    0\n}\n");
    home.commit("count: begin anew");
    home
}

#[test]
fn rust_tasks() {
    let home = rust();
    let always = &["test: cargo test --workspace (Cargo.toml:5)", "lint: cargo lint  # cargo clippy --all-targets"];
    check(
        &home,
        &[
            (
                &["fix the panic in parse_ballot"],
                &[always[0], always[1], "No panics.", "src/ 3 files"],
                &["begin anew"],
            ),
            (&["how are votes counted?"], always, &["the last commit, "]),
            (
                &["explain the last commit"],
                &["the last commit, ", "+//! Counts ballots, twice.", "count: begin anew"],
                &["not committed"],
            ),
            (&["what did HEAD~1 add?"], &["the commit that the task names, ", "+pub fn parse_ballot"], &["begin anew"]),
            (&["review HEAD~1..HEAD"], &["the commits that the task names, from "], &["tally votes\n"]),
            (&["review my changes"], &["the last commit, "], &["not committed"]),
            (&["document the format of ballots"], &["docs/ 1 file (1 Markdown)"], &["the last commit, "]),
            (&["count votes faster", "--context", "none"], &["No panics."], &["src/count.rs", "the last commit, "]),
            (&["explain the last commit", "--context", "none"], &["No panics."], &["the last commit, "]),
            (&["explain the last commit", "--task-untrusted"], always, &["the last commit, "]),
        ],
    );
    home.write("src/parse.rs", "pub fn parse_ballot() {}\n");
    check(
        &home,
        &[
            (
                &["review my changes"],
                &["the uncommitted changes", "src/parse.rs (+1 −12)", "+pub fn parse_ballot() {}"],
                &["begin anew"],
            ),
            (&["explain the last commit"], &["the last commit, "], &["the uncommitted changes"]),
        ],
    );
}

fn python() -> Home {
    let home = Home::with_repository("");
    home.write(
        "pyproject.toml",
        "[project]\nname = \"shelf\"\n\n[tool.pytest.ini_options]\n\n[tool.ruff]\nsrc = [\"shelf\"]\n",
    );
    home.write("tox.ini", "[testenv]\ncommands =\n    pytest -x {posargs}\n");
    home.write(
        ".github/workflows/ci.yml",
        "jobs:\n  test:\n    steps:\n      - run: pip install -e .\n      - run: mypy shelf\n",
    );
    home.write(".cursorrules", "Type everything.\n");
    home.write("shelf/__init__.py", "");
    home.write("shelf/loan.py", "class Loan:\n    def __init__(self, book):\n        self.book = book\n\n    def is_overdue(self, today):\n        return today > self.due\n");
    home.write("shelf/export.py", "def export_csv(loans):\n    return \"\\n\".join(loan.book for loan in loans)\n");
    home.write("shelf/AGENTS.md", "No network in here.\n");
    home.write(
        "tests/test_loan.py",
        "from shelf.loan import Loan\n\n\ndef test_overdue():\n    assert not Loan(\"a\").is_overdue(0)\n",
    );
    home.commit("lend books");
    home
}

#[test]
fn python_tasks() {
    let home = python();
    let always = &[
        "test: pytest (pyproject.toml:4)",
        "test: tox  # pytest -x {posargs} (tox.ini:3)",
        "lint: ruff check",
        "lint: mypy shelf (.github/workflows/ci.yml:5)",
    ];
    check(
        &home,
        &[
            (&["fix is_overdue"], always, &["pip install"]),
            (
                &["the export is slow"],
                &["Type everything.", "shelf/ 4 files (3 Python, 1 Markdown)"],
                &["the last commit, "],
            ),
            (&["explain the last commit"], &["+class Loan:", "lend books"], &[]),
            (&["what does HEAD change?"], &["the last commit, ", "shelf/export.py (+2 −0)"], &[]),
            (&["review 0000000..1111111"], always, &["the commits that the task names"]),
            (&["add a test for export_csv"], always, &["the last commit, "]),
            (&["why is a loan overdue?", "--context", "paths"], always, &["def is_overdue"]),
            (&["why is a loan overdue?", "--context", "none"], always, &["def is_overdue"]),
            (&["rename Loan", "--budget", "2600"], &["pytest"], &["the last commit, "]),
            (&["publish the package"], always, &["twine"]),
        ],
    );
}

fn typescript() -> Home {
    let home = Home::with_repository("");
    home.write("package.json", "{\n  \"name\": \"cart\",\n  \"scripts\": {\n    \"build\": \"tsc -p .\",\n    \"test\": \"vitest run\",\n    \"postinstall\": \"node x.js\"\n  }\n}\n");
    home.write("pnpm-lock.yaml", "lockfileVersion: '9.0'\n");
    home.write(".github/copilot-instructions.md", "Prefer small functions.\n");
    home.write("src/cart.ts", "import { price } from './price';\n\nexport class Cart {\n  items: string[] = [];\n\n  total(): number {\n    return this.items.reduce((sum, item) => sum + price(item), 0);\n  }\n}\n");
    home.write("src/price.ts", "export function price(item: string): number {\n  return item.length;\n}\n");
    home.write(
        "src/cart.test.ts",
        "import { Cart } from './cart';\n\ntest('empty', () => expect(new Cart().total()).toBe(0));\n",
    );
    home.write("dist/bundle.js", "x".repeat(60_000));
    home.commit("a cart");
    home.write("src/price.ts", "export function price(item: string): number {\n  return 1;\n}\n");
    home.write(".env", "API_KEY=sk-proj-0123456789abcdefghijABCDEFGHIJ0123456789\n");
    home
}

#[test]
fn typescript_tasks() {
    let home = typescript();
    let always = &[
        "build: pnpm run build  # tsc -p . (package.json:4)",
        "test: pnpm run test  # vitest run (package.json:5)",
        "Prefer small functions.",
    ];
    check(
        &home,
        &[
            (&["the total of a Cart is wrong"], always, &["postinstall", "sk-proj-"]),
            (
                &["review my changes"],
                &["the uncommitted changes", "src/price.ts (+1 −1)", "+  return 1;"],
                &["sk-proj-", "xxxxxxxx"],
            ),
            (&["explain the last commit"], &["the last commit, ", "+export class Cart"], &["sk-proj-"]),
            (&["finish the uncommitted work"], &["the uncommitted changes"], &["the last commit, "]),
            (&["how is a price computed?"], always, &["the uncommitted changes"]),
            (&["add a discount to Cart"], always, &["the uncommitted changes"]),
            (&["test the price"], always, &["sk-proj-"]),
            (&["bundle it smaller"], always, &["xxxxxxxx"]),
            (&["review the cart", "--context", "outline"], always, &["the uncommitted changes"]),
            (&["review this diff", "--context", "full"], &["the uncommitted changes", "+  return 1;"], &["sk-proj-"]),
        ],
    );
}

/// Text that depends on no task is in the cached part, and no task moves it.
#[test]
fn the_prefix_is_the_same_for_every_task() {
    for home in [rust(), python(), typescript()] {
        let prefix = |task: &str| {
            let json = assembled_prompt(&home, &[task, "--mode", "act"]);
            let sections = json["messages"]
                .as_array()
                .unwrap()
                .iter()
                .flat_map(|message| message["sections"].as_array().unwrap().clone());
            let stable = ["constitution", "rules", "mode-rules", "commands", "rule-files", "outline"];
            let kept =
                sections.filter(|section| stable.contains(&section["name"].as_str().unwrap())).collect::<Vec<_>>();
            assert!(kept.len() >= 5, "{kept:?}");
            (kept, json["report"]["totals"]["prefix"].clone())
        };
        let first = prefix("mend it");
        for task in ["explain the last commit", "review my changes", "count votes, export loans, sum the cart"] {
            assert_eq!(prefix(task), first, "{task}");
        }
    }
}
