//! Tools that ask a model: a replay makes the requests within their calls anew, too.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use proem_agents::lisp::{AgentDefinition, ModelQuestion, ProgramMachine, parse_agent, question_prompt};
use proem_agents::screen::Screening;
use proem_engine::call::Arrival;
use proem_engine::prompt::book::Book;
use proem_engine::run::{ExchangeEnd, FallbackReason, Outcome};
use proem_guard::{Guard, InstallationKey, Policy};
use proem_llm::scripted::{Reply, ScriptedServer};
use proem_runtime::driver::CallPerformer;
use proem_runtime::records::{Recording, ReplayMeans, ReplayReport, replay};
use proem_runtime::tools::{ToolModels, ToolQuestions};
use proem_store::Store;
use tempfile::TempDir;

use crate::records::programs::{ProgramCourse, Workshop};
use crate::records::scene::{Begun, Given, Scene, id, key, server};

static GUARD: LazyLock<Guard> = LazyLock::new(|| Guard::shipped(&[]).unwrap());
static POLICY: LazyLock<Policy> = LazyLock::new(|| Policy::shipped().unwrap());
static KEY: LazyLock<InstallationKey> = LazyLock::new(key);

const PROGRAM: &str = "(tool/kind-of {:mail \"Where is my clock?\"})";

/// An agent whose tool asks a question.
fn agent(question: &str) -> AgentDefinition {
    let text = format!(
        "version = 1\nname = \"a\"\nsignature = \"() -> :any\"\n[tools.kind-of]\n\
         signature = \"(mail :string) -> (:complaint | :praise)\"\ndescription = \"Say what a mail is\"\n\
         model = {{ prompt = \"{question}\" }}\n"
    );
    parse_agent("a.agent.toml", &text).unwrap()
}

/// A program whose tool asked a model, as it is recorded.
struct AskedProgram {
    folder: TempDir,
    server: ScriptedServer,
    scene: Scene,
    store: Store,
}

const QUESTION: &str = "What kind of mail is this? {{mail}}";

impl AskedProgram {
    async fn new(replies: Vec<Reply>) -> Self {
        let (folder, server) = (TempDir::new().unwrap(), server(replies));
        let scene = Scene::new(folder.path(), &server);
        let store = scene.store().await;
        let recorded = Self { folder, server, scene, store };
        recorded.run().await;
        recorded
    }

    fn questions(&self, question: &str) -> BTreeMap<String, ModelQuestion> {
        let agent = agent(question);
        let tool = &agent.tools["kind-of"];
        let prompt = question_prompt(&agent.name, ("kind-of", tool), &Book::new(Vec::new()).unwrap()).unwrap();
        let question = ModelQuestion::new(prompt, tool, (self.scene.model(), Arrival::Whole)).unwrap();
        BTreeMap::from([("kind-of".to_owned(), question)])
    }

    fn workshop(&self, question: &str) -> Workshop {
        Workshop::new(agent(question), self.folder.path(), &BTreeMap::new())
    }

    async fn run(&self) {
        let (owned, given, questions) = (self.scene.owned(), Given::asked(PROGRAM), self.questions(QUESTION));
        let (caller, directory) = (self.scene.caller(), self.scene.directory());
        let kept = owned.kept(&self.scene, &self.store);
        let recording = Recording::new(&kept, &given.start(&Begun { id: id("1"), parent: None, steps: 0 }));
        let calls = CallPerformer::new(&caller, &directory, 1).through(&recording);
        let models = ToolModels::new(asking(&questions), calls);
        let workshop = self.workshop(QUESTION);
        let course = ProgramCourse { recording: Some(&recording), models: Some(&models), ..ProgramCourse::default() };
        workshop.run(workshop.terms(PROGRAM, "{}"), course).await.unwrap();
    }

    /// The replay with a question of these words, and how many requests it was told of.
    async fn replayed(&self, question: &str) -> ReplayReport {
        let (detail, sent) = (self.store.run(&id("1")).await.unwrap(), self.server.requests().len());
        let (questions, workshop) = (self.questions(question), self.workshop(QUESTION));
        let mut machine = ProgramMachine::new(workshop.terms(PROGRAM, "{}"));
        let means = ReplayMeans { models: &[], questions: Some(asking(&questions)) };
        let end =
            |_: &_| Outcome { ended: ExchangeEnd::Failed { because: FallbackReason::Program }, attempts: Vec::new() };
        let report = replay(&self.store, &detail, means, &mut machine, end).await.unwrap();
        assert_eq!(self.server.requests().len(), sent, "a replay sends nothing");
        report
    }
}

fn asking(questions: &BTreeMap<String, ModelQuestion>) -> ToolQuestions<'_> {
    ToolQuestions { questions, key: &KEY, screening: Screening { guard: &GUARD, policy: &POLICY } }
}

fn answer(kind: &str) -> Reply {
    Reply::value(serde_json::json!({ "value": kind }))
}

#[tokio::test]
async fn a_replay_makes_the_requests_of_a_tools_question_anew() {
    // One answer, and one that is asked for again because its form was another.
    for (replies, requests) in [(vec![answer("praise")], 1), (vec![Reply::text("well"), answer("praise")], 2)] {
        let recorded = AskedProgram::new(replies).await;
        assert_eq!(recorded.server.requests().len(), requests);
        let report = recorded.replayed(QUESTION).await;
        assert_eq!(report.difference, None);
        assert_eq!(report.calls as usize, 1 + requests, "the call of the tool, and each request within it");
        let sent: usize = recorded.server.requests().iter().map(|request| request.body.len()).sum();
        assert!(report.bytes > sent as u64, "{} of {sent}", report.bytes);
    }
}

#[tokio::test]
async fn a_replay_stops_at_a_question_that_was_asked_in_other_words() {
    let recorded = AskedProgram::new(vec![answer("praise")]).await;
    let difference = recorded.replayed("Of what kind is this mail? {{mail}}").await.difference.unwrap();
    assert_eq!(difference.call, 1, "{difference:?}");
    assert!(difference.recorded.contains("What kind") && difference.found.contains("Of what"), "{difference:?}");
}

#[tokio::test]
async fn a_question_without_an_answer_is_replayed_as_far_as_it_came() {
    for replies in
        [vec![Reply::raw(400, "{}"), Reply::raw(400, "{}")], vec![Reply::refusal("no"), Reply::refusal("no")]]
    {
        let recorded = AskedProgram::new(replies).await;
        let report = recorded.replayed(QUESTION).await;
        assert_eq!(report.difference, None);
        assert!(report.calls > 1, "{report:?}");
    }
}
