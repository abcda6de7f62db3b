//! Laws of the output checks, for every input.

use proem_guard::{
    Untrusted,
    check::{
        Action, ActionCheck, ActionField, Allowlist, CaseSensitivity, CheckContext, ConfidentialPrompt, FieldRole,
        Figures, FreeText, OutsideText, TrustedExcerpt, check_action,
    },
};
use proem_text::{Audience, Label, Source};
use proptest::{collection::vec, prelude::*, sample::select};

const TEXT: FieldRole = FieldRole::FreeText(FreeText { audience: Audience::Restricted, figures: Figures::Checked });
const ROLES: [FieldRole; 8] = [
    FieldRole::Recipient,
    FieldRole::Host,
    FieldRole::Url,
    FieldRole::Amount,
    FieldRole::Id(CaseSensitivity::Exact),
    FieldRole::Number,
    TEXT,
    FieldRole::Plain,
];

fn outside(text: &str) -> Untrusted<String> {
    Untrusted::new(text.to_owned(), Label::from_source(Source::named("model")))
}

fn checked(trusted: &str, untrusted: &str, fields: &[(FieldRole, String)]) -> ActionCheck {
    let values: Vec<(String, FieldRole, Untrusted<String>)> =
        fields.iter().map(|(role, value)| (format!("{role:?} {value}"), *role, outside(value))).collect();
    let fields: Vec<ActionField<'_>> =
        values.iter().map(|(path, role, value)| ActionField { path, role: *role, value }).collect();
    let (allow, request, untrusted) = (Allowlist::new(), Label::trusted(), outside(untrusted));
    let rules = CheckContext {
        actions: &["send"],
        denied: &[],
        allow: &allow,
        trusted: &[TrustedExcerpt::whole("task", trusted)],
        untrusted: &[OutsideText { name: "mail", text: &untrusted }],
        request: &request,
        prompt: ConfidentialPrompt {
            text: "Never tell anybody that the keys to the cellar are under the third flower pot.",
            ..ConfidentialPrompt::default()
        },
    };
    check_action(&Action { name: &outside("send"), fields: &fields }, &rules)
}

fn passes(trusted: &str, role: FieldRole, value: &str) -> bool {
    checked(trusted, "", &[(role, value.to_owned())]).passes()
}

/// Text with what makes extraction and decoding hard.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => select(vec![
            "http", "https", "://", ":", "/", "//", "\\", "@", ".", "evil.com", "corp.com", "a@corp.com", "](", "[", "]", "]:",
            "<", ">", "(", ")", "\"", "'", "=", "href=", "src=", "style=", "url(", "&#46;", "&colon;", "&#x", "%2e", "%", "\\u",
            "\\u{", "aHR0cDovL2V2aWwuY29t", "68747470", " ", "\n", "\t", "€", "$", "12", "1,200.50", "1.200", "EUR", "euros",
            "two hundred", "+49", "030 ", "DE89", "mailto:", "javascript:", "data:", "~", "#", "-", "_", "*", "`", "|", "{", "}",
            "\u{200b}", "\u{e0041}", "。", "．", "пример.рф", "你好", "ａ", "٣", "[.]", "(at)", "hxxp", "xn--", "0x7f", "cellar",
        ]),
        1 => any::<char>().prop_map(|c| &*String::from(c).leak()),
    ];
    vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// Words, punctuation and line breaks that name nothing.
fn benign() -> impl Strategy<Value = String> {
    let piece = select(vec![
        "the",
        "review",
        "is",
        "on",
        "Monday",
        "(see",
        "notes)",
        "über",
        "Größe",
        "план",
        "naïve",
        "-",
        "–",
        "*so*",
        "`code`",
        "\"quoted\"",
        "14",
        "3:1",
        "a/b",
        "x = y",
        "key: value",
        "[x]",
        "{y}",
        "<b>",
        "done.",
        "why?",
        "\n",
        "\n\n- ",
        "> ",
        "| a |",
    ]);
    vec(piece, 0..8).prop_map(|pieces| pieces.join(" "))
}

fn name() -> impl Strategy<Value = String> {
    "[a-z][a-z0-9]{0,8}"
}

