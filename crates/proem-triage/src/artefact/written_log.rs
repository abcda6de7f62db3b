//! How an entry of the log is written down: as one labelled tree, as the artefact itself.

use proem_guard::{LabelTree, TreeError};

use super::{
    field::ArtefactField,
    kind::{ArtefactItemId, ArtefactKind, ItemStatus},
    operation::{ArtefactActor, ArtefactLogEntry, ItemChange, ItemChangeKind},
    stored_form::{
        ARTEFACT_FORM, ArtefactFormError, WrittenMap, read_signal, read_statement, read_value, signal_tree,
        statement_tree, stored_value_tree, time_tree,
    },
};

impl ArtefactLogEntry {
    /// The entry with all its labels as canonical JSON, for a store. Never for a screen or a prompt.
    ///
    /// # Errors
    ///
    /// Writes it, or returns the place of the excess.
    pub fn write(&self) -> Result<String, TreeError> {
        self.to_tree().write()
    }

    /// The entry as one value.
    #[must_use]
    pub fn to_tree(&self) -> LabelTree {
        LabelTree::map([
            ("form", LabelTree::from(ARTEFACT_FORM)),
            ("artefact", self.artefact.as_str().into()),
            ("project", self.project.as_str().into()),
            ("version", self.version.into()),
            ("at", time_tree(self.at)),
            ("actor", LabelTree::from([("kind", self.actor.as_str().into()), ("id", self.actor.id().into())])),
            ("causes", LabelTree::list(self.causes.iter().map(signal_tree))),
            ("changes", LabelTree::list(self.changes.iter().map(change_tree))),
        ])
    }

    /// Reads what [`Self::write`] wrote, from a store of one's own.
    ///
    /// # Errors
    ///
    /// [`ArtefactFormError`] names the part that is not as it is written.
    pub fn read(written: &str) -> Result<Self, ArtefactFormError> {
        let tree = LabelTree::read(written).map_err(ArtefactFormError::Tree)?;
        let parts = WrittenMap::of(&tree, "artefact")?;
        if parts.get("form") != Some(&LabelTree::from(ARTEFACT_FORM)) {
            return Err(ArtefactFormError::Version);
        }
        let actor = parts.map("actor")?;
        let changes = parts.list("changes")?.iter().map(read_change);
        Ok(Self {
            artefact: ArtefactKind::parse(parts.word("artefact")?).ok_or(ArtefactFormError::Part("artefact"))?,
            project: parts.word("project")?.to_owned(),
            version: parts.number("version")?,
            at: parts.time("at")?,
            actor: ArtefactActor::parse(actor.word("kind")?, actor.word("id")?)
                .ok_or(ArtefactFormError::Part("actor"))?,
            causes: parts.list("causes")?.iter().map(read_signal).collect::<Result<_, _>>()?,
            changes: changes.collect::<Result<_, _>>()?,
        })
    }
}

fn change_tree(change: &ItemChange) -> LabelTree {
    let item = ("item", LabelTree::from(change.item.to_string()));
    match &change.kind {
        ItemChangeKind::Added(status) => LabelTree::map([item, ("added", status.as_str().into())]),
        ItemChangeKind::Modified { field, before, after, reason } => LabelTree::map([
            item,
            ("field", field.as_str().into()),
            ("before", before.as_deref().map_or(LabelTree::Null, stored_value_tree)),
            ("after", stored_value_tree(after)),
            ("reason", statement_tree(reason)),
        ]),
        ItemChangeKind::Status { from, to, reason } => LabelTree::map([
            item,
            ("from", from.as_str().into()),
            ("to", to.as_str().into()),
            ("reason", statement_tree(reason)),
        ]),
    }
}

fn read_change(tree: &LabelTree) -> Result<ItemChange, ArtefactFormError> {
    let parts = WrittenMap::of(tree, "changes")?;
    let item = ArtefactItemId::parse(parts.word("item")?).ok_or(ArtefactFormError::Part("item"))?;
    let status = |name| ItemStatus::parse(parts.word(name)?).ok_or(ArtefactFormError::Part(name));
    let reason = || read_statement(parts.get("reason").ok_or(ArtefactFormError::Part("reason"))?);
    if parts.get("added").is_some() {
        return Ok(ItemChange { item, kind: ItemChangeKind::Added(status("added")?) });
    }
    if parts.get("field").is_none() {
        let kind = ItemChangeKind::Status { from: status("from")?, to: status("to")?, reason: reason()? };
        return Ok(ItemChange { item, kind });
    }
    let field = ArtefactField::parse(parts.word("field")?).ok_or(ArtefactFormError::Part("field"))?;
    let rule = item.kind.rule(field).ok_or(ArtefactFormError::Part("field"))?;
    let value = |name| match parts.get(name) {
        None | Some(LabelTree::Null) => Ok(None),
        Some(tree) => read_value(rule.form, tree).map(Box::new).map(Some),
    };
    let after = value("after")?.ok_or(ArtefactFormError::Part("after"))?;
    let kind = ItemChangeKind::Modified { field, before: value("before")?, after, reason: reason()? };
    Ok(ItemChange { item, kind })
}
