//! `proem assemble --svg`: one picture of a context window, by section, trust and price.
//!
//! Invariants: the same assembly, the same bytes. An unknown price is a dash and never a zero.

use proem_agents::assemble::AssemblyAccount;
use proem_engine::cache::CachePlan;
use proem_engine::call::NanoDollars;
use proem_engine::providers::Model;
use proem_engine::report::{SectionReport, SectionState};
use proem_engine::section::Trust;

use crate::ui::drawing::{MARGIN, WIDTH, begin_picture, push_box, push_svg_text};
use crate::ui::page::escape_page_text;
use crate::ui::{self, group_thousands};

/// The sources of a picture.
#[derive(Debug, Clone, Copy)]
pub(super) struct PictureSource<'a> {
    pub(super) assembled: &'a AssemblyAccount,
    pub(super) model: &'a Model,
    pub(super) cache: &'a CachePlan,
}

/// The top of the window, and its height.
const WINDOW: (usize, usize) = (86, 44);
/// The top of the first row, and the distance between rows.
const ROWS: (usize, usize) = (176, 27);
/// The starts of a row's columns, or their ends for numbers.
const COLUMNS: [usize; 5] = [46, 210, 480, 590, 614];
/// The longest name, in characters.
const NAME: usize = 26;
/// The longest bar of a row.
const BAR: usize = 242;

/// The picture.
pub(super) fn svg(source: &PictureSource<'_>) -> String {
    let report = &source.assembled.report;
    let rows: Vec<&SectionReport> = report.sections.iter().filter(|section| !is_empty_section(section)).collect();
    let height = ROWS.0.saturating_add(rows.len().saturating_mul(ROWS.1)).saturating_add(84);
    let title = format!("The context window of {}, by section, trust and price", report.prompt.name);
    let mut out = begin_picture(&title, height);
    push_picture_head(source, &mut out);
    push_window_bar(source, &mut out);
    for (index, section) in rows.into_iter().enumerate() {
        push_picture_row(source, section, ROWS.0.saturating_add(index.saturating_mul(ROWS.1)), &mut out);
    }
    foot(source, height, &mut out);
    out.push_str("</svg>\n");
    out
}

fn push_picture_head(source: &PictureSource<'_>, out: &mut String) {
    let PictureSource { assembled, model, .. } = source;
    let report = &assembled.report;
    let name = format!("{} {}", report.prompt.name, report.prompt.version);
    push_svg_text(out, "title", (MARGIN, 38), &ui::cut_to_width(&name, 60));
    let tokens = report.totals.tokens;
    let of = match model.context_tokens.map(std::num::NonZeroUsize::get) {
        Some(all) => {
            let tenths = tokens.saturating_mul(1000) / all;
            format!(" of {} ({}.{} %)", group_thousands(all), tenths / 10, tenths % 10)
        }
        None => String::new(),
    };
    let price =
        uncached_price(source, tokens).map_or_else(|| "price unknown".to_owned(), |price| format!("{price} uncached"));
    push_svg_text(
        out,
        "dim",
        (MARGIN, 62),
        &format!("{} tokens{of} · {price} · {}", group_thousands(tokens), ui::cut_to_width(&model.name, 40)),
    );
}

