//! How much is kept free for answers, which is what is reserved of a budget before a call.

use std::sync::Mutex;

use proem_engine::assembly::{Assembly, PromptId};
use proem_engine::call::{AnswerForm, Arrival, Request};
use proem_engine::ledger::{Pricing, bound_of_attempt};
use proem_engine::providers::Providers;
use proem_triage::ProjectSignal;
use proem_triage::pipeline::{PipelineLimits, PipelineModel, PipelineStage};

use super::end_within;
use super::scene::{Asked, Does, classify_call, sanitise_call, subject};
use crate::sanitise::comment;

/// The room of each call, as long as `cut` says of a call that its answer is cut off.
fn rooms(signals: Vec<ProjectSignal>, cut: impl Fn(&Asked) -> bool) -> Vec<Asked> {
    let asked = Mutex::new(Vec::new());
    let model = |call: &Asked| {
        asked.lock().unwrap().push(call.clone());
        if cut(call) {
            return Does::CutOff;
        }
        let answer = |(id, text): &(String, String)| match call.stage {
            PipelineStage::Sanitise => sanitise_call(id, text),
            _ => classify_call(id, "critical", "risk", "escalate"),
        };
        Does::Calls(call.signals.iter().map(answer).collect())
    };
    end_within(&subject(signals), PipelineLimits::default(), &model);
    asked.into_inner().unwrap()
}

fn numbered_comments(count: u8) -> Vec<ProjectSignal> {
    (1..=count).map(|number| comment(number.into(), &format!("PAY-{number}"), "ann", "The bank may close.")).collect()
}

/// A request that is as long as reasoning about a few signals is, under the large model's prices.
fn reserved(answer_tokens: usize) -> u64 {
    const BODY: usize = 30_350;
    let prompt =
        PromptId { agent: "triage".into(), name: "reasoning".into(), version: "1".into(), closure: String::new() };
    let assembly = Assembly { prompt, sections: Vec::new(), boundaries: Vec::new(), output_tokens: answer_tokens };
    let request = Request {
        model: "any".into(),
        assembly,
        answer: AnswerForm::Text,
        sampling: Default::default(),
        arrival: Arrival::Whole,
        way: None,
        inquiry: None,
    };
    let providers = Providers::load().unwrap();
    let large = providers.model("large").unwrap();
    bound_of_attempt(BODY, &request, large, Pricing::Listed).unwrap().nanos.unwrap().0
}

#[test]
fn a_few_signals_reserve_what_their_answer_may_take_and_not_the_most_of_the_stage() {
    let asked = rooms(numbered_comments(3), |_| false);
    let room = |stage| asked.iter().find(|call| call.stage == stage).unwrap().answer_tokens;
    assert_eq!(room(PipelineStage::Reasoning), 3_600);
    assert!(room(PipelineStage::Classify) < 2_000 && room(PipelineStage::Sanitise) < 2_000);
    let (by_size, whole) = (reserved(3_600), reserved(8_192));
    assert!(by_size * 10 < whole * 8, "{by_size} of {whole}");
}

#[test]
fn no_answer_has_more_room_than_its_stage() {
    let limits = PipelineLimits::default();
    for count in [1, 2, 40, 120] {
        for call in rooms(numbered_comments(count), |_| false) {
            assert!(call.answer_tokens <= limits.of(call.stage).output_tokens(call.model), "{call:?}");
            assert!(call.answer_tokens >= 500, "an answer has room to say something: {call:?}");
        }
    }
}

/// An answer that was longer than was thought is asked for once more with all the room there is, and never a third time.
#[test]
fn an_answer_that_did_not_fit_gets_the_whole_room_once() {
    let small = |call: &Asked| call.stage == PipelineStage::Reasoning && call.answer_tokens < 8_000;
    let asked = rooms(numbered_comments(1), small);
    let reasoning: Vec<usize> =
        asked.iter().filter(|call| call.stage == PipelineStage::Reasoning).map(|call| call.answer_tokens).collect();
    assert_eq!(reasoning, [2_200, 8_192]);
    let never = |call: &Asked| call.stage == PipelineStage::Reasoning;
    let asked = rooms(numbered_comments(1), never);
    let calls = asked.iter().filter(|call| call.stage == PipelineStage::Reasoning).count();
    assert_eq!(calls, 2, "what does not fit into the whole room is left to the rules");
    assert!(asked.iter().all(|call| call.model != PipelineModel::Large || call.stage == PipelineStage::Reasoning));
}
