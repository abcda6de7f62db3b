//! The exact bytes of an action, made before it is taken up and recorded with that.
//!
//! Invariants: the same action at the same time makes the same bytes. Whom a mail goes to is written as the policy has
//! it and never as an agent spelled it. No credential has a part in it.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use proem_engine::effect::key::{EffectKey, OutboxForm};
use proem_engine::policy::{EffectRoute, Policy, ProposedAction};
use proem_engine::run::Time;
use proem_guard::check::{ActionField, FieldRole, Referent};
use proem_guard::{LabelTree, Untrusted, show};
use proem_runtime::effects::mail::{MailAttachment, MailDraft, MailField, MailRefusal, Mailbox, write_mail};
use proem_runtime::effects::request::{RequestRefusal, RequestTemplate, write_ticket_request as write_request};
use proem_text::{Label, json};
use serde_json::Value as Json;

use crate::config::effects::{EffectsFile, RequestFile};

/// The form in which an action will leave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionDraft {
    /// How it leaves.
    pub way: DraftWay,
    /// The exact bytes.
    pub bytes: Vec<u8>,
}

/// How an action leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DraftWay {
    /// As a mail to these addresses.
    Mail {
        /// The addresses.
        to: Vec<String>,
        /// The files that go with it, each with its name and its size in bytes.
        files: Vec<(String, usize)>,
    },
    /// As a request to the server of this name.
    Request {
        /// The server's name in the configuration.
        server: String,
        /// The request's name there.
        template: String,
    },
    /// Not at all: it is done when that is written down.
    Inside,
}

impl DraftWay {
    /// The form of the bytes. `None` for an action that does not leave.
    #[must_use]
    pub const fn form(&self) -> Option<OutboxForm> {
        match self {
            Self::Mail { .. } => Some(OutboxForm::Mail),
            Self::Request { .. } => Some(OutboxForm::Request),
            Self::Inside => None,
        }
    }
}

/// Why an action has no bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DraftRefusal {
    /// The user's configuration or policy lacks something. Once it is mended, the action goes as it is.
    Configuration(String),
    /// The action itself can't go out like this.
    Action(String),
}

impl fmt::Display for DraftRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Configuration(problem) | Self::Action(problem) => f.write_str(problem),
        }
    }
}

impl std::error::Error for DraftRefusal {}

fn configuration(problem: impl Into<String>) -> DraftRefusal {
    DraftRefusal::Configuration(problem.into())
}

/// Makes the bytes of an action.
///
/// # Errors
///
/// [`DraftRefusal`] if the configuration lacks what they need, or a text of the action can't be in them.
pub fn draft_action(
    action: &ProposedAction,
    key: &EffectKey,
    policy: &Policy,
    settings: &EffectsFile,
    at: Time,
) -> Result<ActionDraft, DraftRefusal> {
    let terms = action.name().and_then(|name| policy.action(name));
    let Some(terms) = terms else {
        return Err(configuration("the policy has the action on no list; cancel it, or change the policy"));
    };
    match &terms.route {
        EffectRoute::Mail => draft_mail(action, key, policy, settings, at),
        EffectRoute::Request(template) => draft_request(action, key, template, settings),
        EffectRoute::Inside | EffectRoute::Nowhere => {
            let bytes = json::compact(&show::tree_json(action.tree())).into_bytes();
            Ok(ActionDraft { way: DraftWay::Inside, bytes })
        }
    }
}

