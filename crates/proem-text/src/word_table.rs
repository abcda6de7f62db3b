//! The words that the variants of an enum are written with.

/// Gives an enum of plain variants its words: `ALL`, `as_str` and `parse`, and `Display` if it says so.
///
/// The order of the table is the order of `ALL`. Docs before the enum's name become those of `as_str`.
///
/// ```
/// #[derive(Debug, Clone, Copy, PartialEq, Eq)]
/// pub enum Size {
///     Small,
///     Large,
/// }
/// proem_text::word_table! {
///     pub Size: Display {
///         Small = "small",
///         Large = "large",
///     }
/// }
/// assert_eq!(Size::parse("large"), Some(Size::Large));
/// assert_eq!(Size::parse("Large"), None);
/// assert_eq!(Size::ALL.map(Size::as_str), ["small", "large"]);
/// assert_eq!(format!("[{:6}]", Size::Small), "[small ]");
/// ```
#[macro_export]
macro_rules! word_table {
    ($(#[doc = $doc:literal])+ $vis:vis $name:ident { $($variant:ident = $word:literal,)+ }) => {
        #[allow(dead_code, reason = "not every table is read in both directions")]
        impl $name {
            /// Each variant once, in the order of the table of words.
            $vis const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            $(#[doc = $doc])+
            #[must_use]
            $vis const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// The variant that this word represents. `None` for any other word.
            #[must_use]
            $vis fn parse(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }
    };
    ($vis:vis $name:ident { $($variant:ident = $word:literal,)+ }) => {
        $crate::word_table! {
            /// The word that represents it in files, records and reports.
            $vis $name { $($variant = $word,)+ }
        }
    };
    ($(#[doc = $doc:literal])* $vis:vis $name:ident: Display { $($variant:ident = $word:literal,)+ }) => {
        $crate::word_table! { $(#[doc = $doc])* $vis $name { $($variant = $word,)+ } }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}
