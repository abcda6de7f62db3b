//! An agent that Proem doesn't ship: it has a model write a text, and then judge what it wrote.

use std::time::Duration;

use proem_agents::prompted::InputAuthor;
use proem_app::agents::access::{ContractedPrompt, ModelAccess};
use proem_app::agents::base::RunBase;
use proem_app::agents::{Agent, AgentEnd, AgentMachine, AgentRun};
use proem_engine::Error;
use proem_engine::call::Request;
use proem_engine::run::{Event, EventKind, Exchange, ExchangeEnd, Machine, Outcome, Step};
use proem_guard::show;
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
        Box::new(DraftMachine { draft: self, written: None, exchange })
    }

    fn restore(&self, state: &Json) -> Result<AgentMachine<'_>, Error> {
        let written: Option<Outcome> = serde_json::from_value(state["written"].clone()).unwrap();
        let asked = if written.is_some() { &self.judge } else { &self.write };
        let exchange = Exchange::restore(self.base.terms(asked), &state["exchange"])?;
        Ok(Box::new(DraftMachine { draft: self, written, exchange }))
    }
}

/// Two exchanges, of which the second is about the answer of the first.
struct DraftMachine<'m> {
    draft: &'m Draft,
    written: Option<Outcome>,
    exchange: Exchange<'m>,
}

impl Machine for DraftMachine<'_> {
    type Outcome = AgentEnd;

    fn step(&mut self, event: Event) -> Result<Step<AgentEnd>, Error> {
        let (now, base) = (event.now, &self.draft.base);
        let mut outcome = match self.exchange.step(event)? {
            Step::Done(outcome) => outcome,
            Step::Do(effects) => return Ok(Step::Do(effects)),
            Step::Ask(questions) => return Ok(Step::Ask(questions)),
            Step::Wait { until } => return Ok(Step::Wait { until }),
        };
        if let (None, ExchangeEnd::Answered { value }) = (&self.written, &outcome.ended) {
            let inputs = json!({ "text": show::value(value)["text"] }).into();
            let request = base.request(&self.draft.judge, &inputs, InputAuthor::FromOutside)?.request;
            let asked = u32::try_from(outcome.attempts.len()).unwrap();
            self.exchange = Exchange::new(base.terms(&self.draft.judge), request).numbered_from(asked);
            self.written = Some(outcome);
            return self.step(Event { now, what: EventKind::Started });
        }
        if let Some(written) = &self.written {
            outcome.attempts.splice(0..0, written.attempts.iter().cloned());
        }
        Ok(Step::Done(AgentEnd { outcome, evaluations: Vec::new(), detail: None }))
    }

    fn state(&self) -> Result<Json, Error> {
        Ok(json!({ "written": self.written, "exchange": self.exchange.state()? }))
    }
}
