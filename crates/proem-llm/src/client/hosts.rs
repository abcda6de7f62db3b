//! The hosts that a request may reach if somebody else's words caused it.
//!
//! Invariants: an address is judged after its name was looked up, and the connection goes to that address and no other,
//! so that a name which changes its address between two questions gains nothing. One address that is not permitted
//! refuses the name, whatever else it has.

use core::fmt;
use core::pin::Pin;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// The addresses that a host may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostScope {
    /// Those of the public internet.
    Public,
    /// These and private ones, this machine's among them: the user's configuration names the host as such.
    Private,
}

/// The kind of address, after IANA's registries of special purposes
/// (<https://www.iana.org/assignments/iana-ipv4-special-registry>, and the same for IPv6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AddressKind {
    /// Of the public internet.
    Public,
    /// This machine: `127.0.0.0/8` and `::1`.
    Loopback,
    /// A private network: RFC 1918, unique local addresses, and the shared space of carriers (`100.64.0.0/10`).
    Private,
    /// The same link: `169.254.0.0/16`, where clouds answer for credentials, and `fe80::/10`.
    LinkLocal,
    /// Nobody's or everybody's: unspecified, multicast, documentation, reserved, and every form that hides an
    /// address of version 4 in one of version 6.
    Reserved,
}

impl AddressKind {
    /// The kind of an address.
    #[must_use]
    pub const fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => of_v6(address),
        }
    }

    /// Whether a host of that scope may have it.
    #[must_use]
    pub fn is_within(self, scope: HostScope) -> bool {
        match self {
            Self::Public => true,
            Self::Loopback | Self::Private | Self::LinkLocal => scope == HostScope::Private,
            Self::Reserved => false,
        }
    }
}

impl fmt::Display for AddressKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Public => "a public address",
            Self::Loopback => "an address of this machine",
            Self::Private => "an address of a private network",
            Self::LinkLocal => "an address of the local link",
            Self::Reserved => "a reserved address",
        })
    }
}

const fn of_v4(address: Ipv4Addr) -> AddressKind {
    match address.octets() {
        [127, ..] => AddressKind::Loopback,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => AddressKind::Private,
        [169, 254, ..] => AddressKind::LinkLocal,
        [0 | 224..=255, ..]
        | [192, 0, 0 | 2, _]
        | [192, 88, 99, _]
        | [198, 18..=19, ..]
        | [198, 51, 100, _]
        | [203, 0, 113, _] => AddressKind::Reserved,
        _ => AddressKind::Public,
    }
}

const fn of_v6(address: Ipv6Addr) -> AddressKind {
    if address.is_loopback() {
        return AddressKind::Loopback;
    }
    match address.segments() {
        [0xfc00..=0xfdff, ..] => AddressKind::Private,
        [0xfe80..=0xfebf, ..] => AddressKind::LinkLocal,
        // IETF protocols with Teredo, documentation (twice), and 6to4.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x2002, ..] | [0x3fff, 0..=0xfff, ..] => AddressKind::Reserved,
        // The addresses that are given out at all.
        [0x2000..=0x3fff, ..] => AddressKind::Public,
        _ => AddressKind::Reserved,
    }
}

/// A host that may not be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostRefusal {
    /// Not an address as requests have it.
    #[error("`{0}` is not a URL; write it as `https://HOST/PATH`")]
    NoUrl(String),
    /// Neither `http:` nor `https:`.
    #[error("`{scheme}:` is not asked; write `https:`")]
    Scheme {
        /// The part before `://`, as it was given.
        scheme: String,
    },
    /// A user name or password in the address, which is not shown.
    #[error("the URL of `{host}` contains a user name or password; remove it and name a credential")]
    UserInfo {
        /// The host that follows the name or password.
        host: String,
    },
    /// A fragment, which no server sees.
    #[error("the URL of `{host}` holds `#`; leave out what follows it")]
    Fragment {
        /// The host of the address.
        host: String,
    },
    /// A credential that would be read on the way.
    #[error("the credential would go to `{host}` unencrypted; write `https:`")]
    Unencrypted {
        /// The host that would be reached in the clear.
        host: String,
    },
    /// An address that the host may not have.
    #[error("`{host}` is {kind}; if it is meant, declare it as private")]
    Address {
        /// The host, which is a name or an address of a private network.
        host: String,
        /// The kind of its address.
        kind: AddressKind,
    },
}

