//! `proem triage init`: writes the file that says who belongs to a project.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use proem_app::operator::{Consent, Operator};
use proem_app::places::Places;
use proem_app::triage::charter::CHARTER;
use proem_app::triage::consent::{self, ModelConsent, ModelDestination};
use proem_app::triage::init::{CharterValues, plan_charter};
use proem_engine::policy::AutonomyLevel;

use crate::failure::CommandFailure;
use crate::ui::{self, DIM, style_text};

pub(super) const INIT_EXAMPLES: &str = "\
Levels: `monitoring` writes down and asks, `artefact` keeps the artefacts up to date as well, `tactical`
comments on tickets, too. At a terminal the file is shown, and is trusted if you agree; without one it is
written, and `proem trust` reviews it.

Examples:
  proem triage init
  proem triage init --name \"Mobile checkout\" --key MCU --level artefact --owner \"Olivia Reyes\" \\
    --zone Europe/Lisbon --domain corp.example --stakeholder \"Sam Okoro <sam@corp.example>\" \\
    --milestone Beta=2026-12-24";

#[derive(Debug, Parser)]
pub(crate) struct Init {
    /// Name of the project among people
    #[arg(long)]
    name: Option<String>,
    /// The key that its tickets begin with
    #[arg(long)]
    key: Option<String>,
    /// How much happens without asking: monitoring, artefact or tactical
    #[arg(long)]
    level: Option<String>,
    /// Person who answers for everything without another owner
    #[arg(long)]
    owner: Option<String>,
    /// The time zone, such as Europe/Lisbon
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    /// A domain of the organisation; everybody else is outside
    #[arg(long)]
    domain: Vec<String>,
    /// A mail server whose word on a sender is believed
    #[arg(long, value_name = "NAME")]
    mail_server: Vec<String>,
    /// Somebody whom the project concerns, as "Name <address>"
    #[arg(long, value_name = "PERSON")]
    stakeholder: Vec<String>,
    /// Promise, as NAME=DAY
    #[arg(long, value_name = "NAME=DAY")]
    milestone: Vec<String>,
    /// Whether signals may go to models: yes or no; at a terminal it is asked
    #[arg(long, value_name = "ANSWER", value_parser = ["yes", "no"])]
    models: Option<String>,
    /// A folder in the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
}

pub(super) fn run_triage_init(args: &Init) -> Result<ExitCode, CommandFailure> {
    let places = crate::user_places()?;
    let mut operator = Operator::at_terminal().ok();
    let values = charter_values(args, operator.as_mut())?;
    let planned = plan_charter(&args.root, &places, &values)?;
    let agreed = match &mut operator {
        None => false,
        Some(operator) => {
            ui::aside(&format!("{}\n{}\n", style_text(DIM, CHARTER), planned.text));
            if ui::confirm(operator, "Write and trust this file?")? == Consent::No {
                ui::aside("nothing was written\n");
                return Ok(ExitCode::from(1));
            }
            true
        }
    };
    planned.write(&places, operator.as_ref().filter(|_| agreed))?;
    ui::print_listing(&format!("{CHARTER} is written\n"))?;
    if !agreed {
        ui::print_note("it is not trusted yet; review it with `proem trust`");
    }
    ask_model_consent(args, operator.as_mut(), &places)?;
    ui::aside("next: `proem triage run FILE…` takes signals in\n");
    Ok(ExitCode::SUCCESS)
}

