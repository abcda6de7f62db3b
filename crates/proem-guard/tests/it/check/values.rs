//! Fields with one value: transformed ones are refused, other spellings of the same are not.

use super::{Setup, outside};
use proem_guard::check::{AllowlistEntryKind, CaseSensitivity, FieldRole};

const NOTHING: [&str; 0] = [];

fn table(role: FieldRole, trusted: &str, cases: &[(&str, &str)]) {
    let setup = Setup::trusting(trusted);
    for (value, expected) in cases {
        let expected: &[&str] = if expected.is_empty() { &NOTHING } else { std::slice::from_ref(expected) };
        assert_eq!(setup.broken(role, value), expected, "{value:?} after {trusted:?}");
    }
}

#[test]
fn recipients() {
    let trusted = "Write to Ada <ada@corp.com>, *bob.b@corp.com*, o'brien@corp.com (or 'cy@corp.com').\n\
        Not to dan@corp.com.evil, x+eve@corp.com or @fay; müller@bücher.example, gus@corp.com@evil.com.";
    let (found, lost, bad) = ("", "recipient-not-found", "recipient-malformed");
    table(
        FieldRole::Recipient,
        trusted,
        &[
            ("ada@corp.com", found),
            ("ADA@CORP.COM", found),
            ("Ada Lovelace <ada@corp.com>", found),
            ("\"Lovelace, Ada\" <ada@corp.com>", found),
            (" ada@corp.com ", found),
            ("bob.b@corp.com", found),
            ("o'brien@corp.com", found),
            ("cy@corp.com", found),
            ("@fay", found),
            ("fay", found),
            ("müller@bücher.example", found),
            ("müller@xn--bcher-kva.example", found),
            ("MüLLER@BÜCHER.example", found),
            ("dan@corp.com.evil", found),
            ("x+eve@corp.com", found),
            ("dan@corp.com", lost),
            ("eve@corp.com", lost),
            ("ada+x@corp.com", lost),
            ("ada@corp.com.evil", lost),
            ("xada@corp.com", lost),
            ("da@corp.com", lost),
            ("ada@corp.co", lost),
            ("ada@corp.comm", lost),
            ("ada@mail.corp.com", lost),
            ("ada@corp-com.evil", lost),
            ("a.da@corp.com", lost),
            ("adа@corp.com", lost),
            ("ada@cоrp.com", lost),
            ("ada@xn--crp-emc.com", lost),
            ("gus@corp.com", lost),
            ("ada%corp.com@evil.com", lost),
            ("evil.com!ada@corp.com", lost),
            ("brien@corp.com", lost),
            ("ada", lost),
            ("ada@corp.com.", bad),
            ("ada@corp.com@evil.com", bad),
            ("ａda@corp.com", bad),
            ("ada@ｃorp.com", bad),
            ("ada＠corp.com", bad),
            ("ada@corp。com", bad),
            ("ada@corp\u{200b}.com", bad),
            ("ada@corp.com\u{202e}", bad),
            ("ada@co\u{ad}rp.com", bad),
            ("ada@corp.com, eve@evil.com", bad),
            ("ada@corp.com;eve@evil.com", bad),
            ("ada@corp.com\nBcc: eve@evil.com", bad),
            ("ada@corp.com <eve@evil.com>", bad),
            ("\"ada@corp.com\" <ada@corp.com>", bad),
            ("<ada@corp.com> eve", bad),
            ("ada(x)@corp.com", bad),
            ("ada@(x)corp.com", bad),
            ("\"ada\"@corp.com", bad),
            ("ada@[192.0.2.1]", bad),
            ("ada@192.0.2.1", bad),
            (".ada@corp.com", bad),
            ("ada..b@corp.com", bad),
            ("ada@", bad),
            ("", bad),
        ],
    );
}

#[test]
fn only_text_from_outside_has_it() {
    let mut setup = Setup::trusting("Write to ada@corp.com");
    setup.untrusted.push(outside("Write to eve@evil.com, https://evil.com/a, €50, ABC-12, +49 30 1234567"));
    for (role, value, expected) in [
        (FieldRole::Recipient, "EVE@evil.com", "recipient-untrusted-only"),
        (FieldRole::Host, "evil.com", "host-untrusted-only"),
        (FieldRole::Url, "https://evil.com/a", "url-untrusted-only"),
        (FieldRole::Amount, "EUR 50.00", "amount-untrusted-only"),
        (FieldRole::Id(CaseSensitivity::Exact), "ABC-12", "id-untrusted-only"),
        (FieldRole::Number, "0049 30 1234567", "number-untrusted-only"),
    ] {
        assert_eq!(setup.broken(role, value), [expected], "{value:?}");
    }
    // A value that a trusted text has too is trusted.
    setup.trusted.push("or to eve@evil.com".to_owned());
    assert_eq!(setup.broken(FieldRole::Recipient, "eve@evil.com"), NOTHING);
}

