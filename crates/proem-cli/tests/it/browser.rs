//! Pages and pictures in a real browser without a window.
//!
//! The page is in a frame that may run no script. The page around it, which is the test's, measures it.

use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value as Json, json};

use crate::book_compared::compared;
use crate::risk::scene::shop;
use crate::skipped::skip;

/// The names of a browser, best first.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// How long one may take. The slowest start seen took three seconds.
const PATIENCE: Duration = Duration::from_mins(1);

/// The measurement inside the frame.
const MEASURE: &str = r#"
const frame = document.querySelector("iframe");
frame.srcdoc = new TextDecoder().decode(Uint8Array.from(atob(PAGE), c => c.charCodeAt(0)));
frame.addEventListener("load", () => {
  const inner = frame.contentDocument, root = inner.documentElement;
  const boxes = [...inner.querySelectorAll("svg text")].map(text => text.getBoundingClientRect());
  const svg = inner.querySelector("svg")?.getBoundingClientRect();
  const seen = {
    text: inner.body.innerText,
    width: root.clientWidth, content: root.scrollWidth,
    rows: inner.querySelectorAll("table tr").length,
    foreign: inner.querySelectorAll("img, script, iframe, link, object").length,
    fetched: frame.contentWindow.performance.getEntriesByType("resource").length,
    widths: [...inner.querySelectorAll(".scale i")].map(bar => bar.getBoundingClientRect().width),
    texts: boxes.length,
    outside: svg ? boxes.filter(box => box.left < svg.left || box.right > svg.right || box.bottom > svg.bottom).length : 0,
    overlapping: boxes.filter((a, i) => boxes.some((b, j) => j > i &&
      a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 2 && b.top < a.bottom - 2)).length,
  };
  const bytes = new TextEncoder().encode(JSON.stringify(seen));
  document.querySelector("pre").textContent = "seen:" + btoa(String.fromCharCode(...bytes)) + ":";
});
"#;

/// A browser's view of a page in a window of that width, in CSS pixels. Nothing if there is no browser.
pub(crate) fn browsed_page(page: &str, width: u16) -> Option<Json> {
    let Some(name) = NAMES.into_iter().find(|name| Command::new(name).arg("--version").output().is_ok()) else {
        skip("browser", format!("none of {NAMES:?} is here"));
        return None;
    };
    let folder = tempfile::tempdir().unwrap();
    let outer = format!(
        "<!doctype html><meta charset=\"utf-8\"><iframe sandbox=\"allow-same-origin\" \
         style=\"border: 0; width: {width}px; height: 900px\"></iframe><pre></pre>\
         <script>const PAGE = \"{}\";{MEASURE}</script>",
        BASE64.encode(page)
    );
    let file = folder.path().join("outer.html");
    fs::write(&file, outer).unwrap();
    let out = folder.path().join("dom");
    let mut child = Command::new(name)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--virtual-time-budget=5000"])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg("--dump-dom")
        .arg(format!("file://{}", file.display()))
        .stdin(Stdio::null())
        .stdout(fs::File::create(&out).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > PATIENCE {
            child.kill().unwrap();
        }
        thread::sleep(Duration::from_millis(20));
    }
    let dom = fs::read_to_string(out).unwrap();
    let measured = dom.split_once("seen:").and_then(|(_, rest)| rest.split_once(':'));
    let (measured, _) = measured.unwrap();
    Some(serde_json::from_slice(&BASE64.decode(measured).unwrap()).unwrap())
}

#[test]
fn a_comparison_of_models_is_a_page_that_fits_a_window_and_a_telephone() {
    let (fixture, ..) = compared(&["--max-cost", "1", "--html", "page.html"]);
    let page = fs::read_to_string(fixture.repo.join("page.html")).unwrap();
    for width in [1200, 360] {
        let Some(seen) = browsed_page(&page, width) else { return };
        assert_eq!((&seen["foreign"], &seen["fetched"]), (&json!(0), &json!(0)));
        // A bar for scrolling down may take some of it.
        assert!(seen["width"].as_u64() > Some(u64::from(width) - 20), "{seen}");
        assert!(seen["content"].as_u64() <= seen["width"].as_u64(), "it scrolls sideways: {seen}");
        let text = seen["text"].as_str().unwrap();
        for words in ["reviews/sorting", "claude-sonnet-4-6", "as expected", "fails", "undecided", "a crash is bad"] {
            assert!(text.contains(words), "{words}: {text}");
        }
        // A head and a row for each model, and for each of them a head and two cases. Each has its interval drawn.
        assert_eq!(seen["rows"], 3 + 2 * 3, "{seen}");
        let widths = seen["widths"].as_array().unwrap();
        assert!(widths.len() == 2 && widths.iter().all(|width| width.as_f64() > Some(5.0)), "{seen}");
    }
}

