//! The files that a task is about, and their order.

use proem_app::context::output::FindOutput;
use proem_app::context::{ContextPatience, ContextQuery, FileChoice, TaskCandidates, find_context};
use proem_guard::show;
use serde_json::json;

use crate::Home;
use crate::found::assembled_prompt;

fn found_candidates(home: &Home, task: &str) -> TaskCandidates {
    let choice = FileChoice::new(task, &[], &[]).unwrap();
    let patience = ContextPatience::Short;
    let query = ContextQuery { task, root: &home.work, most: 10, patience, choice: &choice, answers: None };
    find_context(&query, &home.project(), &|_, _| {}).unwrap()
}

/// Each file with its line.
fn found_lines(home: &Home, task: &str) -> Vec<String> {
    let found = found_candidates(home, task);
    found.all().map(|file| format!("{}:{}", show::exact_json(&file.path).as_str().unwrap(), file.line())).collect()
}

/// A small repository in which each file is about something of its own.
fn shop_fixture() -> Home {
    let home = Home::with_repository("");
    home.write(
        "src/basket.rs",
        "/// Adds a discount to the basket.\npub fn apply_discount(total: u64) -> u64 {\n    total - total / 10\n}\n\n\
         pub fn empty_basket() {}\n",
    );
    home.write(
        "src/invoice.rs",
        "use crate::basket;\n\npub struct InvoicePrinter;\n\nimpl InvoicePrinter {\n    pub fn print(&self) {}\n}\n",
    );
    home.write("tests/basket_test.rs", "#[test]\nfn discount_is_applied() {}\n");
    home.write("docs/invoices.md", "# Invoices\n\nHow an invoice is printed.\n");
    home.write("secret/discount.rs", "pub fn discount_key() {}\n");
    home.write(".proemignore", "secret/\n");
    home.commit("the shop opens");
    home.write(
        "src/basket.rs",
        "/// Adds a discount.\npub fn apply_discount(total: u64) -> u64 {\n    total - total / 20\n}\n",
    );
    home.commit("basket: half the discount");
    home
}

#[test]
fn what_fits_comes_first_with_its_line() {
    let home = shop_fixture();
    let first = |task: &str| found_lines(&home, task).into_iter().next().unwrap_or_default();
    assert_eq!(first("the discount is too high"), "src/basket.rs:2");
    assert_eq!(first("InvoicePrinter prints nothing"), "src/invoice.rs:3");
    assert_eq!(first("thread 'main' panicked at src/invoice.rs:3:5: no basket"), "src/invoice.rs:3");
    let listed = found_lines(&home, "the discount is too high");
    assert!(listed.iter().any(|line| line.starts_with("tests/basket_test.rs")), "{listed:?}");
    assert!(!listed.iter().any(|line| line.contains("secret")), "{listed:?}");
}

#[test]
fn a_task_in_another_language_finds_english_code() {
    let home = shop_fixture();
    // A word of the shop's translations is no word of its code.
    home.write("locale/de.po", "msgid \"discount\"\nmsgstr \"Rabatt im Warenkorb\"\n");
    home.commit("German texts");
    for task in [
        "Der Rabatt im Warenkorb ist zu hoch",
        "La remise du panier est trop élevée",
        "El descuento de la cesta es demasiado alto",
        "O desconto do carrinho está alto demais",
        "Lo sconto del carrello è troppo alto",
        "De korting in de winkelmand is te hoog",
        "Rabat w koszyku jest za wysoki",
        "Скидка в корзине слишком велика",
        "カートの割引が高すぎる",
        "购物车的折扣太高了",
    ] {
        let found = found_candidates(&home, task);
        let first = found.all().next().map(|file| show::exact_json(&file.path));
        assert_eq!(first, Some(json!("src/basket.rs")), "{task}: {:?}", found.gaps);
        assert!(!found.gaps.iter().any(|gap| gap.contains("seems to be")), "{task}: {:?}", found.gaps);
    }
}

#[test]
fn whoever_asks_is_whom_git_would_name_as_author() {
    let home = shop_fixture();
    let says_so = || {
        let found = json!(FindOutput::new(&found_candidates(&home, "the discount is too high")));
        assert_eq!(found["files"][0]["path"], "src/basket.rs");
        found["files"][0]["evidence"].to_string().contains("changed in the last commit, by whoever asks")
    };
    assert!(!says_so());
    home.git(&["config", "user.name", "Ann"]);
    for (mail, expected) in [("Ann@Example.org", true), ("bob@example.org", false), ("", false)] {
        home.git(&["config", "user.email", mail]);
        assert_eq!(says_so(), expected, "{mail}");
    }
}

