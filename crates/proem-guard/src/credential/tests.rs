//! Shapes, and what is near them. No text here is anybody's credential. Those that a provider could take for one are
//! put together when the test runs.

use super::*;
use alloc::string::ToString;
use proptest::prelude::*;

/// Sixty-four letters and digits, as if drawn.
const DRAWN: &str = "q7Zk2Wd9Xv4Lm1Pb8Rt6Yc3Nh5Js0GfAeUoIiTqMzKxVwBdHnLrCyPsFgJ7a8b9c";

fn drawn_digits(length: usize) -> &'static str {
    DRAWN.get(..length).unwrap()
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(redact_credentials(text).as_deref().unwrap_or(text), expected, "{text:?}");
}

#[test]
fn shapes_are_found() {
    check(&format!("id=AKIA{};", "Q3ZK2WD7XV4LM5PB"), "id=[redacted:aws-key];");
    check(&format!("\"ASIA{}\"", "Q3ZK2WD7XV4LM5PB"), "\"[redacted:aws-key]\"");
    check(&format!("sk-{}", drawn_digits(48)), "[redacted:api-key]");
    check(&format!("k: sk-ant-api03-{}-{}AA.", drawn_digits(40), drawn_digits(20)), "k: [redacted:api-key].");
    check(&format!("sk-proj-{}_{}", drawn_digits(20), drawn_digits(30)), "[redacted:api-key]");
    check(&format!("https://x:ghp_{}@github.com", drawn_digits(36)), "https://x:[redacted:github-token]@github.com");
    check(&format!("ghs_{}", drawn_digits(40)), "[redacted:github-token]");
    check(&format!("github_pat_{}_{}\n", drawn_digits(22), drawn_digits(59)), "[redacted:github-token]\n");
    check(&format!("xoxb-123456789012-1234567890123-{}", drawn_digits(24)), "[redacted:slack-token]");
    check(&format!("eyJ{}.eyJ{}.{}", drawn_digits(20), drawn_digits(30), drawn_digits(43)), "[redacted:web-token]");
    check(
        &format!("Bearer eyJ{}.eyJ{}.{},", drawn_digits(20), drawn_digits(30), drawn_digits(64)),
        "Bearer [redacted:web-token],",
    );
    check(&format!("{{\"a\":\"b\\nsk-{}\\n\"}}", drawn_digits(40)), "{\"a\":\"b\\n[redacted:api-key]\\n\"}");
    check(&format!("木AKIA{}木", "Q3ZK2WD7XV4LM5PB"), "木[redacted:aws-key]木");
}

fn with_each(text: &str, to: impl Fn(char) -> String) -> String {
    text.chars().map(to).collect()
}

fn base64(text: &str) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |bits: usize| char::from(*DIGITS.get(bits & 63).unwrap());
    let group = |group: &[u8]| {
        let byte = |at: usize| group.get(at).map_or(0, |byte| usize::from(*byte));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        let digits = [digit(bits >> 18), digit(bits >> 12), digit(bits >> 6), digit(bits)];
        digits.iter().take(group.len().saturating_add(1)).collect::<String>()
    };
    text.as_bytes().chunks(3).map(group).collect()
}

