use super::*;

#[test]
fn a_path_that_a_shell_would_read_is_in_no_command() {
    assert_eq!(command_word("src/a-b_c.d.py"), Some("src/a-b_c.d.py"));
    for hostile in [
        "a;rm -rf ~",
        "$(x)",
        "`x`",
        "a b",
        "-rf",
        "--output=x",
        "a'b",
        "a\nb",
        "",
        "a|b",
        "a\u{202e}b",
        "*",
        "~x",
        "a&b",
    ] {
        assert_eq!(command_word(hostile), None, "{hostile:?}");
    }
}

#[test]
fn names_are_listed_up_to_three() {
    let list = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_string()).collect();
        let Sentence(parts) = sentence_with_names(Sentence::default(), &names);
        let text = |part: &SentencePart| match part {
            SentencePart::Ours(text)
            | SentencePart::Path(text)
            | SentencePart::Person(text)
            | SentencePart::Message(text) => text.clone(),
        };
        parts.iter().map(text).collect::<String>()
    };
    assert_eq!(list(&["a"]), "a");
    assert_eq!(list(&["a", "b"]), "a and b");
    assert_eq!(list(&["a", "b", "c"]), "a, b and c");
    assert_eq!(list(&["a", "b", "c", "d", "e"]), "a, b, c and 2 others");
}
