//! Agents that an agent's tools call: whom their questions wait for, and how they run without a record.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use proem_agents::lisp::turns::record::MissionEnd;
use proem_app::agents::RunResult;
use proem_app::agents::running::{Resumption, start_run};
use proem_app::lisp::agent::load_agent;
use proem_app::lisp::mission::{Mission, MissionInput, MissionOptions, MissionReport};
use proem_app::records::learning::Adapting;
use proem_app::records::writing::RecordChoice;
use proem_app::records::{self, Whose};
use proem_app::run::options::Carriage;
use proem_app::runs::resume::StoppedRun;
use proem_app::{Error, shipped_agents};
use proem_engine::run::{Question, QuestionAnswer};
use proem_lisp::{Limits, Meter, print_readable, read_json};
use proem_llm::scripted::{Reply, ScriptedServer};
use proem_runtime::records::ResumeIdentity;
use proem_store::query::{RunState, RunsWanted};
use proem_store::record::{RunCaller, RunId};
use tokio_util::sync::CancellationToken;

use crate::Home;

/// An agent that passes a mail on to another one.
const DESK: &str = "version = 1
name = \"desk\"
mission = \"Have the mail dealt with\"
signature = \"(mail :string) -> :any\"
[tools.clerk]
signature = \"(mail :string) -> :any\"
description = \"Deal with a mail\"
agent = { file = \"clerk.agent.toml\" }
";

/// An agent that writes notes, which is an effect.
const CLERK: &str = "version = 1
name = \"clerk\"
mission = \"Deal with one mail\"
signature = \"(mail :string) -> :any\"
[tools.note]
signature = \"(text :string) -> :any\"
description = \"Write a note\"
command = { argv = [\"tee\", \"NOTE\"], environment = [\"PATH\"] }
";

/// The same without an effect.
const READER: &str = "version = 1
name = \"clerk\"
mission = \"Deal with one mail\"
signature = \"(mail :string) -> :any\"
[tools.look]
signature = \"(text :string) -> :int\"
description = \"Look it up\"
effect = false
recorded = { file = \"look.json\" }
";

/// A user with two agents, and a model that writes the programs of both.
struct Office {
    home: Home,
    server: ScriptedServer,
    /// The clerk's file after the desk's model has answered, if it is another one then.
    swap: Arc<OnceLock<(PathBuf, String)>>,
}

impl Office {
    /// `program` is the clerk's.
    fn new(clerk: &str, program: &'static str) -> Self {
        let swap: Arc<OnceLock<(PathBuf, String)>> = Arc::default();
        let swapping = Arc::clone(&swap);
        let server = ScriptedServer::answering(move |request| {
            if let Some((path, text)) = swapping.get() {
                fs::write(path, text).unwrap();
            }
            let is_desk = String::from_utf8_lossy(&request.body).contains("Have the mail dealt with");
            let program = if is_desk { "(return (tool/clerk {:mail ctx/mail}))" } else { program };
            Reply::text(format!("```clojure\n{program}\n```"))
        });
        let server = server.unwrap();
        let config = "model = \"local/llama3.1\"\n[lisp]\nmodel = \"local/llama3.1\"\n[providers.local]\n";
        let home = Home::with(&format!("{config}base_url = \"{}\"\n", server.base_url()));
        let note = home.work.join("note").display().to_string();
        let look = "[{\"arguments\": {\"text\": \"Hello.\"}, \"result\": 7}]";
        for (name, text) in [
            ("desk.agent.toml", DESK.to_owned()),
            ("clerk.agent.toml", clerk.replace("NOTE", &note)),
            ("look.json", look.to_owned()),
        ] {
            fs::write(home.places.config.join(name), text).unwrap();
        }
        Self { home, server, swap }
    }

    fn note(&self) -> PathBuf {
        self.home.work.join("note")
    }

    /// Whether a model has read these words.
    fn was_told(&self, words: &str) -> bool {
        self.server.requests().iter().any(|request| String::from_utf8_lossy(&request.body).contains(words))
    }

    /// Has the desk deal with a mail. The end in words.
    async fn run(
        &self,
        (record, carriage): (RecordChoice, Carriage),
        ask: impl AsyncFnMut(&str, &[Question]) -> Result<Vec<QuestionAnswer>, Error>,
    ) -> Result<String, Error> {
        self.run_agent("desk.agent.toml", (record, carriage), None, ask).await
    }

    /// The same for any agent. `call` is the run that it follows on or is called by.
    async fn run_agent(
        &self,
        file: &str,
        (record, carriage): (RecordChoice, Carriage),
        call: Option<(RunId, RunCaller)>,
        ask: impl AsyncFnMut(&str, &[Question]) -> Result<Vec<QuestionAnswer>, Error>,
    ) -> Result<String, Error> {
        let mut project = self.home.project();
        let agent = load_agent(&project, &self.home.places.config.join(file))?;
        let context = read_json("{\"mail\": \"Hello.\"}", &mut Meter::new(Limits::default())).unwrap();
        let input = MissionInput { context, memory: proem_lisp::Value::map([]) };
        let options = MissionOptions { carriage, ..MissionOptions::default() };
        let mut mission = Mission::new(&mut project, &agent, input, &options)?.with_call(call);
        let booking = mission.begin(&project, &Adapting::default(), record, &mut Vec::new()).await?;
        let ran = start_run(&mission, 1, &booking, ask, &CancellationToken::new()).await;
        booking.end().await;
        Ok(end_words(ran?))
    }

    /// Goes on with a run, or with the one that called it.
    async fn resume(
        &self,
        run: &RunId,
        ask: impl AsyncFnMut(&str, &[Question]) -> Result<Vec<QuestionAnswer>, Error>,
    ) -> Result<String, Error> {
        let (project, agents) = (self.home.project(), shipped_agents::agents());
        let mut notes = Vec::new();
        let found = StoppedRun::find(&agents, &project, run.short(), Whose::Project, &mut notes).await?;
        let (detail, read) = found.read_back()?;
        let mut resuming = Resumption::new(&project, detail, read, &self.home.work, &|_| ())?;
        resuming.begin(&project, &mut notes).await?;
        let stop = CancellationToken::new();
        let ran = resuming.to_the_end(&project, ResumeIdentity::On, ask, &stop).await;
        resuming.end().await;
        Ok(end_words(ran?))
    }

    /// The desk's run and the clerk's, each with how far it is.
    async fn runs(&self) -> Vec<(RunId, RunState)> {
        let project = self.home.project();
        let store = records::look_at_records(&project).await.unwrap().value;
        let mut runs = store.runs(&RunsWanted::default()).await.unwrap();
        store.close().await;
        runs.sort_by_key(|run| run.caller.is_some());
        runs.into_iter().map(|run| (run.id, run.state)).collect()
    }
}

fn end_words(ran: RunResult) -> String {
    let report = ran.output.downcast::<MissionReport>().unwrap();
    match report.outcome.end {
        MissionEnd::Return { value, .. } => {
            print_readable(&value.without_labels(), &mut Meter::new(Limits::default())).unwrap()
        }
        MissionEnd::Fail(failure) | MissionEnd::NoAnswer(failure) => format!("{}: {}", failure.reason, failure.message),
    }
}

/// Nobody is there to answer, as without a terminal.
async fn nobody(_run: &str, _asked: &[Question]) -> Result<Vec<QuestionAnswer>, Error> {
    Err(Error::outside("nobody is there"))
}

/// A person who says yes to one question, which tells the tool, the line of the clerk's program and the argument.
async fn person(_run: &str, asked: &[Question]) -> Result<Vec<QuestionAnswer>, Error> {
    let [question] = asked else { return Err(Error::outside(format!("{} questions", asked.len()))) };
    let content = serde_json::to_string(question).unwrap();
    for part in ["note", "Hello.", "2"] {
        assert!(content.contains(part), "{part} is missing: {content}");
    }
    Ok(vec![question.answered(0, None).unwrap()])
}

#[tokio::test]
async fn a_called_agents_question_makes_the_whole_tree_wait() {
    let office = Office::new(CLERK, "(def kept 1)\n(return (tool/note {:text ctx/mail}))");
    let failed = office.run((RecordChoice::AsConfigured, Carriage::Network), nobody).await.unwrap_err();
    assert_eq!(failed.to_string(), "nobody is there");
    assert!(!office.note().exists(), "nobody permitted it");
    let before = office.runs().await;
    let states: Vec<RunState> = before.iter().map(|(_, state)| *state).collect();
    assert_eq!(states, [RunState::Interrupted, RunState::Asking]);
    // By the id of either of them.
    let asked_again = office.resume(&before[1].0, nobody).await.unwrap_err();
    assert_eq!(asked_again.to_string(), "nobody is there");
    let requests = office.server.requests().len();
    assert_eq!(office.resume(&before[0].0, person).await.unwrap(), "{\"text\" \"Hello.\"}");
    assert_eq!(fs::read_to_string(office.note()).unwrap(), "{\"text\":\"Hello.\"}");
    let after = office.runs().await;
    let ids = |runs: &[(RunId, RunState)]| runs.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&after), ids(&before), "no other run was started");
    assert!(after.iter().all(|(_, state)| matches!(state, RunState::Ended(_))), "{after:?}");
    assert_eq!(office.server.requests().len(), requests, "no model was asked again");
}

#[tokio::test]
async fn an_agent_whose_tools_have_no_effect_is_called_without_a_record() {
    let office = Office::new(READER, "(return (tool/look {:text ctx/mail}))");
    let end = office.run((RecordChoice::No, Carriage::Network), nobody).await.unwrap();
    assert_eq!(end, "7");
    assert_eq!(office.runs().await, []);
}

#[tokio::test]
async fn an_agent_that_may_have_an_effect_is_not_called_without_a_record() {
    let office = Office::new(CLERK, "(return (tool/note {:text ctx/mail}))");
    let end = office.run((RecordChoice::No, Carriage::Network), person).await.unwrap();
    assert!(!office.note().exists(), "{end}");
    assert!(office.was_told("flow_denied"), "{end}");
    assert!(!office.was_told("Deal with one mail"), "the model of the clerk was not asked");
}

#[tokio::test]
async fn cassettes_of_a_called_agent_are_kept_apart_and_replayed() {
    let office = Office::new(READER, "(return (tool/look {:text ctx/mail}))");
    let folder = office.home.work.join("tapes");
    let recorder = (RecordChoice::AsConfigured, Carriage::Recorder(folder.clone()));
    assert_eq!(office.run(recorder, nobody).await.unwrap(), "7");
    let asked = office.server.requests().len();
    assert!(folder.join("0001-00-00.json").is_file() && folder.join("call-0001").join("0001-00-00.json").is_file());
    let cassettes = (RecordChoice::AsConfigured, Carriage::Cassettes(folder));
    assert_eq!(office.run(cassettes, nobody).await.unwrap(), "7");
    assert_eq!(office.server.requests().len(), asked, "a replay asks nobody");
}

#[tokio::test]
async fn an_agent_that_gets_an_effect_before_it_is_called_has_none_without_a_record() {
    let office = Office::new(READER, "(return (tool/note {:text \"now\"}))");
    let changed = CLERK.replace("NOTE", &office.note().display().to_string());
    office.swap.set((office.home.places.config.join("clerk.agent.toml"), changed)).unwrap();
    let end = office.run((RecordChoice::No, Carriage::Network), person).await.unwrap();
    assert!(!office.note().exists(), "{end}");
    assert!(office.was_told("Deal with one mail") && office.was_told("flow_denied"), "{end}");
}

#[tokio::test]
async fn a_run_that_follows_on_another_one_is_resumed_by_itself() {
    let office = Office::new(CLERK, "(def kept 1)\n(return (tool/note {:text ctx/mail}))");
    let network = || (RecordChoice::AsConfigured, Carriage::Network);
    office.run_agent("clerk.agent.toml", network(), None, nobody).await.unwrap_err();
    let first = office.runs().await.remove(0).0;
    let caller = RunCaller { run: first, effect: RunCaller::CHAINED };
    let second = RunId::new([7; 8]);
    let call = Some((second.clone(), caller));
    office.run_agent("clerk.agent.toml", network(), call, nobody).await.unwrap_err();
    assert_eq!(office.resume(&second, person).await.unwrap(), "{\"text\" \"Hello.\"}");
    let states: Vec<RunState> = office.runs().await.into_iter().map(|(_, state)| state).collect();
    assert!(matches!(states[..], [RunState::Asking, RunState::Ended(_)]), "{states:?}");
}