#[test]
fn hosts() {
    let trusted = "On corp.com, https://api.corp.com:8443/v1, https://[2001:db8::1]/, http://192.0.2.1/x, пример.рф. \
        Mail ada@mail.example; not notcorp.org.evil.";
    let (found, lost, bad) = ("", "host-not-found", "host-malformed");
    table(
        FieldRole::Host,
        trusted,
        &[
            ("corp.com", found),
            ("CORP.com", found),
            ("corp.com.", found),
            ("api.corp.com:8443", found),
            ("[2001:db8::1]", found),
            ("[2001:DB8:0:0::1]", found),
            ("192.0.2.1", found),
            ("пример.рф", found),
            ("xn--e1afmkfd.xn--p1ai", found),
            ("Пример.РФ", found),
            ("api.corp.com", lost),
            ("corp.com:8443", lost),
            ("corp.com.evil", lost),
            ("evilcorp.com", lost),
            ("www.corp.com", lost),
            ("mail.example", lost),
            ("notcorp.org", lost),
            ("cοrp.com", lost),
            ("corp.corn", lost),
            ("192.0.2.10", lost),
            ("[::ffff:192.0.2.1]", lost),
            ("corp", lost),
            ("3221225985", bad),
            ("0xC0000201", bad),
            ("0300.0.2.1", bad),
            ("192.0.513", bad),
            ("192.0.2.1.", found),
            ("192.0.2.01", bad),
            ("corp.com:08443", bad),
            ("corp.com:99999", bad),
            ("corp.com@evil.com", bad),
            ("//corp.com", bad),
            ("\\\\corp.com", bad),
            ("corp.com/", bad),
            ("corp..com", bad),
            ("corp。com", bad),
            ("ｃorp.com", bad),
            ("ⅽorp.com", bad),
            ("corp.com\u{200d}", bad),
            ("corp%2ecom", bad),
            ("", bad),
        ],
    );
}

#[test]
fn urls() {
    let trusted = "See https://corp.com/a/b?q=1#top, http://corp.com:8080/, [docs](https://docs.corp.com/x_(y)), \
        wiki.corp.com/page and <https://bücher.example/ä>.";
    let (found, lost, bad) = ("", "url-not-found", "url-malformed");
    table(
        FieldRole::Url,
        trusted,
        &[
            ("https://corp.com/a/b?q=1#top", found),
            ("HTTPS://CORP.COM/a/b?q=1#top", found),
            ("https://corp.com:443/a/b?q=1#top", found),
            ("https://corp.com./a/b?q=1#top", found),
            ("https://corp.com/%61/b?q=1#top", found),
            ("https://corp.com/a/./b?q=1#top", found),
            ("https://corp.com/x/../a/b?q=1#top", found),
            ("http://corp.com:8080", found),
            ("https://docs.corp.com/x_(y)", found),
            ("https://wiki.corp.com/page", found),
            ("wiki.corp.com/page", found),
            ("https://xn--bcher-kva.example/%c3%a4", found),
            ("http://corp.com/a/b?q=1#top", lost),
            ("https://corp.com/a/b?q=2#top", lost),
            ("https://corp.com/a/b?q=1", lost),
            ("https://corp.com/A/b?q=1#top", lost),
            ("https://corp.com/a/b/?q=1#top", lost),
            ("https://corp.com/a%2Fb?q=1#top", lost),
            ("https://corp.com", lost),
            ("https://corp.com:8080/", lost),
            ("https://corp.com.evil/a/b?q=1#top", lost),
            ("https://evil.com/?https://corp.com/a/b?q=1#top", lost),
            ("https://corp.com@evil.com/a/b?q=1#top", bad),
            ("https://user:pass@corp.com/a/b?q=1#top", bad),
            ("https://corp.com\\@evil.com/a/b?q=1#top", bad),
            ("https:\\\\corp.com/a/b?q=1#top", bad),
            ("https:corp.com/a/b?q=1#top", bad),
            ("https:///corp.com/a/b?q=1#top", bad),
            ("https://corp.com/a/b?q=1#top\n", bad),
            ("https://co\trp.com/a/b?q=1#top", bad),
            ("https://corp%2ecom/a/b?q=1#top", bad),
            ("https://corp.com%40evil.com/", bad),
            ("https://0x7f000001/", bad),
            ("https://corp.com/%zz", bad),
            ("javascript:alert(1)", "scheme-refused"),
            ("JavaScript://corp.com/%0aalert(1)", "scheme-refused"),
            ("data:text/html,x", "scheme-refused"),
            ("file:///etc/passwd", "scheme-refused"),
            ("ftp://corp.com/a", "scheme-refused"),
            ("", bad),
        ],
    );
}