/// Each disguise of a text, with its name.
fn disguises(text: &str) -> Vec<(&'static str, String)> {
    let hex = |text: &str| with_each(text, |c| format!("{:02x}", u32::from(c)));
    let wrapped = |text: &str| {
        let lines: Vec<&str> = text.as_bytes().chunks(64).map(|line| core::str::from_utf8(line).unwrap()).collect();
        lines.join("\n")
    };
    Vec::from([
        ("zero width", with_each(text, |c| format!("{c}\u{200b}"))),
        ("soft hyphens", with_each(text, |c| format!("{c}\u{ad}"))),
        ("joined by words", with_each(text, |c| format!("\u{2060}{c}\u{feff}"))),
        (
            "one zero width",
            text.replacen(text.chars().nth(2).unwrap(), &format!("\u{200d}{}", text.chars().nth(2).unwrap()), 1),
        ),
        ("tags", with_each(text, |c| char::from_u32(u32::from(c).saturating_add(0xe_0000)).unwrap().to_string())),
        ("controls", with_each(text, |c| format!("{c}\u{1}"))),
        ("struck through", with_each(text, |c| format!("{c}\u{336}"))),
        ("full width", with_each(text, |c| char::from_u32(u32::from(c).saturating_add(0xfee0)).unwrap().to_string())),
        ("hyphens of type", text.replace('-', "\u{2011}").replace("AKIA", "\u{1d400}KIA")),
        ("dotted", with_each(text, |c| format!("{c}."))),
        ("spaced", with_each(text, |c| format!("{c} "))),
        ("dotted and spaced", with_each(text, |c| format!("{c} . "))),
        ("one a line", with_each(text, |c| format!("{c}\n"))),
        ("bullets", with_each(text, |c| format!("{c}\u{2022}"))),
        ("underlined", with_each(text, |c| format!("{c}_"))),
        ("decimal references", with_each(text, |c| format!("&#{};", u32::from(c)))),
        ("hexadecimal references", with_each(text, |c| format!("&#x{:X}", u32::from(c)) + ";")),
        ("references twice", with_each(text, |c| format!("&amp;#{};", u32::from(c)))),
        ("one reference", text.replacen('K', "&#75;", 1).replacen('-', "&hyphen;", 1).replacen('_', "&lowbar;", 1)),
        ("\\x", with_each(text, |c| format!("\\x{:02x}", u32::from(c)))),
        ("\\x in JSON", with_each(text, |c| format!("\\\\x{:02X}", u32::from(c)))),
        ("octal", with_each(text, |c| format!("\\{:03o}", u32::from(c)))),
        ("octal of a shell", with_each(text, |c| format!("\\0{:03o}", u32::from(c)))),
        ("octal in JSON", with_each(text, |c| format!("\\\\{:o}", u32::from(c)))),
        ("\\u", with_each(text, |c| format!("\\u{:04x}", u32::from(c)))),
        ("\\u{}", with_each(text, |c| format!("\\u{{{:x}}}", u32::from(c)))),
        ("\\U", with_each(text, |c| format!("\\U{:08x}", u32::from(c)))),
        ("percent", with_each(text, |c| format!("%{:02x}", u32::from(c)))),
        ("tags of HTML", with_each(text, |c| format!("{c}<wbr>"))),
        ("bold", with_each(text, |c| format!("<b>{c}</b>"))),
        ("comments", with_each(text, |c| format!("{c}<!-- -->"))),
        ("Markdown", text.replace('-', "\\-").replace('_', "\\_").replace("KI", "K\u{200b}I")),
        ("soft line breaks", with_each(text, |c| format!("{c}=\r\n"))),
        ("base64", base64(text)),
        ("base64 of a line", base64(&format!("export KEY={text}\n"))),
        ("base64 behind letters", format!("x{}", base64(text))),
        ("base64 twice", base64(&base64(text))),
        ("base64 of a line twice", base64(&wrapped(&base64(&format!("export KEY={text}\n"))))),
        ("base64 three times", base64(&base64(&base64(text)))),
        ("hexadecimal", hex(text)),
        ("base64 in hexadecimal", hex(&base64(text))),
        ("references in base64", base64(&with_each(text, |c| format!("&#{};", u32::from(c))))),
        ("zero width in base64", base64(&with_each(text, |c| format!("{c}\u{200b}")))),
        ("dotted base64", with_each(&base64(text), |c| format!("{c}\u{200b}"))),
        ("percent twice", with_each(text, |c| format!("%25{:02x}", u32::from(c)))),
    ])
}

