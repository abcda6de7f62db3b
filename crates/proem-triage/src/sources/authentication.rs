//! A trusted mail server's verdict on a mail's sender (RFC 8601).
//!
//! Invariants: only the topmost header counts, and only if a configured server wrote it, since a server puts its own
//! above all that the sender wrote. Other headers with that server's name can lower what it says and never raise it. A
//! header that the grammar of RFC 8601, section 2.2, does not take says nothing.

use std::iter::Peekable;
use std::str::Chars;

use proem_guard::Untrusted;
use proem_guard::check::{ActionField, FieldRole, Referent};
use proem_text::Label;

use crate::signal::SenderAuthentication;

/// The longest header that is read, in bytes.
const LONGEST: usize = 16 * 1024;

/// The verdict of the headers `results`, the topmost first, on the domain of `address`.
pub(super) fn authentication(results: &[&str], servers: &[String], address: Option<&str>) -> SenderAuthentication {
    let domain = address.and_then(|address| address.rsplit_once('@')).map(|(_, domain)| domain);
    let believed = |result: &&str| {
        let header = ResultsHeader::parse(result)?;
        servers.iter().any(|server| is_server(server, &header.server)).then(|| header.on_sender(domain))
    };
    let mut results = results.iter();
    let Some(topmost) = results.next().and_then(believed) else { return SenderAuthentication::Unverified };
    results.filter_map(believed).fold(topmost, Ord::min)
}

/// Whether a configured name is a server's. Names that are no hosts are compared as they are written.
fn is_server(configured: &str, written: &str) -> bool {
    !written.is_empty() && (configured.eq_ignore_ascii_case(written) || is_same_host(configured, written))
}

/// Whether two spellings resolve to the same host: in any case, in Unicode or in ASCII (UTS #46).
fn is_same_host(one: &str, other: &str) -> bool {
    let host = |text: &str| {
        let value = Untrusted::new(text.to_owned(), Label::trusted());
        Referent::of(&ActionField { path: "host", role: FieldRole::Host, value: &value })
    };
    host(one).is_some_and(|one| host(other) == Some(one))
}

/// One header, taken apart.
#[derive(Debug)]
struct ResultsHeader {
    /// The `authserv-id`. Empty if it is none.
    server: String,
    /// Its statements by method. `None` if not all of it can be read.
    statements: Option<Vec<MethodResult>>,
}

/// `dmarc=pass … header.from=example.org`.
#[derive(Debug)]
struct MethodResult {
    method: String,
    result: String,
    /// `header.from` and the like, in lower case, with what they are.
    properties: Vec<(String, String)>,
}

/// A part of a header. Comments and blanks are none.
#[derive(Debug, Clone, PartialEq, Eq)]
enum HeaderToken {
    /// A word as it is there, or a quoted one.
    Word {
        text: String,
        is_quoted: bool,
        is_joined: bool,
    },
    /// `=`, and whether it follows the token before it at once.
    Equals {
        is_joined: bool,
    },
    Semicolon,
}

impl ResultsHeader {
    /// `None` if no server's name is at its beginning.
    fn parse(header: &str) -> Option<Self> {
        let tokens = Some(header).filter(|header| header.len() <= LONGEST).and_then(header_tokens)?;
        let mut parts = tokens.split(|token| *token == HeaderToken::Semicolon);
        let (server, version) = parts.next()?.split_first()?;
        let HeaderToken::Word { text: server, .. } = server else { return None };
        // A version other than the first is one that nobody has written down yet.
        let is_known = match version {
            [] => true,
            [HeaderToken::Word { text, is_quoted: false, is_joined: false }] if is_all_digits(text) => text == "1",
            _ => return None,
        };
        let statements: Vec<&[HeaderToken]> = parts.collect();
        let statements = match statements.as_slice() {
            [[HeaderToken::Word { text, is_quoted: false, .. }]] if text.eq_ignore_ascii_case("none") => {
                Some(Vec::new())
            }
            // Some servers end the last statement like the others.
            [statements @ .., []] | statements => statements.iter().map(|tokens| MethodResult::parse(tokens)).collect(),
        };
        Some(Self { server: server.clone(), statements: statements.filter(|_| is_known) })
    }

