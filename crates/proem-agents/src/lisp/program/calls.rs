//! Calls of a program: planned by their tools' definitions, made as effects, answered in the program's order.

use proem_engine::Error;
use proem_engine::policy::{CallRequest, CallRuling, EffectSwitch, call_key, decide_call};
use proem_engine::run::{
    AgentGrant, CallLabel, Effect, EffectId, EffectResult, ToolLabels, ToolLack, ToolOutcome, ToolUse,
};
use proem_guard::show;
use proem_lisp::{
    Meter, Reason, SignatureProblem, ToolAnswer, ToolCall, Value, is_equal, label_secret_fields, read_json, write_json,
};
use proem_text::Label;

use super::state::{CallStage, PlannedCall, StoredAnswer};
use super::{ProgramMachine, out_of_step};
use crate::lisp::definition::{ToolDefinition, ToolKind, fold_name};

/// The most problems of arguments or of a result that are listed.
const MAX_PROBLEMS: usize = 5;

impl ProgramMachine {
    /// Plans calls: what is asked for, whether it may be made, and whether a person has to say so.
    pub(super) fn plan(&mut self, calls: &[ToolCall]) {
        self.state.calls = calls.iter().map(|call| self.plan_call(call)).collect();
    }

    fn plan_call(&self, call: &ToolCall) -> PlannedCall {
        let id = call.id.0;
        let told = |answer: StoredAnswer| PlannedCall { id, call: None, stage: CallStage::Answered { answer } };
        let Some((name, tool)) = self.terms.agent.tool(call.name.as_str()) else {
            return told(StoredAnswer::Missing { name: call.name.as_str().to_owned() });
        };
        let args = match call.open_arguments(Some(&tool.signature)) {
            Ok(args) => args,
            Err(fault) => {
                return match self.refused_call(name, tool, (call, fault.message())) {
                    Ok(call) => PlannedCall { id, call: Some(Box::new(call)), stage: CallStage::Ready },
                    Err(message) => told(StoredAnswer::Invalid { message }),
                };
            }
        };
        match self.prepare_call(name, tool, (call, &args)) {
            Ok(mut call) => {
                let stage = self.call_stage(&mut call, tool);
                PlannedCall { id, call: Some(Box::new(call)), stage }
            }
            Err(message) => told(StoredAnswer::Invalid { message }),
        }
    }

    /// A call whose arguments the tool may not see. They are written with `[Hidden]` for each secret.
    fn refused_call(
        &self,
        name: &str,
        tool: &ToolDefinition,
        (call, why): (&ToolCall, &str),
    ) -> Result<ToolUse, String> {
        let label = |parameter: &String| (parameter.clone(), argument_label(call, parameter));
        let labels = ToolLabels {
            arguments: call.labels.keys().map(label).collect(),
            decision: CallLabel::from(&call.pc.join(&call.floor)).join(&self.state.shown),
        };
        let refusal = Some(why.to_owned());
        Ok(ToolUse { refusal, ..self.tool_use((name, tool), &call.args, labels)? })
    }

    /// A call with these arguments. In words, why they can't be written.
    fn tool_use(
        &self,
        (name, tool): (&str, &ToolDefinition),
        args: &Value,
        labels: ToolLabels,
    ) -> Result<ToolUse, String> {
        let arguments = write_json(args, &mut Meter::new(self.terms.limits))
            .map_err(|fault| format!("the arguments of `{name}` can't be written as JSON: {}", fault.message()))?;
        let (tool, power) = (name.to_owned(), tool.power);
        Ok(ToolUse { tool, arguments, power, labels, approval: None, repeats: None, refusal: None, grant: None })
    }

    /// The call as its tool takes it. In words, why it doesn't.
    fn prepare_call(
        &self,
        name: &str,
        tool: &ToolDefinition,
        (call, args): (&ToolCall, &Value),
    ) -> Result<ToolUse, String> {
        let wrong = |problems: &[SignatureProblem]| format!("the tool `{name}` takes {}", problem_list(problems));
        let args = tool.signature.coerce_inputs(args).map_err(|problems| wrong(&problems))?.value;
        let problems = tool.signature.check_arguments(&args);
        if !problems.is_empty() {
            return Err(wrong(&problems));
        }
        let label = |parameter: &str| {
            let value = args.field(parameter)?;
            let vouched = self.is_vouched_for(tool, parameter, value);
            // A model can retype what it was shown, so every argument may be that.
            let label =
                if vouched { CallLabel::default() } else { argument_label(call, parameter).join(&self.state.shown) };
            Some((parameter.to_owned(), label))
        };
        let labels = ToolLabels {
            arguments: tool.signature.parameters().filter_map(label).collect(),
            decision: CallLabel::from(&call.pc.join(&call.floor)).join(&self.state.shown),
        };
        self.tool_use((name, tool), &args, labels)
    }

