//! An agent that Proem doesn't ship, through everything that is done with runs: it is in one file of these tests, and
//! no other line of Proem knows it.

mod draft;

use std::fmt::Write as _;
use std::num::NonZeroU32;
use std::path::Path;
use std::process::{Command, Stdio};

use proem_app::Error;
use proem_app::agents::base::{AgentOptions, RunBase};
use proem_app::agents::running::{Resumption, start_run};
use proem_app::agents::{Agent as _, Agents, RunResult};
use proem_app::places::{Channel, Places};
use proem_app::project::{BookReading, OpenProject};
use proem_app::records::Whose;
use proem_app::records::blocking;
use proem_app::records::learning::Adapting;
use proem_app::records::writing::RecordChoice;
use proem_app::run::options::Carriage;
use proem_app::runs::replay::replay_run;
use proem_app::runs::resume::StoppedRun;
use proem_app::shipped_agents;
use proem_engine::run::{ExchangeEnd, Outcome, Question, QuestionAnswer};
use proem_guard::show;
use proem_llm::scripted::{Delivery, Reply, ScriptedServer};
use proem_runtime::records::ResumeIdentity;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use self::draft::DraftAgent;
use crate::fixture::{BEAT, Fixture};
use crate::records::sql;
use crate::run::{set_up, start, without_ids};

/// The agent's phase in a process of its own, by the variable of that name.
const PHASE: &str = "PROEM_TEST_PHASE";

const WRITE: &str = "---
model: small
input:
  schema: { task: string }
proem:
  version: 1.0.0
  output_schema: write.schema.json
  sections:
    - { name: role, trust: constitution }
    - { name: task, trust: task }
  inputs:
    task: { trust: trusted }
