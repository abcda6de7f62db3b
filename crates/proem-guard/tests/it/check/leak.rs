//! The parts of the prompt that an answer may repeat.

use super::{Setup, TEXT, outside};
use proem_guard::{
    InstallationKey,
    check::{Canary, FieldRole},
};

const PROMPT: &str = "You are the release assistant of the Corvus project. Never schedule a deployment on Fridays. \
    Summaries mention the owner of every open risk, and they end with the date of the next review. \
    When two sources contradict each other, say so and prefer the newer one.";
const PART: &str = "Summaries mention the owner of every open risk, and they end with the date";

fn setup() -> Setup {
    let mut setup = Setup::trusting("");
    setup.prompt = PROMPT.to_owned();
    setup
}

fn base64_text(text: &str) -> String {
    const CODES: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for group in text.as_bytes().chunks(3) {
        let bits = (0..3).fold(0_u32, |bits, at| bits << 8 | u32::from(*group.get(at).unwrap_or(&0)));
        for at in 0..4 {
            let code = CODES.chars().nth((bits >> (18 - 6 * at)) as usize & 63).unwrap();
            out.push(if at <= group.len() { code } else { '=' });
        }
    }
    out
}

fn rot13(text: &str) -> String {
    let turn = |c: char, base: u8| char::from((c as u8 - base + 13) % 26 + base);
    text.chars()
        .map(|c| {
            if c.is_ascii_lowercase() {
                turn(c, b'a')
            } else if c.is_ascii_uppercase() {
                turn(c, b'A')
            } else {
                c
            }
        })
        .collect()
}

/// Ways to write a text that somebody can read back.
fn disguised_texts(text: &str) -> Vec<String> {
    let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    let apart = |with: &str| text.chars().map(|c| format!("{c}{with}")).collect::<String>();
    let wrapped: Vec<String> =
        base64_text(text).as_bytes().chunks(60).map(|line| String::from_utf8(line.to_vec()).unwrap()).collect();
    vec![
        text.to_owned(),
        text.to_uppercase(),
        text.replace(' ', "\n> "),
        text.replace('e', "é"),
        text.chars()
            .map(|c| if c.is_ascii_graphic() { char::from_u32(c as u32 + 0xfee0).unwrap() } else { c })
            .collect(),
        text.chars().map(|c| char::from_u32(c as u32 + 0xe0000).unwrap()).collect(),
        apart(" "),
        apart("\u{200b}"),
        apart("-"),
        text.chars().rev().collect(),
        rot13(text),
        rot13(text).chars().rev().collect(),
        base64_text(text),
        format!("x{}", base64_text(text)),
        wrapped.join("\n"),
        base64_text(&base64_text(text)),
        base64_text(&rot13(text)),
        hex.clone(),
        hex.as_bytes().chunks(2).map(|pair| String::from_utf8(pair.to_vec()).unwrap()).collect::<Vec<_>>().join(" "),
        text.bytes().map(|byte| format!("%{byte:02X}")).collect(),
        text.chars().map(|c| format!("&#{};", c as u32)).collect(),
        text.chars().map(|c| format!("&#x{:x}", c as u32)).collect::<Vec<_>>().join("&shy;"),
        text.chars().map(|c| format!("\\u{:04x}", c as u32)).collect(),
        text.chars().map(|c| format!("\\x{:02x}", c as u32)).collect(),
    ]
}

#[test]
fn a_part_of_the_prompt_is_a_leak_in_any_disguise() {
    for text in disguised_texts(PART) {
        for role in [TEXT, FieldRole::Plain] {
            let broken = setup().broken(role, &format!("Of course:\n\n{text}\n\nAnything else?"));
            assert!(broken.contains(&"prompt-leak"), "{text:?} {broken:?}");
        }
    }
}

#[test]
fn a_leak_says_where() {
    let checked = setup().check_action("send", &[("body", TEXT, &format!("Sure. {PART}. Bye"))]);
    let [failure] = checked.failures.as_slice() else { panic!("{checked:?}") };
    // The blanks and stops around the letters aren't part of it.
    assert_eq!((failure.span.start, failure.span.end), (6, 6 + PART.len()));
}