fn draft_mail(
    action: &ProposedAction,
    key: &EffectKey,
    policy: &Policy,
    settings: &EffectsFile,
    at: Time,
) -> Result<ActionDraft, DraftRefusal> {
    let Some(from) = settings.mail.from.clone() else {
        return Err(configuration("`effects.mail.from` is not set, so no mail can be made; set it to an address"));
    };
    let domain = from.rsplit_once('@').map(|(_, domain)| domain.to_owned()).unwrap_or_default();
    let mut fields = field_texts(action.tree());
    let (mut to, mut attachments) = (vec![draft_recipient(policy, action.target())?], Vec::new());
    for (name, terms) in action.name().and_then(|name| policy.action(name)).into_iter().flat_map(|terms| &terms.fields)
    {
        if let Some(file) = &terms.attachment {
            let text = fields.remove(name).unwrap_or_default().into_iter().next();
            attachments.extend(text.map(|text| MailAttachment { name: file.clone(), text }));
        } else if terms.role == FieldRole::Recipient {
            for text in fields.remove(name).unwrap_or_default() {
                to.push(draft_recipient(policy, &Untrusted::new(text, Label::trusted()))?);
            }
        }
    }
    let mut field = |name: &str| fields.remove(name).unwrap_or_default().join("\n");
    let draft = MailDraft {
        from: Mailbox { name: settings.mail.name.clone().unwrap_or_default(), address: from },
        to,
        subject: field("subject"),
        body: field("body"),
        attachments,
        date: Timestamp::from_millisecond(at.0).map_err(|_| configuration("the clock is out of range; set it"))?,
    };
    let bytes = write_mail(&draft, key, &domain).map_err(|refused| match refused {
        MailRefusal::Domain { .. } | MailRefusal::Date => configuration(refused.to_string()),
        // The sender is the configuration's and every recipient the policy's, whatever an agent wrote.
        MailRefusal::Injection {
            field: MailField::From | MailField::FromName | MailField::To | MailField::ToName,
            ..
        }
        | MailRefusal::Address { field: MailField::From | MailField::To } => configuration(refused.to_string()),
        refused => DraftRefusal::Action(refused.to_string()),
    })?;
    let to = draft.to.into_iter().map(|mailbox| mailbox.address).collect();
    let files = draft.attachments.into_iter().map(|file| (file.name, file.text.len())).collect();
    Ok(ActionDraft { way: DraftWay::Mail { to, files }, bytes })
}

/// A recipient as the policy writes it, whatever case or spelling the action has.
fn draft_recipient(policy: &Policy, text: &Untrusted<String>) -> Result<Mailbox, DraftRefusal> {
    let named = |value: &Untrusted<String>| Referent::of(&ActionField { path: "", role: FieldRole::Recipient, value });
    let wanted = named(text);
    let known = policy
        .recipients()
        .find(|known| wanted.is_some() && named(&Untrusted::new(known.address.clone(), Label::trusted())) == wanted);
    match known {
        Some(known) => Ok(Mailbox { name: known.name.clone(), address: known.address.clone() }),
        None => Err(configuration("a recipient of the mail is not known; name him under `recipients` of the policy")),
    }
}

fn draft_request(
    action: &ProposedAction,
    key: &EffectKey,
    template: &str,
    settings: &EffectsFile,
) -> Result<ActionDraft, DraftRefusal> {
    let Some(file) = settings.requests.get(template) else {
        let problem = format!("`effects.requests.{template}` is not set, so the request can't be made; declare it");
        return Err(configuration(problem));
    };
    let written = configured_template(file, settings)?;
    let mut values: BTreeMap<String, String> =
        field_texts(action.tree()).into_iter().map(|(name, texts)| (name, texts.join("\n"))).collect();
    if let Some(target) = show::exact_json(action.target()).as_str() {
        values.insert("target".to_owned(), target.to_owned());
    }
    let bytes = write_request(&written, &values, key).map_err(|refused| match refused {
        RequestRefusal::Value(_) | RequestRefusal::TooLong => DraftRefusal::Action(refused.to_string()),
        refused => configuration(refused.to_string()),
    })?;
    let way = DraftWay::Request { server: file.server.clone(), template: template.to_owned() };
    Ok(ActionDraft { way, bytes })
}

/// The template that the configuration declares.
fn configured_template(file: &RequestFile, settings: &EffectsFile) -> Result<RequestTemplate, DraftRefusal> {
    let RequestFile { server, kind, method, path, headers, body, not_done } = file;
    let Some(known) = settings.servers.get(server) else {
        return Err(configuration(format!("`effects.servers.{server}` is not set; declare the server")));
    };
    if !path.starts_with('/') {
        return Err(configuration("the `path` of a request begins with `/`; correct it in `effects.requests`"));
    }
    Ok(RequestTemplate {
        kind: *kind,
        method: *method,
        url: format!("{}{path}", known.origin.trim_end_matches('/')),
        headers: headers.clone(),
        body: body.clone(),
        not_done: not_done.clone(),
    })
}

/// The exact texts of an action's fields, by name: what leaves is what a screen of JSON shows.
fn field_texts(tree: &LabelTree) -> BTreeMap<String, Vec<String>> {
    let shown = show::tree_json(tree);
    let fields = shown.get("fields").and_then(Json::as_object).cloned().unwrap_or_default();
    let texts = |value: &Json| match value {
        Json::Array(items) => items.iter().map(text_or_json).collect(),
        Json::Null => Vec::new(),
        one => vec![text_or_json(one)],
    };
    fields.iter().map(|(name, value)| (name.clone(), texts(value))).collect()
}

/// A text as it is, and anything else as JSON.
fn text_or_json(value: &Json) -> String {
    value.as_str().map_or_else(|| json::compact(value), str::to_owned)
}
