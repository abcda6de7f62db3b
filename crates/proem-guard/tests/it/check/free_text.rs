//! Running texts: whatever leads somewhere is found, however it is written.

use super::{Setup, TEXT};
use proem_guard::check::{AllowlistEntryKind, FieldRole, Figures, FreeText};
use proem_text::Audience;

/// Ways to write an address that somebody's mail program, browser or chat would follow.
const WAYS: &[&str] = &[
    "[x](http://evil.com)",
    "[x]( <http://evil.com> \"title\")",
    "[x](\nhttp://evil.com)",
    "![](http://evil.com/p.png)",
    "![a [b] c](//evil/p.png)",
    "[x][1]\n\n[1]: http://evil.com",
    "[x][1]\n\n[1]:\n   <//evil>",
    "[1]: evil.com/p",
    "<http://evil.com>",
    "<mailto:eve@evil.com>",
    "[x](mailto:ada@corp.com?bcc=eve@evil.com)",
    "http://evil.com",
    "HTTP://EVIL.COM",
    "http:evil.com",
    "http:/evil",
    "http:\\\\evil",
    "https:\\/\\/evil",
    "see:http://evil",
    "end.http://evil",
    "seehttp://evil",
    "evil.com",
    "evil.com/path",
    "evil.com:8080",
    "evil.com?q",
    "www.evil.co.uk",
    "//evil.com/x",
    "\\\\evil\\share",
    "192.0.2.1",
    "http://0x7f.1/",
    "http://3221225985",
    "http://[::1]/",
    "ftp://corp.com/ok",
    "hxxp://evil",
    "hxxps[:]//evil[.]example",
    "evil[.]com",
    "evil(dot)com",
    "evil [.] com",
    "evil\\.com",
    "eve[at]evil[.]com",
    "evil\u{200b}.com",
    "ev\u{ad}il.com",
    "ｅｖｉｌ.com",
    "evil．com",
    "evil。com",
    "пример.рф",
    "xn--e1afmkfd.xn--p1ai",
    "http://例え.テスト/",
    "https://corp.com。cn",
    "https://corp.com.evil/ok",
    "https://corp.com@evil",
    "https://corp.com\\.evil",
    "https://corp.com\t.evil.com",
    "[x](https://corp.com\t.evil)",
    "<a href=\"http://evil\">x</a>",
    "<a href = '//evil'>x</a>",
    "<a href=//evil>x</a>",
    "<a href=\"ht\ntp://ev\til\">x</a>",
    "<a href=\"&#104;ttp&colon;&sol;&sol;evil\">x</a>",
    "<a href=\"java&#10;script:alert(1)\">x</a>",
    "<a href=\" javascript:alert(1)\">x</a>",
    "data=\"<a href=\"//evil\">",
    "<img src='/\\evil/p'>",
    "<img srcset=\"a.png 1x, //evil/b.png 2x\">",
    "<form action=//evil>",
    "<p style=\"background:url(//evil/p)\">",
    "<p style=\"background:url( '//evil/p')\">",
    "<meta http-equiv=refresh content=\"0;url=//evil\">",
    "&#101;vil&period;com",
    "evil&#46com",
    "evil%2Ecom",
    "http://%65vil",
    "aHR0cDovL2V2aWwuY29tL3BhdGg=",
    "687474703a2f2f6576696c2e636f6d",
    "\\u0065vil.com",
    "javascript:alert(1)",
    "data:text/html;base64,PGI+",
    "tel:+4930",
    "eve@evil.com",
    "ada@corp.com.evil",
    "x.ada@corp.com",
    "ada@corp.com@evil",
    "\"ada x\"@corp.com",
    "mailto:eve",
    "mailto:eve%40evil.com",
    "@channel",
    "[~eve]",
    "<!channel>",
    "<@U012345>",
    "[x|//evil]",
    "!\\\\evil/p.png!",
    "evil\u{2024}com",
    "https://corp.com\u{2024}cn",
    "<a/href=/\\evil>",
    "<base href=\"/\t/evil\">",
];

#[test]
fn every_way_to_write_an_address_is_seen() {
    let setup = Setup::trusting("Our pages: https://corp.com/ok and ada@corp.com.");
    for text in WAYS {
        for text in [(*text).to_owned(), format!("Hello. {text}, thanks"), format!("> ({text})\n\nMore.")] {
            let broken = setup.broken(TEXT, &text);
            assert!(!broken.is_empty(), "{text:?}");
        }
    }
}