#[test]
fn sources_that_are_hard_to_read_are_read_or_named() {
    let home = shop_fixture();
    home.write("src/bundle.js", format!("var discount={};", "[1]".repeat(200_000)));
    home.write("src/binary.rs", b"\x00\x01discount\xff\xfe");
    home.write("src/latin.py", b"# r\xe9duction discount\ndef f(): pass\n");
    home.write("src/deep.rs", "mod a {".repeat(50_000));
    for name in 0..300 {
        home.write(&format!("many/{name}/mod.rs"), "pub fn same() {}\n");
    }
    home.commit("what is hard");
    let listed = found_lines(&home, "the discount of apply_discount");
    assert_eq!(listed.first().map(String::as_str), Some("src/basket.rs:2"), "{listed:?}");
}

#[test]
fn definitions_of_many_languages_are_found_by_their_line() {
    let home = Home::with_repository("");
    let pad = "int pad(void);\n".repeat(4_500);
    home.write("tty.c", format!("{pad}\nstatic void\ntty_draw_cursor(int a)\n{{\n\tint blink(int);\n}}\n"));
    home.write("tty.h", "static void tty_draw_cursor(int a);\n");
    home.write("db/table.cc", "#include \"x\"\nStatus Table::Compact(int a) {\n}\nStatus Index::Compact(int a) {\n}\n");
    home.write("app/Basket.kt", "class Basket {\n    internal fun total() = 1\n}\n");
    home.write("Makefile", "CC := gcc\npackage: all\n\ttar cf ship.tar\n");
    home.write(
        "prices.ipynb",
        "{\n \"cells\": [\n  {\n   \"cell_type\": \"code\",\n   \"outputs\": [{\"text\": [\"zebra stripes\"]}],\n   \"source\": [\n    \
         \"def discounted(price):\\n\",\n    \"    return price * 0.9\"\n   ]\n  }\n ]\n}\n",
    );
    home.commit("many languages");
    for (task, expected) in [
        ("the cursor is drawn twice by tty_draw_cursor", "tty.c:4503"),
        ("`Index` loses keys in `Compact`", "db/table.cc:4"),
        ("the total of the Basket is wrong", "app/Basket.kt:2"),
        ("discounted prices are too low", "prices.ipynb:7"),
    ] {
        let listed = found_lines(&home, task);
        assert_eq!(listed.first().map(String::as_str), Some(expected), "{task}: {listed:?}");
    }
    let listed = found_lines(&home, "make the package with tar");
    assert!(listed.contains(&"Makefile:2".to_owned()), "{listed:?}");
    let prompt = assembled_prompt(&home, &["discounted prices are too low"])["messages"].to_string();
    assert!(prompt.contains("\\tdef discounted(price):") && !prompt.contains("zebra"), "{prompt}");
}

#[test]
fn a_task_that_names_nothing_gets_what_introduces_the_project() {
    let home = shop_fixture();
    home.write("README.md", "# The shop\n");
    home.write("Cargo.toml", "[package]\nname = \"shop\"\n");
    home.write("src/main.rs", "fn main() {}\n");
    home.commit("an introduction");
    let found = |task: &str| found_lines(&home, task).join(" ");
    assert_eq!(found("What does this project do?"), "README.md:1 src/main.rs:1 Cargo.toml:1");
    assert_eq!(found("Wie baue ich das?"), "Cargo.toml:1 README.md:1 src/main.rs:1");
    assert_eq!(found_lines(&home, "make it faster").first().map(String::as_str), Some("src/basket.rs:1"));
    let gaps = found_candidates(&home, "make it faster").gaps;
    assert!(gaps.iter().any(|gap| gap.contains("the task names no place")), "{gaps:?}");
}

#[test]
fn an_uncommitted_change_counts_and_a_link_is_not_followed() {
    let home = shop_fixture();
    home.write("src/rounding.rs", "pub fn round_half_even() {}\n");
    std::os::unix::fs::symlink("/etc/passwd", home.work.join("src/passwords.rs")).unwrap();
    let listed = found_lines(&home, "round_half_even is wrong");
    assert_eq!(listed.first().map(String::as_str), Some("src/rounding.rs:1"));
    assert!(!found_lines(&home, "passwords of root").iter().any(|line| line.contains("passwords")));
    // Patterns that are not committed keep nothing out.
    home.write(".proemignore", "src/\n");
    assert!(!found_lines(&home, "round_half_even is wrong").is_empty());
}

/// A named file is looked for in any task, and so is the subject of a small repository.
#[test]
fn what_a_task_names_comes_first() {
    let home = shop_fixture();
    let first = |task: &str| found_lines(&home, task).into_iter().next().unwrap_or_default();
    assert_eq!(first("the discount is too high, see @invoices.md"), "docs/invoices.md:1");
    assert_eq!(first("order more coffee beans for @src/invoice.rs"), "src/invoice.rs:6", "about no code but for that");
    home.write("src/order.rs", "/// Orders a product.\npub fn order_product(name: &str) {}\n");
    home.commit("orders of a product");
    assert_eq!(first("half of the children like the beach, see src/basket.rs"), "src/basket.rs:2");
    assert_eq!(first("apply_discount when half of the children like the beach"), "src/basket.rs:2");
    assert_eq!(first("orders of a product get lost"), "src/order.rs:2");
    assert_eq!(first("customers complain about the discount"), "src/basket.rs:2");
}
