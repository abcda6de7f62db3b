//! Whoever hears an answer while it arrives.

use std::fmt;

use proem_engine::call::AnswerForm;
use proem_guard::Untrusted;

use super::PendingCall;

/// Hears the text of an answer while it arrives, before anybody knows whether it is one.
pub trait TextListener: fmt::Debug + Send + Sync {
    /// A request is sent; what was heard before belongs to another attempt.
    fn begins(&self);

    /// There is more of the text.
    fn hears(&self, more: &Untrusted<String>);

    /// The attempt broke off: what was heard of it is no answer.
    fn breaks_off(&self);
}

/// The listener of a call, if its answer is a text: a value says nothing before it is checked.
pub(super) fn of_text<'c>(ready: &PendingCall<'c>) -> Option<&'c dyn TextListener> {
    ready.listener.filter(|_| matches!(ready.request.answer, AnswerForm::Text))
}
