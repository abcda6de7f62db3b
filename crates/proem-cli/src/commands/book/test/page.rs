//! Several models' answers, as one page.

use proem_app::book::compare::{ModelStanding, ModelVerdict};
use proem_text::shorten_text;

use super::table::{interval_percent, whole_percent};
use crate::ui;
use crate::ui::page::{PAGE_END, begin_page, escape_page_text};

/// The most answers of a case that are shown, and the most characters of each.
const ANSWERS: (usize, usize) = (8, 400);

const STYLE: &str = "\
.scale { position: relative; width: 10rem; height: 1rem; background: #8883; border-radius: 3px }
.scale i { position: absolute; top: 0; bottom: 0; background: #3b7dd8; opacity: .55; border-radius: 3px }
.scale b { position: absolute; top: -2px; bottom: -2px; width: 2px; background: #d9822b }
.scale u { position: absolute; top: 2px; bottom: 2px; width: 4px; margin-left: -2px; background: currentColor }
.holds { color: #1a7f4b } .fails { color: #d1242f } .undecided, .unknown { color: #b06f00 }
";

/// The standings of models with prompts, as one page without scripts.
pub(super) fn comparison_page(standings: &[ModelStanding], least: u32) -> String {
    let mut out = begin_page("Prompts and models", STYLE);
    out.push_str(&format!(
        "<p>Wanted are at least {least} % of answers as expected. A model holds or fails where the whole interval \
         (Wilson, 95 in 100) is on one side of that; else it is undecided.</p>\n"
    ));
    let mut prompt = "";
    let mut open = false;
    for standing in standings {
        if standing.prompt != prompt {
            if open {
                out.push_str("</table></div>\n");
            }
            prompt = &standing.prompt;
            open = true;
            out.push_str(&format!("<h2>{}</h2>\n<div class=\"scroll\"><table>\n", escape_page_text(prompt)));
            out.push_str(
                "<tr><th>model</th><th class=\"n\">as expected</th><th class=\"n\">share</th><th>interval</th>\
                 <th class=\"n\">JSON</th><th class=\"n\">schema</th><th class=\"n\">cost</th><th>verdict</th></tr>\n",
            );
        }
        push_standing_row(standing, least, &mut out);
    }
    if open {
        out.push_str("</table></div>\n");
    }
    out.push_str("<h2>Cases</h2>\n");
    for standing in standings {
        push_standing_cases(standing, &mut out);
    }
    out.push_str(PAGE_END);
    out
}

fn push_standing_row(standing: &ModelStanding, least: u32, out: &mut String) {
    let (times, expected) = standing.counts();
    let live = || standing.cases.iter().filter_map(|case| case.live.as_ref());
    let json: u64 = live().map(|live| u64::from(live.json)).sum();
    let schema: u64 = live().map(|live| u64::from(live.schema)).sum();
    let verdict = standing.verdict(least);
    let interval = standing.interval().filter(|_| times > 0).map_or_else(String::new, |interval| {
        let (low, high) = (interval_percent(interval.low), interval_percent(interval.high));
        let width = high.saturating_sub(low);
        format!(
            "<div class=\"scale\" title=\"{low} to {high} %\"><i style=\"left:{low}%;width:{width}%\"></i>\
             <b style=\"left:{least}%\"></b><u style=\"left:{}%\"></u></div><span class=\"dim\">{low} to {high} %</span>",
            whole_percent(expected, times)
        )
    });
    let needed = match (verdict, proem_app::book::compare::answers_needed(least)) {
        (ModelVerdict::Undecided, Some(needed)) => {
            format!("<br><span class=\"dim\">at least {needed} answers are needed to show it</span>")
        }
        _ => String::new(),
    };
    let name = format!("{} ({})", standing.model, standing.endpoint);
    let percent = if times == 0 { ui::UNKNOWN.to_owned() } else { format!("{} %", whole_percent(expected, times)) };
    let (role, cost, word) =
        (escape_page_text(&standing.role), escape_page_text(&standing.purse.in_words()), verdict.as_str());
    let name = escape_page_text(&name);
    out.push_str(&format!(
        "<tr><td>{role}<br><span class=\"dim\">{name}</span></td><td class=\"n\">{expected} of {times}</td>\
         <td class=\"n\">{percent}</td><td>{interval}</td><td class=\"n\">{json}</td><td class=\"n\">{schema}</td>\
         <td class=\"n\">{cost}</td><td><span class=\"{word}\">{word}</span>{needed}</td></tr>\n"
    ));
}

fn push_standing_cases(standing: &ModelStanding, out: &mut String) {
    out.push_str(&format!(
        "<h2>{} <span class=\"dim\">with {}</span></h2>\n<div class=\"scroll\"><table>\n<tr><th>case</th>\
         <th class=\"n\">as expected</th><th>answers, as far as the case speaks of them</th></tr>\n",
        escape_page_text(&standing.prompt),
        escape_page_text(&standing.role)
    ));
    for case in &standing.cases {
        let Some(live) = &case.live else { continue };
        let mut answers: Vec<(&String, &u32)> = live.answers.iter().collect();
        answers.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        let shown: Vec<String> = answers
            .iter()
            .take(ANSWERS.0)
            .map(|(answer, count)| {
                format!("{count} × <code>{}</code>", escape_page_text(&shorten_text(answer, ANSWERS.1)))
            })
            .chain(
                case.problems.iter().map(|problem| format!("<span class=\"dim\">{}</span>", escape_page_text(problem))),
            )
            .collect();
        out.push_str(&format!(
            "<tr><td>{}</td><td class=\"n\">{} of {}</td><td>{}</td></tr>\n",
            escape_page_text(&case.case),
            live.expected,
            live.times,
            shown.join("<br>")
        ));
    }
    out.push_str("</table></div>\n");
}