#[test]
fn short_phrases_paraphrases_and_what_others_wrote_are_no_leak() {
    for text in [
        "The owner of every open risk is named.",
        "Never schedule a deployment.",
        "I prefer the newer one, and the date of the next review is Monday.",
        "I help with releases, avoid Fridays, and list who owns what.",
        "",
    ] {
        assert_eq!(setup().broken(TEXT, text), [""; 0], "{text:?}");
    }
    let mut quoting = setup();
    quoting.quotable.push(PART.to_owned());
    assert_eq!(quoting.broken(TEXT, PART), [""; 0]);
    let mut received = setup();
    received.untrusted.push(outside(&format!("Your template says: {PART}.")));
    assert_eq!(received.broken(TEXT, PART), [""; 0]);
    assert_eq!(received.broken(TEXT, PROMPT), ["prompt-leak"; 2]);
}

#[test]
fn many_short_parts_are_a_leak_together() {
    let parts = [
        "release assistant of the Corvus project",
        "schedule a deployment on Fridays",
        "with the date of the next review",
        "two sources contradict each other",
        "mention the owner of every open risk",
    ];
    for part in parts {
        assert_eq!(setup().broken(TEXT, part), [""; 0], "{part:?}");
    }
    let paths: Vec<String> = (0..parts.len()).map(|n| format!("f{n}")).collect();
    let fields: Vec<(&str, FieldRole, &str)> =
        paths.iter().zip(parts).map(|(path, part)| (path.as_str(), TEXT, part)).collect();
    let checked = setup().check_action("send", &fields);
    assert_eq!(checked.failures.iter().map(|failure| failure.rule.as_str()).collect::<Vec<_>>(), ["prompt-leak"; 5]);
}

#[test]
fn short_and_other_prompts() {
    for (prompt, answer, expected) in [
        ("Be brief.", "Be brief.", false),
        ("You are Corvus, the release assistant.", "You are Corvus, the release assistant.", true),
        ("You are Corvus, the release assistant.", "I am the release assistant.", false),
        (
            "你是科沃斯项目的发布助理。绝不在星期五安排部署，每个风险都要写明负责人。",
            "绝不在星期五安排部署，每个风险都要写明负责人",
            true,
        ),
        (
            "Ты помощник по выпускам проекта. Никогда не планируй развёртывание на пятницу.",
            "Никогда не планируй развёртывание на пятницу, ты помощник",
            false,
        ),
        (
            "Ты помощник по выпускам проекта. Никогда не планируй развёртывание на пятницу.",
            "ПОМОЩНИК ПО ВЫПУСКАМ ПРОЕКТА. НИКОГДА НЕ ПЛАНИРУЙ РАЗВЁРТЫВАНИЕ",
            true,
        ),
    ] {
        let mut setup = Setup::trusting("");
        setup.prompt = prompt.to_owned();
        assert_eq!(setup.broken(FieldRole::Plain, answer).contains(&"prompt-leak"), expected, "{answer:?}");
    }
}

#[test]
fn a_canary_is_recognised_whole_cut_and_disguised() {
    let mut setup = setup();
    let canary = Canary::new(&InstallationKey::new([7; 32]), "run-1");
    let token = canary.as_str().to_owned();
    setup.canary = Some(canary);
    let (first, second) = token.split_at(14);
    let mut cases = disguised_texts(&token);
    cases.extend([first.to_owned(), second.to_owned(), format!("{first} and then {second}"), format!("id_{token}_x")]);
    for text in cases {
        assert!(setup.broken(FieldRole::Plain, &text).contains(&"canary-leak"), "{text:?}");
    }
    for text in [&token[..11], "0123456789abcdef0123456789abcdef", "a commit: 2598ddf85b521f7280a0679f83d20c66b50"] {
        assert_eq!(setup.broken(FieldRole::Plain, text), [""; 0], "{text:?}");
    }
}
