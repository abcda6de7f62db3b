//! A policy in the one form that is hashed, and what is derived from its lists.

use std::collections::BTreeSet;

use proem_guard::Untrusted;
use proem_guard::check::{
    ActionField, Allowlist, AllowlistEntryKind, CaseSensitivity, FieldRole, Figures, InternalDomains, Referent,
};
use proem_text::{Label, json::compact, normalise_text};
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

use super::terms::{ActionList, ActionTerms, EffectRoute, FieldTerms, Policy};
use crate::effect::PolicyHash;

/// The form of the hashed bytes. Raised when a byte changes.
const FORM: &str = "proem policy 1";

/// The lists of values by their keys.
pub(super) const ALLOW: [(&str, AllowlistEntryKind); 9] = [
    ("recipients", AllowlistEntryKind::Recipient),
    ("domains", AllowlistEntryKind::MailDomain),
    ("hosts", AllowlistEntryKind::Host),
    ("urls", AllowlistEntryKind::Url),
    ("url_prefixes", AllowlistEntryKind::UrlPrefix),
    ("amounts", AllowlistEntryKind::Amount),
    ("ids", AllowlistEntryKind::Id),
    ("id_prefixes", AllowlistEntryKind::IdPrefix),
    ("numbers", AllowlistEntryKind::Number),
];

/// A name of which case, separators and look-alike letters are no part, as `guard::check` compares denied ones.
pub(super) fn folded_name(name: &str) -> String {
    normalise_text(name).text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

pub(super) fn policy_hash(policy: &Policy) -> PolicyHash {
    let mut hash = Sha256::new();
    hash.update(FORM.as_bytes());
    hash.update(compact(&policy_json(policy)).as_bytes());
    PolicyHash(hash.finalize().into())
}

impl Policy {
    /// With what is derived from its lists.
    pub(super) fn finish(mut self) -> Self {
        let mut allowlist = Allowlist::new();
        // Every entry was read before. One without a canonical form matches nothing and changes nothing.
        for (key, kind) in ALLOW {
            for entry in self.allow.get(key).into_iter().flatten() {
                _ = allowlist.allow(kind, entry);
            }
        }
        let mut known = BTreeSet::new();
        for recipient in self.recipients() {
            let value = Untrusted::new(recipient.address.clone(), Label::trusted());
            let field = ActionField { path: "address", role: FieldRole::Recipient, value: &value };
            known.extend(Referent::of(&field));
            _ = allowlist.allow(AllowlistEntryKind::Recipient, &recipient.address);
        }
        self.allowlist = allowlist;
        self.internal = InternalDomains::new(self.domains());
        self.known = known;
        self.folded_denied = self.never().map(folded_name).collect();
        self.hash = Some(policy_hash(&self));
        self
    }
}

fn policy_json(policy: &Policy) -> Json {
    let actions = policy.actions.iter().map(|(name, terms)| (name.clone(), action_terms_json(terms)));
    let recipients = policy
        .recipients
        .as_ref()
        .map(|all| all.iter().map(|one| json!([one.address, one.name, one.role])).collect::<Vec<Json>>());
    let holds = policy.holds.as_ref().map(|holds| json!([holds.untrusted, holds.shorter.iter().collect::<Vec<_>>()]));
    json!({
        "level": policy.level.map(super::AutonomyLevel::as_str),
        "actions": actions.collect::<serde_json::Map<_, _>>(),
        "never": policy.never,
        "denylist": policy.denylist,
        "recipients": recipients,
        "domains": policy.domains,
        "allow": policy.allow,
        "times": policy.times,
        "holds": holds,
    })
}

fn action_terms_json(terms: &ActionTerms) -> Json {
    let fields = terms.fields.iter().map(|(name, terms)| (name.clone(), field_terms_json(terms)));
    let route = match &terms.route {
        EffectRoute::Mail => json!("mail"),
        EffectRoute::Request(template) => json!(["request", template]),
        EffectRoute::Inside => json!("inside"),
        EffectRoute::Nowhere => json!("none"),
    };
    let hold = if let ActionList::Hold(minutes) = terms.list { Some(minutes.0) } else { None };
    json!({
        "list": terms.list.as_str(),
        "hold": hold,
        "level": terms.level.as_str(),
        "perform": route,
        "external": terms.external,
        "target": field_terms_json(&terms.target),
        "fields": fields.collect::<serde_json::Map<_, _>>(),
    })
}

fn field_terms_json(terms: &FieldTerms) -> Json {
    let mut field = json!({
        "role": role_json(terms.role),
        "required": terms.is_required,
        "list": terms.is_list,
        "max_bytes": terms.max_bytes,
        "one_of": terms.one_of,
        "templates": terms.templates.iter().map(super::TextTemplate::as_str).collect::<Vec<_>>(),
    });
    // A policy without files has the hash that it had before there were any.
    if let (Some(name), Some(field)) = (&terms.attachment, field.as_object_mut()) {
        field.insert("attachment".to_owned(), json!(name));
    }
    field
}

fn role_json(role: FieldRole) -> Json {
    match role {
        FieldRole::Recipient => json!("recipient"),
        FieldRole::Host => json!("host"),
        FieldRole::Url => json!("url"),
        FieldRole::Amount => json!("amount"),
        FieldRole::Id(CaseSensitivity::Exact) => json!("id"),
        FieldRole::Id(CaseSensitivity::Folded) => json!("folded-id"),
        FieldRole::Number => json!("number"),
        FieldRole::FreeText(text) => json!(["text", text.audience.as_str(), text.figures == Figures::Checked]),
        FieldRole::Plain => json!("plain"),
    }
}
