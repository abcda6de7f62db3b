use crate::imports::check;

#[test]
fn types_lead_to_the_files_that_define_them() {
    check(
        &[
            (
                "src/main/java/com/x/App.java",
                "package com.x;\n\nimport com.x.util.Strings;\nimport static com.x.util.Maths.sum;\nimport java.util.List;\nimport com.x.gone.Thing;\n\nclass App extends Base {\n  void f() { Strings.join(); new Helper().run(); sum(1); List<Base> l; }\n}\n",
            ),
            ("src/main/java/com/x/Base.java", "package com.x;\nclass Base {}\n"),
            ("src/main/java/com/x/Helper.java", "package com.x;\npublic class Helper { class Base {} Base b; }\n"),
            (
                "src/main/java/com/x/util/Strings.java",
                "package com.x.util;\npublic final class Strings { static void join() {} }\n",
            ),
            ("src/main/java/com/x/util/Maths.java", "package com.x.util;\npublic interface Maths {}\n"),
        ],
        &[
            "src/main/java/com/x/App.java -> src/main/java/com/x/Base.java",
            "src/main/java/com/x/App.java -> src/main/java/com/x/Helper.java 1",
            "src/main/java/com/x/App.java -> src/main/java/com/x/util/Strings.java 1",
            "src/main/java/com/x/App.java -> src/main/java/com/x/util/Maths.java",
            "src/main/java/com/x/App.java: 1 unresolved",
            "src/main/java/com/x/App.java: 1 external",
        ],
    );
}

#[test]
fn a_wildcard_brings_in_what_is_used() {
    check(
        &[
            (
                "a/A.java",
                "package a;\nimport b.*;\nimport b.Outer.Inner;\nimport b.c.Missing;\nimport b.Gone;\n@Note\nclass A { Used u; Inner i; }\n",
            ),
            ("b/Used.java", "package b;\npublic record Used() {}\n"),
            ("b/Unused.java", "package b;\npublic enum Unused {}\n"),
            ("b/Outer.java", "package b;\npublic class Outer { public static class Inner {} }\n"),
            ("b/Note.java", "package b;\npublic @interface Note {}\n"),
        ],
        &[
            "a/A.java -> b/Used.java ?",
            "a/A.java -> b/Outer.java",
            "a/A.java -> b/Note.java ?",
            "a/A.java: 2 unresolved",
        ],
    );
}
