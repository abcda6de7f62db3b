//! What a mail server that is believed says of a mail's sender.
//!
//! Only headers with the name of a configured server count, since whoever sends a mail may put others there; a
//! configured server removes those that bear its own name (RFC 8601, section 5). All that are left have to agree.

use crate::triage::signal::SenderAuthentication;

/// The longest header that is read, in bytes.
const LONGEST: usize = 16 * 1024;

/// What the believed headers among `results` say of the domain of `address`.
pub(super) fn authentication(results: &[&str], servers: &[String], address: Option<&str>) -> SenderAuthentication {
    let domain = address.and_then(|address| address.rsplit_once('@')).map(|(_, domain)| domain);
    let believed = results.iter().filter_map(|result| {
        let parts = statements(result)?;
        let (server, statements) = parts.split_first()?;
        let name = server.split_ascii_whitespace().next()?;
        let is_configured = servers.iter().any(|configured| configured.eq_ignore_ascii_case(name));
        is_configured.then(|| of_server(statements, domain))
    });
    believed.fold(SenderAuthentication::Unverified, |so_far, next| match so_far {
        SenderAuthentication::Unverified => next,
        // What one denies, or doesn't know, no other gives.
        so_far => so_far.min(next),
    })
}

/// What one server says; more than one word on DMARC is none.
fn of_server(statements: &[String], domain: Option<&str>) -> SenderAuthentication {
    let on_dmarc: Vec<(&str, Option<&str>)> = statements.iter().filter_map(|statement| dmarc(statement)).collect();
    match on_dmarc.as_slice() {
        [("pass", Some(from))] if domain.is_some_and(|domain| domain.eq_ignore_ascii_case(from)) => {
            SenderAuthentication::DmarcAligned
        }
        results if results.iter().any(|(result, _)| *result == "fail") => SenderAuthentication::DmarcFailed,
        _ => SenderAuthentication::DmarcUnknown,
    }
}

/// The result of `dmarc=pass … header.from=example.org`, and for which domain.
fn dmarc(statement: &str) -> Option<(&str, Option<&str>)> {
    let mut words = statement.split_ascii_whitespace();
    let (method, result) = words.next()?.split_once('=')?;
    // The method may have a version (RFC 8601, section 2.2).
    let is_dmarc = method.split('/').next().is_some_and(|method| method.eq_ignore_ascii_case("dmarc"));
    let mut domains = words.filter_map(|word| {
        let (name, value) = word.split_once('=')?;
        name.eq_ignore_ascii_case("header.from").then_some(value)
    });
    let domain = domains.next().filter(|_| domains.next().is_none());
    let result = ["pass", "fail"].into_iter().find(|known| result.eq_ignore_ascii_case(known)).unwrap_or("other");
    is_dmarc.then_some((result, domain))
}

/// The statements between semicolons, without comments, with spaces around `=` taken away; `None` if a comment or a
/// quoted text doesn't end, or the header is too long to be one.
fn statements(header: &str) -> Option<Vec<String>> {
    if header.len() > LONGEST {
        return None;
    }
    let mut all = vec![String::new()];
    let (mut depth, mut is_quoted, mut is_escaped) = (0_usize, false, false);
    for c in header.chars() {
        let escaped = std::mem::take(&mut is_escaped);
        match c {
            _ if escaped => {}
            '\\' if depth > 0 || is_quoted => {
                is_escaped = true;
                continue;
            }
            '"' if depth == 0 => {
                is_quoted = !is_quoted;
                continue;
            }
            '(' if !is_quoted => {
                depth = depth.saturating_add(1);
                continue;
            }
            ')' if !is_quoted && depth > 0 => {
                depth = depth.saturating_sub(1);
                if let Some(last) = all.last_mut() {
                    last.push(' ');
                }
                continue;
            }
            ';' if !is_quoted && depth == 0 => {
                all.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = all.last_mut().filter(|_| depth == 0) {
            // What is quoted is one word and no sign.
            last.push(if is_quoted && (c.is_whitespace() || c == '=') { '_' } else { c });
        }
    }
    let is_whole = depth == 0 && !is_quoted && !is_escaped;
    is_whole.then(|| all.iter().map(|statement| statement.replace(" =", "=").replace("= ", "=")).collect())
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
