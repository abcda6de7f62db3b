//! Opening the actions of a project, and the short names by which people call them.

use std::path::Path;

use proem_app::effects::ActionDesk;
use proem_app::project::OpenProject;
use proem_app::records;
use proem_engine::effect::key::EffectKey;
use proem_store::StoreAccess;

use crate::failure::CommandFailure;
use crate::ui;

/// The first eight digits of a key, by which people name an action.
pub(crate) fn short_effect_key(key: &EffectKey) -> String {
    key.to_string().chars().take(8).collect()
}

/// Opens the actions of the project around a folder, does something, and closes them.
pub(crate) fn at_desk<T>(
    root: &Path,
    work: impl AsyncFnOnce(&ActionDesk<'_>) -> Result<T, CommandFailure>,
) -> Result<T, CommandFailure> {
    let project = OpenProject::without_book(root, &crate::user_places()?)?;
    records::blocking(async {
        let desk = ui::print_notes_of(ActionDesk::open(&project, StoreAccess::Write).await?);
        let done = work(&desk).await;
        desk.close().await;
        done
    })
}
