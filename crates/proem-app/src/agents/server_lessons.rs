//! The lessons of one access's calls about servers: later requests are made for them, and they are remembered.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

use proem_engine::providers::{Model, SchemaEnforcement};
use proem_llm::endpoint::Endpoint;
use proem_runtime::driver::{CallLesson, LessonListener};

use crate::answer_modes::AnswerModes;
use crate::calling::ModelEndpoint;
use crate::error::Error;
use crate::message::{Note, NoteKind};
use crate::places::Places;
use crate::windows::ContextWindows;

/// The lessons about the servers that one access asks.
#[derive(Debug, Default)]
pub(crate) struct ServerLessons {
    /// The place of the memory. `None` remembers nothing.
    places: Option<Places>,
    /// The models that are asked: where each is, and how it is held to a schema at first.
    asked: BTreeMap<String, (Endpoint, SchemaEnforcement)>,
    /// Whether calls go onto cassettes: then each request is made as if nothing had been learned by the one before, so
    /// that a replay makes the same.
    is_taped: bool,
    learned: Mutex<Learned>,
}

#[derive(Debug, Default)]
struct Learned {
    /// By the model's name.
    models: BTreeMap<String, ModelLesson>,
    /// The news, by model and subject.
    news: BTreeMap<(String, &'static str), String>,
}

/// The lessons of one model's calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ModelLesson {
    /// How answers are held to a schema.
    pub(crate) way: Option<SchemaEnforcement>,
    /// The context window that the server named.
    pub(crate) window: Option<NonZeroUsize>,
}

impl ModelLesson {
    /// Has requests made for it.
    pub(crate) fn apply(self, model: &mut Model) {
        self.way.into_iter().for_each(|way| model.hold_as_found(way));
        self.window.into_iter().for_each(|window| model.narrow(window));
    }
}

impl ServerLessons {
    /// Lessons about these models, which are remembered.
    pub(crate) fn remembered<'m>(places: Places, asked: impl IntoIterator<Item = &'m ModelEndpoint>) -> Self {
        let named = |asked: &ModelEndpoint| (asked.model.name.clone(), (asked.endpoint.clone(), asked.model.answers));
        let asked = asked.into_iter().map(named).collect();
        Self { places: Some(places), asked, is_taped: false, learned: Mutex::default() }
    }

    /// The same of calls that go onto cassettes, or not.
    pub(crate) fn taped(self, is_taped: bool) -> Self {
        Self { is_taped, ..self }
    }

    /// The lesson about a model.
    pub(crate) fn of(&self, model: &str) -> ModelLesson {
        let learned = self.lock().models.get(model).copied();
        learned.filter(|_| !self.is_taped).unwrap_or_default()
    }

    /// The news since the last call of this function, and the reason that it could not be remembered, in words.
    pub(crate) fn take_news(&self) -> Vec<Note> {
        std::mem::take(&mut self.lock().news).into_values().map(|words| Note::new(NoteKind::Model, words)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Learned> {
        // An entry is always put in whole.
        self.learned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(&self, lesson: CallLesson<'_>) -> Result<(), Error> {
        let (Some(places), Some((endpoint, _))) = (&self.places, self.asked.get(lesson.model)) else { return Ok(()) };
        if let Some(way) = lesson.way {
            AnswerModes::remember(places, endpoint, lesson.model, way)?;
        }
        if let Some(window) = lesson.window {
            ContextWindows::remember(places, endpoint, lesson.model, window)?;
        }
        Ok(())
    }
}

impl LessonListener for ServerLessons {
    fn learns(&self, lesson: CallLesson<'_>) {
        let lesson = CallLesson { way: lesson.way.filter(|_| !self.is_taped), ..lesson };
        let mut learned = self.lock();
        let known = learned.models.entry(lesson.model.to_owned()).or_default();
        let (before, now) = (
            *known,
            ModelLesson {
                way: lesson.way.or(known.way),
                window: lesson
                    .window
                    .map(|window| known.window.map_or(window, |known| known.min(window)))
                    .or(known.window),
            },
        );
        if before == now {
            return;
        }
        *known = now;
        let mut tell = |about, news| learned.news.insert((lesson.model.to_owned(), about), news);
        if let Some(window) = now.window.filter(|_| before.window != now.window) {
            let again = if self.is_taped { "; run this again" } else { "" };
            let news = format!("the server's context window has {window} tokens, which is remembered{again}");
            _ = tell("window", news);
        }
        let first = self.asked.get(lesson.model).map(|(_, first)| *first);
        if let Some(way) = now.way.filter(|way| first != Some(*way)) {
            let (way, first) = (way.as_str(), first.map_or("schema", SchemaEnforcement::as_str));
            let news = format!(
                "the server does not hold answers to a schema by `{first}`; `{way}` is used from here on, which is remembered"
            );
            _ = tell("way", news);
        }
        if let Err(error) = self.remember(lesson) {
            _ = tell("memory", format!("the lessons about the server could not be remembered: {error}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::basis::unconnected_endpoint;
    use proem_engine::call::Arrival;
    use proem_engine::ledger::Pricing;
    use proem_engine::providers::{Provider, Providers};

    #[test]
    fn lessons_shape_the_model_are_told_once_and_go_onto_no_cassette() {
        let endpoint = unconnected_endpoint("local", Provider::OpenAi);
        let model = Providers::load().unwrap().unlisted("m", Provider::OpenAi);
        let (arrival, diagnoses_cache) = (Arrival::Whole, false);
        let asked = ModelEndpoint { model, endpoint, arrival, diagnoses_cache, pricing: Pricing::Listed };
        let named = [(asked.model.name.clone(), (asked.endpoint.clone(), asked.model.answers))];
        let lessons = |is_taped| ServerLessons { is_taped, asked: named.clone().into(), ..ServerLessons::default() };
        let tell = |lessons: &ServerLessons, way, window| {
            lessons.learns(CallLesson { model: "m", way, window: NonZeroUsize::new(window) });
        };
        let live = lessons(false);
        tell(&live, Some(SchemaEnforcement::Schema), 0);
        assert!(live.take_news().is_empty(), "that the first way holds is no news");
        tell(&live, Some(SchemaEnforcement::Tool), 0);
        tell(&live, Some(SchemaEnforcement::Object), 2_048);
        tell(&live, None, 4_096);
        assert_eq!(live.take_news().len(), 2, "the last way and the window");
        assert!(live.take_news().is_empty());
        let mut known = asked.model.clone();
        live.of("m").apply(&mut known);
        let window = known.context_tokens.map(NonZeroUsize::get);
        assert_eq!((known.answers, window), (SchemaEnforcement::Object, Some(2_048)));
        let taped = lessons(true);
        tell(&taped, Some(SchemaEnforcement::Object), 2_048);
        assert_eq!((taped.of("m"), taped.take_news().len()), (ModelLesson::default(), 1));
    }
}