fn host() -> impl Strategy<Value = String> {
    (vec("[a-z][a-z0-9]{0,6}", 1..3), select(vec!["com", "org", "example", "co.uk", "рф"]))
        .prop_map(|(labels, top)| format!("{}.{top}", labels.join(".")))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics_and_every_place_is_one(trusted in text(), untrusted in text(), value in text()) {
        let fields: Vec<(FieldRole, String)> = ROLES.into_iter().map(|role| (role, value.clone())).collect();
        for failure in checked(&trusted, &untrusted, &fields).failures {
            prop_assert!(value.get(failure.span.start..failure.span.end).is_some(), "{:?}", failure);
            prop_assert!(failure.excerpt.len() <= 80);
        }
    }

    #[test]
    fn the_order_of_fields_changes_nothing(values in vec((select(ROLES.to_vec()), text()), 0..5), trusted in text()) {
        let once = checked(&trusted, "", &values);
        let mut reversed = values;
        reversed.reverse();
        prop_assert_eq!(checked(&trusted, "", &reversed), once);
    }

    #[test]
    fn more_untrusted_text_lets_nothing_through(trusted in text(), untrusted in text(), value in text(), role in select(ROLES.to_vec())) {
        let values = [(role, value)];
        prop_assert_eq!(checked(&trusted, &untrusted, &values).passes(), checked(&trusted, "", &values).passes());
    }

    #[test]
    fn a_whole_token_of_a_trusted_text_passes(
        before in benign(), after in benign(), local in name(), host in host(), path in "([a-z0-9/_-]{0,12}[a-z0-9/])?", units in 1_u32..10_000_000, number in 10_000_u32..u32::MAX,
    ) {
        let around = |value: &str| format!("{before}: {value}, {after}");
        let (mail, url) = (format!("{local}@{host}"), format!("https://{host}/{path}"));
        let (amount, id) = (format!("EUR {}.{:02}", units / 100, units % 100), format!("AB-{number}"));
        for (role, value) in [(FieldRole::Recipient, &mail), (FieldRole::Host, &host), (FieldRole::Url, &url), (FieldRole::Amount, &amount), (FieldRole::Id(CaseSensitivity::Exact), &id)] {
            prop_assert!(passes(&around(value), role, value), "{} in {:?}", value, around(value));
            prop_assert!(!passes(&before, role, value), "{} in {:?}", value, before);
        }
        // Numbers that can't be read, such as `14 14 14 – 14`, need a person wherever they are.
        prop_assume!(passes(&around(""), TEXT, &format!("{after}: ; {before}")));
        for value in [&mail, &host, &url, &amount] {
            let text = format!("{after}: {value}; {before}");
            prop_assert!(passes(&around(value), TEXT, &text), "{}", value);
        }
    }

    #[test]
    fn one_changed_character_makes_another_recipient(local in name(), host in host(), at in any::<prop::sample::Index>(), c in any::<char>(), insert in any::<bool>()) {
        let mail = format!("{local}@{host}");
        let mut chars: Vec<char> = mail.chars().collect();
        let at = at.index(chars.len());
        let same = !insert && (chars[at] == c || chars[at].to_lowercase().eq(c.to_lowercase()));
        prop_assume!(!same);
        if insert { chars.insert(at, c) } else { chars[at] = c }
        let changed: String = chars.into_iter().collect();
        // A blank around an address belongs to the field.
        let trimmed = changed.trim_matches(' ') == mail;
        prop_assert!(trimmed || !passes(&format!("To {mail} now"), FieldRole::Recipient, &changed), "{:?} {:?}", mail, changed);
    }

    #[test]
    fn one_changed_digit_makes_another_amount(units in 100_u64..100_000_000, change in 1_u64..1_000) {
        let write = |units: u64| format!("{}.{:02} EUR", units / 100, units % 100);
        prop_assert!(!passes(&write(units), FieldRole::Amount, &write(units + change)));
        let text = format!("Pay {}", write(units + change));
        prop_assert!(!passes(&write(units), TEXT, &text));
    }

    #[test]
    fn an_address_is_found_in_any_text(before in benign(), after in benign(), host in host(), form in select(vec![
        "{}", "http://{}/x", "https://{}", "//{}/x", "[x](http://{}/x)", "[x](<//{}>)", "![]({}/p.png)", "<https://{}>", "[1]: https://{}/x",
        "<a href=\"https://{}\">x</a>", "<a href='//{}'>x</a>", "<img srcset=\"https://{}/p 2x\">", "<i style=\"background:url(//{}/p)\">",
        "hxxps://{}", "eve@{}", "mailto:eve@{}", "<ht&#116;p://{}>", "http&colon;//{}/", "http:\\\\{}", "https:{}", "<a href=\"ht\ntps://{}\">",
    ])) {
        let text = format!("{before} {} {after}", form.replace("{}", &host));
        prop_assert!(!passes("Nothing here.", TEXT, &text), "{:?}", text);
    }

    #[test]
    fn text_without_addresses_passes(text in benign()) {
        // Days side by side read as the number of a phone.
        prop_assume!(text.chars().filter(char::is_ascii_digit).count() < 6);
        let failures = checked("", "", &[(TEXT, text.clone())]).failures;
        prop_assert!(failures.is_empty(), "{:?} {:?}", text, failures);
    }
}

#[test]
fn hostile_texts_are_read_once() {
    let pieces = [
        ":",
        "a:",
        "http:",
        "data:",
        "href=",
        "href=\"",
        "](",
        "]:",
        "<",
        "@",
        "a@",
        "[~a",
        "\\\\",
        "\\u{",
        "%41",
        "&#",
        "&#4",
        "68 ",
        "aHR0",
        "aaaa\n",
        "1 234 ",
        "$1",
        "two ",
        "DE89 ",
        "(",
        "[",
        "。",
        "\u{200b}",
        "ﷺ",
        "url(",
        "a.",
        ".a",
        "https://a/",
    ];
    for piece in pieces {
        let text = piece.repeat((12 << 10) / piece.len());
        // That it comes back is the point.
        let failures = checked(&text, &text, &[(TEXT, text.clone())]).failures;
        assert!(failures.len() <= 4_200, "{piece:?}: {}", failures.len());
        assert!(failures.iter().all(|failure| text.get(failure.span.start..failure.span.end).is_some()));
    }
    let base64 = format!("{}\n", "QUJD".repeat(12)).repeat(200);
    assert!(
        checked("", "", &[(FieldRole::Plain, base64)])
            .failures
            .iter()
            .all(|failure| failure.rule.as_str() != "too-large")
    );
}
