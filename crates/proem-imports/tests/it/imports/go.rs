use crate::imports::check;

#[test]
fn an_import_of_a_package_is_one_of_each_of_its_files() {
    check(
        &[
            ("go.mod", "// comment\nmodule example.com/app // x\n\ngo 1.22\n"),
            (
                "cmd/main.go",
                "package main\n\nimport (\n\t\"fmt\"\n\tst \"example.com/app/internal/store\"\n\t\"example.com/app/gone\"\n\t_ \"example.com/app/side\"\n)\n\nfunc main() { fmt.Println(st.Open(), st.Open(), st.Limit); var x st.Thing }\n",
            ),
            ("internal/store/open.go", "package store\n\nfunc Open() {}\n"),
            ("internal/store/limit.go", "package store\n\nconst Limit = 3\ntype Thing struct{}\n"),
            (
                "internal/store/open_test.go",
                "package store_test\n\nimport \"example.com/app/internal/store\"\n\nfunc f() { store.Open() }\n",
            ),
            ("side/side.go", "package side\n"),
        ],
        &[
            "cmd/main.go -> internal/store/open.go 2",
            "cmd/main.go -> internal/store/limit.go",
            "cmd/main.go -> side/side.go ?",
            "internal/store/open_test.go -> internal/store/open.go 1",
            "internal/store/open_test.go -> internal/store/limit.go",
            "cmd/main.go: 1 unresolved",
            "cmd/main.go: 1 external",
        ],
    );
}

#[test]
fn the_innermost_module_and_the_declared_name_count() {
    check(
        &[
            ("go.mod", "module example.com/app\n"),
            ("sub/go.mod", "module \"example.com/app/sub/v2\"\n"),
            ("a.go", "package a\nimport \"example.com/app/sub/v2/go-yaml\"\nfunc f() { yaml.Read() }\n"),
            ("sub/go-yaml/yaml.go", "package yaml\nfunc Read() {}\n"),
        ],
        &["a.go -> sub/go-yaml/yaml.go 1"],
    );
}

#[test]
fn without_a_module_file_the_path_ends_with_a_folder() {
    check(
        &[
            ("main.go", "package main\nimport \"github.com/me/app/pkg/util\"\nimport . \"github.com/other/thing\"\n"),
            ("pkg/util/util.go", "package util\n"),
        ],
        &["main.go -> pkg/util/util.go", "main.go: 1 external"],
    );
}
