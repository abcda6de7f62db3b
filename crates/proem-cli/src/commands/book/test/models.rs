//! `proem book test --live --models`: the cases asked of several models.

use std::process::ExitCode;

use proem_app::book::compare::{LiveEstimate, ModelStanding, ModelVerdict};
use proem_app::book::live::{Asking, LiveOptions, LivePurse};
use proem_app::book::test::{AssemblyState, Suite};
use proem_app::run::options::Carriage;
use proem_engine::prompt::book::Book;
use proem_text::json;

use super::{page, table};
use crate::commands::book::args::BookTest;
use crate::commands::run::calling;
use crate::failure::CommandFailure;
use crate::ui;

/// Asks every model for the cases of every suite, and prints what came of it.
pub(super) fn compare_models(
    args: &BookTest,
    book: &Book,
    suites: &[Suite],
    bench: &AssemblyState,
) -> Result<ExitCode, CommandFailure> {
    let places = crate::user_places()?;
    let mut notes = Vec::new();
    let mut asked = Vec::new();
    let mut estimate = LiveEstimate::none();
    for suite in suites {
        for model in &args.models {
            let options = LiveOptions { model: Some(model.clone()), ..args.live() };
            let asking = Asking::new(&options, suite, book, &places, &mut notes)?;
            let tested = suite.test(bench)?;
            let of_one = asking.estimate(&tested)?;
            // A suite that says of no case what the answer should be has nothing to ask.
            if of_one.runs > 0 {
                estimate = estimate.and(of_one);
                asked.push((model, asking, tested));
            }
        }
    }
    notes.sort();
    notes.dedup();
    ui::print_notes(&notes);
    if asked.is_empty() {
        return Err(CommandFailure::usage(
            "no test case says what a model should answer; add `live:` to one in the file under `proem.cases`",
        ));
    }
    ui::aside(&table::estimate(&estimate, args.models.len()));
    let most = args.max_cost.filter(|_| !matches!(args.live().carriage, Carriage::Cassettes(_)));
    if most.is_some() && estimate.most.is_none() {
        return Err(CommandFailure::usage(
            "its possible cost is not known; set `input_price`, `output_price` and `output_tokens` of the model in \
             your configuration",
        ));
    }
    let mut purse = LivePurse::of(most);
    let mut standings = Vec::new();
    for (role, asking, mut tested) in asked {
        let before = purse;
        let unmade = calling(async |stop| {
            let mut notes = Vec::new();
            let begun = asking.begin(&mut notes).await;
            ui::print_notes(&notes);
            let asking = begun?;
            let unmade = asking.ask_within(&mut tested, &mut purse, &stop).await;
            let (model, endpoint, prompt) = asking.names();
            ui::print_notes(&asking.end().await);
            Ok((unmade?, model, endpoint, prompt))
        })?;
        let (unmade, model, endpoint, prompt) = unmade;
        let spent = purse.since(&before);
        standings.push(ModelStanding {
            prompt,
            role: role.clone(),
            model,
            endpoint,
            cases: tested,
            purse: spent,
            unmade,
        });
    }
    if args.place.json {
        ui::print_json_document(&json::pretty(&table::comparison_json(&standings, args.least, &estimate)))?;
    } else {
        ui::print_listing(&table::comparison_table(&standings, args.least, ui::output_width()))?;
    }
    if let Some(file) = &args.html {
        ui::write_text_file(file, &page::comparison_page(&standings, args.least))?;
    }
    let holds = standings.iter().all(|standing| standing.verdict(args.least) == ModelVerdict::Holds);
    Ok(ExitCode::from(u8::from(!holds)))
}
