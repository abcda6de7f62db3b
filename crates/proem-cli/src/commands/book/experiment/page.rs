//! An experiment as one page: the interval of each version's difference over time.

use proem_app::book::experiments::status::{DifferenceEstimate, VersionComparison, intervals_over_time};

use super::{MeasuredExperiment, difference_in_words, guardrail_in_words, mean_in_words, start_in_words};
use crate::ui::page::{PAGE_END, begin_page, escape_page_text};

/// How many looks are drawn.
const LOOKS: usize = 120;
/// The picture's width and height, without its labels.
const SIZE: (f64, f64) = (640.0, 240.0);
/// The cells beside and below the picture for labels.
const MARGIN: (f64, f64) = (90.0, 30.0);

const STYLE: &str = "\
svg { width: 100%; height: auto; max-width: 48rem }
.band { fill: #3b7dd8; opacity: .3 } .mean { fill: none; stroke: #3b7dd8; stroke-width: 2 }
.zero { stroke: currentColor; stroke-width: 1 } .grid { stroke: #8885; stroke-width: 1 }
text { fill: currentColor; font: 12px system-ui, sans-serif }
";

/// A page with a picture for each version beside the one in use.
pub(super) fn experiment_page(found: &MeasuredExperiment) -> String {
    let status = &found.status;
    let mut out = begin_page(&format!("{} of {}", status.name, status.prompt), STYLE);
    out.push_str(&format!("<p>{}</p>\n", escape_page_text(&start_in_words(&found.start))));
    out.push_str(
        "<p class=\"dim\">The band is the interval of the difference. It covers the true difference at every look, 95 times \
         in 100, however often somebody looks.</p>\n",
    );
    for other in &status.others {
        push_version(found, other, &mut out);
    }
    out.push_str(PAGE_END);
    out
}

fn push_version(found: &MeasuredExperiment, other: &VersionComparison, out: &mut String) {
    let (status, of) = (&found.status, &other.of);
    out.push_str(&format!(
        "<h2>{} beside {}</h2>\n",
        escape_page_text(&of.version),
        escape_page_text(&status.base.version)
    ));
    let outcome = status.outcome.as_str();
    let mut lines = vec![
        format!(
            "{}: {} in use, {}",
            outcome,
            mean_in_words(outcome, status.base.mean),
            mean_in_words(outcome, of.mean)
        ),
        format!("subjects: {} and {}", status.base.subjects, of.subjects),
        super::verdict_in_words(other),
    ];
    lines.extend(other.guardrails.iter().map(guardrail_in_words));
    for line in lines {
        out.push_str(&format!("<p>{}</p>\n", escape_page_text(&anstream::adapter::strip_str(&line).to_string())));
    }
    let intervals = intervals_over_time(&found.start, &found.measured, &of.version, LOOKS);
    out.push_str(&interval_picture(outcome, &intervals));
}

/// The interval over time, as a picture without scripts.
fn interval_picture(outcome: &str, intervals: &[(usize, DifferenceEstimate)]) -> String {
    let Some((last, newest)) = intervals.last() else {
        return "<p>No outcome of both versions yet.</p>\n".to_owned();
    };
    let extent = |of: fn(&DifferenceEstimate) -> f64, pick: fn(f64, f64) -> f64| {
        // The first looks know nothing: the later half sets the scale.
        let later = intervals.iter().skip(intervals.len() / 2);
        later.map(|(_, difference)| of(difference)).fold(0.0, pick)
    };
    let (lowest, highest) = (extent(|d| d.low, f64::min), extent(|d| d.high, f64::max));
    let range = if highest > lowest { highest - lowest } else { 1.0 };
    #[expect(clippy::cast_precision_loss, reason = "a place in a picture")]
    let across = |subjects: usize| MARGIN.0 + SIZE.0 * subjects as f64 / (*last).max(1) as f64;
    let down = |value: f64| 10.0 + SIZE.1 * (1.0 - ((value - lowest) / range).clamp(0.0, 1.0));
    let point = |subjects: usize, value: f64| format!("{:.1},{:.1}", across(subjects), down(value));
    let upper = intervals.iter().map(|(at, difference)| point(*at, difference.high));
    let lower = intervals.iter().rev().map(|(at, difference)| point(*at, difference.low));
    let band: Vec<String> = upper.chain(lower).collect();
    let mean: Vec<String> = intervals.iter().map(|(at, difference)| point(*at, difference.mean)).collect();
    // A label is twelve units high.
    let is_apart = |value: f64| (down(value) - down(0.0)).abs() >= 14.0;
    let label = |value: f64| {
        let text = super::difference_amount(outcome, value.abs());
        let sign = if value < 0.0 { "−" } else { "" };
        format!("<text x=\"0\" y=\"{:.1}\">{}</text>", down(value) + 4.0, escape_page_text(&format!("{sign}{text}")))
    };
    let zero = down(0.0);
    let (width, height) = (MARGIN.0 + SIZE.0 + 10.0, 10.0 + SIZE.1 + MARGIN.1);
    let alternative = format!("after {last} subjects: {}", difference_in_words(outcome, *newest));
    format!(
        "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">\n\
         <polygon class=\"band\" points=\"{}\"/>\n<polyline class=\"mean\" points=\"{}\"/>\n\
         <line class=\"zero\" x1=\"{left}\" x2=\"{right}\" y1=\"{zero:.1}\" y2=\"{zero:.1}\"/>\n{}{}{}\n\
         <text x=\"{left}\" y=\"{bottom}\">0</text><text x=\"{right}\" y=\"{bottom}\" text-anchor=\"end\">{last} subjects</text>\n\
         </svg>\n",
        escape_page_text(&alternative),
        band.join(" "),
        mean.join(" "),
        label(0.0),
        if is_apart(lowest) { label(lowest) } else { String::new() },
        if is_apart(highest) { label(highest) } else { String::new() },
        left = MARGIN.0,
        right = MARGIN.0 + SIZE.0,
        bottom = height - 8.0,
    )
}
