use super::*;

/// Each command as `purpose line: command`.
fn check(kind: ManifestKind, text: &str, beside: &[&str], expected: &[&str]) {
    let found = commands(kind, text, &beside.iter().copied().collect());
    let found: Vec<String> =
        found.iter().map(|found| format!("{} {}: {}", found.purpose.as_str(), found.line, found.command)).collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn make_and_just() {
    let makefile = "CC := gcc\nall: build\nbuild:\n\tcc x.c\n.PHONY: test\ntest: build\n\t./test\nlint-all:\n%.o: %.c\nrelease:\n\tgit push\n";
    check(ManifestKind::Make, makefile, &[], &["build 3: make build", "test 6: make test", "lint 8: make lint-all"]);
    check(
        ManifestKind::Just,
        "set shell := ['sh']\ntest:\n  cargo test\nfmt *args:\n  x\ndeploy:\n",
        &[],
        &["test 2: just test"],
    );
}

#[test]
fn cargo_and_its_aliases() {
    check(ManifestKind::Cargo, "[package]\nname = \"a\"\n", &[], &["build 1: cargo build", "test 1: cargo test"]);
    let workspace = "[package]\n[workspace]\nmembers = []\n";
    check(ManifestKind::Cargo, workspace, &[], &["build 2: cargo build --workspace", "test 2: cargo test --workspace"]);
    let aliases = "[alias]\nxtask = \"run -p xtask --\"\nlint = [\"clippy\", \"--all\"]\n";
    check(ManifestKind::CargoAliases, aliases, &[], &["lint 3: cargo lint  # cargo clippy --all"]);
}

#[test]
fn scripts_of_packages() {
    let package = "{\n \"name\": \"a\",\n \"scripts\": {\n  \"build\": \"tsc -p .\",\n  \"test\": \"vitest run\",\n  \"release\": \"np\"\n }\n}";
    check(
        ManifestKind::Package,
        package,
        &[],
        &["build 4: npm run build  # tsc -p .", "test 5: npm run test  # vitest run"],
    );
    check(
        ManifestKind::Package,
        package,
        &["yarn.lock"],
        &["build 4: yarn run build  # tsc -p .", "test 5: yarn run test  # vitest run"],
    );
    check(ManifestKind::Package, "{", &[], &[]);
    check(ManifestKind::Package, "[1]", &[], &[]);
}

#[test]
fn python() {
    let project = "[tool.pytest.ini_options]\n[tool.ruff]\nsrc = ['a']\n[tool.poe.tasks]\ntypecheck = 'mypy src'\n[tool.tox.env.style]\ncommands = [['pre-commit', 'run', '--all-files', 'lint']]\n";
    check(
        ManifestKind::PyProject,
        project,
        &[],
        &[
            "lint 5: poe typecheck  # mypy src",
            "lint 6: tox -e style  # pre-commit run --all-files lint",
            "test 1: pytest",
            "test 6: tox",
            "lint 2: ruff check",
        ],
    );
    let tox = "[tox]\nenvlist = py3\n[testenv]\ndeps = x\ncommands =\n    pytest -v {posargs}\n[testenv:docs]\ncommands = sphinx-build docs\n[flake8]\n";
    check(
        ManifestKind::Ini,
        tox,
        &[],
        &[
            "test 1: tox",
            "test 6: tox  # pytest -v {posargs}",
            "build 8: tox -e docs  # sphinx-build docs",
            "lint 9: flake8",
        ],
    );
}

#[test]
fn other_languages() {
    check(ManifestKind::Go, "module a\n", &[], &["build 1: go build ./...", "test 1: go test ./..."]);
    check(ManifestKind::Maven, "<project/>", &["mvnw"], &["build 1: ./mvnw package", "test 1: ./mvnw test"]);
    check(ManifestKind::Gradle, "", &[], &["build 1: gradle build", "test 1: gradle test"]);
}

#[test]
fn workflows() {
    let workflow = "on: push\njobs:\n  test:\n    steps:\n      - uses: actions/checkout@v4\n      - name: Test\n        run: cargo test --all\n      - run: |\n          sudo apt-get install x\n          cargo clippy \\\n            --all-targets\n          echo test\n      - name: After\n        with:\n          test: no\n";
    check(ManifestKind::Workflow, workflow, &[], &["test 7: cargo test --all", "lint 10: cargo clippy --all-targets"]);
    let gitlab = "test:\n  script:\n    - \"pytest -x\"\n    - git push\nbuild:\n  script: make build\n";
    check(ManifestKind::Workflow, gitlab, &[], &["test 3: pytest -x", "build 6: make build"]);
}

#[test]
fn what_only_the_service_can_run_is_left_out() {
    let script = "run: |\n  assert-clean() {\n    go fmt ./...\n    printf 'test failed'\n  }\n  assert-clean go vet\n  go test ./...\n";
    check(ManifestKind::Workflow, script, &[], &["test 7: go test ./..."]);
    for odd in [
        "tox -e ${{ matrix.python }}",
        "pip3 test",
        "python -m pip install --upgrade tox",
        "Invoke-WebRequest https://example.com/test.zip",
        "mkdir -p build",
        "\"${MSBUILD_PATH}\\MSBuild.exe\" build -p:Version=\"$version\"",
        "MSBuild.exe\" build",
        "printf '\\e[31mtest failed'",
    ] {
        check(ManifestKind::Workflow, &format!("run: {odd}\n"), &[], &[]);
    }
    check(ManifestKind::Workflow, "run: go test $(go list ./...)\n", &[], &["test 1: go test $(go list ./...)"]);
}

#[test]
fn what_is_long_or_twice_is_left_out() {
    let text = format!("run: test {}\nrun: pytest\nrun: pytest\n", "x".repeat(LONGEST));
    check(ManifestKind::Workflow, &text, &[], &["test 2: pytest"]);
    let many: String = (0..40).map(|n| format!("run: pytest {n}\n")).collect();
    assert_eq!(commands(ManifestKind::Workflow, &many, &BTreeSet::new()).len(), MAX_COMMANDS);
}
