//! Names that providers accept, made from names that anybody chose.

use core::fmt;

use super::hash::Sha256Hash;

/// The separator of a server's name and its tool's.
///
/// Two underscores, as in the `mcp__server__tool` of several clients: one may be part of either
/// name. Server names are reduced so that they hold no two in a row, so the first pair always
/// ends the server's name.
pub const JOINER: &str = "__";

/// The longest name, in bytes: what providers accept for a tool.
const MAX: usize = 64;

/// How many digits of a hash tell shortened or colliding names apart.
const DIGITS: usize = 10;

/// A name that matches `[A-Za-z0-9_-]{1,64}`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CatalogueName(String);

impl CatalogueName {
    /// Takes a name as it is. `None` if it doesn't match the rule.
    #[must_use]
    pub fn new(name: &str) -> Option<Self> {
        let fits = !name.is_empty() && name.len() <= MAX && name.bytes().all(is_name_byte);
        fits.then(|| Self(name.to_owned()))
    }

    /// The name of `own`, prefixed by its server if it has one.
    ///
    /// Characters outside the rule become `_`. A name that is longer than the rule allows, or has no letter or digit
    /// left, ends in a part of its hash.
    #[must_use]
    pub fn joined(server: Option<&str>, own: &str) -> Self {
        let full = match server {
            Some(server) => format!("{}{JOINER}{}", Self::server(server), reduce_name(own)),
            None => reduce_name(own),
        };
        let says_something = reduce_name(own).bytes().any(|byte| byte.is_ascii_alphanumeric());
        match Self::new(&full) {
            Some(name) if says_something => name,
            _ => Self(full).suffixed(&Sha256Hash::of(format!("{}\0{own}", server.unwrap_or_default()).as_bytes())),
        }
    }

    /// A server's name, reduced to the rule and without two underscores in a row.
    #[must_use]
    pub fn server(name: &str) -> Self {
        let mut out = String::new();
        for c in reduce_name(name).chars() {
            if c != '_' || !out.ends_with('_') {
                out.push(c);
            }
        }
        let trimmed = out.trim_matches('_');
        match Self::new(trimmed) {
            Some(name) if name.0.len() <= MAX / 2 => name,
            _ => {
                let short: String = trimmed.chars().take(MAX / 2 - DIGITS - 1).collect();
                let hash = Sha256Hash::of(name.as_bytes()).short(DIGITS);
                Self(if short.is_empty() { hash } else { format!("{}-{hash}", short.trim_end_matches('_')) })
            }
        }
    }

    /// The same name, cut if need be, with a part of `hash` behind it.
    pub(super) fn suffixed(&self, hash: &Sha256Hash) -> Self {
        let room = MAX.saturating_sub(DIGITS).saturating_sub(1);
        let short: String = self.0.chars().take(room).collect();
        Self(format!("{short}-{}", hash.short(DIGITS)))
    }

    /// The server's part of the name, if it has one.
    #[must_use]
    pub fn server_part(&self) -> Option<&str> {
        self.0.split_once(JOINER).map(|(server, _)| server)
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CatalogueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

const fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn reduce_name(name: &str) -> String {
    name.chars().map(|c| if u8::try_from(c).is_ok_and(is_name_byte) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(server: Option<&str>, own: &str, expected: &str) {
        let name = CatalogueName::joined(server, own);
        assert_eq!(name.as_str(), expected, "{server:?} {own:?}");
        assert_eq!(CatalogueName::new(expected), Some(name));
    }

    #[test]
    fn names_are_joined_and_reduced() {
        check(Some("github"), "create_issue", "github__create_issue");
        check(None, "review", "review");
        check(Some("my server"), "a.b/c", "my_server__a_b_c");
        check(Some("a__b_"), "c", "a_b__c");
        check(Some("a"), "b__c", "a__b__c");
        check(None, "análise", "an_lise");
    }

    #[test]
    fn names_that_are_too_long_or_say_nothing_end_in_a_hash() {
        let long = CatalogueName::joined(Some("server"), &"x".repeat(100));
        assert_eq!(long.as_str().len(), 64);
        assert!(long.as_str().starts_with("server__xxx"));
        assert_ne!(long, CatalogueName::joined(Some("server"), &"x".repeat(101)));
        assert_ne!(CatalogueName::joined(None, "検索"), CatalogueName::joined(None, "削除"));
        assert_eq!(CatalogueName::server(&"s".repeat(90)).as_str().len(), 32);
        assert_ne!(CatalogueName::server("検索"), CatalogueName::server("削除"));
        assert!(CatalogueName::new(CatalogueName::server("").as_str()).is_some());
    }

    #[test]
    fn the_first_joiner_ends_the_server() {
        for server in ["a", "a_", "__a__b__", "a b", "_", &"ab_".repeat(40)] {
            let name = CatalogueName::joined(Some(server), "_x__y");
            assert_eq!(name.server_part(), Some(CatalogueName::server(server).as_str()), "{server}");
        }
    }
}
