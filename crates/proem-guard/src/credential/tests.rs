//! Shapes, and what is near them. No text here is anybody's credential; those that a provider could
//! take for one are put together when the test runs.

use super::*;
use alloc::string::ToString;
use proptest::prelude::*;

/// Sixty-four letters and digits, as if drawn.
const DRAWN: &str = "q7Zk2Wd9Xv4Lm1Pb8Rt6Yc3Nh5Js0GfAeUoIiTqMzKxVwBdHnLrCyPsFgJ7a8b9c";

fn drawn(length: usize) -> &'static str {
    DRAWN.get(..length).unwrap()
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(redact(text).as_deref().unwrap_or(text), expected, "{text:?}");
}

#[test]
fn shapes_are_found() {
    check(&format!("id=AKIA{};", "Q3ZK2WD7XV4LM5PB"), "id=[redacted:aws-key];");
    check(&format!("\"ASIA{}\"", "Q3ZK2WD7XV4LM5PB"), "\"[redacted:aws-key]\"");
    check(&format!("sk-{}", drawn(48)), "[redacted:api-key]");
    check(&format!("k: sk-ant-api03-{}-{}AA.", drawn(40), drawn(20)), "k: [redacted:api-key].");
    check(&format!("sk-proj-{}_{}", drawn(20), drawn(30)), "[redacted:api-key]");
    check(&format!("https://x:ghp_{}@github.com", drawn(36)), "https://x:[redacted:github-token]@github.com");
    check(&format!("ghs_{}", drawn(40)), "[redacted:github-token]");
    check(&format!("github_pat_{}_{}\n", drawn(22), drawn(59)), "[redacted:github-token]\n");
    check(&format!("xoxb-123456789012-1234567890123-{}", drawn(24)), "[redacted:slack-token]");
    check(&format!("eyJ{}.eyJ{}.{}", drawn(20), drawn(30), drawn(43)), "[redacted:web-token]");
    check(&format!("Bearer eyJ{}.eyJ{}.{},", drawn(20), drawn(30), drawn(64)), "Bearer [redacted:web-token],");
    check(&format!("{{\"a\":\"b\\nsk-{}\\n\"}}", drawn(40)), "{\"a\":\"b\\n[redacted:api-key]\\n\"}");
    check(&format!("木AKIA{}木", "Q3ZK2WD7XV4LM5PB"), "木[redacted:aws-key]木");
}

#[test]
fn private_keys_go_with_their_lines() {
    let key = |name: &str, end: &str| {
        format!("a\n-----BEGIN {name}-----{end}{DRAWN}{end}{}=={end}-----END {name}-----\nb", drawn(40))
    };
    for name in ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK", "EC PRIVATE KEY"] {
        check(&key(name, "\n"), "a\n[redacted:private-key]\nb");
        check(&key(name, "\\n"), "a\n[redacted:private-key]\nb");
    }
    let quoted = format!("x = \"-----BEGIN PRIVATE KEY-----\\n\" +\n  \"{DRAWN}\\n\" +\n  \"{}\"; f(x)", drawn(30));
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
        let left = redact(&text).unwrap_or_else(|| text.to_string());
        prop_assert_eq!(find(&left), [], "{:?}", left);
        prop_assert!(find(&text).iter().all(|found| text.get(found.span.start..found.span.end).is_some()));
    }

    /// Bytes are looked at many at a time; where a shape stands among them makes no difference.
    #[test]
    fn it_is_found_wherever_it_stands(before in "[ a-z木-]{0,100}", after in "[ a-z.]{0,40}", kind in 0_usize..6) {
        let shape = match kind {
            0 => format!("AKIA{}", "Q3ZK2WD7XV4LM5PB"),
            1 => format!("sk-{}", drawn(48)),
            2 => format!("ghp_{}", drawn(36)),
            3 => format!("xoxb-123456789012-1234567890123-{}", drawn(24)),
            4 => format!("-----BEGIN PRIVATE KEY-----\n{DRAWN}\n-----END PRIVATE KEY-----"),
            _ => format!("eyJ{}.eyJ{}.{}", drawn(20), drawn(30), drawn(43)),
        };
        let start = before.len().saturating_add(1);
        let text = format!("{before} {shape} {after}");
        let spans: Vec<Span> = find(&text).iter().map(|found| found.span).collect();
        prop_assert_eq!(spans, [Span::new(start, start.saturating_add(shape.len()))], "{:?}", text);
    }
}
