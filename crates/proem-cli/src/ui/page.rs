//! The frame of a page for a browser: one file, no script, no address, nothing that has to be fetched.
//!
//! Invariants: every text goes through [`escape_page_text`], whoever wrote it. The page's own policy forbids whatever is
//! not its style.

use proem_guard::{Untrusted, show};
use proem_text::Label;

const STYLE: &str = "\
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0 1rem }
h1 { font-size: 1.4rem; overflow-wrap: anywhere } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; overflow-wrap: anywhere }
.scroll { overflow-x: auto }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .35rem .7rem; border-bottom: 1px solid #8885; vertical-align: top }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
code { font-size: .9em; overflow-wrap: anywhere; white-space: pre-wrap }
p.dim, span.dim { opacity: .7 }
";

/// The beginning of a page up to its first heading, with rules of style of its own.
pub(crate) fn begin_page(title: &str, style: &str) -> String {
    let title = escape_page_text(title);
    format!(
        "<!doctype html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\">
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<title>{title}</title>
<style>
{STYLE}{style}</style>
</head>
<body>
<h1>{title}</h1>
"
    )
}

/// The end of a page.
pub(crate) const PAGE_END: &str = "</body>\n</html>\n";

/// Text from anywhere, fit for an element or an attribute.
pub(crate) fn escape_page_text(text: &str) -> String {
    show::html(&Untrusted::new(text.to_owned(), Label::trusted())).into_string()
}
