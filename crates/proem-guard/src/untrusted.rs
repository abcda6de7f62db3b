//! The type that text from outside has.
//!
//! Invariant: the text itself leaves an [`Untrusted`] only through [`mod@crate::contain`] (into a
//! prompt) and [`crate::show`] (onto a screen). There is no `Display`, `Serialize`, `Deref` or
//! `AsRef<str>`, and `Debug` prints the label, never the text.
//!
//! Each of these doesn't compile, while its twin below does:
//!
//! ```compile_fail,E0277
//! # use proem_guard::Untrusted; use proem_text::Label;
//! let name = Untrusted::new(String::from("main"), Label::trusted());
//! println!("{name}");
//! ```
//! ```
//! # use proem_guard::{Untrusted, show}; use proem_text::Label;
//! let name = Untrusted::new(String::from("main"), Label::trusted());
//! println!("{}", show::terminal_text(&name));
//! ```
//!
//! ```compile_fail,E0277
//! # use proem_guard::Untrusted; use proem_text::Label;
//! let name = Untrusted::new(String::from("main"), Label::trusted());
//! let value = serde_json::to_value(name);
//! ```
//! ```
//! # use proem_guard::{Untrusted, show}; use proem_text::Label;
//! let name = Untrusted::new(String::from("main"), Label::trusted());
//! let value = serde_json::to_value(show::exact_json(&name));
//! ```
//!
//! ```compile_fail,E0614
//! # use proem_guard::Untrusted; use proem_text::Label;
//! let name = Untrusted::new(String::from("main"), Label::trusted());
//! let first = (*name).is_empty();
//! ```
//! ```
//! # use proem_guard::Untrusted; use proem_text::Label;
//! let name = Untrusted::new(String::from("main"), Label::trusted());
//! let first = name.is_empty();
//! ```
//!
//! ```compile_fail,E0599
//! # use proem_guard::Untrusted; use proem_text::Label;
//! let name = Untrusted::new(String::from("main"), Label::trusted());
//! let text: &str = name.as_ref();
//! ```
//! ```
//! # use proem_guard::Untrusted; use proem_text::Label;
//! let name = Untrusted::new(String::from("main"), Label::trusted());
//! let label: &Label = name.label();
//! ```
//!
//! ```compile_fail,E0277
//! # use proem_guard::Untrusted; use proem_text::Label;
//! let name = Untrusted::new(String::from("main"), Label::trusted());
//! let text = name.measure(|name| name.clone());
//! ```
//! ```
//! # use proem_guard::Untrusted; use proem_text::Label;
//! let name = Untrusted::new(String::from("main"), Label::trusted());
//! let is_main = name.measure(|name| name == "main");
//! ```

use alloc::{string::String, vec::Vec};
use core::fmt;
use proem_text::{Label, Span};

/// A value from outside, with the label that says where from.
#[derive(Clone, PartialEq, Eq)]
pub struct Untrusted<T> {
    value: T,
    label: Label,
}

impl<T> Untrusted<T> {
    /// Marks `value` as coming from where `label` says.
    #[must_use]
    pub const fn new(value: T, label: Label) -> Self {
        Self { value, label }
    }

    /// The origin of the value.
    #[must_use]
    pub const fn label(&self) -> &Label {
        &self.label
    }

    /// Asks a question about the value whose answer can't carry its text.
    ///
    /// The answer is a number, a choice or a comparison. Code may decide on it, and the decision is still influenced by
    /// whoever wrote the value.
    pub fn measure<M: Measurement>(&self, question: impl FnOnce(&T) -> M) -> M {
        question(&self.value)
    }

    /// Transforms the value under the same label.
    pub fn map<U>(self, transform: impl FnOnce(T) -> U) -> Untrusted<U> {
        Untrusted { value: transform(self.value), label: self.label }
    }

    /// For this crate's own doors only.
    pub(crate) const fn value(&self) -> &T {
        &self.value
    }
}

impl<T> fmt::Debug for Untrusted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Untrusted").field("label", &self.label).finish_non_exhaustive()
    }
}

