//! `proem lisp run`

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use proem_app::lisp::kept_program::CompiledHead;
use proem_app::lisp::{DelimiterRepair, LispSource, ProgramEnd, ProgramRun, SourceRefusal, TracedCall};
use proem_app::records::writing::RecordChoice;
use proem_engine::call::NanoDollars;
use proem_lisp::{Meter, SignatureProblem, write_json};
use proem_text::json;
use serde_json::json;

use super::agent::ProgramAgent;
use super::output::{LispCall, LispEnd, LispLabel, LispProblem, LispRunOutput};
use super::{
    GO_ON, KeptSession, PrintedLines, ProgramArgs, declare_signature, mismatch_lines, note_repairs, read_lisp_source,
    refusal_text,
};
use crate::failure::CommandFailure;
use crate::ui;

#[derive(Debug, Parser)]
pub(crate) struct LispRunArgs {
    /// A file with a program; `-` is standard input
    #[arg(required_unless_present = "expression", conflicts_with = "expression")]
    file: Option<PathBuf>,
    /// Run this program
    #[arg(short = 'e', value_name = "EXPR", allow_hyphen_values = true)]
    expression: Option<String>,
    #[command(flatten)]
    program: ProgramArgs,
    /// Check the input and the result, such as `report(day :string) -> {total :number}`
    #[arg(long, value_name = "SIGNATURE")]
    signature: Option<String>,
    /// Call the tools of this agent: a file, or a name in `.proem/agents` or your own folder of agents
    #[arg(long, value_name = "AGENT", conflicts_with = "signature")]
    agent: Option<PathBuf>,
    /// Record nothing; only tools without effects are called then
    #[arg(long, requires = "agent")]
    no_record: bool,
    /// Maximum cost of the models that tools ask, in dollars
    #[arg(long, value_name = "DOLLARS", value_parser = proem_app::config::parse_dollars, requires = "agent")]
    max_cost: Option<NanoDollars>,
    /// Correct miscounted brackets where the indentation leaves one way only
    #[arg(long)]
    repair: bool,
    /// List the calls of tools with the label of each argument and of what decided on them
    #[arg(long)]
    trace: bool,
    /// Print JSON: the end, the value with its label, what was printed, problems and what was used
    #[arg(long)]
    json: bool,
}

/// The exit code for a program that `check` would refuse.
const REFUSED: u8 = 2;

pub(super) fn run_lisp_program(args: &LispRunArgs) -> Result<ExitCode, CommandFailure> {
    let KeptSession { session, memory } = args.program.session(&crate::user_places()?)?;
    let session = declare_signature(session, args.signature.as_deref())?;
    let source = match (&args.expression, &args.file) {
        (Some(expression), _) => LispSource::of_expression(expression)?,
        (None, Some(file)) => read_lisp_source(file, &session.limits)?,
        (None, None) => return Err(CommandFailure::usage("name a file with a program, or give one with -e")),
    };
    let compiled = CompiledHead::read(&source.text)?;
    let named = args.agent.as_ref().or(compiled.as_ref().map(|head| &head.agent));
    let (mut agent, session) = match named {
        Some(named) => {
            let (agent, session) = ProgramAgent::find(named, &args.program.root, session)?;
            compiled.iter().try_for_each(|head| agent.check_compiled(head))?;
            (Some(agent), session)
        }
        None => (None, session),
    };
    let mut kept = KeptSession { session, memory };
    let repair = if args.repair { DelimiterRepair::Apply } else { DelimiterRepair::Offer };
    let checked = match kept.session.check(source, repair) {
        Ok(checked) => checked,
        Err(refusal) => return refuse_source(&refusal, args.json),
    };
    checked.warnings.iter().for_each(|warning| ui::aside(warning));
    note_repairs(&checked.repairs);
    match kept.session.correct_input() {
        Ok(warnings) => mismatch_lines(&warnings).iter().for_each(|line| ui::print_note(&format!("input {line}"))),
        Err(problems) => return refuse_input(&problems, args.json),
    }
    let mut lines = PrintedLines::default();
    let mut output = String::new();
    let mut print = |printed: &str| {
        if args.json {
            output.push_str(printed);
        } else {
            lines.push(printed);
        }
    };
    let run = match &mut agent {
        Some(agent) => {
            let choice = if args.no_record { RecordChoice::No } else { RecordChoice::AsConfigured };
            let outcome = agent.run(&kept.session, &checked, (choice, args.max_cost, kept.memory.as_ref()))?;
            print(&outcome.printed);
            kept.session.take_outcome(outcome, &checked)
        }
        None => kept.session.run(&checked, |printed| {
            print(printed);
            GO_ON
        }),
    };
    lines.finish();
    let code = if args.json {
        print_program_json(&run, (output, args.trace), &kept.session.limits)?
    } else {
        if args.trace {
            run.calls.iter().for_each(|call| ui::aside(&trace_lines(call)));
        }
        let code = print_end(&run)?;
        if let Some(label) = run.label.as_ref().filter(|_| args.trace) {
            ui::aside(&format!("label of the end: {}\n", LispLabel::words(label)));
        }
        code
    };
    // A program that failed halfway leaves the memory as it was, so that the next run doesn't begin with half a step.
    if matches!(run.end, ProgramEnd::Value(_)) {
        kept.store()?;
    }
    Ok(code)
}