/// The whole prompt as one bar, with the place up to which it can be cached.
fn push_window_bar(source: &PictureSource<'_>, out: &mut String) {
    let sections = &source.assembled.report.sections;
    let all = sections.iter().map(|section| section.tokens).sum::<usize>().max(1);
    let room = WIDTH - 2 * MARGIN;
    let place = |tokens: usize| MARGIN.saturating_add(tokens.saturating_mul(room) / all);
    let mut before = 0_usize;
    for section in sections.iter().filter(|section| section.tokens > 0) {
        let after = before.saturating_add(section.tokens);
        let (from, to) = (place(before), place(after));
        // A gap tells neighbours of one colour apart; what is too small for one stays visible.
        let width = to.saturating_sub(from).saturating_sub(2).max(1);
        let words = format!("{}: {} tokens", section.name, section.tokens);
        push_box(out, section.trust.as_str(), [from, WINDOW.0, width, WINDOW.1], Some(&words));
        before = after;
    }
    let stable = source.cache.stable_tokens;
    let at = place(stable.min(all));
    let (top, bottom) = (WINDOW.0 - 6, WINDOW.0 + WINDOW.1 + 18);
    out.push_str(&format!("<path class=\"line\" d=\"M{at} {top}V{bottom}\"/>\n"));
    let word = if source.cache.breakpoints.is_empty() { "stable up to here" } else { "cached up to here" };
    let words = format!("{word}: {} tokens", group_thousands(stable));
    // On whichever side there is more room.
    if at > WIDTH / 2 {
        out.push_str(&format!(
            "<text class=\"dim\" text-anchor=\"end\" x=\"{}\" y=\"{bottom}\">{}</text>\n",
            at.saturating_sub(6),
            escape_page_text(&words)
        ));
    } else {
        push_svg_text(out, "dim", (at.saturating_add(6), bottom), &words);
    }
}

fn push_picture_row(source: &PictureSource<'_>, section: &SectionReport, top: usize, out: &mut String) {
    let y = top.saturating_add(15);
    let class = if section.tokens == 0 { "empty" } else { section.trust.as_str() };
    push_box(out, class, [MARGIN, top.saturating_add(4), 13, 13], None);
    let [name, trust, tokens, cost, bar] = COLUMNS;
    push_svg_text(out, "", (name, y), &ui::cut_to_width(&section.name, NAME));
    let kind = match section.trust {
        Trust::Untrusted => "untrusted, contained".to_owned(),
        trust => trust.as_str().to_owned(),
    };
    push_svg_text(out, "dim", (trust, y), &format!("{kind} · cache {}", section.cache.as_str()));
    let (count, dollars) = match section.state {
        SectionState::Empty | SectionState::Dropped => ("left out".to_owned(), String::new()),
        SectionState::Kept | SectionState::Shrunk => {
            let price = uncached_price(source, section.tokens).unwrap_or_else(|| ui::UNKNOWN.to_owned());
            (group_thousands(section.tokens), price)
        }
    };
    push_svg_text(out, "number", (tokens, y), &count);
    push_svg_text(out, "number dim", (cost, y), &dollars);
    let most = source.assembled.report.sections.iter().map(|section| section.tokens).max().unwrap_or(0).max(1);
    let width = section.tokens.saturating_mul(BAR) / most;
    if section.tokens > 0 {
        push_box(out, class, [bar, top.saturating_add(4), width.max(1), 13], None);
    }
}

/// Whether there was nothing to say in a section.
fn is_empty_section(section: &SectionReport) -> bool {
    section.state == SectionState::Empty
}

fn foot(source: &PictureSource<'_>, height: usize, out: &mut String) {
    let empty = source.assembled.report.sections.iter().filter(|section| is_empty_section(section));
    let names: Vec<String> = empty.map(|section| ui::cut_to_width(&section.name, NAME)).collect();
    if !names.is_empty() {
        let words = ui::cut_to_width(&format!("empty here: {}", names.join(", ")), 130);
        push_svg_text(out, "dim", (MARGIN, height.saturating_sub(58)), &words);
    }
    let sentence = source.cache.sentence();
    let lines = ui::width::wrap_at_words(&sentence, 130);
    for (index, line) in lines.iter().take(2).enumerate() {
        let y = height.saturating_sub(34).saturating_add(index.saturating_mul(16));
        push_svg_text(out, "dim", (MARGIN, y), line);
    }
}

/// The price of this many tokens of this prompt if nothing is cached.
fn uncached_price(source: &PictureSource<'_>, tokens: usize) -> Option<String> {
    let prices = source.model.prices_for(source.assembled.report.totals.tokens)?;
    let nanos = u64::try_from(tokens).ok()?.saturating_mul(prices.input.get());
    Some(ui::short_price(NanoDollars(nanos)))
}
