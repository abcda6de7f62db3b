//! `proem serve`: webhooks as they come.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use proem_app::records;
use proem_app::webhooks::load_webhooks;
use proem_server::{ReceiverOptions, ServeAddresses, ServeEvent, ServeListener, serve_webhooks};
use proem_triage::SubscriptionNews;
use tokio_util::sync::CancellationToken;

use crate::commands::interrupt;
use crate::failure::CommandFailure;
use crate::ui;

pub(crate) const SERVE_EXAMPLES: &str = "\
Webhooks are tables `[webhooks.NAME]` of your own configuration. Each is taken at /hooks/NAME and
answered with 2xx once its signals are stored; `proem triage run` or `proem triage watch` works on
them. A second address has /healthz, /readyz and /metrics.

Both addresses are this machine's own unless you choose others. Connections are not encrypted: put
a proxy with TLS in front of the first, and let nobody from outside reach the second.

^C, or `kill`, ends it when the deliveries in hand are stored.

Examples:
  proem serve
  proem serve --handshake tea-asana     # then create the webhook in Asana
  proem serve --listen 10.0.0.5:8787 --monitor 127.0.0.1:8788";

/// The message while the end is waited for.
const STOPPING: &str =
    "stopping when the deliveries in hand are stored; a second ^C stops at once, and their sources send them again";

#[derive(Debug, Parser)]
pub(crate) struct Serve {
    /// The address that deliveries come to
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8787")]
    listen: SocketAddr,
    /// The address for health, readiness and metrics
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8788")]
    monitor: SocketAddr,
    /// Let the next handshake set the secret of this Asana webhook; may be given several times
    #[arg(long, value_name = "NAME")]
    handshake: Vec<String>,
}

pub(super) fn run_serve(args: &Serve) -> Result<ExitCode, CommandFailure> {
    let places = crate::user_places()?;
    let webhooks = load_webhooks(&places)?;
    for (what, address) in [("deliveries", args.listen), ("operators", args.monitor)] {
        if !address.ip().is_loopback() {
            ui::print_note(&format!(
                "the address for {what}, {address}, can be reached from other machines, and nothing there is encrypted"
            ));
        }
    }
    let handshakes: BTreeSet<String> = args.handshake.iter().cloned().collect();
    let options = ReceiverOptions { places, webhooks, handshakes };
    let addresses = ServeAddresses { deliveries: args.listen, monitoring: args.monitor };
    let tell: ServeListener = Arc::new(|event: &ServeEvent| ui::print_note(&event_line(event)));
    records::blocking(async {
        let stop = CancellationToken::new();
        let listening = tokio::spawn(interrupt::stop_on_interrupt(stop.clone(), STOPPING));
        let served = serve_webhooks(addresses, options, &stop, tell).await;
        listening.abort();
        served.map_err(CommandFailure::from)
    })?;
    Ok(ExitCode::SUCCESS)
}

fn event_line(event: &ServeEvent) -> String {
    match event {
        ServeEvent::Began { deliveries, monitoring } => {
            format!("taking webhooks at http://{deliveries}/hooks/, metrics at http://{monitoring}/metrics; ^C ends it")
        }
        ServeEvent::NoSecret { webhook } => format!(
            "`{webhook}` has no secret yet, so every delivery to it is refused; \
             start with `--handshake {webhook}`, and create the webhook in Asana"
        ),
        ServeEvent::Handshake { webhook } => format!("`{webhook}` is open: the secret that Asana chose is kept"),
        ServeEvent::Subscription { webhook, news } => format!("`{webhook}`: {}", subscription_line(*news)),
        ServeEvent::Refused { webhook, outcome, reason, untold } => {
            let more = match untold {
                0 => String::new(),
                more => format!("; {more} more since the last such line"),
            };
            format!("a delivery to `{webhook}` was refused with {}: {reason}{more}", outcome.status())
        }
        ServeEvent::Problem { error } => {
            format!("deliveries can't be stored, and their sources send them again: {error}")
        }
        ServeEvent::Ending => "no delivery is taken any more".to_owned(),
        ServeEvent::Ended => "ended; everything that was acknowledged is stored".to_owned(),
    }
}

const fn subscription_line(news: SubscriptionNews) -> &'static str {
    match news {
        SubscriptionNews::ReauthorizationRequired => "the subscription ends soon; renew it, or notifications stop",
        SubscriptionNews::SubscriptionRemoved => "the subscription was removed; create it again",
        SubscriptionNews::Missed => "some notifications were never sent; read the mailbox from its server",
    }
}