/// Asks whether signals may go to models, and keeps the answer in the user's configuration.
fn ask_model_consent(args: &Init, operator: Option<&mut Operator>, places: &Places) -> Result<(), CommandFailure> {
    let answer = match (args.models.as_deref(), operator) {
        (Some("yes"), _) => ModelConsent::Given,
        (Some(_), _) => ModelConsent::Refused,
        // Without an answer nothing goes anywhere.
        (None, None) => return Ok(()),
        (None, Some(operator)) => {
            // Roles that represent nothing are no reason to fail here: then no model can be asked anyway.
            let Ok(destinations) = consent::model_destinations(&args.root, places) else { return Ok(()) };
            let mut said = String::from(
                "\nWith models, triage also weighs and drafts. Then these leave this machine, after what looks like an \
                 attack was kept out: the texts of signals with their senders' addresses, open items of the artefacts, \
                 and the names and addresses of the project's stakeholders. They go to:\n",
            );
            for destination in destinations {
                let ModelDestination { role, model, endpoint, address } = destination;
                said.push_str(&format!("  {role:6} {model} at {endpoint} ({address})\n"));
            }
            ui::aside(&said);
            match ui::confirm(operator, "May triage ask these models?")? {
                Consent::Yes => ModelConsent::Given,
                Consent::No => ModelConsent::Refused,
            }
        }
    };
    consent::keep_consent(places, answer)?;
    let words = if answer == ModelConsent::Given { "may be asked" } else { "are not asked" };
    ui::aside(&format!("models {words}; `triage.models` in your configuration says so\n"));
    Ok(())
}

fn charter_values(args: &Init, operator: Option<&mut Operator>) -> Result<CharterValues, CommandFailure> {
    let mut asked = Asked { operator };
    let name = asked.value(args.name.as_ref(), "--name", "What is the project called?", None)?;
    let key = asked.value(args.key.as_ref(), "--key", "Which key do its tickets begin with, such as MCU?", None)?;
    let level = "How much may happen without asking: monitoring, artefact or tactical?";
    let level = asked.value(args.level.as_ref(), "--level", level, Some("monitoring"))?;
    let level = AutonomyLevel::parse(&level)
        .ok_or_else(|| CommandFailure::usage("the level is monitoring, artefact or tactical; give one of them"))?;
    let owner = asked.value(args.owner.as_ref(), "--owner", "Who answers for what nobody else does?", None)?;
    let zone = asked.value(args.zone.as_ref(), "--zone", "Which time zone, such as Europe/Lisbon?", Some("UTC"))?;
    let stakeholders = args.stakeholder.iter().map(|person| stakeholder(person)).collect::<Result<_, _>>()?;
    let milestones = args.milestone.iter().map(|entry| milestone(entry)).collect::<Result<_, _>>()?;
    Ok(CharterValues {
        name,
        key,
        level,
        owner,
        time_zone: zone,
        domains: args.domain.clone(),
        mail_servers: args.mail_server.clone(),
        stakeholders,
        milestones,
    })
}

/// Asks for what is not given, if there is somebody.
struct Asked<'o> {
    operator: Option<&'o mut Operator>,
}

impl Asked<'_> {
    fn value(
        &mut self,
        given: Option<&String>,
        flag: &str,
        question: &str,
        usual: Option<&str>,
    ) -> Result<String, CommandFailure> {
        if let Some(given) = given {
            return Ok(given.clone());
        }
        let Some(operator) = &mut self.operator else {
            return usual.map(str::to_owned).ok_or_else(|| {
                CommandFailure::usage(format!(
                    "{flag} is missing; give it, or run this at a terminal, which asks for it"
                ))
            });
        };
        let shown = usual.map_or_else(String::new, |usual| format!(" [{usual}]"));
        let answer = operator.ask(&format!("{question}{shown} "))?.unwrap_or_default();
        match (answer.trim(), usual) {
            ("", Some(usual)) => Ok(usual.to_owned()),
            ("", None) => Err(CommandFailure::usage(format!("nothing was typed; give {flag}"))),
            (answer, _) => Ok(answer.to_owned()),
        }
    }
}

fn stakeholder(person: &str) -> Result<[String; 2], CommandFailure> {
    let parts = person.trim().strip_suffix('>').and_then(|person| person.rsplit_once('<'));
    match parts {
        Some((name, address)) if !name.trim().is_empty() => Ok([name.trim().to_owned(), address.trim().to_owned()]),
        _ => Err(CommandFailure::usage("a stakeholder is written as \"Sam Okoro <sam@corp.example>\"; give it so")),
    }
}

fn milestone(entry: &str) -> Result<[String; 2], CommandFailure> {
    match entry.rsplit_once('=') {
        Some((name, day)) if !name.trim().is_empty() => Ok([name.trim().to_owned(), day.trim().to_owned()]),
        _ => Err(CommandFailure::usage("a milestone is written as NAME=2026-12-24; give it so")),
    }
}