    /// Its verdict on the domain. More than one result of DMARC counts as none, unless one is a failure.
    fn on_sender(&self, domain: Option<&str>) -> SenderAuthentication {
        let statements = self.statements.iter().flatten();
        let on_dmarc: Vec<&MethodResult> = statements.filter(|statement| statement.method == "dmarc").collect();
        if on_dmarc.iter().any(|statement| statement.result == "fail") {
            return SenderAuthentication::DmarcFailed;
        }
        let [statement] = on_dmarc.as_slice() else { return SenderAuthentication::DmarcUnknown };
        let from: Vec<&str> =
            statement.properties.iter().filter(|(name, _)| name == "header.from").map(|(_, of)| &**of).collect();
        match (from.as_slice(), domain) {
            ([from], Some(domain)) if statement.result == "pass" && is_same_host(from, domain) => {
                SenderAuthentication::DmarcAligned
            }
            _ => SenderAuthentication::DmarcUnknown,
        }
    }
}

impl MethodResult {
    /// `method [/ version] = result`, then `reason = value` and `ptype.property = value` in any number.
    fn parse(tokens: &[HeaderToken]) -> Option<Self> {
        let [HeaderToken::Word { text: method, is_quoted: false, .. }, HeaderToken::Equals { .. }, rest @ ..] = tokens
        else {
            return None;
        };
        let [HeaderToken::Word { text: result, is_quoted: false, .. }, rest @ ..] = rest else { return None };
        let (method, version) = method.split_once('/').unwrap_or((method, "1"));
        if !is_keyword(method) || !is_keyword(result) || version != "1" {
            return None;
        }
        let mut properties = Vec::new();
        let mut rest = rest;
        while let [HeaderToken::Word { text: name, is_quoted: false, .. }, HeaderToken::Equals { .. }, behind @ ..] =
            rest
        {
            let length = value_length(behind);
            let (value, behind) = behind.split_at_checked(length)?;
            properties.push((name.to_ascii_lowercase(), value_text(value)?));
            rest = behind;
        }
        let [method, result] = [method, result].map(str::to_ascii_lowercase);
        rest.is_empty().then_some(Self { method, result, properties })
    }
}

/// The tokens of a value: the first, and those that follow it at once, such as an equals sign at the end of base64.
fn value_length(tokens: &[HeaderToken]) -> usize {
    let is_joined = |token: &HeaderToken| match token {
        HeaderToken::Word { is_joined, .. } | HeaderToken::Equals { is_joined } => *is_joined,
        HeaderToken::Semicolon => false,
    };
    match tokens.split_first() {
        Some((HeaderToken::Word { .. }, rest)) => {
            rest.iter().take_while(|token| is_joined(token)).count().saturating_add(1)
        }
        _ => 0,
    }
}

fn value_text(tokens: &[HeaderToken]) -> Option<String> {
    let texts = tokens.iter().map(|token| match token {
        HeaderToken::Word { text, .. } => text,
        HeaderToken::Equals { .. } => "=",
        HeaderToken::Semicolon => "",
    });
    (!tokens.is_empty()).then(|| texts.collect())
}

fn is_all_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A keyword of RFC 5321, section 4.1.2.
fn is_keyword(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        && text.ends_with(|c: char| c.is_ascii_alphanumeric())
}

/// The tokens of a header. `None` if a comment or a quoted text is cut off, or what is no text is in it.
fn header_tokens(header: &str) -> Option<Vec<HeaderToken>> {
    let mut tokens = Vec::new();
    let mut rest = header.chars().peekable();
    let mut is_joined = false;
    while let Some(&c) = rest.peek() {
        let token = match c {
            ' ' | '\t' | '(' => {
                rest.next();
                if c == '(' {
                    skip_comment(&mut rest)?;
                }
                is_joined = false;
                continue;
            }
            ';' | '=' => {
                rest.next();
                if c == ';' { HeaderToken::Semicolon } else { HeaderToken::Equals { is_joined } }
            }
            '"' => {
                rest.next();
                HeaderToken::Word { text: take_quoted(&mut rest)?, is_quoted: true, is_joined }
            }
            ')' => return None,
            _ => HeaderToken::Word { text: take_word(&mut rest)?, is_quoted: false, is_joined },
        };
        tokens.push(token);
        is_joined = true;
    }
    Some(tokens)
}

/// Skips a comment behind its opening bracket. Comments may be in it.
fn skip_comment(rest: &mut Peekable<Chars<'_>>) -> Option<()> {
    let mut depth = 1_usize;
    while depth > 0 {
        match rest.next()? {
            '(' => depth = depth.saturating_add(1),
            ')' => depth = depth.saturating_sub(1),
            '\\' => _ = rest.next()?,
            c if is_header_character(c) => {}
            _ => return None,
        }
    }
    Some(())
}

/// The quoted text, behind its opening sign.
fn take_quoted(rest: &mut Peekable<Chars<'_>>) -> Option<String> {
    let mut text = String::new();
    loop {
        match rest.next()? {
            '"' => return Some(text),
            '\\' => text.extend(rest.next().filter(|c| is_header_character(*c))),
            c if is_header_character(c) => text.push(c),
            _ => return None,
        }
    }
}

