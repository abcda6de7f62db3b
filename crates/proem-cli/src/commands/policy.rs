//! `proem policy`: what agents may do, and why.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use proem_app::effects::{ActionDesk, policy, propose};
use proem_app::project::OpenProject;
use proem_app::records;
use proem_engine::policy::{ActionList, Policy, Ruling};
use proem_guard::show;
use proem_store::StoreAccess;
use proem_text::json;

use super::queue::page;
use crate::failure::CommandFailure;
use crate::ui::{self, DIM, count_with_noun, style_text};

pub(crate) const POLICY_EXAMPLES: &str = "\
Examples:
  proem policy print > ~/.config/proem/policy.toml
  proem policy check
  proem policy explain action.json";

/// The exit code of a negative answer.
const NO: u8 = 1;

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Read a policy, say what is wrong with it, and show its lists
    #[command(after_help = "Example:\n  proem policy check policy.toml")]
    Check {
        /// The file; without it, the policy in force in this project
        file: Option<PathBuf>,
        /// A folder in the project
        #[arg(long, value_name = "DIR", default_value = ".")]
        root: PathBuf,
    },
    /// Print the policy that ships, to write your own from
    #[command(after_help = "Example:\n  proem policy print > ~/.config/proem/policy.toml")]
    Print,
    /// Say what the policy makes of an action, and why; nothing is written
    #[command(
        after_help = "Example:\n  proem policy explain action.json --json\n\nThe exit code is 1 for an action that is refused."
    )]
    Explain {
        /// The action, as JSON
        #[arg(value_name = "ACTION.json")]
        action: PathBuf,
        /// A folder in the project
        #[arg(long, value_name = "DIR", default_value = ".")]
        root: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(super) fn run_policy(args: &PolicyCommand) -> Result<ExitCode, CommandFailure> {
    match args {
        PolicyCommand::Check { file, root } => check_policy(file.as_deref(), root),
        PolicyCommand::Print => {
            ui::data(Policy::shipped_text())?;
            Ok(ExitCode::SUCCESS)
        }
        PolicyCommand::Explain { action, root, json } => explain_decision(action, root, *json),
    }
}

fn check_policy(file: Option<&Path>, root: &Path) -> Result<ExitCode, CommandFailure> {
    let policy = match file {
        Some(file) if !file.exists() => {
            let shown = show::terminal_str(&file.display().to_string()).into_string();
            return Err(CommandFailure::usage(format!("there is no file `{shown}`")));
        }
        Some(file) => policy::of_user(file)?,
        None => {
            let project = OpenProject::without_book(root, &crate::user_places()?)?;
            ui::print_notes_of(policy::policy_in_force(&project)?)
        }
    };
    ui::print_listing(&policy_lists(&policy))?;
    Ok(ExitCode::SUCCESS)
}

/// The lists of a policy, and whom it knows.
fn policy_lists(policy: &Policy) -> String {
    let mut out = format!("{}  {}\n", style_text(DIM, &format!("{:11}", "level")), policy.level().as_str());
    let named = |wanted: fn(&ActionList) -> bool| -> Vec<String> {
        let actions = policy.actions().filter(|(_, terms)| wanted(&terms.list));
        actions
            .map(|(name, terms)| match terms.list {
                ActionList::Hold(minutes) => format!("{name} ({} min)", minutes.0),
                _ => name.to_owned(),
            })
            .collect()
    };
    let never: Vec<String> = policy.never().map(str::to_owned).collect();
    for (name, actions) in [
        ("auto", named(|list| matches!(list, ActionList::Auto))),
        ("hold", named(|list| matches!(list, ActionList::Hold(_)))),
        ("approval", named(|list| matches!(list, ActionList::Approval))),
        ("never", never),
    ] {
        let actions = if actions.is_empty() { "nothing".to_owned() } else { actions.join(", ") };
        out.push_str(&format!("{}  {actions}\n", style_text(DIM, &format!("{name:11}"))));
    }
    let recipients = u64::try_from(policy.recipients().count()).unwrap_or(u64::MAX);
    let domains: Vec<&str> = policy.domains().collect();
    let domains = if domains.is_empty() { "none, so everybody is outside".to_owned() } else { domains.join(", ") };
    out.push_str(&format!(
        "{}  {}\n",
        style_text(DIM, &format!("{:11}", "recipients")),
        count_with_noun(recipients, "person")
    ));
    out.push_str(&format!("{}  {domains}\n", style_text(DIM, &format!("{:11}", "own domains"))));
    out
}

fn explain_decision(file: &Path, root: &Path, as_json: bool) -> Result<ExitCode, CommandFailure> {
    let project = OpenProject::without_book(root, &crate::user_places()?)?;
    let given = propose::read_action(file)?;
    let (action, decision) = records::blocking(async {
        let desk = ui::print_notes_of(ActionDesk::open(&project, StoreAccess::Write).await?);
        let explained = desk.explain(&given).await;
        desk.close().await;
        explained.map_err(CommandFailure::from)
    })?;
    if as_json {
        ui::print_json_document(&json::pretty(&decision.to_json()))?;
    } else {
        ui::print_listing(&format!("{}\n{}", page::action_text(&action), page::decision_text(&decision)))?;
    }
    Ok(ExitCode::from(if matches!(decision.ruling, Ruling::Refusal(_)) { NO } else { 0 }))
}