#[test]
fn the_picture_of_a_window_has_its_words_inside_and_beside_each_other() {
    let fixture = shop().repository();
    let run = fixture.proem(&["assemble", "mend the price of the basket", "--svg", "window.svg"]);
    assert_eq!(run.code(), 0, "{}", run.transcript());
    let picture = fs::read_to_string(fixture.repo.join("window.svg")).unwrap();
    let Some(seen) = browsed_page(&format!("<!doctype html><body style=\"margin: 0\">{picture}"), 1200) else { return };
    assert!(seen["texts"].as_u64() > Some(10), "{seen}");
    assert_eq!((&seen["outside"], &seen["overlapping"], &seen["fetched"]), (&json!(0), &json!(0), &json!(0)), "{seen}");
}

#[test]
fn the_picture_of_a_risk_report_has_each_change_once_and_its_words_inside() {
    let fixture = shop().repository();
    let draw = || {
        let run = fixture.proem(&["risk", "HEAD~8..HEAD", "--each", "--no-model", "--svg", "risk.svg"]);
        assert_eq!(run.code(), 0, "{}", run.transcript());
        fs::read_to_string(fixture.repo.join("risk.svg")).unwrap()
    };
    let picture = draw();
    assert_eq!(picture, draw());
    let drawn: usize = picture
        .split("<title>")
        .filter_map(|part| part.split_once("</title></rect>")?.0.split_once(": ")?.1.parse::<usize>().ok())
        .sum();
    assert!(drawn == 8 && picture.contains("8 changes by rank"), "{picture}");
    let Some(seen) = browsed_page(&format!("<!doctype html><body style=\"margin: 0\">{picture}"), 1200) else { return };
    assert_eq!((&seen["outside"], &seen["overlapping"], &seen["fetched"]), (&json!(0), &json!(0), &json!(0)), "{seen}");
}

#[test]
fn a_page_of_risk_has_each_change_and_file_and_fits_a_window_and_a_telephone() {
    let fixture = shop().repository();
    let hostile = "<script>document.body.innerText = ''</script><img src=x onerror=alert(1)>";
    fixture.write("src/<b>.rs", "fn broken() {}\n");
    fixture.git(&["add", "."]);
    fixture.git(&["commit", "-q", "-m", hostile]);
    let run = fixture.proem(&["risk", "HEAD~3..HEAD", "--each", "--no-model", "--html", "risk.html"]);
    assert_eq!(run.code(), 0, "{}", run.transcript());
    let page = fs::read_to_string(fixture.repo.join("risk.html")).unwrap();
    // A change that says LOW is folded, so a window doesn't show its files.
    assert!(page.matches("<section ").count() == 3 && page.contains("src/&lt;b&gt;.rs"), "{page}");
    for width in [1200, 360] {
        let Some(seen) = browsed_page(&page, width) else { return };
        assert_eq!((&seen["foreign"], &seen["fetched"]), (&json!(0), &json!(0)), "{seen}");
        assert!(seen["content"].as_u64() <= seen["width"].as_u64(), "it scrolls sideways: {seen}");
        let text = seen["text"].as_str().unwrap();
        for words in ["Change risk of 3 changes", hostile, "shop/permissions.py", "Files"] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
    let one = fixture.proem(&["risk", "HEAD~1", "--no-model", "--html", "one.html"]);
    assert_eq!(one.code(), 0, "{}", one.transcript());
    let page = fs::read_to_string(fixture.repo.join("one.html")).unwrap();
    assert!(page.contains("<h1>Change risk: ") && !page.contains("<a "), "{page}");
}