#[test]
fn shapes_are_found_in_disguise() {
    for (kind, shape) in [
        ("aws-key", format!("AKIA{}", "Q3ZK2WD7XV4LM5PB")),
        ("api-key", format!("sk-{}", drawn_digits(48))),
        ("api-key", format!("sk-ant-api03-{}-{}AA", drawn_digits(40), drawn_digits(20))),
        ("github-token", format!("ghp_{}", drawn_digits(36))),
        ("slack-token", format!("xoxb-123456789012-1234567890123-{}", drawn_digits(24))),
        ("web-token", format!("eyJ{}.eyJ{}.{}", drawn_digits(20), drawn_digits(30), drawn_digits(43))),
    ] {
        for (name, text) in disguises(&shape) {
            // Dots are a part of this one, which stays whole without the rest.
            if (kind, name) == ("web-token", "dotted and spaced") {
                continue;
            }
            for text in
                [text.clone(), format!("the key is {text} as ever"), format!("[{text}]"), format!("木\n{text}\n木")]
            {
                let found = find_credentials(&text);
                assert_eq!(found.iter().map(|one| one.kind.as_str()).collect::<Vec<_>>(), [kind], "{name}: {text:?}");
                let left = redact_credentials(&text).unwrap();
                assert!(!left.contains(drawn_digits(12)) && find_credentials(&left).is_empty(), "{name}: {left:?}");
            }
        }
    }
}

#[test]
fn wrapped_base64_of_a_private_key_is_found() {
    let key = format!("-----BEGIN PRIVATE KEY-----\n{DRAWN}\n{DRAWN}\n-----END PRIVATE KEY-----\n");
    check(&format!("data: {}\n", base64(&key)), "data: [redacted:private-key]Cg\n");
    let lines: Vec<String> =
        base64(&key).as_bytes().chunks(76).map(|line| String::from_utf8(line.to_vec()).unwrap()).collect();
    check(&format!("a\n{}\nb", lines.join("\n  ")), "a\n[redacted:private-key]Cg\nb");
}

#[test]
fn a_cut_leaves_no_part() {
    let text = format!("the key is sk-{} as ever", drawn_digits(48));
    for most in 0..=text.len() {
        let start = uncut_prefix(&text, most);
        assert!(text.starts_with(start) && start.len() <= most);
        assert!(!start.contains("sk-") || start.len() >= 62, "{most}: {start}");
    }
    assert_eq!(uncut_prefix(&text, text.len()), text);
    assert_eq!(uncut_prefix("木木", 4), "木");
}

#[test]
fn json_stays_json() {
    let token = format!("ghp_{}", drawn_digits(36));
    let key = format!("sk-{}", drawn_digits(48));
    for (text, expected) in [
        (format!("{{\"b\":\"x {token}\",\"a\":1.0}}"), "{\"a\":1.0,\"b\":\"x [redacted:github-token]\"}"),
        (
            format!("[\"-----BEGIN PRIVATE KEY-----\",\"{DRAWN}\",\"{DRAWN}\",\"-----END PRIVATE KEY-----\",\"a\"]"),
            "[\"[redacted:private-key]\",\"[redacted:private-key]\",\"[redacted:private-key]\",\"[redacted:private-key]\",\"a\"]",
        ),
        (
            format!("{{\"a\":\"-----BEGIN PRIVATE KEY-----\\n{DRAWN}{DRAWN}\",\"b\":\"c\"}}"),
            "{\"a\":\"[redacted:private-key]\",\"b\":\"c\"}",
        ),
        (
            format!("{{\"{token}\":[{{\"x\":\"a\\u200b{key}\\n\"}}]}}"),
            "{\"[redacted:github-token]\":[{\"x\":\"a\\u200b[redacted:api-key]\\n\"}]}",
        ),
        (format!("\"{}\"", with_each(&key, |c| format!("\\u{:04x}", u32::from(c)))), "\"[redacted:api-key]\""),
        // In the text it is behind a line break, in the JSON behind a letter.
        (format!("{{\"a\":\"\\n{}\"}}", base64(&key)), "{\"a\":\"\\n[redacted:api-key]\"}"),
        (format!("{{ {key}"), "{ [redacted:api-key]"),
    ] {
        assert_eq!(redact_document(&text).as_deref(), Some(expected), "{text}");
    }
    assert_eq!(redact_document("{\"b\": 1, \"a\": \"sk-learn\"}"), None);
}

