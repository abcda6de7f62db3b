//! Code: lines of twelve languages in which names, numbers and strings change.

use super::{Make, Random};

const TEXTS_OF_EACH: usize = 56;

/// `$` is a name, `#` a number, `%` a word of a string or comment, `>` at the beginning one level of indentation.
const LANGUAGES: &[(&str, &[&str])] = &[
    (
        "Rust",
        &[
            "pub fn $(&self, $: usize) -> Result<Vec<$>, Error> {",
            ">let Some($) = self.$.get(#) else { return Err(Error::$) };",
            ">>.filter(|$| $.len() != #)",
            "}",
            "// % % %, % %.",
            "#[derive(Debug, Clone, Copy, PartialEq, Eq)]",
            "use crate::{$, $::$};",
            ">assert_eq!($.$(\"% %\"), 0x#, \"{$:?}\");",
            "impl<'a> $<'a> for $ {",
            "/// Doesn't %.",
            "",
        ],
    ),
    (
        "Python",
        &[
            "def $(self, $=None, *args, **kwargs):",
            ">\"\"\"% % %. % isn't %.\"\"\"",
            ">>return [$ for $ in $ if $ is not None]",
            ">if $.$ == '%' and len($) >= #:",
            "import $, $",
            "from $.$ import $ as $",
            ">raise ValueError(f\"{$!r}: %\\n\")",
            "",
            "@$.$(\"/%/<int:$>\")",
            "# ---- % % ----",
            ">>$[$:-#] += #.#e-#",
        ],
    ),
    (
        "JavaScript",
        &[
            "export const $ = async ({ $, $ }) => {",
            ">const $ = await $.$(`/%/${$}?$=#`);",
            ">if (!$ || $ === undefined) return null;",
            "};",
            "module.exports = { $, $ };",
            ">>.then(($) => console.log('%', $))",
            "/* % % */",
            "import $ from \"./$.js\";",
            "",
        ],
    ),
    (
        "TypeScript",
        &[
            "export interface $<T extends $> {",
            ">readonly $?: Record<string, $ | null>;",
            "}",
            "type $ = keyof typeof $;",
            ">private async $($: number): Promise<void> {",
            ">>throw new Error('% %');",
            "// @ts-expect-error %",
            "",
        ],
    ),
    (
        "Go",
        &[
            "func ($ *$) $($ context.Context, $ []byte) (int, error) {",
            ">if err != nil {",
            ">>return #, fmt.Errorf(\"%: %w\", err)",
            ">}",
            "}",
            ">$ := make(map[string]*$, #)",
            "package $",
            "// $ % % %.",
            ">for i, $ := range $.$ {",
            "",
        ],
    ),
    (
        "Java",
        &[
            "public final class $ implements $<$> {",
            ">@Override",
            ">public String $($ $) throws IOException {",
            ">>return $.stream().map($::$).collect(Collectors.toList());",
            ">}",
            "}",
            ">/** % {@link $} %. */",
            ">private static final long $ = #L;",
            "import java.util.$;",
            "",
        ],
    ),
    (
        "C",
        &[
            "static int $(const char *$, size_t $)",
            "{",
            ">struct $ *$ = calloc(#, sizeof(*$));",
            ">if (!$ || $->$ < #)",
            ">>goto $;",
            "}",
            "#include <$.h>",
            "#define $($) (($) & 0x#)",
            "/* % % % */",
            ">printf(\"%%s: %\\n\", $[#]);",
            "#endif /* $ */",
            "",
        ],
    ),
    (
        "HTML",
        &[
            "<div class=\"$ $-$\" id=\"$\">",
            "><p>% % % &amp; %</p>",
            "><a href=\"https://$.example/%/#?$=#\">%</a>",
            "</div>",
            "<!-- % -->",
            "><input type=\"text\" value='%' disabled/>",
            "<style>.$ > $ { margin: #px -#em; color: ###; }</style>",
        ],
    ),
    (
        "JSON",
        &[
            "{\"$\": \"% %\", \"$\": [#, #, -#.#], \"$\": null}",
            ">>\"$\": {",
            ">>>\"$\": true,",
            ">>},",
            "[{\"$\":\"%\",\"$\":#},{}]",
            "\"\\u00e9\\n\\t%\",",
            "],",
        ],
    ),
    (
        "SQL",
        &[
            "SELECT $.$, COUNT(*) AS $ FROM $",
            ">LEFT JOIN $ ON $.$ = $.$",
            "WHERE $ IS NOT NULL AND $ LIKE '%%' -- %",
            "INSERT INTO $ ($, $) VALUES (#, '%''s');",
            "GROUP BY # HAVING $ > #.#",
            "",
        ],
    ),
    (
        "shell",
        &[
            "#!/usr/bin/env bash",
            "set -euo pipefail",
            "for $ in \"$@\"; do",
            ">if [[ -z \"${$:-}\" ]]; then",
            ">>echo \"% %\" >&2",
            ">fi",
            "done",
            "$ | grep -vE '^(%|%)$' | sort -u > /var/$/%.log 2>&1",
            "export $=\"$(cat $/$.txt)\" # %",
            "",
        ],
    ),
    (
        "YAML",
        &[
            "$:",
            ">- name: % %",
            ">>$: \"#.#.#\"",
            ">>$: [%, %]",
            ">>$: |",
            ">>>% % %",
            "---",
            "# % %",
            "$: &$ {$: *$}",
            "",
        ],
    ),
];

