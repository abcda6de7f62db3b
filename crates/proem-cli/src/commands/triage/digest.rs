//! `proem triage digest`: one screen to paste into a chat or a mail.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use jiff::tz::TimeZone;
use proem_app::project::OpenProject;
use proem_app::triage::TriageDesk;
use proem_app::triage::digest::{self, DigestPart, DigestSection};
use proem_app::triage::signals::period_start;
use proem_app::{records, when};
use proem_engine::run::Time;
use proem_guard::{LabelTree, Untrusted, show};
use proem_store::StoreAccess;
use proem_text::{Label, shorten_text};
use proem_triage::artefact::{clean_markdown, tree_on_one_line};

use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, style_text};

pub(super) const DIGEST_EXAMPLES: &str = "\
At most 40 lines. Times are in the project's zone. `html` is a fragment without scripts, for a mail.

Examples:
  proem triage digest
  proem triage digest --since 2026-11-23 --format text
  proem triage digest --since 7d --format html > digest.html";

/// The most characters of one text in a line.
const TEXT_WIDTH: usize = 120;

#[derive(Debug, Parser)]
pub(crate) struct Digest {
    /// From when on: today, yesterday, a date, or an age such as 7d
    #[arg(long, value_name = "TIME", default_value = "yesterday")]
    since: String,
    /// How it is written
    #[arg(long, value_enum, default_value = "md")]
    format: DigestFormat,
    /// A folder in the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
}

/// How a digest is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DigestFormat {
    /// Markdown
    Md,
    /// A fragment of HTML without scripts
    Html,
    /// Plain text
    Text,
}

pub(super) fn run_triage_digest(args: &Digest) -> Result<ExitCode, CommandFailure> {
    let project = OpenProject::without_book(&args.root, &crate::user_places()?)?;
    records::blocking(async {
        let desk = ui::print_notes_of(TriageDesk::open(&project, StoreAccess::Read).await?);
        let (zone, now) = (desk.zone(), when::time_now());
        let digest = async {
            let since = period_start(&args.since, now, &zone)?;
            Ok::<_, CommandFailure>(desk.digest(since, now).await?)
        };
        let digest = digest.await;
        desk.close().await;
        let digest = digest?;
        match args.format {
            DigestFormat::Text => ui::print_listing(&digest_page(&digest, args.format, &zone)),
            DigestFormat::Md | DigestFormat::Html => ui::print_report(&digest_page(&digest, args.format, &zone)),
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

fn digest_page(digest: &digest::Digest, format: DigestFormat, zone: &TimeZone) -> String {
    let minute = |time: Time| when::date_and_clock(time, zone).chars().take(16).collect::<String>();
    let head = format!("{}, {}", digest.project, minute(digest.now));
    let status = match (&digest.status, digest.before) {
        (None, _) => "Status: no signal has said anything yet.".to_owned(),
        (Some(reason), None) => format!("Status: {reason}."),
        (Some(reason), Some(before)) => format!("Status: {reason}; it was {before}."),
    };
    let since = format!("Since {}.", minute(digest.since));
    let mut out = String::new();
    match format {
        DigestFormat::Md => out.push_str(&format!("## {}\n\n{status} {since}\n", digest_words(format, &head))),
        DigestFormat::Text => {
            out.push_str(&format!("{}\n{status} {since}\n", style_text(BOLD, &digest_words(format, &head))));
        }
        DigestFormat::Html => out.push_str(&format!(
            "<section lang=\"en\">\n<h2>{}</h2>\n<p>{} {}</p>\n",
            digest_words(format, &head),
            digest_words(format, &status),
            digest_words(format, &since)
        )),
    }
    let (told, silent): (Vec<&DigestSection>, Vec<&DigestSection>) =
        digest.sections.iter().partition(|section| section.all > 0);
    told.iter().for_each(|part| out.push_str(&section_lines(part, format)));
    if !silent.is_empty() {
        let names: Vec<String> = silent.iter().map(|part| part.title.to_lowercase()).collect();
        let words = format!("Nothing: {}.", names.join(", "));
        out.push_str(&match format {
            DigestFormat::Md | DigestFormat::Text => format!("\n{words}\n"),
            DigestFormat::Html => format!("<p>{words}</p>\n"),
        });
    }
    if format == DigestFormat::Html {
        out.push_str("</section>\n");
    }
    out
}

fn section_lines(section: &DigestSection, format: DigestFormat) -> String {
    let DigestSection { title, lines, all, command } = section;
    let shown = lines.len();
    let more =
        if shown < *all { format!(" ({shown} of {all}; {})", command_words(format, command)) } else { String::new() };
    let lines = lines.iter().map(|line| line.iter().map(|part| part_words(format, part)).collect::<String>());
    match format {
        DigestFormat::Md => {
            let lines: String = lines.map(|line| format!("- {line}\n")).collect();
            format!("\n### {title}{more}\n{lines}")
        }
        DigestFormat::Text => {
            let lines: String = lines.map(|line| format!("  {line}\n")).collect();
            format!("\n{}{more}\n{lines}", style_text(BOLD, title))
        }
        DigestFormat::Html => {
            let lines: String = lines.map(|line| format!("\n<li>{line}</li>")).collect();
            format!("<h3>{title}{more}</h3><ul>{lines}</ul>\n")
        }
    }
}

fn part_words(format: DigestFormat, part: &DigestPart) -> String {
    match part {
        DigestPart::Words(words) => digest_words(format, words),
        DigestPart::Command(command) => command_words(format, command),
        DigestPart::Text(text) => match format {
            DigestFormat::Md => clean_markdown(text, TEXT_WIDTH),
            DigestFormat::Text => tree_on_one_line(text, TEXT_WIDTH),
            DigestFormat::Html => in_html(text),
        },
    }
}

fn command_words(format: DigestFormat, command: &str) -> String {
    match format {
        DigestFormat::Md | DigestFormat::Text => format!("`{command}`"),
        DigestFormat::Html => format!("<code>{}</code>", digest_words(format, command)),
    }
}

/// Words of ours, or of the trusted file. A space at an end separates them from the next part.
fn digest_words(format: DigestFormat, words: &str) -> String {
    let tree = LabelTree::from(words.trim());
    let shown = match format {
        DigestFormat::Md => clean_markdown(&tree, usize::MAX),
        DigestFormat::Text => tree_on_one_line(&tree, usize::MAX),
        DigestFormat::Html => in_html(&tree),
    };
    let space = |is: bool| if is { " " } else { "" };
    format!("{}{shown}{}", space(words.starts_with(' ')), space(words.len() > 1 && words.ends_with(' ')))
}

/// A text on one line of a page, cut where it is somebody else's.
fn in_html(tree: &LabelTree) -> String {
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = match tree {
        LabelTree::Text(text) => Untrusted::new(flat(text), Label::trusted()),
        LabelTree::Outside(text) | LabelTree::Flagged(text) => {
            text.clone().map(|text| shorten_text(&flat(&text), TEXT_WIDTH).into_owned())
        }
        _ => return String::new(),
    };
    show::html(&text).into_string()
}
