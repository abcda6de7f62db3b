//! The whole command line, as `--help` documents it, and what several commands share. Each command's own arguments are
//! beside it.

pub(crate) mod files;
pub(crate) mod models;
pub(crate) mod place;
pub(crate) mod wishes;
pub(crate) mod words;

use clap::{Parser, Subcommand};

use crate::commands::{
    adapt, artefacts, ask, assemble, book, catalogue, cost, doctor, effects, escalations, failures, feedback, find,
    hook, improve, index, init, lisp, mcp, policy, queue, risk, run, runs, scan, schema, select, serve, stats, store,
    tokens, triage, trust, worker,
};

/// Decides what a language model reads, and accounts for every token of it.
#[derive(Debug, Parser)]
#[command(name = "proem", version, propagate_version = true, arg_required_else_help = true, after_help = COLOURS)]
pub(crate) struct CommandLine {
    /// Hide notes, except on who receives your data; errors, results and questions stay
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print what a prompt learned, and the profile that failures and signals produce
    #[command(after_help = adapt::ADAPT_EXAMPLES)]
    Adapt(adapt::Adapt),
    /// Read what triage keeps of a project: delivery state, RAID log, backlog, decisions
    #[command(subcommand, after_help = artefacts::ARTEFACTS_EXAMPLES)]
    Artefacts(artefacts::ArtefactsCommand),
    /// Ask a model a question, about files and what is piped in
    #[command(after_help = ask::ASK_EXAMPLES)]
    Ask(Box<ask::AskArgs>),
    /// Print the prompt for a task in a repository
    #[command(after_help = assemble::args::ASSEMBLE_EXAMPLES)]
    Assemble(assemble::args::Assemble),
    /// List, show, check, test and lock the prompts of the book
    #[command(subcommand, after_help = book::args::BOOK_EXAMPLES)]
    Book(book::args::BookCommand),
    /// List, show, check and approve tools and skills
    #[command(subcommand, after_help = catalogue::CATALOGUE_EXAMPLES)]
    Catalogue(catalogue::CatalogueCommand),
    /// Show what was spent, by day, prompt and model
    #[command(after_help = cost::args::COST_EXAMPLES)]
    Cost(cost::args::Cost),
    /// Say what is set up here, what is missing, and what would mend it
    #[command(after_help = doctor::DOCTOR_EXAMPLES)]
    Doctor(doctor::DoctorArgs),
    /// Let approved actions happen: propose, switch, sweep, log
    #[command(subcommand, after_help = effects::EFFECTS_EXAMPLES)]
    Effects(effects::EffectsCommand),
    /// List, show and decide the questions that agents leave to people
    #[command(subcommand, after_help = escalations::ESCALATIONS_EXAMPLES)]
    Escalations(escalations::EscalationsCommand),
    /// List and clear the failures that prompts learn from
    #[command(subcommand, after_help = failures::FAILURES_EXAMPLES)]
    Failures(failures::FailuresCommand),
    /// Propose changes of thresholds and prompts from recorded outcomes
    #[command(subcommand, after_help = feedback::FEEDBACK_EXAMPLES)]
    Feedback(feedback::FeedbackCommand),
    /// Answer a coding agent's event of a prompt with context for it
    #[command(after_help = hook::HOOK_EXAMPLES)]
    Hook(hook::HookArgs),
    /// Find the files, definitions and commits that a task is about
    #[command(after_help = find::FIND_EXAMPLES)]
    Find(find::Find),
    /// Run, check and look up programs of PTC-Lisp, the language in which models call tools
    #[command(subcommand, after_help = lisp::LISP_EXAMPLES)]
    Lisp(lisp::LispCommand),
    /// Serve this project's runs, prompts and checks over the Model Context Protocol
    #[command(after_help = mcp::MCP_EXAMPLES)]
    Mcp(mcp::McpArgs),
    /// Check the policy for agents' actions, and explain what it makes of one
    #[command(subcommand, after_help = policy::POLICY_EXAMPLES)]
    Policy(policy::PolicyCommand),
    /// List, show, approve, edit, cancel and resolve agents' actions
    #[command(subcommand, after_help = queue::QUEUE_EXAMPLES)]
    Queue(queue::QueueCommand),
    /// Say how risky a change is, with evidence from the repository's history
    #[command(after_help = risk::args::RISK_EXAMPLES)]
    Risk(Box<risk::args::Risk>),
    /// Ask a model with a prompt of the book, and check its answer
    #[command(after_help = run::RUN_EXAMPLES)]
    Run(run::RunArgs),
    /// List, show, compare, export, replay, resume, rate and delete runs
    #[command(subcommand, after_help = runs::args::RUNS_EXAMPLES)]
    Runs(runs::args::RunsCommand),
    /// Look for prompt injections in files
    #[command(after_help = scan::args::SCAN_EXAMPLES)]
    Scan(scan::args::ScanArgs),
    /// Print the JSON Schema of a command's JSON output, or list the schemas
    #[command(after_help = schema::SCHEMA_EXAMPLES)]
    Schema(schema::SchemaArgs),
    /// Rank tools and skills for one task, or for many
    #[command(after_help = select::SELECT_EXAMPLES)]
    Select(select::Select),
    /// Take webhooks of Jira, Asana and Microsoft Graph, and store their signals
    #[command(after_help = serve::SERVE_EXAMPLES)]
    Serve(serve::Serve),
    /// Show statistics on prompts, tools and roles
    #[command(after_help = stats::STATS_EXAMPLES)]
    Stats(stats::Stats),
    /// Manage the file or database that runs are recorded in
    #[command(subcommand, after_help = store::STORE_EXAMPLES)]
    Store(store::StoreCommand),
    /// Count the tokens of files
    #[command(after_help = tokens::TOKENS_EXAMPLES)]
    Tokens(tokens::TokensArgs),
    /// Turn signals about a project into artefacts, held actions and questions
    #[command(subcommand, after_help = triage::TRIAGE_EXAMPLES)]
    Triage(triage::TriageCommand),
    /// Do work of several projects whose records are in a database
    #[command(after_help = worker::WORKER_EXAMPLES)]
    Worker(worker::Worker),
    /// Show the work of workers, who does it, and what waits for a person
    #[command(after_help = worker::WORKERS_EXAMPLES)]
    Workers(worker::Workers),
    /// Review and trust this project's files
    #[command(after_help = trust::TRUST_EXAMPLES, subcommand_precedence_over_arg = true)]
    Trust(trust::TrustArgs),
    /// Set up a project
    #[command(after_help = init::INIT_EXAMPLES)]
    Init(init::Init),
    /// Print a script that makes a shell complete commands, prompts, runs, models and files
    #[command(after_help = "Example:\n  proem completions bash > ~/.local/share/bash-completion/completions/proem")]
    Completions { shell: clap_complete::Shell },
    /// Write a manual page for each command into a folder
    #[command(hide = true, after_help = "Example:\n  proem man /usr/local/share/man/man1")]
    Man {
        /// The folder, which is made if it is not there
        dir: std::path::PathBuf,
    },
    /// Search for a better wording of a prompt, which ends as a proposal
    #[command(after_help = improve::IMPROVE_EXAMPLES)]
    Improve(Box<improve::ImproveArgs>),
    /// Read the whole repository and keep what ranking needs of it
    #[command(hide = true)]
    Index(index::Index),
    /// Print the reference of the configuration
    #[command(hide = true)]
    Reference,
}

const COLOURS: &str =
    "Output is coloured on terminals only; NO_COLOR=1 turns colours off, CLICOLOR_FORCE=1 keeps them in pipes too.";
