use super::*;

#[track_caller]
fn check_template(body: &str, expected: &str) {
    let found = parse_template(body).err().map(|e| format!("{}:{}: {}", e.at.line, e.at.column, e.message));
    assert_eq!(found.unwrap_or_default(), expected, "{}", body.chars().take(80).collect::<String>());
}

#[test]
fn depth_counts_blocks_chains_and_parentheses_however_they_are_written() {
    let deep = MAX_NESTING + 1;
    let blocks = "blocks nested deeper than 48";
    check_template(&"{{#if a}}".repeat(deep), &format!("1:433: {blocks}"));
    check_template(&"{{~ #if a}}".repeat(deep), &format!("1:529: {blocks}"));
    check_template(&"{{\n#if a}}".repeat(deep), &format!("49:8: {blocks}"));
    check_template(&format!("{{{{#if a}}}}{}", "{{else if a}}".repeat(deep)), &format!("1:621: {blocks}"));
    check_template(&"{{#if a}}{{! {{/if}} }}".repeat(deep), &format!("1:1105: {blocks}"));
    check_template(&"{{#if a}}{{!-- {{/if}} --}}".repeat(deep), &format!("1:1297: {blocks}"));
    check_template(&"{{#if a}}\\{{/if}}".repeat(deep), &format!("1:817: {blocks}"));
    check_template(&"{{#if a}}{{{{raw}}}}{{/if}}{{{{/raw}}}}".repeat(deep), &format!("1:1873: {blocks}"));
    check_template(&"{{#> a}}".repeat(deep), &format!("1:385: {blocks}"));
    check_template(&"{{#if a}}x{{/if}}".repeat(500), "");
    let parentheses = "parentheses nested deeper than 48";
    check_template(&format!("{{{{#if {}", "(not ".repeat(deep)), &format!("1:247: {parentheses}"));
    check_template(&format!("{{{{#if {}", "(not \"))\" ".repeat(deep)), &format!("1:487: {parentheses}"));
}

#[test]
fn what_can_not_be_read_is_refused_at_its_place() {
    for (body, expected) in [
        ("{{json {\"a\":1}}}", "1:8: this can't be read as a template"),
        ("{{json [a}}", "1:8: this bracket is not closed"),
        ("{{json \"a}}", "1:8: these quotes are not closed"),
        ("a {{!-- b }}", "1:3: this comment is not closed by `--}}`"),
        ("a {{! b }", "1:3: this comment is not closed by `}}`"),
        ("a {{b", "1:3: this tag is not closed"),
        ("a {{{b}}", "1:8: this can't be read as a template"),
        ("a {{#if b}}", "1:3: this block is not closed"),
        ("a {{/if}}", "1:3: this closes a block that isn't open"),
        ("a {{else}}", "1:3: this else is outside any block"),
        ("{{#if a}}{{else}}{{else}}{{/if}}", "1:18: this block has an else already"),
        ("{{^a}}{{else if b}}{{/a}}", "1:7: an else with a condition must be inside a block"),
        ("{{#> a}}{{else}}{{/a}}", "1:9: a partial can't have an else"),
        ("a {{b c=}}", "1:9: this can't be read as a template"),
        ("{{b c=1 d}}", "1:9: positional values must come before named arguments"),
        ("{{a/../b}}", "1:7: `a/..`: `..` is allowed only at the start of a path"),
        ("{{a.this.b}}", "1:9: `a.this`: `this` is allowed only at the start of a path"),
        ("{{#if b}}{{/each}}", "1:10: block `if` is closed by `each`"),
        ("{{{{raw}}}}a", "1:1: this raw block is not closed"),
        ("{{{{raw}}}}a{{{{/war}}}}", "1:1: block `raw` is closed by `war`"),
        ("{{{a}}}{{a.[b c]}}{{json \"a\\\"}}\" indent=2}}{{json ['a]}}{{> [a b]}}{{{{raw}}}}{{{{/raw}}}}", ""),
    ] {
        check_template(body, expected);
    }
}

#[test]
fn tags_of_another_language_are_found_outside_raw_blocks() {
    for (body, expected) in [
        ("{% if a %}x{% endif %}", "1:1 1:12"),
        ("a\n  {% set x = {{b}} %}", "2:3"),
        ("\\newcommand{%\n  x}", ""),
        ("100 %} {% of", ""),
        ("{{{{raw}}}}{% if a %}{{{{/raw}}}}{{! {% a %} }}", ""),
    ] {
        let template = parse_template(body).unwrap();
        let found: Vec<String> = template.foreign.iter().map(|at| format!("{}:{}", at.line, at.column)).collect();
        assert_eq!(found.join(" "), expected, "{body}");
    }
}