#[test]
fn private_keys_go_with_their_lines() {
    let key = |name: &str, end: &str| {
        format!("a\n-----BEGIN {name}-----{end}{DRAWN}{end}{}=={end}-----END {name}-----\nb", drawn_digits(40))
    };
    for name in ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK", "EC PRIVATE KEY"] {
        check(&key(name, "\n"), "a\n[redacted:private-key]\nb");
        check(&key(name, "\\n"), "a\n[redacted:private-key]\nb");
    }
    let quoted =
        format!("x = \"-----BEGIN PRIVATE KEY-----\\n\" +\n  \"{DRAWN}\\n\" +\n  \"{}\"; f(x)", drawn_digits(30));
    check(&quoted, "x = \"[redacted:private-key]; f(x)");
    for name in ["CERTIFICATE", "PUBLIC KEY", "PGP SIGNED MESSAGE"] {
        check(&key(name, "\n"), &key(name, "\n"));
    }
}

#[test]
fn what_is_near_a_shape_stays() {
    for text in [
        "AKIAIOSFODNN7EXAMPLE",
        "AKIA, ASIA, AKIAQ3ZK2WD7XV4LM5P",
        "AKIAQ3ZK2WD7XV4LM5PBX",
        "XAKIAQ3ZK2WD7XV4LM5PB",
        "AKIAq3zk2wd7xv4lm5pb",
        "sk-loading-indicator-container-wide",
        "sk-…",
        "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "sk-00000000000000000000000000000000",
        "task-q7Zk2Wd9Xv4Lm1Pb8Rt6Yc3Nh5Js0Gf",
        "sk-learn, sk-1234567890",
        "ghp_",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "ghp_token_for_the_release_of_the_program_1",
        "github_pat_11ABC",
        "xoxb-your-bot-token-goes-here-please",
        "xoxo-hugs",
        "eyJhbGciOiJIUzI1NiJ9",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.",
        "if (line == \"-----BEGIN RSA PRIVATE KEY-----\") { return \"-----END RSA PRIVATE KEY-----\"; }",
        "-----BEGIN RSA PRIVATE KEY-----\nyour key here\n-----END RSA PRIVATE KEY-----",
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "sha512-q7Zk2Wd9Xv4Lm1Pb8Rt6Yc3Nh5Js0GfAeUoIiTqMzKxVwBdHnLrCyPsFgJ7a8b9c==",
    ] {
        check(text, text);
    }
}

proptest! {
    #[test]
    fn what_is_left_holds_none(pieces in prop::collection::vec(prop::sample::select(&[
        "AKIA", "Q3ZK2WD7XV4LM5PB", "sk-", "ghp_", "xoxb-", "123456789012", "eyJ", ".", "-", "_", "\n", " ", "\"", "木",
        "-----BEGIN ", "-----END ", "PRIVATE KEY", "-----", DRAWN, "q7Zk2Wd9Xv4Lm1Pb8Rt6", "[redacted:", "]",
    ][..]), 0..24)) {
        let text = pieces.concat();
        let left = redact_credentials(&text).unwrap_or_else(|| text.to_string());
        prop_assert_eq!(find_credentials(&left), [], "{:?}", left);
        prop_assert!(find_credentials(&text).iter().all(|found| text.get(found.span.start..found.span.end).is_some()));
    }

    /// Bytes are looked at many at a time; where a shape is among them makes no difference.
    #[test]
    fn it_is_found_wherever_it_stands(before in "[ a-z木-]{0,100}", after in "[ a-z.]{0,40}", kind in 0_usize..6) {
        let shape = match kind {
            0 => format!("AKIA{}", "Q3ZK2WD7XV4LM5PB"),
            1 => format!("sk-{}", drawn_digits(48)),
            2 => format!("ghp_{}", drawn_digits(36)),
            3 => format!("xoxb-123456789012-1234567890123-{}", drawn_digits(24)),
            4 => format!("-----BEGIN PRIVATE KEY-----\n{DRAWN}\n-----END PRIVATE KEY-----"),
            _ => format!("eyJ{}.eyJ{}.{}", drawn_digits(20), drawn_digits(30), drawn_digits(43)),
        };
        let start = before.len().saturating_add(1);
        let text = format!("{before} {shape} {after}");
        let spans: Vec<Span> = find_credentials(&text).iter().map(|found| found.span).collect();
        prop_assert_eq!(spans, [Span::new(start, start.saturating_add(shape.len()))], "{:?}", text);
    }
}
