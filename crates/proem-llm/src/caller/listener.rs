//! A listener to an answer while it arrives.

use std::fmt;
use std::time::Duration;

use proem_engine::call::AnswerForm;
use proem_engine::run::Time;
use proem_guard::Untrusted;

use super::pending_call::PendingCall;
use crate::retry::advice;
use crate::wire::ResponseHead;

/// Hears the text of an answer while it arrives, before anybody knows whether it is one, and when a call is held up.
pub trait TextListener: fmt::Debug + Send + Sync {
    /// A request is sent; what was heard before belongs to another attempt.
    fn begins(&self);

    /// There is more of the text.
    fn hears(&self, more: &Untrusted<String>);

    /// The attempt broke off: what was heard of it is no answer.
    fn breaks_off(&self);

    /// Nothing is sent for so long, because the server asked for that.
    fn waits(&self, asked: Duration);
}

/// Waits that are shorter are over before anybody has read about them.
const MIN_TOLD: Duration = Duration::from_secs(2);

/// Tells a call's listener of a wait, if the server asked for it in that head.
pub(super) fn tell_wait(ready: &PendingCall<'_>, wait: Duration, head: Option<&ResponseHead>) {
    // Whether a wait is named does not depend on the time of day.
    let is_asked = head.is_some_and(|head| advice(head, Time(0)).wait.is_some());
    if let Some(listener) = ready.listener.filter(|_| is_asked && wait >= MIN_TOLD) {
        listener.waits(wait);
    }
}

/// The listener of a call, if its answer is a text: a value says nothing before it is checked.
pub(super) fn of_text<'c>(ready: &PendingCall<'c>) -> Option<&'c dyn TextListener> {
    ready.listener.filter(|_| matches!(ready.request.answer, AnswerForm::Text))
}