fn take_word(rest: &mut Peekable<Chars<'_>>) -> Option<String> {
    let mut text = String::new();
    while let Some(c) = rest.next_if(|c| !matches!(c, ' ' | '\t' | '(' | ')' | ';' | '=' | '"')) {
        if !is_header_character(c) {
            return None;
        }
        text.push(c);
    }
    Some(text)
}

/// Whether it may be in a header: blanks and what can be seen (RFC 5322, section 2.2; RFC 6532, section 3).
fn is_header_character(c: char) -> bool {
    c == '\t' || !c.is_control()
}

#[cfg(test)]
mod tests {
    use super::*;
    use SenderAuthentication::{DmarcAligned, DmarcFailed, DmarcUnknown, Unverified};

    #[track_caller]
    fn check(results: &[&str], expected: SenderAuthentication) {
        let found = authentication(results, &["mx.example.org".to_owned()], Some("ann@corp.example"));
        assert_eq!(found, expected, "{results:?}");
    }

    #[test]
    fn only_a_configured_server_is_believed() {
        check(&[], Unverified);
        check(&["mx.example.org; dmarc=pass header.from=corp.example"], DmarcAligned);
        check(&["MX.example.org 1; spf=pass; dmarc=pass (p=NONE) header.from=CORP.example"], DmarcAligned);
        check(&["evil.example; dmarc=pass header.from=corp.example"], Unverified);
        check(&["mx.example.org.evil.example; dmarc=pass header.from=corp.example"], Unverified);
        check(&["(mx.example.org) evil.example; dmarc=pass header.from=corp.example"], Unverified);
        check(&["\"mx.example.org; dmarc=pass header.from=corp.example"], Unverified);
        check(&["", ";", ";;dmarc=pass"], Unverified);
    }

    #[test]
    fn what_passes_has_to_be_the_senders_domain() {
        check(&["mx.example.org; dmarc=pass header.from=evil.example"], DmarcUnknown);
        check(&["mx.example.org; dmarc=pass header.from=corp.example.evil"], DmarcUnknown);
        check(&["mx.example.org; dmarc=pass header.from=corp.example header.from=evil.example"], DmarcUnknown);
        check(&["mx.example.org; dmarc=pass"], DmarcUnknown);
        check(&["mx.example.org; none"], DmarcUnknown);
        check(&["mx.example.org; spf=pass smtp.mailfrom=corp.example"], DmarcUnknown);
        check(&["mx.example.org; dmarc=temperror header.from=corp.example"], DmarcUnknown);
        check(&["mx.example.org; dmarc=fail header.from=corp.example"], DmarcFailed);
        let unknown = authentication(
            &["mx.example.org; dmarc=pass header.from=corp.example"],
            &["mx.example.org".to_owned()],
            None,
        );
        assert_eq!(unknown, DmarcUnknown);
    }

    #[test]
    fn only_the_topmost_header_is_believed() {
        let ours = "mx.example.org; dmarc=pass header.from=corp.example";
        let silent = "mx.example.org; none";
        check(&["evil.example; spf=pass", ours], Unverified);
        check(&["", ours], Unverified);
        check(&["mx.example.org evil; spf=pass", ours], Unverified);
        check(&["evil.example; dmarc=fail", ours, ours], Unverified);
        check(&[ours, "evil.example; dmarc=fail header.from=corp.example"], DmarcAligned);
        // The server's own words come after those that the sender wrote in its name.
        check(&[silent, ours], DmarcUnknown);
        check(&["mx.example.org; dmarc=fail header.from=corp.example", ours], DmarcFailed);
    }

    #[test]
    fn the_servers_name_is_read_by_the_grammar() {
        for server in [
            "mx.example.org",
            " \t mx.example.org",
            "(a (nested \\) one) ; dmarc=fail) mx.example.org",
            "mx.example.org (ours)",
            "\"mx.example.org\"",
            "\"MX.\\example.org\"",
            "MX.Example.ORG",
            "mx.example.org 1",
            "mx.example.org(a)1(b)",
        ] {
            check(&[&format!("{server}; dmarc=pass header.from=corp.example")], DmarcAligned);
        }
        for server in [
            "mx.example.org evil.example",
            "mx.example.org\"evil\"",
            "\"mx.example.org\".evil.example",
            "mx.example.org=1",
            "mx.example.org 1 1",
            "mx.example.org 1x",
            "mx.example.org, evil.example",
            "mx.example.org)",
            "mx.example.org\u{0}",
            "mx.example.org\r",
            "mx.example\u{200b}.org",
            "(mx.example.org",
            "(mx.example.org)",
            "",
        ] {
            let found = authentication(
                &[&format!("{server}; dmarc=pass header.from=corp.example")],
                &["mx.example.org".to_owned(), String::new()],
                Some("ann@corp.example"),
            );
            assert!(matches!(found, Unverified | DmarcUnknown), "{server:?}");
        }
        check(&["mx.example.org 2; dmarc=pass header.from=corp.example"], DmarcUnknown);
    }

