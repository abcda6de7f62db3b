use proem_imports::{ExtractError, SourceLanguage, SourceLimits, extract_facts};

use crate::imports::{check, read};

/// The includes of a source, and `!` if a part of it could not be read.
fn included(source: &str) -> String {
    let facts = read("a.cpp", source);
    let mut words: Vec<&str> = facts.imports.iter().map(|import| import.path.as_str()).collect();
    words.extend(facts.errors.then_some("!"));
    words.join(" ")
}

#[test]
fn includes_are_read_where_the_preprocessor_sees_them() {
    for (source, expected) in [
        ("#include \"a.h\"\n", "\"a.h\""),
        ("#include <a/b.h>", "<a/b.h>"),
        ("  # /* why */ include\t<a.h> // c\n", "<a.h>"),
        ("/* one\ntwo */ #include <a.h>\n", "<a.h>"),
        ("#include \\\n <a.h>\n#\\\r\ninclude <b.h>\r\n", "<a.h> <b.h>"),
        ("#include<a.h>\n%: include \"b\\c.h\"\n", "<a.h> \"b\\c.h\""),
        ("#include_next <a.h>\n#import \"b.h\"\n", "<a.h> \"b.h\""),
        ("#include MACRO\n", "MACRO"),
        ("import <a.h>;\nimport \"b.h\";\nimport c;\nx = import <d.h>;\n", "<a.h> \"b.h\""),
        // Any branch may be the one that is built.
        ("#if 0\n#include <a.h>\n#elif X\n#include <b.h>\n#else\n#include <c.h>\n#endif\n", "<a.h> <b.h> <c.h>"),
        ("int x; #include <a.h>\n", ""),
        ("#define X #include <a.h>\n", ""),
        ("#define INCLUDE \\\n#include <a.h>\n", ""),
        ("#includes <a.h>\n#error include <a.h>\n#pragma include <a.h>\n", ""),
        ("__has_include(<a.h>)\n", ""),
    ] {
        assert_eq!(included(source), expected, "{source}");
    }
}

#[test]
fn comments_and_literals_hide_includes() {
    for (source, expected) in [
        ("// #include <a.h>\n", ""),
        ("// spliced \\\n#include <a.h>\n#include <b.h>\n", "<b.h>"),
        ("/*\n#include <a.h>\n*/\n#include <b.h>\n", "<b.h>"),
        ("char *s = \"/*\";\n#include <a.h>\n", "<a.h>"),
        ("char c = '\"', d = '\\'', e = '\\\\';\n#include <a.h>\n", "<a.h>"),
        ("s = \"spliced \\\n#include <a.h>\\\n\";\n#include <b.h>\n", "<b.h>"),
        ("s = R\"(\n#include <a.h>\n)\";\n#include <b.h>\n", "<b.h>"),
        ("s = u8R\"x(\n#include <a.h>\n)\" )y\"\n)x\";\n#include <b.h>\n", "<b.h>"),
        ("s = R\"(\\)\";\n#include <a.h>\n", "<a.h>"),
        // A name that only ends in R has no raw string.
        ("s = BAR\"(\";\n#include <a.h>\n", "<a.h>"),
        ("n = 1'000'000 + 0x1p-3; /* '\n#include <a.h>\n*/\n#include <b.h>\n", "<b.h>"),
        // Text that is never compiled needn't be made of tokens.
        ("#if 0\ndon't /*\n#include <a.h>\n*/\n#endif\n#include <b.h>\n", "<b.h>"),
        ("#error \"unclosed\n#include <a.h>\n", "<a.h>"),
    ] {
        assert_eq!(included(source), expected, "{source}");
    }
}

#[test]
fn what_is_damaged_is_said_to_be() {
    for (source, expected) in [
        ("#include\n#include <b.h>\n", "<b.h> !"),
        ("#include <a.h\n#include \"b.h\n#include <c.h>\n", "<c.h> !"),
        ("#include \"\"\n#include <>\n", "!"),
        ("#include <b.h>\n/* no end\n#include <a.h>\n", "<b.h> !"),
        ("s = R\"x(\n#include <a.h>\n)y\";\n", "!"),
        ("#", ""),
    ] {
        assert_eq!(included(source), expected, "{source}");
    }
}

#[test]
fn a_source_of_many_lines_can_be_given_up() {
    let long = "int x;\n".repeat(10_000);
    assert_eq!(
        extract_facts(SourceLanguage::C, long.as_bytes(), &SourceLimits::default(), &mut || true),
        Err(ExtractError::TimedOut)
    );
}

#[test]
fn a_path_leads_to_its_neighbour_or_to_the_only_file_with_that_end() {
    check(
        &[
            (
                "src/net/socket.c",
                "#include \"socket.h\"\n#include \"../base/log.h\"\n#include \"wire/frame.h\"\n#include <app/api.h>\n\
                 #include <stdio.h>\n#include <openssl/ssl.h>\n#include \"gone.h\"\n#include CONFIG\n",
            ),
            ("src/net/socket.h", "#pragma once\n#include \"net/socket.h\"\n"),
            ("src/base/log.h", "#include \"ops.def\"\n#include <stdint.h>\n"),
            ("src/base/ops.def", "OP(a)\n"),
            ("lib/wire/frame.h", ""),
            ("lib/xwire/frame.h", ""),
            ("include/app/api.h", "#include \"base\\log.h\"\n"),
        ],
        &[
            "src/net/socket.c -> src/net/socket.h ?",
            "src/net/socket.c -> src/base/log.h ?",
            "src/net/socket.c -> lib/wire/frame.h ?",
            "src/net/socket.c -> include/app/api.h ?",
            "src/base/log.h -> src/base/ops.def ?",
            "include/app/api.h -> src/base/log.h ?",
            "src/net/socket.c: 2 unresolved",
            "src/net/socket.c: 2 external",
            "src/net/socket.h: 1 unresolved",
            "src/base/log.h: 1 external",
        ],
    );
}

#[test]
fn of_several_files_with_that_end_nobody_knows_which() {
    check(
        &[
            (
                "a/main.cc",
                "#include \"util.h\"\n#include <x/util.h>\n#include \"x/util.h\"\n#include \"../../out.h\"\n",
            ),
            ("x/util.h", ""),
            ("y/x/util.h", ""),
            ("out.h", ""),
            ("b/main.cc", "#include \"util.h\"\n"),
            ("b/util.h", ""),
        ],
        &["b/main.cc -> b/util.h ?", "a/main.cc: 4 unresolved"],
    );
}

#[test]
fn a_header_of_the_system_is_not_one_that_is_called_so_here() {
    check(
        &[
            ("a.c", "#include <string.h>\n#include <sys/types.h>\n#include <vector>\n#include <string>\n"),
            ("b.c", "#include \"string.h\"\n#include \"compat/string.h\"\n"),
            ("compat/string.h", "#include_next <string.h>\n"),
            ("vector", ""),
            ("c/d.c", "#include \"/usr/include/own.h\"\n#include <own.h>\n#include \"stdio.h\"\n"),
            ("include/own.h", ""),
        ],
        &[
            "b.c -> compat/string.h ?",
            "c/d.c -> include/own.h ?",
            "a.c: 2 unresolved",
            "a.c: 2 external",
            "b.c: 1 unresolved",
            "compat/string.h: 1 external",
            "c/d.c: 2 external",
        ],
    );
}