/// Reads the address of a request and refuses what needs no look-up to be refused.
///
/// # Errors
///
/// [`HostRefusal`].
pub fn check_url(text: &str, scope: HostScope) -> Result<Url, HostRefusal> {
    let Ok(url) = Url::parse(text) else {
        // The part before an `@` may be a password.
        let shown = if text.contains('@') { "…" } else { text };
        return Err(HostRefusal::NoUrl(shown.escape_debug().to_string()));
    };
    if !matches!(url.scheme(), "http" | "https") {
        return Err(HostRefusal::Scheme { scheme: url.scheme().to_owned() });
    }
    let host = || url.host_str().unwrap_or_default().to_owned();
    if !url.username().is_empty() || url.password().is_some() {
        return Err(HostRefusal::UserInfo { host: host() });
    }
    if url.fragment().is_some() {
        return Err(HostRefusal::Fragment { host: host() });
    }
    let literal = match url.host() {
        Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
        Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
        _ => None,
    };
    // A literal is never looked up, so this is the only place that sees it.
    if let Some(kind) = literal.map(AddressKind::of).filter(|kind| !kind.is_within(scope)) {
        return Err(HostRefusal::Address { host: host(), kind });
    }
    Ok(url)
}

/// The addresses of a name, all of which its scope permits.
///
/// # Errors
///
/// [`HostRefusal::Address`] for the first that it does not permit. `None` for a name without an address.
pub fn check_addresses(
    host: &str,
    addresses: impl IntoIterator<Item = SocketAddr>,
    scope: HostScope,
) -> Result<Option<Vec<SocketAddr>>, HostRefusal> {
    let mut permitted = Vec::new();
    for address in addresses {
        let kind = AddressKind::of(address.ip());
        if !kind.is_within(scope) {
            return Err(HostRefusal::Address { host: host.to_owned(), kind });
        }
        permitted.push(address);
    }
    Ok((!permitted.is_empty()).then_some(permitted))
}

/// The addresses of a name, once they are known.
pub(super) type FoundAddresses = Pin<Box<dyn Future<Output = std::io::Result<Vec<SocketAddr>>> + Send>>;

/// Looks a name up.
pub(super) type LookUp = fn(String) -> FoundAddresses;

/// Asks the system for the addresses of a name.
pub(super) fn look_up_by_system(name: String) -> FoundAddresses {
    Box::pin(async move { Ok(tokio::net::lookup_host((name.as_str(), 0)).await?.collect()) })
}

/// Looks names up and gives only addresses that are permitted. The connection takes one of them, so a name is looked up
/// once for both.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScopedResolver {
    pub(super) scope: HostScope,
    pub(super) look_up: LookUp,
}