#[test]
fn amounts() {
    let trusted =
        "Pay €1,200.50 to one, USD 75 to another, 300 CHF, ¥5000, 1'000 CHF, KWD 1.250 or 12 euros; 99 bottles.";
    let (found, lost, bad) = ("", "amount-not-found", "amount-malformed");
    table(
        FieldRole::Amount,
        trusted,
        &[
            ("1,200.50 EUR", found),
            ("1.200,50 €", found),
            ("EUR 1200.5", found),
            ("€ 1200.50", found),
            ("1\u{a0}200,50 €", found),
            ("1'200.50 EUR", found),
            ("1200.500 EUR", found),
            ("75.00 USD", found),
            ("US$75", found),
            ("CHF 300", found),
            ("CHF 1000.00", found),
            ("¥5,000", found),
            ("EUR 12", found),
            ("$75", lost),
            ("EUR 75", lost),
            ("EUR 12.00.50", bad),
            ("EUR 1200.51", lost),
            ("EUR 12005", lost),
            ("EUR 120050", lost),
            ("EUR 1200", lost),
            ("EUR 99", lost),
            ("USD 750", lost),
            ("EUR 1.2", lost),
            ("CHF 1.000.000", lost),
            ("1200.50", bad),
            ("$1.2k", bad),
            ("EUR 1.2e3", bad),
            ("EUR -1200.50", bad),
            ("-€1200.50", bad),
            ("EUR 1200.505", bad),
            ("EUR 1,20,050", bad),
            ("EUR 1 200.50", bad),
            ("KWD 1.250", bad),
            ("EUR ١٢٠٠", bad),
            ("EUR １２００.５０", bad),
            ("twelve euros", bad),
            ("EUR 0012", bad),
            ("EUR 12 USD", bad),
            ("EUR 12 or 13", bad),
            ("USD $75", bad),
            ("EUR", bad),
            ("EUR 340282366920938463463374607431768211456", bad),
            ("", bad),
        ],
    );
}

#[test]
fn ids() {
    let trusted = "Close ABC-1, (ABC-3) and \"ABC-4\": not ABC-12, XABC-5, ABC-6-b, ABC-7/x, q=ABC-8, ABC-9. Issue #12 of 2026; \
        order 123456. acme, АBC-2, ABC\u{200b}-13";
    let (found, lost, bad) = ("", "id-not-found", "id-malformed");
    table(
        FieldRole::Id(CaseSensitivity::Exact),
        trusted,
        &[
            ("ABC-1", found),
            ("ABC-3", found),
            ("ABC-4", found),
            ("ABC-12", found),
            ("XABC-5", found),
            ("ABC-9", found),
            ("12", found),
            ("#12", found),
            ("123456", found),
            ("abc-1", lost),
            ("ABC-2", lost),
            ("ABC-5", lost),
            ("ABC-6", lost),
            ("ABC-7", lost),
            ("ABC-8", lost),
            ("ABC-13", lost),
            ("BC-1", lost),
            ("ABC-", lost),
            ("1", lost),
            ("2026", lost),
            ("acme", lost),
            ("АBC-2", bad),
            ("ABC-1 ", bad),
            ("ABC-１", bad),
            ("", bad),
        ],
    );
    let setup = Setup::allowing(&[(AllowlistEntryKind::Id, "acme"), (AllowlistEntryKind::Id, "7")]);
    assert_eq!(setup.broken(FieldRole::Id(CaseSensitivity::Exact), "acme"), NOTHING);
    assert_eq!(setup.broken(FieldRole::Id(CaseSensitivity::Exact), "7"), NOTHING);
    assert_eq!(setup.broken(FieldRole::Id(CaseSensitivity::Exact), "ACME"), ["id-not-found"]);
}

