//! The questions of a program's run to a person: whether calls may be made, and what became of those that may have
//! happened.

use proem_engine::run::{Question, QuestionAnswer, Step, ToolOutcome, hide_fields};
use proem_guard::{LabelTree, Untrusted};
use proem_lisp::Reason;
use proem_text::{Label, line_column};
use serde_json::Value as Json;

use super::state::{CallStage, Phase, PlannedCall, StoredAnswer};
use super::{MAX_QUESTIONS, ProgramMachine, ProgramOutcome};

/// Why the program ends after a person stopped it.
pub(super) const STOPPED: &str = "you stopped the program, as a call may have happened and nobody knows";
/// Why a call isn't made that a person should have decided about.
const NOT_PERMITTED: &str =
    "nobody permitted it; answer at a terminal, or name the sources that it may come from in the agent's file";
/// The most bytes of arguments that a question shows.
const SHOWN_BYTES: usize = 4 << 10;

const MAKE_CALLS: &str = "make these calls";
const DENY: &str = "don't; the program ends";
const REPEAT: &str = "call it again";
const GO_ON: &str = "go on; the program is told that the call may have happened";
const STOP: &str = "stop the program";

impl ProgramMachine {
    /// One question for all calls of a step that a person decides about.
    pub(super) fn ask_consent(&mut self) -> Step<ProgramOutcome> {
        if self.state.questions >= MAX_QUESTIONS {
            let message =
                format!("the program has asked {MAX_QUESTIONS} times already; permit sources in its agent's file");
            return self.stop(Reason::FlowDenied, &message);
        }
        self.state.questions = self.state.questions.saturating_add(1);
        let waiting: Vec<LabelTree> = self.state.calls.iter().filter_map(|call| self.waiting_call(call)).collect();
        let number = waiting.len();
        let text = match number {
            1 => "The program wants to call a tool that may change something. May it?".to_owned(),
            _ => format!("The program wants to make {number} calls that may change something. May it?"),
        };
        let content = LabelTree::list(waiting);
        let consequence = Some(match number {
            1 => "The call is made as it is shown, once.".to_owned(),
            _ => "The calls are made as they are shown, one after the other, each once.".to_owned(),
        });
        let question = Question { content, consequence, ..Question::new(text, [MAKE_CALLS, DENY]) };
        self.state.phase = Phase::Consent { question: Box::new(question.clone()) };
        Step::Ask(vec![question])
    }

    /// A call that waits for a person, with its line, its arguments under their labels, and why it waits.
    fn waiting_call(&self, planned: &PlannedCall) -> Option<LabelTree> {
        let CallStage::Waiting { reasons } = &planned.stage else { return None };
        Some(self.call_tree(planned, reasons))
    }

    fn call_tree(&self, planned: &PlannedCall, reasons: &[String]) -> LabelTree {
        let call = planned.call.as_deref();
        let label = call.map_or_else(Label::from_many, |call| {
            let arguments = call.labels.arguments.values();
            arguments.fold(call.labels.decision.to_label(), |label, other| label.join(&other.to_label()))
        });
        let hidden = call.map(|call| hide_fields(&call.arguments).unwrap_or_else(|| call.arguments.clone()));
        let arguments = hidden.as_deref().unwrap_or_default();
        // Cut where nobody would read on. A person who wants more says no.
        let arguments = match serde_json::from_str::<Json>(arguments) {
            Ok(json) if arguments.len() <= SHOWN_BYTES => LabelTree::from_outside(&Untrusted::new(json, label.clone())),
            _ => {
                let end = arguments.floor_char_boundary(SHOWN_BYTES);
                let shown = format!("{} …", arguments.get(..end).unwrap_or_default());
                Ok(LabelTree::Outside(Untrusted::new(shown, label)))
            }
        };
        let line = self.machine.call_place(planned.call_id());
        let line = line.map(|span| line_column(self.machine.source(), span.start).0);
        LabelTree::map([
            ("tool", LabelTree::from(call.map_or_else(String::new, |call| call.tool.clone()))),
            ("line", line.map_or(LabelTree::Null, |line| LabelTree::Number(line.into()))),
            ("arguments", arguments.unwrap_or(LabelTree::Null)),
            ("why", LabelTree::list(reasons.iter().cloned())),
        ])
    }

    /// Takes a person's yes, which is good for what was shown, or no.
    pub(super) fn take_consent(&mut self, answers: &[QuestionAnswer]) {
        let answer = answers.first();
        let approval = answer.filter(|answer| answer.option == Some(0)).and_then(|answer| answer.shown);
        for planned in &mut self.state.calls {
            if !matches!(planned.stage, CallStage::Waiting { .. }) {
                continue;
            }
            if let Some(call) = &mut planned.call {
                match approval {
                    Some(approval) => call.approval = Some(approval),
                    None => call.refusal = Some(NOT_PERMITTED.to_owned()),
                }
                planned.stage = CallStage::Ready;
            }
        }
    }

    /// A question for each call that may have happened.
    pub(super) fn ask_about_doubts(&mut self) -> Step<ProgramOutcome> {
        let question = |planned: &PlannedCall| {
            let CallStage::Doubt { message, .. } = &planned.stage else { return None };
            let tool = planned.call.as_deref().map_or("", |call| call.tool.as_str());
            let text = format!("A call of `{tool}` may have happened: {message}. Look there first. What now?");
            let content = self.call_tree(planned, &[]);
            let consequence = Some("If it did happen, calling it again makes it happen twice.".to_owned());
            Some(Question { content, consequence, ..Question::new(text, [REPEAT, GO_ON, STOP]) })
        };
        let questions: Vec<Question> = self.state.calls.iter().filter_map(question).collect();
        self.state.phase = Phase::Doubts { questions: questions.clone() };
        Step::Ask(questions)
    }

    /// Takes what a person knows of calls that may have happened. Whether the program is to stop.
    pub(super) fn take_doubts(&mut self, answers: &[QuestionAnswer]) -> bool {
        let mut answers = answers.iter();
        let mut is_stopped = false;
        for planned in &mut self.state.calls {
            let CallStage::Doubt { effect, message } = &planned.stage else { continue };
            let (effect, message) = (*effect, message.clone());
            let answer = answers.next();
            planned.stage = match answer.and_then(|answer| answer.option) {
                Some(0) => {
                    if let Some(call) = &mut planned.call {
                        call.approval = answer.and_then(|answer| answer.shown);
                        call.repeats = Some(call.repeats.unwrap_or(effect));
                    }
                    CallStage::Ready
                }
                Some(1) => CallStage::Answered { answer: StoredAnswer::MayHaveHappened },
                option => {
                    is_stopped |= option.is_some();
                    CallStage::Answered { answer: StoredAnswer::Outcome { outcome: ToolOutcome::doubt(message) } }
                }
            };
        }
        is_stopped
    }
}