    /// Whether the value is a member of the trusted list that its parameter names.
    fn is_vouched_for(&self, tool: &ToolDefinition, parameter: &str, value: &Value) -> bool {
        let Some(list) = tool.parameters.get(parameter).and_then(|terms| terms.one_of.as_deref()) else { return false };
        if !self.terms.agent.input_label(list).is_trusted() {
            return false;
        }
        let Some(list) = self.terms.context.field(list) else { return false };
        let mut meter = Meter::new(self.terms.limits);
        list.elements().any(|member| is_equal(member, value, &mut meter).unwrap_or(false))
    }

    /// How far a planned call is. One that is refused goes to the gate as well, which records it.
    fn call_stage(&self, call: &mut ToolUse, tool: &ToolDefinition) -> CallStage {
        let request = CallRequest {
            call,
            terms: &tool.terms,
            records: self.terms.records,
            // Read right before the call is made, as it may change until then.
            switch: EffectSwitch::On,
            key: call_key("", call, EffectId(self.state.next)),
            policy: self.terms.policy,
        };
        match decide_call(&request) {
            // A second permit is asked for right before the call is made. This one is good for nothing.
            CallRuling::Permit(_) => CallStage::Ready,
            CallRuling::Ask(reasons) => {
                CallStage::Waiting { reasons: reasons.iter().map(ToString::to_string).collect() }
            }
            CallRuling::Refusal(reason) => {
                call.refusal = Some(reason.to_string());
                CallStage::Ready
            }
        }
    }

    /// The calls that may be made, as effects. Of agents one at a time, so that each is granted the turns that are left.
    pub(super) fn begin_calls(&mut self) -> Vec<(EffectId, Effect)> {
        let mut effects = Vec::new();
        let grant = AgentGrant { turns: self.state.turns_left, depth: self.terms.shared.depth.saturating_add(1) };
        let mut has_agent = false;
        for planned in &mut self.state.calls {
            let (CallStage::Ready, Some(call)) = (&planned.stage, &mut planned.call) else { continue };
            let tool = self.terms.agent.tools.get(&call.tool);
            if tool.is_some_and(|tool| matches!(tool.kind, ToolKind::Agent { .. })) {
                if has_agent {
                    // Those behind it may have effects, which go in order.
                    break;
                }
                has_agent = true;
                call.grant = Some(grant);
            }
            let effect = EffectId(self.state.next);
            self.state.next = self.state.next.saturating_add(1);
            effects.push((effect, Effect::Tool { call: call.clone() }));
            planned.stage = CallStage::Begun { effect };
        }
        effects
    }

    /// Takes what became of calls.
    pub(super) fn take_results(&mut self, results: Vec<(EffectId, EffectResult)>) -> Result<(), Error> {
        let begun = |planned: &&PlannedCall| matches!(planned.stage, CallStage::Begun { .. });
        let asked = self.state.calls.iter().filter(begun).count();
        if asked != results.len() {
            return Err(out_of_step("a program asks for one outcome of each of its calls"));
        }
        for (id, result) in results {
            let of = |planned: &&mut PlannedCall| planned.stage == CallStage::Begun { effect: id };
            let Some(planned) = self.state.calls.iter_mut().find(of) else {
                return Err(out_of_step("an outcome is of no call that was begun"));
            };
            let outcome = match result {
                EffectResult::Tool { outcome } => outcome,
                EffectResult::Failed { failure } => ToolOutcome::failure(failure.message),
                _ => return Err(out_of_step("a program asks for calls of tools only")),
            };
            if let ToolOutcome::OfAgent { turns, .. } = &outcome {
                self.state.turns_left = self.state.turns_left.saturating_sub(*turns);
            }
            planned.stage = match outcome {
                ToolOutcome::Unknown { message, .. } => CallStage::Doubt { effect: id, message },
                outcome => CallStage::Answered { answer: StoredAnswer::Outcome { outcome } },
            };
        }
        Ok(())
    }

    /// Gives the program all answers of a step, in the order of its calls.
    pub(super) fn answer_program(&mut self) {
        for planned in std::mem::take(&mut self.state.calls) {
            let CallStage::Answered { answer: known } = &planned.stage else { continue };
            let answer = self.program_answer(planned.call.as_deref(), known);
            // Whether it fails is the tool's own doing, unless it was not called.
            let is_called =
                matches!(known, StoredAnswer::Outcome { outcome } if !matches!(outcome, ToolOutcome::Denied { .. }));
            if let (true, ToolAnswer::Problem(_), Some(call)) = (is_called, &answer, &planned.call)
                && let Some((_, tool)) = self.terms.agent.tool(&call.tool)
            {
                self.state.failed = self.state.failed.join(&CallLabel::from(&tool.label));
            }
            self.machine.answer(planned.call_id(), answer);
        }
    }