/// A call for people: a line for it, and one for each label.
fn trace_lines(call: &TracedCall) -> String {
    let mut out = format!("call {} {}\n", ui::terminal_safe(&call.name), ui::terminal_safe(&call.arguments));
    for (name, label) in &call.labels {
        out.push_str(&format!("  {}: {}\n", ui::terminal_safe(name), LispLabel::words(label)));
    }
    let (pc, floor) = (LispLabel::words(&call.pc), LispLabel::words(&call.floor));
    out.push_str(&format!("  decided by: {pc}\n  floor: {floor}\n"));
    out
}

fn refuse_source(refusal: &SourceRefusal, as_json: bool) -> Result<ExitCode, CommandFailure> {
    note_repairs(&refusal.repairs);
    if as_json {
        refusal.warnings.iter().for_each(|warning| ui::aside(warning));
        let refused = LispRunOutput {
            problems: Some(LispProblem::all_of(refusal)),
            repaired: refusal.repair.as_ref().map(|repair| repair.text.clone()),
            ..LispRunOutput::new(LispEnd::Refused)
        };
        ui::print_published_document(ui::PublishedDocument::line_of(&json!(refused)))?;
    } else {
        ui::aside(&refusal_text(refusal));
        if refusal.repair.is_some() {
            ui::print_note("--repair runs the program with these brackets");
        }
    }
    Ok(ExitCode::from(REFUSED))
}

/// The program doesn't run, because its input isn't what the signature says.
fn refuse_input(problems: &[SignatureProblem], as_json: bool) -> Result<ExitCode, CommandFailure> {
    let lines = mismatch_lines(problems);
    if as_json {
        let problems = Some(lines.into_iter().map(LispProblem::of_signature).collect());
        let refused = LispRunOutput { problems, ..LispRunOutput::new(LispEnd::Input) };
        ui::print_published_document(ui::PublishedDocument::line_of(&json!(refused)))?;
    } else {
        print_mismatch("the input isn't what the signature says", &lines);
    }
    Ok(ExitCode::FAILURE)
}

fn print_mismatch(what: &str, lines: &[String]) {
    let lines: String = lines.iter().map(|line| format!("\n  {line}")).collect();
    ui::print_failure(&CommandFailure::finding(format!("{what}{lines}")));
}

pub(crate) fn print_end(run: &ProgramRun) -> Result<ExitCode, CommandFailure> {
    match &run.end {
        ProgramEnd::Value(_) => {
            ui::print_lisp_value(&run.text)?;
            return Ok(ExitCode::SUCCESS);
        }
        ProgramEnd::Fail(_) => {
            let failure = CommandFailure::finding(format!("the program ended with `fail`: {}", run.text));
            ui::print_failure(&failure);
        }
        ProgramEnd::Mismatch(problems) => {
            print_mismatch("the result isn't what the signature says", &mismatch_lines(problems));
        }
        ProgramEnd::Problem(problem) => ui::aside(&problem.excerpt),
        ProgramEnd::Stopped => ui::print_note("the program was stopped"),
    }
    Ok(ExitCode::FAILURE)
}

/// Prints the end of a program as one object. A value that JSON has no form for is a problem.
fn print_program_json(
    run: &ProgramRun,
    (output, has_trace): (String, bool),
    limits: &proem_lisp::Limits,
) -> Result<ExitCode, CommandFailure> {
    let (end, value, problems) = match &run.end {
        ProgramEnd::Value(value) => (LispEnd::Value, Some(value), None),
        ProgramEnd::Mismatch(problems) => {
            let lines = mismatch_lines(problems).into_iter();
            (LispEnd::Mismatch, None, Some(lines.map(LispProblem::of_signature).collect()))
        }
        ProgramEnd::Fail(value) => (LispEnd::Fail, Some(value), None),
        ProgramEnd::Problem(problem) => (LispEnd::Error, None, Some(vec![LispProblem::new(problem)])),
        ProgramEnd::Stopped => (LispEnd::Stopped, None, None),
    };
    let whole = LispRunOutput {
        text: value.map(|_| run.text.clone()),
        output: Some(output),
        fuel: run.fuel,
        bytes: run.bytes,
        label: run.label.as_ref().map(LispLabel::of),
        calls: has_trace.then(|| run.calls.iter().map(LispCall::of).collect()),
        problems,
        ..LispRunOutput::new(end)
    };
    let mut fields: BTreeMap<String, String> = BTreeMap::new();
    for (name, field) in json!(whole).as_object().into_iter().flatten() {
        fields.insert(name.clone(), json::compact(field));
    }
    if let Some(value) = value {
        // As text, since no other type of JSON here holds large integers and deep values.
        let written = write_json(value, &mut Meter::new(*limits));
        let written = written.map_err(|fault| CommandFailure::finding(fault.message().to_owned()))?;
        fields.insert("value".to_owned(), written);
    }
    ui::print_published_document(ui::PublishedDocument::Line(fields))?;
    Ok(if end == LispEnd::Value { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