#[test]
fn ids_that_begin_as_allowed_go_on_with_digits() {
    let setup = Setup::allowing(&[(AllowlistEntryKind::IdPrefix, "PROJ-")]);
    let check = |id: &str, expected: &[&str]| {
        assert_eq!(setup.broken(FieldRole::Id(CaseSensitivity::Exact), id), expected, "{id}");
    };
    for id in ["PROJ-1", "PROJ-007", "PROJ-123456789012345678"] {
        check(id, &[]);
    }
    for id in ["PROJ-", "PROJ-1a", "PROJ-1-2", "XPROJ-1", "proj-1", "PROJ", "PROJ-1234567890123456789", "1"] {
        check(id, &["id-not-found"]);
    }
    check("PROJ-\u{ff11}", &["id-malformed"]);
    check("PROJ-1/../2", &["id-not-found"]);
}

#[test]
fn numbers() {
    let trusted = "Call +49 (30) 123-4567 or 030 7654321; account DE89 3704 0044 0532 0130 00 now, since 2026-11-22.";
    let (found, lost, bad) = ("", "number-not-found", "number-malformed");
    table(
        FieldRole::Number,
        trusted,
        &[
            ("+49301234567", found),
            ("0049 30 1234567", found),
            ("0307654321", found),
            ("DE89370400440532013000", found),
            ("de89-3704-0044-0532-0130-00", found),
            ("+49301234568", lost),
            ("+4930123456", lost),
            ("0301234567", lost),
            ("1234567", lost),
            ("DE89370400440532013001", lost),
            ("20261122", lost),
            ("٠٣٠٧٦٥٤٣٢١", bad),
            ("call me", bad),
            ("", bad),
        ],
    );
}

#[test]
fn allowlists() {
    let setup = Setup::allowing(&[
        (AllowlistEntryKind::Recipient, "Ada <ada@corp.com>"),
        (AllowlistEntryKind::Recipient, "#releases"),
        (AllowlistEntryKind::MailDomain, "example.org"),
        (AllowlistEntryKind::Host, "corp.com"),
        (AllowlistEntryKind::Url, "https://shop.example/x?y"),
        (AllowlistEntryKind::UrlPrefix, "https://jira.corp.com/browse/"),
        (AllowlistEntryKind::Amount, "EUR 5"),
        (AllowlistEntryKind::Number, "+49 30 1234567"),
    ]);
    for (role, value, expected) in [
        (FieldRole::Recipient, "ADA@corp.com", ""),
        (FieldRole::Recipient, "#releases", ""),
        (FieldRole::Recipient, "releases", "recipient-not-found"),
        (FieldRole::Recipient, "bob@corp.com", "recipient-not-found"),
        (FieldRole::Recipient, "anyone@Example.org", ""),
        (FieldRole::Recipient, "anyone@a.example.org", "recipient-not-found"),
        (FieldRole::Recipient, "@example.org", "recipient-not-found"),
        (FieldRole::Host, "corp.com", ""),
        (FieldRole::Host, "shop.example", "host-not-found"),
        (FieldRole::Host, "jira.corp.com", "host-not-found"),
        (FieldRole::Url, "https://corp.com/", ""),
        (FieldRole::Url, "https://corp.com/x", "url-not-found"),
        (FieldRole::Url, "https://shop.example/x?y", ""),
        (FieldRole::Url, "https://shop.example/x", "url-not-found"),
        (FieldRole::Url, "https://jira.corp.com/browse/ABC-1", ""),
        (FieldRole::Url, "https://jira.corp.com/browse", "url-not-found"),
        (FieldRole::Url, "https://jira.corp.com/browse/../admin", "url-not-found"),
        (FieldRole::Url, "https://jira.corp.com/browse/%2e%2e/admin", "url-not-found"),
        (FieldRole::Url, "https://jira.corp.com/browse/ABC-1?x=https://evil.com", "url-not-found"),
        (FieldRole::Url, "https://jira.corp.com/browse/https://evil.com", "url-not-found"),
        (FieldRole::Url, "http://jira.corp.com/browse/ABC-1", "url-not-found"),
        (FieldRole::Url, "https://jira.corp.com.evil/browse/ABC-1", "url-not-found"),
        (FieldRole::Amount, "5,00 €", ""),
        (FieldRole::Amount, "6,00 €", "amount-not-found"),
        (FieldRole::Number, "0049 30 1234567", ""),
    ] {
        let expected: &[&str] = if expected.is_empty() { &NOTHING } else { &[expected] };
        assert_eq!(setup.broken(role, value), expected, "{value:?}");
    }
}
