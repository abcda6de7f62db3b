//! Host names that are not ASCII, as in `http://пример.рф` and `ada@пример.рф`.
//!
//! A look-alike of a known host is told by its ASCII form, which is what a resolver is asked for
//! (UTS #46, by the `idna` crate).

use alloc::{format, string::String};

/// More bytes than a host name can have that resolves: its ASCII form has at most 253 (RFC 1035,
/// section 2.3.4), and no script needs four times as many in UTF-8.
const LONGEST: usize = 1024;

/// The host name that is being read, if one is.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    place: HostScanState,
    host: String,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum HostScanState {
    /// Behind anything else.
    #[default]
    Text,
    /// Behind a character that may end the name before an `@`.
    Name,
    /// Behind `:`.
    Colon,
    /// Behind `:/`.
    Slash,
    /// In a host name.
    Host,
}

impl Hosts {
    /// Takes the next character. At the end of a host name that is not ASCII writes a remark.
    pub(super) fn read(&mut self, c: char, out: &mut String) {
        self.place = match (self.place, c) {
            // The text before it was a user's name.
            (HostScanState::Host, '@') => {
                self.host.clear();
                HostScanState::Host
            }
            (HostScanState::Host, c) if !ends_host(c) => {
                if self.host.len() <= LONGEST {
                    self.host.push(c);
                }
                HostScanState::Host
            }
            (HostScanState::Host, c) => {
                self.end(out);
                if c == ':' { HostScanState::Colon } else { HostScanState::Text }
            }
            (_, ':') => HostScanState::Colon,
            (HostScanState::Colon, '/') => HostScanState::Slash,
            (HostScanState::Slash, '/') | (HostScanState::Name, '@') => HostScanState::Host,
            (_, c) if c.is_alphanumeric() => HostScanState::Name,
            _ => HostScanState::Text,
        };
    }

    /// Ends the host name, with a remark if it is not ASCII.
    pub(super) fn end(&mut self, out: &mut String) {
        if !self.host.is_ascii() {
            match idna::domain_to_ascii(&self.host) {
                Ok(ascii) if self.host.len() <= LONGEST => out.push_str(&format!("⟨host: {ascii}⟩")),
                _ => out.push_str("⟨host: not a valid name⟩"),
            }
        }
        self.host.clear();
        self.place = HostScanState::Text;
    }
}

/// Whether the character can't be part of a host name.
fn ends_host(c: char) -> bool {
    c.is_whitespace() || c.is_control() || (c.is_ascii() && !c.is_ascii_alphanumeric() && !matches!(c, '.' | '-' | '_'))
}