impl Untrusted<String> {
    /// The texts one behind the other under the join of their labels, and where each is.
    #[must_use]
    pub fn join(texts: &[&Self], separator: &str) -> (Self, Vec<Span>) {
        let (mut joined, mut label) = (String::new(), Label::trusted());
        let mut spans = Vec::with_capacity(texts.len());
        for (index, text) in texts.iter().enumerate() {
            if index > 0 {
                joined.push_str(separator);
            }
            let start = joined.len();
            joined.push_str(&text.value);
            label = label.join(&text.label);
            spans.push(Span::new(start, joined.len()));
        }
        (Self { value: joined, label }, spans)
    }

    /// The length of the text in bytes.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.value.len()
    }

    /// Whether the text is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.value.is_empty()
    }
}

mod sealed {
    pub trait MeasurementSeal {}
}

/// The answers that [`Untrusted::measure`] may give: nothing that can hold text.
pub trait Measurement: sealed::MeasurementSeal {}

macro_rules! measurements {
    ($($t:ty),*) => { $(impl sealed::MeasurementSeal for $t {} impl Measurement for $t {})* };
}
measurements!(bool, usize, u64, i64, core::cmp::Ordering, ());

impl<M: Measurement> sealed::MeasurementSeal for Option<M> {}
impl<M: Measurement> Measurement for Option<M> {}

#[cfg(test)]
mod tests {
    use super::*;
    use core::ops::Deref;
    use proem_text::Source;

    /// Fails to compile if the type implements the trait: then both implementations of the
    /// marker apply, and the compiler can't choose one.
    macro_rules! assert_not_implemented {
        ($type:ty: $($trait:tt)+) => {
            const _: fn() = || {
                trait Marker<Case> {
                    fn mark() {}
                }
                struct Implemented;
                impl<T: ?Sized> Marker<()> for T {}
                impl<T: ?Sized + $($trait)+> Marker<Implemented> for T {}
                let _ = <$type as Marker<_>>::mark;
            };
        };
    }

    assert_not_implemented!(Untrusted<String>: fmt::Display);
    assert_not_implemented!(Untrusted<String>: serde::Serialize);
    assert_not_implemented!(Untrusted<String>: Deref);
    assert_not_implemented!(Untrusted<String>: AsRef<str>);
    assert_not_implemented!(Untrusted<String>: AsRef<[u8]>);
    assert_not_implemented!(Untrusted<String>: core::borrow::Borrow<str>);
    assert_not_implemented!(Untrusted<String>: Into<String>);
    assert_not_implemented!(String: Measurement);
    assert_not_implemented!(&'static str: Measurement);
    assert_not_implemented!(char: Measurement);
    assert_not_implemented!(u8: Measurement);
    assert_not_implemented!(Vec<usize>: Measurement);

    #[test]
    fn debug_tells_the_label_and_not_the_text() {
        let text = Untrusted::new(String::from("secret words"), Label::from_source(Source::named("git/branch")));
        let shown = format!("{text:?} {text:#?}");
        assert!(shown.contains("git/branch") && !shown.contains("secret"), "{shown}");
    }

    #[test]
    fn joined_texts_keep_their_places_and_all_labels() {
        let text = |text: &str, source: &'static str| {
            Untrusted::new(String::from(text), Label::from_source(Source::named(source)))
        };
        let (joined, spans) = Untrusted::join(&[&text("ab", "one"), &text("", "two"), &text("c", "three")], ", ");
        assert_eq!(joined.value(), "ab, , c");
        assert_eq!(spans, [Span::new(0, 2), Span::new(4, 4), Span::new(6, 7)]);
        let all = ["one", "two", "three"].map(|name| Label::from_source(Source::named(name)));
        assert_eq!(*joined.label(), all[0].join(&all[1]).join(&all[2]));
        assert!(Untrusted::join(&[], ", ").0.is_empty());
    }

    #[test]
    fn a_transformed_value_keeps_its_label() {
        let label = Label::from_source(Source::named("git/branch"));
        let text = Untrusted::new(String::from(" main "), label.clone()).map(|text| text.trim().len());
        assert_eq!(text, Untrusted::new(4, label));
        assert_eq!(text.measure(|len| *len), 4);
    }
}