#[test]
fn ordinary_text_and_what_trusted_texts_have_pass() {
    let mut setup = Setup::trusting(
        "Our pages: https://corp.com/ok, corp.com and https://corp.com/a_(b)?x=1&y=2. Write to ada@corp.com or @fay. \
         It costs €1,200.50 or 30 CHF. Call +49 30 1234567. Docs: wiki.corp.com/x.",
    );
    setup.allow.allow(AllowlistEntryKind::UrlPrefix, "https://jira.corp.com/browse/").unwrap();
    for text in [
        "",
        "All 14 of 20 points are done; the sprint ends on 2026-11-27 at 17:30.",
        "See report.pdf, config.yaml and Node.js (v1.2.3), e.g. i.e. etc., U.S. a.m. 10.30 ... and so on…what?",
        "Ratio 3:1, and/or, either//or, C:\\Temp, key:value, a = b; note: see data: the rest",
        "Wait...what? Done.  Next: {x} [y] (z) <b>bold</b> <!-- no --> `code` ~~old~~ | table |",
        "你好。世界，再见。 これはテストです。次へ",
        "https://corp.com/ok",
        "(https://corp.com/ok)",
        "see https://corp.com/ok.",
        "[x](https://corp.com/ok)",
        "[https://corp.com/ok](https://corp.com/ok \"title\")",
        "![x](<https://corp.com/ok>)",
        "[x][1]\n\n[1]: https://corp.com/ok",
        "<a href=\"https://corp.com/a_(b)?x=1&y=2\">x</a>",
        "<p style=\"color:red\">x</p>",
        "[top](#top) [next](next/page)",
        "corp.com, CORP.COM.",
        "corp.com/",
        "https://wiki.corp.com/x",
        "ada@corp.com, <ada@corp.com>, *Ada@corp.com*, mailto:ada@corp.com",
        "[mail](mailto:ada@corp.com)",
        "ask @fay",
        "https://jira.corp.com/browse/ABC-1",
        "It costs 1.200,50 €, or CHF 30.00: call 0049 30 1234567.",
    ] {
        assert_eq!(setup.broken(TEXT, text), [""; 0], "{text:?}");
    }
}

#[test]
fn figures() {
    let setup = Setup::trusting("It costs €12 and the number is +49 30 1234567.");
    let ignoring = FieldRole::FreeText(FreeText { audience: Audience::Restricted, figures: Figures::Ignored });
    for (text, expected) in [
        ("Pay €13.", "amount-not-found"),
        ("Pay 13 EUR.", "amount-not-found"),
        ("Pay EUR13.", "amount-not-found"),
        ("Pay $12.", "amount-not-found"),
        ("Pay US$ 12", "amount-not-found"),
        ("Pay 12 Dollars", "amount-not-found"),
        ("Pay €1.2k", "amount-malformed"),
        ("Pay 12 million EUR", "amount-malformed"),
        ("Pay €12k", "amount-malformed"),
        ("Pay €12 trillion", "amount-malformed"),
        ("Pay €12万", "amount-malformed"),
        ("Pay 2 12 €", "amount-ok"),
        ("Pay 1 012 €", "amount-malformed"),
        ("Pay twelve hundred euros", "amount-malformed"),
        ("Pay ١٢ €", "amount-malformed"),
        ("Pay １３ €", "amount-malformed"),
        ("Call 030 7654321", "number-not-found"),
        ("Call +1-202-555-0100", "number-not-found"),
        ("Call (030) 7654321", "number-not-found"),
        ("IBAN DE89 3704 0044 0532 0130 00", "number-not-found"),
        ("IBAN DE89370400440532013000", "number-not-found"),
    ] {
        let broken = setup.broken(TEXT, text);
        if expected == "amount-ok" {
            assert_eq!(broken, [""; 0], "{text:?}");
        } else {
            assert!(broken.contains(&expected), "{text:?}: {broken:?}");
        }
        assert_eq!(setup.broken(ignoring, text), [""; 0], "{text:?}");
    }
}

#[test]
fn deep_encodings_are_not_passed_over() {
    let setup = Setup::trusting("");
    let mut text = "evil.com".to_owned();
    for _ in 0..6 {
        text = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
        assert!(!setup.broken(TEXT, &text).is_empty());
    }
    assert!(setup.broken(TEXT, &text).contains(&"too-deep"));
}