impl Resolve for ScopedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let Self { scope, look_up } = *self;
        Box::pin(async move {
            let found = look_up(name.as_str().to_owned()).await?;
            let permitted = check_addresses(name.as_str(), found, scope)?.unwrap_or_default();
            let addresses: Addrs = Box::new(permitted.into_iter());
            Ok(addresses)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_address_kind(address: &str, expected: AddressKind) {
        assert_eq!(AddressKind::of(address.parse().unwrap()), expected, "{address}");
    }

    #[test]
    fn addresses_are_told_apart_at_the_edges_of_their_ranges() {
        use AddressKind::{LinkLocal, Loopback, Private, Public, Reserved};
        for (first, last, expected) in [
            ("0.0.0.0", "0.255.255.255", Reserved),
            ("1.0.0.0", "9.255.255.255", Public),
            ("10.0.0.0", "10.255.255.255", Private),
            ("100.63.255.255", "100.128.0.0", Public),
            ("100.64.0.0", "100.127.255.255", Private),
            ("127.0.0.0", "127.255.255.255", Loopback),
            ("169.253.255.255", "169.255.0.0", Public),
            ("169.254.0.0", "169.254.169.254", LinkLocal),
            ("172.15.255.255", "172.32.0.0", Public),
            ("172.16.0.0", "172.31.255.255", Private),
            ("192.0.0.1", "192.0.2.9", Reserved),
            ("192.168.0.0", "192.168.255.255", Private),
            ("198.18.0.0", "198.19.255.255", Reserved),
            ("198.51.100.1", "203.0.113.1", Reserved),
            ("223.255.255.255", "8.8.8.8", Public),
            ("224.0.0.1", "255.255.255.255", Reserved),
            ("::", "::2", Reserved),
            ("::1", "::1", Loopback),
            ("::127.0.0.1", "::ffff:127.0.0.1", Reserved),
            ("::ffff:8.8.8.8", "::ffff:10.0.0.1", Reserved),
            ("64:ff9b::a00:1", "100::1", Reserved),
            ("2001::1", "2001:1ff::1", Reserved),
            ("2001:200::1", "2001:4860:4860::8888", Public),
            ("2001:db8::1", "2002:7f00:1::", Reserved),
            ("3fff::1", "4000::1", Reserved),
            ("2606:4700::1", "3ffe::1", Public),
            ("fc00::1", "fdff::1", Private),
            ("fe80::1", "febf::1", LinkLocal),
            ("fec0::1", "ff02::1", Reserved),
        ] {
            check_address_kind(first, expected);
            check_address_kind(last, expected);
        }
    }

    #[track_caller]
    fn check(url: &str, scope: HostScope, expected: &str) {
        let found = check_url(url, scope);
        assert_eq!(found.map_or_else(|refusal| refusal.to_string(), |url| url.to_string()), expected, "{url}");
    }

    #[test]
    fn urls_name_a_host_that_may_be_asked() {
        use HostScope::{Private, Public};
        check("https://tickets.example/a?b=c", Public, "https://tickets.example/a?b=c");
        check("http://192.168.1.7:8080/", Private, "http://192.168.1.7:8080/");
        check("tickets.example", Public, "`tickets.example` is not a URL; write it as `https://HOST/PATH`");
        check("//user:hunter2@host", Public, "`…` is not a URL; write it as `https://HOST/PATH`");
        check("ftp://host/", Public, "`ftp:` is not asked; write `https:`");
        check("file:///etc/passwd", Private, "`file:` is not asked; write `https:`");
        let user = "the URL of `host` contains a user name or password; remove it and name a credential";
        check("https://user:hunter2@host/", Public, user);
        check("https://user@host/", Public, user);
        check("https://host/#a", Public, "the URL of `host` holds `#`; leave out what follows it");
        // Addresses in the eyes of browsers are addresses here too.
        for host in ["127.0.0.1", "2130706433", "0x7f.1", "017700000001", "127.1"] {
            let expected = "`127.0.0.1` is an address of this machine; if it is meant, declare it as private";
            check(&format!("http://{host}/"), Public, expected);
        }
        check(
            "http://169.254.169.254/latest",
            Public,
            "`169.254.169.254` is an address of the local link; if it is meant, declare it as private",
        );
        for scope in [Public, Private] {
            let expected = "`[::ffff:7f00:1]` is a reserved address; if it is meant, declare it as private";
            check("http://[::ffff:127.0.0.1]/", scope, expected);
        }
    }

    #[test]
    fn one_private_address_refuses_a_name() {
        let addresses = ["93.184.216.34:443", "10.0.0.1:443"].map(|text| text.parse().unwrap());
        let refused = check_addresses("rebound.example", addresses, HostScope::Public).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "`rebound.example` is an address of a private network; if it is meant, declare it as private"
        );
        assert_eq!(check_addresses("rebound.example", addresses, HostScope::Private), Ok(Some(addresses.to_vec())));
        assert_eq!(check_addresses("nowhere.example", [], HostScope::Public), Ok(None));
    }
}