---
{{role \"system\"}}{{section \"role\"}}
Write one sentence.
{{role \"user\"}}{{section \"task\"}}
{{task}}
";

const JUDGE: &str = "---
model: small
input:
  schema: { text: string }
proem:
  version: 1.0.0
  output_schema: judge.schema.json
  sections:
    - { name: role, trust: constitution }
    - { name: text, trust: untrusted, cache: never, keep: required }
---
{{role \"system\"}}{{section \"role\"}}
Judge one sentence.
{{role \"user\"}}{{section \"text\"}}
{{text}}
";

/// A contract with one text of that name.
fn schema(field: &str) -> String {
    json!({
        "type": "object", "properties": { field: { "type": "string", "maxLength": 200 } },
        "required": [field], "additionalProperties": false,
    })
    .to_string()
}

/// A process of this test's own binary that does one thing with the agent.
fn phase(fixture: &Fixture, phase: &str) -> Command {
    let mut command = fixture.command(std::env::current_exe().unwrap());
    command.args(["agent::in_a_process_of_its_own", "--exact", "--nocapture"]).env(PHASE, phase);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The words of such a process.
fn said(fixture: &Fixture, what: &str) -> String {
    let output = phase(fixture, what).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{what}: {out}{err}");
    out.lines().filter_map(|line| line.strip_prefix("> ")).fold(String::new(), |mut all, line| {
        _ = writeln!(all, "{line}");
        all
    })
}

/// A user whose book has the agent's prompts.
fn book(server: &ScriptedServer) -> Fixture {
    let mut fixture = Fixture::folder();
    set_up(&mut fixture, server, "attempts = 1\n");
    for (name, prompt, field) in [("write", WRITE, "text"), ("judge", JUDGE, "verdict")] {
        fixture.configure(&format!("book/draft/{name}/1.0.0.prompt"), prompt);
        fixture.configure(&format!("book/draft/{name}/{name}.schema.json"), &schema(field));
    }
    fixture
}

#[test]
fn an_agent_that_asks_waits_for_a_person_and_takes_no_answer_to_something_else() {
    let written = Reply::value(json!({ "text": "A proem opens a work." }));
    let judged = Reply::value(json!({ "verdict": "It is short." }));
    let server = start(vec![written.clone(), judged.clone(), written, judged]);
    let fixture = book(&server);
    assert_eq!(said(&fixture, "asked-live"), "{\"verdict\":\"It is short.\"}\n");
    assert_eq!(said(&fixture, "asked-nobody"), "nobody is asked\n");
    let states = || sql(&fixture, "SELECT state FROM runs ORDER BY seq");
    assert_eq!(states(), ["ended", "asking"]);
    let refused = "answer 1 was given to something else than what is asked; ask again\n";
    assert_eq!(said(&fixture, "asked-otherwise"), refused);
    assert_eq!((states(), server.requests().len()), (vec!["ended".to_owned(), "asking".to_owned()], 3));
    assert_eq!(said(&fixture, "asked-again"), "{\"verdict\":\"It is short.\"}\n");
    assert_eq!(states(), ["ended", "ended"]);
    let answers = sql(&fixture, "SELECT question || answer FROM approvals ORDER BY seq");
    assert_eq!(answers, ["May this be judged?1", "May this be judged?1"]);
    for request in [1, 3] {
        let body = server.requests()[request].json().unwrap().to_string();
        assert!(body.contains("A proem opens a work. (it is urgent)"), "{body}");
    }
}

#[test]
fn an_agent_of_somebody_elses_is_recorded_killed_resumed_replayed_and_shown() {
    let slow = Delivery { delay_ms: 600_000, ..Delivery::default() };
    let judged = Reply::value(json!({ "verdict": "It is short." }));
    let written = Reply::value(json!({ "text": "A proem opens a work." }));
    let server = start(vec![written, Reply { how: slow, ..judged.clone() }, judged]);
    let fixture = book(&server);

    // If nothing is sent, nothing is recorded.
    assert_eq!(said(&fixture, "unsent"), "recorded: false\n");
    assert!(!fixture.base.join("state/proem/records.db").exists());

    // It asks twice, and dies while it waits for the second answer.
    let mut dies = phase(&fixture, "start").spawn().unwrap();
    while !server.arrived(2, BEAT) {
        if dies.try_wait().unwrap().is_some() {
            let output = dies.wait_with_output().unwrap();
            panic!("it ended before it asked twice: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
    dies.kill().unwrap();
    dies.wait().unwrap();
    assert_eq!(sql(&fixture, "SELECT kind || ' ' || state FROM runs"), ["draft running"]);

    // An answered question is not asked again.
    assert_eq!(said(&fixture, "resume"), "{\"verdict\":\"It is short.\"}\n");
    assert_eq!(server.requests().len(), 3);
    assert_eq!(sql(&fixture, "SELECT kind || ' ' || outcome FROM runs"), ["draft answered"]);
    assert_eq!(said(&fixture, "replay"), "2 calls, no difference\n");
    let bodies: Vec<String> = server.requests().iter().map(|request| request.json().unwrap().to_string()).collect();
    assert_eq!(bodies[1], bodies[2]);

    // The binary doesn't know the agent, and shows what it did all the same.
    let shown = fixture.proem(&["runs", "show", "last", "--json"]).json();
    let prompts: Vec<&str> =
        shown["calls"].as_array().unwrap().iter().map(|call| call["prompt"].as_str().unwrap()).collect();
    assert_eq!(prompts, ["draft/write", "draft/judge"]);
    let account = fixture.proem(&["runs", "show", "last"]);
    assert!(account.answer().contains("It is short."), "{}", account.answer());
    let stats = fixture.proem(&["stats", "--json"]).json();
    let name = stats["prompts"][0]["name"].as_str().unwrap();
    assert!(name.starts_with("draft/judge@1.0.0"), "{name}");
    let unknown = fixture.proem(&["runs", "replay", "last"]);
    assert_eq!(unknown.code(), 1);
    assert_eq!(
        without_ids(unknown.stderr()),
        "error: run ID can't be replayed: its kind `draft` is unknown to this version of Proem; update Proem\n"
    );
}

/// The process that [`phase`] starts. Alone it shows that the agent is known under its kind, and the shipped ones
/// beside it.
#[test]
fn in_a_process_of_its_own() {
    let Ok(what) = std::env::var(PHASE) else {
        let agents = shipped_agents::agents().with(DraftAgent);
        let known = ["draft", "prompt", "assemble", "risk", "other"].map(|kind| agents.of(kind).is_some());
        assert_eq!(known, [true, true, true, true, false]);
        return;
    };
    let places = Places::find(Channel::Pipe).unwrap();
    let mut project = OpenProject::open(Path::new("."), &places, BookReading::Trusted).unwrap();
    let agents = shipped_agents::agents().with(DraftAgent);
    let said = match what.as_str() {
        "start" => value(begin(&mut project, "What is a proem?", nobody)),
        "asked-live" => value(begin(&mut project, "Ask me", somebody)),
        "asked-nobody" => begin(&mut project, "Ask me", nobody).unwrap_err().to_string(),
        "asked-otherwise" => resume(&agents, &project, somebody_else).unwrap_err().to_string(),
        "asked-again" => value(resume(&agents, &project, somebody)),
        "unsent" => format!("recorded: {}", unsent(&mut project).unwrap()),
        "resume" => value(resume(&agents, &project, nobody)),
        _ => {
            let replayed = blocking(replay_run(&agents, &project, "last", Whose::Project, &mut Vec::new())).unwrap();
            assert_eq!(replayed.report.difference, None);
            format!("{} calls, no difference", replayed.report.calls)
        }
    };
    println!("\n> {said}");
}

/// The base of the agent's run, with these requests carried this way.
fn base(project: &mut OpenProject, carriage: Carriage, task: &str) -> Result<RunBase, Error> {
    let options = AgentOptions { model: None, provider: None, carriage, seconds: NonZeroU32::new(60).unwrap() };
    let inputs = json!({ "task": task }).into();
    RunBase::new(DraftAgent.kind(), DraftAgent.prompts(), &options, inputs, project)
}

/// Whether records are opened where nothing is sent.
fn unsent(project: &mut OpenProject) -> Result<bool, Error> {
    let mut base = base(project, Carriage::Nobody, "What is a proem?")?;
    let (adapting, mut notes) = (Adapting::default(), Vec::new());
    Ok(blocking(base.begin(project, &adapting, RecordChoice::Needed, &mut notes))?.records().is_some())
}

fn begin(
    project: &mut OpenProject,
    task: &str,
    ask: impl AsyncFnMut(&str, &[Question]) -> Result<Vec<QuestionAnswer>, Error>,
) -> Result<RunResult, Error> {
    let mut base = base(project, Carriage::Network, task)?;
    blocking(async {
        let (adapting, mut notes) = (Adapting::default(), Vec::new());
        let booking = base.begin(project, &adapting, RecordChoice::Needed, &mut notes).await?;
        let run = DraftAgent.prepare(base)?;
        start_run(run.as_ref(), 1, &booking, ask, &CancellationToken::new()).await
    })
}

fn resume(
    agents: &Agents,
    project: &OpenProject,
    ask: impl AsyncFnMut(&str, &[Question]) -> Result<Vec<QuestionAnswer>, Error>,
) -> Result<RunResult, Error> {
    blocking(async {
        let stopped = StoppedRun::find(agents, project, "last", Whose::Project, &mut Vec::new()).await?;
        let (detail, read) = stopped.read_back()?;
        let mut resumption = Resumption::new(project, detail, read, Path::new("."), &|_| ())?;
        resumption.begin(project, &mut Vec::new()).await?;
        resumption.to_the_end(project, ResumeIdentity::On, ask, &CancellationToken::new()).await
    })
}

async fn nobody(_: &str, _: &[Question]) -> Result<Vec<QuestionAnswer>, Error> {
    Err(Error::invalid("nobody is asked"))
}

/// Looks at what is asked, and says yes to it.
async fn somebody(_: &str, questions: &[Question]) -> Result<Vec<QuestionAnswer>, Error> {
    assert_eq!(questions.len(), 1);
    let question = &questions[0];
    assert_eq!(question.text, "May this be judged?");
    assert_eq!(show::tree_json(&question.content), json!({ "text": "A proem opens a work." }));
    assert_eq!(question.recipients, ["judge@corp.com"]);
    assert_eq!(question.consequence.as_deref(), Some("the text goes to a judge"));
    Ok(vec![question.answered(1, Some("it is urgent".to_owned()))?])
}

/// Says yes to something else.
async fn somebody_else(_: &str, questions: &[Question]) -> Result<Vec<QuestionAnswer>, Error> {
    let other = Question { recipients: Vec::new(), ..questions[0].clone() };
    Ok(vec![other.answered(1, None)?])
}

/// The value that a run ended with.
fn value(ran: Result<RunResult, Error>) -> String {
    let outcome = ran.unwrap().output.downcast::<Outcome>().unwrap();
    match &outcome.ended {
        ExchangeEnd::Answered { value } => proem_text::json::compact(&show::exact_value(value)),
        other => format!("{other:?}"),
    }
}