    fn program_answer(&self, call: Option<&ToolUse>, answer: &StoredAnswer) -> ToolAnswer {
        let name = call.map_or("", |call| call.tool.as_str());
        match answer {
            StoredAnswer::Missing { name } => {
                let known: Vec<&str> = self.terms.agent.tools.keys().map(String::as_str).collect();
                let name = show::terminal_str(name).into_string();
                ToolAnswer::unknown_tool(&name, &format!("this agent has {}", known.join(", ")))
            }
            StoredAnswer::Invalid { message } => ToolAnswer::refused(Reason::ValidationError, message),
            StoredAnswer::MayHaveHappened => ToolAnswer::Value(Value::map([
                (Value::keyword("outcome"), Value::keyword("unknown")),
                (Value::keyword("tool"), Value::text(name)),
            ])),
            StoredAnswer::Outcome { outcome } => match outcome.own() {
                ToolOutcome::Answered { result } => self.tool_result(name, (result, agent_label(outcome))),
                ToolOutcome::Failed { message, .. } => ToolAnswer::tool_error(name, message),
                ToolOutcome::OfAgent { .. } => ToolAnswer::tool_error(name, "it gave no outcome"),
                ToolOutcome::Unavailable { lack, message } => {
                    ToolAnswer::refused(lack_reason(*lack), &format!("the tool `{name}` gave no result: {message}"))
                }
                ToolOutcome::Denied { message } => {
                    ToolAnswer::refused(Reason::FlowDenied, &format!("the tool `{name}` was not called: {message}"))
                }
                ToolOutcome::Unknown { message, .. } => ToolAnswer::refused(
                    Reason::ToolOutcomeUnknown,
                    &format!("the call of `{name}` may have happened, and nobody knows: {message}"),
                ),
            },
        }
    }

    /// A result as the tool's signature has it, with the tool's label.
    fn tool_result(&self, name: &str, (result, label): (&str, Label)) -> ToolAnswer {
        let Some((_, tool)) = self.terms.agent.tool(name) else {
            return ToolAnswer::tool_error(name, "its definition is gone");
        };
        let value = match read_json(result, &mut Meter::new(self.terms.limits)) {
            Ok(value) => value,
            Err(problem) => {
                let message = format!("its result can't be read: {}", problem.diagnostic.message);
                return ToolAnswer::tool_error(name, &show::terminal_str(&message).into_string());
            }
        };
        match tool.signature.coerce_result(&value) {
            Ok(coerced) => ToolAnswer::Value(label_secret_fields(coerced.value.labelled(&tool.label.join(&label)))),
            Err(problems) => ToolAnswer::tool_error(
                name,
                &format!("its result is not what its signature says: {}", problem_list(&problems)),
            ),
        }
    }
}

/// The label of an argument with that of the decision on the call: an element of a labelled list has the list's label
/// from there alone. For a name that is no argument's, the label of all of them.
fn argument_label(call: &ToolCall, parameter: &str) -> CallLabel {
    let own = call.labels.keys().find(|name| fold_name(name) == fold_name(parameter));
    let whole = || call.args.label().join(&call.pc).join(&call.floor);
    let label = own.map_or_else(whole, |name| call.sink_label(name));
    // A secret that may go to a parameter is the parameter's own matter, and no source.
    CallLabel { secret: false, ..CallLabel::from(&label) }
}

/// The label that an agent gives its answer beside that of its tool.
fn agent_label(outcome: &ToolOutcome) -> Label {
    match outcome {
        ToolOutcome::OfAgent { outcome, label, .. } => label.to_label().join(&agent_label(outcome)),
        _ => Label::trusted(),
    }
}

/// The reason that a program ends with.
const fn lack_reason(lack: ToolLack) -> Reason {
    match lack {
        ToolLack::Model => Reason::LlmRequired,
        ToolLack::Answer => Reason::LlmError,
        ToolLack::Depth => Reason::MaxDepthExceeded,
        ToolLack::Turns => Reason::TurnBudgetExhausted,
        ToolLack::Time => Reason::MissionTimeout,
    }
}

/// The first problems in words, safe to look at.
fn problem_list(problems: &[SignatureProblem]) -> String {
    let lines: Vec<String> = problems.iter().take(MAX_PROBLEMS).map(ToString::to_string).collect();
    let more = problems.len().saturating_sub(MAX_PROBLEMS);
    let text = if more > 0 { format!("{}; and {more} more", lines.join("; ")) } else { lines.join("; ") };
    show::terminal_str(&text).into_string()
}
