//! An agent that Proem doesn't ship: it has a model write a text, asks a person about it if its task begins with "Ask",
//! and then has the model judge what it wrote.

use std::time::Duration;

use proem_agents::prompt_call::InputAuthor;
use proem_app::agents::access::{ContractedPrompt, ModelAccess};
use proem_app::agents::base::RunBase;
use proem_app::agents::{Agent, AgentEnd, AgentMachine, AgentRun};
use proem_engine::Error;
use proem_engine::call::Request;
use proem_engine::run::{
    Event, EventKind, Exchange, ExchangeEnd, Machine, Outcome, Question, Step, Time, check_answers,
};
use proem_guard::{LabelTree, show};
use proem_runtime::records::Start;
use proem_store::record::RunId;
use serde_json::{Value as Json, json};

#[derive(Debug)]
pub(super) struct DraftAgent;

impl Agent for DraftAgent {
    fn kind(&self) -> &'static str {
        "draft"
    }

    fn prompts(&self) -> &'static [&'static str] {
        &["draft/write", "draft/judge"]
    }

    fn prepare(&self, mut base: RunBase) -> Result<Box<dyn AgentRun>, proem_app::Error> {
        let (judge, write) = (base.prompts.pop().unwrap(), base.prompts.pop().unwrap());
        let first = base.request(&write, &base.inputs, InputAuthor::ByCaller)?.request;
        Ok(Box::new(Draft { base, write, judge, first }))
    }
}

#[derive(Debug)]
struct Draft {
    base: RunBase,
    write: ContractedPrompt,
    judge: ContractedPrompt,
    first: Request,
}

impl AgentRun for Draft {
    fn access(&self) -> &ModelAccess {
        &self.base.access
    }

    fn access_mut(&mut self) -> &mut ModelAccess {
        &mut self.base.access
    }

    fn start(&self, id: RunId) -> Start<'_> {
        self.base.start("draft", &self.write, id)
    }

    fn time(&self) -> Duration {
        self.base.time()
    }

    fn machine(&self) -> AgentMachine<'_> {
        let exchange = Exchange::new(self.base.terms(&self.write), self.first.clone());
        Box::new(DraftMachine { draft: self, written: None, asked: None, exchange })
    }

    fn restore(&self, state: &Json) -> Result<AgentMachine<'_>, Error> {
        let written: Option<Outcome> = serde_json::from_value(state["written"].clone()).unwrap();
        let asked: Option<Question> = serde_json::from_value(state["asked"].clone()).unwrap();
        let judging = written.is_some() && asked.is_none();
        let exchange =
            Exchange::restore(self.base.terms(if judging { &self.judge } else { &self.write }), &state["exchange"])?;
        Ok(Box::new(DraftMachine { draft: self, written, asked, exchange }))
    }
}

/// Two exchanges, of which the second is about the answer of the first.
struct DraftMachine<'m> {
    draft: &'m Draft,
    written: Option<Outcome>,
    /// Its current question.
    asked: Option<Question>,
    exchange: Exchange<'m>,
}

impl DraftMachine<'_> {
    /// A question about a text of the model's.
    fn question(&self, text: &LabelTree) -> Question {
        Question {
            content: text.clone(),
            recipients: vec!["judge@corp.com".to_owned()],
            consequence: Some("the text goes to a judge".to_owned()),
            ..Question::new("May this be judged?", ["no", "yes"])
        }
    }

    /// Has the text judged that was written, with a person's words about it.
    fn judge(&mut self, now: Time, words: Option<&str>) -> Result<Step<AgentEnd>, Error> {
        let base = &self.draft.base;
        let written = self.written.as_ref().unwrap();
        let text = match &written.ended {
            ExchangeEnd::Answered { value } => show::exact_value(value)["text"].as_str().unwrap().to_owned(),
            // Only an answer is judged.
            _ => String::new(),
        };
        let text = words.map_or(text.clone(), |words| format!("{text} ({words})"));
        let request =
            base.request(&self.draft.judge, &json!({ "text": text }).into(), InputAuthor::FromOutside)?.request;
        let asked = u32::try_from(written.attempts.len()).unwrap();
        self.exchange = Exchange::new(base.terms(&self.draft.judge), request).numbered_from(asked);
        self.step(Event { now, what: EventKind::Started })
    }
}

impl Machine for DraftMachine<'_> {
    type Outcome = AgentEnd;

    fn step(&mut self, event: Event) -> Result<Step<AgentEnd>, Error> {
        let now = event.now;
        if let (Some(question), EventKind::Answered { answers }) = (&self.asked, &event.what) {
            check_answers(std::slice::from_ref(question), answers)?;
            let words = answers[0].words.clone();
            self.asked = None;
            return self.judge(now, words.as_deref());
        }
        let mut outcome = match self.exchange.step(event)? {
            Step::Done(outcome) => outcome,
            Step::Do(effects) => return Ok(Step::Do(effects)),
            Step::Ask(questions) => return Ok(Step::Ask(questions)),
            Step::Wait { until } => return Ok(Step::Wait { until }),
        };
        if let (None, ExchangeEnd::Answered { value }) = (&self.written, &outcome.ended) {
            let question = self.question(&LabelTree::from_outside(value).unwrap());
            self.written = Some(outcome);
            if !self.draft.base.inputs.to_json()["task"].as_str().unwrap().starts_with("Ask") {
                return self.judge(now, None);
            }
            self.asked = Some(question.clone());
            return Ok(Step::Ask(vec![question]));
        }
        if let Some(written) = &self.written {
            outcome.attempts.splice(0..0, written.attempts.iter().cloned());
        }
        Ok(Step::Done(AgentEnd { outcome, evaluations: Vec::new(), detail: None }))
    }

    fn state(&self) -> Result<Json, Error> {
        Ok(json!({ "written": self.written, "asked": self.asked, "exchange": self.exchange.state()? }))
    }
}
