//! The prompt for a task, sent to a model.
//!
//! Invariants: only whoever asks for it sends, configuration never does. The answer is a text and nothing in it is
//! obeyed, so the model is told that nothing can be called. The run is recorded, booked and capped like any other.

use std::num::NonZeroU32;

use proem_agents::prompt_call::PreparedRequest;
use proem_engine::assembly::Appendix;
use proem_engine::cache::plan_request;
use proem_engine::call::{AnswerForm, NanoDollars, Request};
use proem_engine::ordered_json::OrderedJson;
use proem_select::mode::Mode;
use serde_json::json;

use super::{AssembleOptions, KIND, MadeAssembly, PROMPT};
use crate::error::Error;
use crate::project::OpenProject;
use crate::run::course::TimedRequest;
use crate::run::options::RunOptions;
use crate::run::setting::RunSetting;

/// The instruction on how to answer, for any mode.
const NOTHING_CALLED: &str = "Nothing can be called in this conversation: no tool, no command, no file but what stands \
                              above. Where you would look something up, name it instead.";

/// And where a change is to be made.
const PATCH: &str = "The answer is the change as a patch: one unified diff against the files above, with paths from the \
                     repository's root, in one fenced block; before it at most five sentences on what it does and on what \
                     you could not see.";

/// How an assembly is sent.
#[derive(Debug, Clone, Copy)]
pub struct SendOptions {
    /// The most that it may cost.
    pub most: Option<NanoDollars>,
    /// The longest that it may take, in seconds.
    pub seconds: NonZeroU32,
}

impl SendOptions {
    /// How the run is asked for. `options` say what it is about.
    #[must_use]
    pub fn run(&self, options: &AssembleOptions) -> RunOptions {
        let prompt = match &options.prompt_version {
            Some(version) => format!("{PROMPT}@{version}"),
            None => PROMPT.to_owned(),
        };
        RunOptions {
            model: options.model.clone(),
            provider: options.provider.clone(),
            output_tokens: options.output_tokens,
            most: self.most,
            seconds: self.seconds,
            adapting: options.adapting.clone(),
            record: options.record,
            ..RunOptions::of(prompt)
        }
    }
}

/// The model to ask with an assembly.
///
/// # Errors
///
/// Those of [`RunSetting::new`].
pub fn send_setting(run: &RunOptions, project: &mut OpenProject) -> Result<RunSetting, Error> {
    let mut setting = RunSetting::new(run, project)?;
    setting.kind = KIND;
    Ok(setting)
}

impl MadeAssembly {
    /// The assembly as a request, with what the model is told of its answer.
    #[must_use]
    pub fn request(&self, setting: &RunSetting) -> TimedRequest {
        let model = &setting.access.asked.model;
        let counter = setting.access.counter.as_ref();
        let mut assembly = self.assembled.assembly.clone();
        let told = match self.assembled.mode.mode {
            Mode::Act => format!("{NOTHING_CALLED}\n{PATCH}"),
            Mode::Plan | Mode::Review => NOTHING_CALLED.to_owned(),
        };
        assembly.append("answer-form", Appendix::Ours(&told), counter);
        let request = Request {
            model: model.name.clone(),
            assembly,
            answer: AnswerForm::Text,
            sampling: setting.prompt.file.header.sampling.clone(),
            way: None,
            arrival: setting.access.asked.arrival,
            inquiry: None,
        };
        let plan = plan_request(&request, model, counter);
        let prepared = PreparedRequest {
            request,
            report: self.assembled.report.clone(),
            plan,
            noted: self.assembled.noted.clone(),
            scanned: self.assembled.scanned,
        };
        TimedRequest { prepared, took: self.took }
    }

    /// The parts of it that leave the machine, in words.
    #[must_use]
    pub fn contents(&self) -> Vec<String> {
        let sections = &self.assembled.assembly.sections;
        let names: Vec<&str> = sections.iter().map(|section| section.name.as_str()).collect();
        let tokens = self.assembled.assembly.tokens();
        vec![format!("the prompt for the task ({tokens} tokens: {})", names.join(", "))]
    }
}

/// The inputs that the record of a sent assembly names: what was asked for.
#[must_use]
pub fn assembly_inputs(options: &AssembleOptions) -> OrderedJson {
    json!({ "task": options.named }).into()
}
