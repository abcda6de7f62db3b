//! A model's access for other versions of the same prompts.

use proem_engine::prompt::book::Book;
use proem_engine::prompt::compiled_prompt::Prompt;

use super::ModelAccess;

impl ModelAccess {
    /// The same access with other versions of its prompts: connections, limits, cassettes and lessons are shared.
    pub(crate) fn with_versions(&self, book: &Book, prompts: &[&Prompt]) -> Self {
        let (files, basis) = self.basis.with_versions(&self.files, book, prompts);
        Self {
            asked: self.asked.clone(),
            also: self.also.clone(),
            agent: self.agent.clone(),
            role: self.role.clone(),
            guarding: self.guarding.clone(),
            key: self.key.clone(),
            counter: self.asked.model.counter(),
            files,
            basis,
            carriage: self.carriage.clone(),
            caps: self.caps.clone(),
            caller: self.caller.clone(),
            directory: self.directory.clone(),
            lessons: self.lessons.clone(),
            replayer: self.replayer.clone(),
        }
    }
}