const WORDS: &[&str] = &[
    "token", "count", "value", "request", "body", "index", "parse", "node", "buffer", "user", "id", "data", "handler",
    "config", "x", "i", "tmp", "err", "HTTP", "url", "Response", "max", "width", "retry", "zzyzx", "straße", "naïve",
    "cache", "merge", "flush", "äöü", "名前", "quux", "Foo", "sha256", "utf8",
];

/// One kind for each language.
pub(super) fn kinds() -> Vec<(String, usize, Make)> {
    let kind = |(language, lines): &(&str, &'static [&'static str])| -> (String, usize, Make) {
        let lines = *lines;
        (format!("code {language}"), TEXTS_OF_EACH, Box::new(move |random| random_code(lines, random)))
    };
    LANGUAGES.iter().map(kind).collect()
}

fn random_code(lines: &[&str], random: &mut Random) -> String {
    let mut text = String::new();
    let indent = random.pick(&["    ", "    ", "  ", "\t"]);
    let line_end = random.pick(&["\n", "\n", "\n", "\r\n"]);
    for _ in 0..random.between(2, 25) {
        let line = random.pick(lines);
        let content = line.trim_start_matches('>');
        text.push_str(&indent.repeat(line.len() - content.len()));
        for character in content.chars() {
            match character {
                '$' => text.push_str(&name(random)),
                '#' => text.push_str(&number(random).to_string()),
                '%' => text.push_str(random.pick(WORDS)),
                _ => text.push(character),
            }
        }
        text.push_str(line_end);
    }
    text
}

fn number(random: &mut Random) -> usize {
    let limit = random.pick(&[2, 10, 100, 1000, 65_536, 1_000_000_000]);
    random.below(limit)
}

fn name(random: &mut Random) -> String {
    let words: Vec<&str> = (0..random.between(1, 3)).map(|_| random.pick(WORDS)).collect();
    let capital = |word: &&str| {
        let mut characters = word.chars();
        characters
            .next()
            .map(|first| first.to_uppercase().collect::<String>() + characters.as_str())
            .unwrap_or_default()
    };
    match random.below(4) {
        0 => words.iter().map(capital).collect(),
        1 => words.join("_").to_uppercase(),
        2 => {
            words.iter().enumerate().map(|(n, word)| if n == 0 { (*word).to_owned() } else { capital(word) }).collect()
        }
        _ => words.join("_"),
    }
}
