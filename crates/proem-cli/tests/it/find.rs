//! `proem find`: what is listed, in which order, and what never is.

use std::fs;

use serde_json::Value as Json;

use crate::fixture::Fixture;

/// A small repository in which each file is about something of its own.
fn shop_fixture() -> Fixture {
    let fixture = Fixture::folder().unborn();
    fixture.write(
        "src/basket.rs",
        "/// Adds a discount to the basket.\npub fn apply_discount(total: u64) -> u64 {\n    total - total / 10\n}\n\n\
         pub fn empty_basket() {}\n",
    );
    fixture.write(
        "src/invoice.rs",
        "use crate::basket;\n\npub struct InvoicePrinter;\n\nimpl InvoicePrinter {\n    pub fn print(&self) {}\n}\n",
    );
    fixture.write("tests/basket_test.rs", "#[test]\nfn discount_is_applied() {}\n");
    fixture.write("docs/invoices.md", "# Invoices\n\nHow an invoice is printed.\n");
    fixture.write("secret/discount.rs", "pub fn discount_key() {}\n");
    fixture.write(".proemignore", "secret/\n");
    fixture.commit("the shop opens");
    fixture.write(
        "src/basket.rs",
        "/// Adds a discount.\npub fn apply_discount(total: u64) -> u64 {\n    total - total / 20\n}\n",
    );
    fixture.commit("basket: half the discount");
    fixture
}

fn lines(fixture: &Fixture, args: &[&str]) -> Vec<String> {
    fixture.proem(&[&["find"], args].concat()).stdout().lines().map(str::to_owned).collect()
}

#[test]
fn a_task_that_is_hardly_understood_says_so_on_screen_and_in_the_prompt() {
    let fixture = shop_fixture();
    for (task, language) in [
        ("Der Hund von Frau Meier bellt nicht und die Rechnung schnurrt", "German"),
        ("El perro de la vecina ladra y la factura está contenta por el sol", "Spanish"),
        ("Собака соседки лает и счет доволен погодой", "Russian"),
    ] {
        let gap = format!("the task seems to be in {language}, and hardly a word of it is in the code");
        let found = fixture.proem(&["find", task]);
        assert!(found.stderr().contains(&gap), "{task}: {}{}", found.stdout(), found.stderr());
        let prompt = fixture.proem(&["assemble", task]);
        assert!(prompt.stdout().contains(&gap), "{task}: {}", prompt.stdout());
    }
}

#[test]
fn files_are_added_and_left_out_as_a_person_says() {
    let fixture = shop_fixture();
    let first = |args: &[&str]| lines(&fixture, args).into_iter().next().unwrap_or_default();
    assert_eq!(first(&["the discount is too high", "--file", "src/invoice.rs"]), "src/invoice.rs:6");
    let left = lines(&fixture, &["the discount is too high", "--exclude", "tests/", "--exclude", "*.md"]);
    assert!(left.contains(&"src/basket.rs:2".to_owned()), "{left:?}");
    assert!(!left.iter().any(|line| line.starts_with("tests") || line.contains(".md")), "{left:?}");
    for (path, why) in
        [("secret/discount.rs", "is no file that is read here"), ("nope.rs", "is no file"), ("../x", "is no file")]
    {
        let run = fixture.proem(&["find", "the discount", "--file", path]);
        assert!(run.code() == 2 && run.stderr().contains(why), "{path}: {}", run.transcript());
    }
    let prompt =
        fixture.proem(&["assemble", "the discount is too high", "--file", "docs/invoices.md", "--exclude", "src"]);
    assert!(prompt.stdout().contains("How an invoice is printed.") && !prompt.stdout().contains("apply_discount"));
    let asked = fixture.proem(&["ask", "what is in @src/basket.rs, tell @sam", "--dry-run"]);
    assert!(asked.code() == 0 && asked.stdout().contains("apply_discount"), "{}", asked.transcript());
}

#[test]
fn what_is_printed_for_programs_is_what_its_schema_says() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/find.schema.json");
    let schema: Json = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let fixture = shop_fixture();
    for task in ["the discount is too high", "InvoicePrinter prints nothing"] {
        let found = fixture.proem(&["find", task, "--json"]).json();
        let problems: Vec<String> = validator.iter_errors(&found).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{task}: {problems:?}");
        assert!(found["files"][0]["symbols"][0]["line"].is_u64(), "{found}");
    }
    assert!(!validator.is_valid(&serde_json::json!({ "files": [] })));
}

#[test]
fn the_same_cold_and_warm_and_after_damage() {
    let fixture = shop_fixture();
    let task = ["the invoice has no discount", "--json"];
    let whole = |fixture: &Fixture| {
        let mut found = fixture.proem(&[&["find"], &task[..]].concat()).json();
        let read = found["read"].take();
        (found.to_string(), read.as_u64().unwrap())
    };
    let (cold, read) = whole(&fixture);
    assert!(read > 0);
    assert_eq!(whole(&fixture), (cold.clone(), 0));
    let kept = kept_files(&fixture);
    for file in &kept {
        fs::write(file, b"damaged").unwrap();
        // The file of an earlier version goes when this one keeps its own.
        fs::write(file.with_file_name("context-1.bin"), b"older").unwrap();
    }
    assert!(!kept.is_empty(), "nothing is kept");
    let (after, again) = whole(&fixture);
    assert_eq!((after, again), (cold, read));
    assert!(kept.iter().all(|file| file.exists() && !file.with_file_name("context-1.bin").exists()));
}