    #[test]
    fn one_statement_that_breaks_the_grammar_silences_the_header() {
        let pass = "dmarc=pass header.from=corp.example";
        for statement in [
            "spf",
            "spf=",
            "=pass",
            "spf=pass =x",
            "spf=pass smtp.mailfrom",
            "spf=pass smtp.mailfrom=",
            "spf==pass",
            "spf=\"pass\"",
            "s_f=pass",
            "dmarc/2=pass",
            "none",
        ] {
            check(&[&format!("mx.example.org; {statement}; {pass}")], DmarcUnknown);
        }
        for statement in ["spf=pass (a", "spf=pass \"a", "spf=pass )", "spf=pass\u{7}", "spf=pass (\r)"] {
            check(&[&format!("mx.example.org; {statement}; {pass}")], Unverified);
        }
        for statement in [
            "spf = pass (a (b)) smtp.mailfrom = x@evil.example",
            "dkim=pass header.b=aB/1+== header.i=@corp.example",
            "dkim=pass reason=\"dmarc=fail\" header.d=corp.example",
            "spf=pass smtp.mailfrom=\"dmarc=fail; x\"@evil.example",
            "spf/1=pass action=none",
        ] {
            check(&[&format!("mx.example.org; {statement}; {pass}")], DmarcAligned);
            check(&[&format!("mx.example.org; {pass}; {statement};")], DmarcAligned);
        }
    }

    #[test]
    fn domains_are_compared_as_they_resolve() {
        let found = |from: &str, address: &str| {
            let header = format!("mx.example.org; dmarc=pass header.from={from}");
            authentication(&[&header], &["MX.example.org".to_owned()], Some(address))
        };
        for (from, address) in [
            ("xn--bcher-kva.example", "ann@b\u{fc}cher.example"),
            ("b\u{fc}cher.example", "ann@XN--BCHER-KVA.example"),
            ("\"corp.example\"", "ann@corp.example"),
            ("Corp.Example", "ann@corp.example"),
        ] {
            assert_eq!(found(from, address), DmarcAligned, "{from} {address}");
        }
        for (from, address) in [
            ("c\u{43e}rp.example", "ann@corp.example"),
            ("corp.example", "ann@c\u{43e}rp.example"),
            ("=?utf-8?q?corp.example?=", "ann@=?utf-8?q?corp.example?="),
            ("corp.example", "ann@=?utf-8?q?corp.example?="),
            ("\u{ff43}orp.example", "ann@corp.example"),
            ("corp.example\u{200b}", "ann@corp.example"),
            ("sub.corp.example", "ann@corp.example"),
            ("corp.example:25", "ann@corp.example"),
            ("@corp.example", "ann@corp.example"),
            ("ann@corp.example", "ann@corp.example"),
            ("corp.example=", "ann@corp.example"),
            ("\"\"", "ann@"),
        ] {
            assert_eq!(found(from, address), DmarcUnknown, "{from} {address}");
        }
    }

    #[test]
    fn without_a_configured_server_nothing_is_believed() {
        let header = "mx.example.org; dmarc=pass header.from=corp.example";
        assert_eq!(authentication(&[header], &[], Some("ann@corp.example")), Unverified);
        let empty = "\"\"; dmarc=pass header.from=corp.example";
        assert_eq!(authentication(&[empty], &[String::new()], Some("ann@corp.example")), Unverified);
    }

    #[test]
    fn statements_that_disagree_are_not_believed() {
        let pass = "mx.example.org; dmarc=pass header.from=corp.example";
        check(&[pass, "mx.example.org; dmarc=fail header.from=corp.example"], DmarcFailed);
        check(&[pass, "mx.example.org; none"], DmarcUnknown);
        check(&[pass, pass, "evil.example; dmarc=fail"], DmarcAligned);
        check(&["mx.example.org; dmarc=fail; dmarc=pass header.from=corp.example"], DmarcFailed);
        check(&["mx.example.org; spf=pass reason=\"x; dmarc=pass header.from=corp.example\""], DmarcUnknown);
        check(&["mx.example.org; spf=pass (; dmarc=pass header.from=corp.example)"], DmarcUnknown);
        check(&["mx.example.org; reason=\"dmarc=pass header.from=corp.example\""], DmarcUnknown);
    }
}