/// The kept files, wherever they are below the user's folders.
fn kept_files(fixture: &Fixture) -> Vec<std::path::PathBuf> {
    let mut open = vec![fixture.base.clone()];
    let mut found = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && !path.is_symlink() {
                open.push(path);
            } else if path.file_name().is_some_and(|name| name == "context-6.bin") {
                found.push(path);
            }
        }
    }
    found
}

#[test]
fn a_task_about_no_code_gets_none() {
    let fixture = shop_fixture();
    let run = fixture.proem(&["find", "will it rain in Lisbon tomorrow"]);
    assert_eq!((run.code(), run.stdout()), (1, ""));
    assert!(run.stderr().contains("nothing of this repository fits the task"), "{}", run.stderr());
    assert_eq!(fixture.proem(&["find", " "]).code(), 2);
}

#[test]
fn a_word_in_common_by_chance_is_no_answer() {
    let fixture = shop_fixture();
    fixture.write("src/order.rs", "/// Orders a product.\npub fn order_product(name: &str) {}\n");
    fixture.commit("orders of a product");
    let task = "half of the children like the beach";
    let run = fixture.proem(&["find", task]);
    assert_eq!((run.code(), run.stdout()), (1, ""));
    assert!(run.stderr().contains("by its words the task is not about the code here"), "{}", run.stderr());
    let found = fixture.proem(&["find", task, "--json"]);
    assert!(found.stdout().contains("by its words the task is not about the code here"), "{}", found.stdout());
    let prompt = fixture.proem(&["assemble", task]);
    assert_eq!(prompt.code(), 0, "{}", prompt.stderr());
    assert!(!prompt.stdout().contains("apply_discount"), "{}", prompt.stdout());
}

#[test]
fn where_it_is_doubtful_that_a_task_is_about_code_a_prompt_has_paths_alone() {
    let fixture = shop_fixture();
    let task = "how an invoice is paid at the bank";
    // All code of a small repository has room, and hardly a word is known.
    let small = fixture.proem(&["assemble", task]);
    assert!(!small.stderr().contains("doubt") && small.stdout().contains("InvoicePrinter"), "{}", small.stdout());
    for number in 0..200 {
        fixture.write(&format!("src/shelf{number}.rs"), format!("pub const SHELF: u32 = {number};\n"));
    }
    fixture.commit("shelves");
    let found = fixture.proem(&["find", task]);
    assert!(found.stdout().contains("src/invoice.rs:"), "{}", found.stdout());
    assert!(found.stderr().contains("it is doubtful whether the task is about the code here"), "{}", found.stderr());
    let prompt = fixture.proem(&["assemble", task]);
    assert!(prompt.stdout().contains("src/invoice.rs"), "{}", prompt.stdout());
    assert!(!prompt.stdout().contains("InvoicePrinter"), "{}", prompt.stdout());
    let hint = "because of that doubt only their paths are given; `--context parts` shows their code all the same";
    assert!(prompt.stderr().contains(hint), "{}", prompt.stderr());
    // A requested depth is granted, with the note of doubt all the same.
    let asked = fixture.proem(&["assemble", "--context", "parts", task]);
    assert!(asked.stdout().contains("InvoicePrinter"), "{}", asked.stdout());
    assert!(asked.stderr().contains("it is doubtful") && !asked.stderr().contains(hint), "{}", asked.stderr());
    let none = fixture.proem(&["assemble", "--context", "none", task]);
    assert!(!none.stderr().contains("doubt"), "{}", none.stderr());
}

#[test]
fn without_a_repository_and_in_an_empty_one() {
    let fixture = Fixture::folder();
    fixture.write("report.py", "def export_report():\n    pass\n");
    let run = fixture.proem(&["find", "export_report is slow"]);
    assert!(run.stdout().starts_with("report.py:1"), "{}{}", run.stdout(), run.stderr());
    assert!(run.stderr().contains("no git repository"));
    let empty = Fixture::folder().unborn();
    assert!([0, 1].contains(&empty.proem(&["find", "anything"]).code()));
}

#[test]
fn paths_and_sources_that_are_not_utf_8_are_found() {
    use std::os::unix::ffi::OsStrExt as _;
    let fixture = Fixture::folder().unborn();
    let source = |name: &str| format!("\"\"\"The ledger. Größe.\"\"\"\ndef {name}(items):\n    return sum(items)\n");
    let latin: Vec<u8> = source("delta_cart_total").chars().map(|c| u8::try_from(c).unwrap()).collect();
    fixture.write("src/latin1.py", latin);
    let utf16 = source("alpha_cart_total").encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    fixture.write("src/utf16.py", [b"\xff\xfe".as_slice(), &utf16].concat());
    fixture.write("src/price.py", "def round_total(x):\n    return round(x, 2)\n");
    let odd = fixture.repo.join("src").join(std::ffi::OsStr::from_bytes(b"f\xf5rmat.py"));
    fs::write(odd, "def format_cart_total(): pass\n").unwrap();
    fixture.commit("encodings");
    for (task, expected) in [
        ("fix delta_cart_total rounding", "src/latin1.py:2"),
        ("fix alpha_cart_total rounding", "src/utf16.py:2"),
        ("fix format_cart_total", "\"src/f\\365rmat.py\":1"),
    ] {
        assert_eq!(lines(&fixture, &[task, "--wait"]).first().map(String::as_str), Some(expected), "{task}");
    }
    let shown = fixture.proem(&["assemble", "fix delta_cart_total rounding"]);
    assert!(shown.stdout().contains("def delta_cart_total"), "{}", shown.stdout());
}
