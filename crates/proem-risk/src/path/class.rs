//! The class of a file, by its path.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::attributes::PathAttributes;
use super::rules::Matches;
use super::{FileRole, Framework, GitAttributes, PathRules, RepoPath, Sensitive};

/// A programming language, by its usual name: `Python`, `TypeScript`, `C++`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Language(pub String);

/// The class of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathClass {
    /// Its language. `None` if the name doesn't tell.
    pub language: Option<Language>,
    /// Source, test, documentation and so on.
    pub role: FileRole,
    /// Whether it is sensitive.
    pub sensitive: Option<Sensitive>,
    /// The framework that couples it by design.
    pub framework: Option<Framework>,
}

/// Says what the file at `path` is: attributes first, then the rules.
///
/// An attribute that is set decides the role, except that a lock file stays one. An attribute that is unset keeps the
/// rules from giving that role. A file that no rule knows is code, so that nothing is overlooked. `binary` turns what
/// would be code, configuration or documentation into an asset.
#[must_use]
pub fn classify_path(path: &RepoPath, attributes: &GitAttributes, rules: &PathRules) -> PathClass {
    let matches = rules.of(path);
    let role = matched_role(attributes.of(path), &matches);
    PathClass {
        language: matches.language().map(|name| Language(name.into())),
        role,
        sensitive: sensitive_match(role, path, &matches),
        framework: matches.framework().map(|name| Framework(name.into())),
    }
}

/// The role of the file at `path`: that of [`classify_path`], without the rest.
#[must_use]
pub fn path_role(path: &RepoPath, attributes: &GitAttributes, rules: &PathRules) -> FileRole {
    matched_role(attributes.of(path), &rules.of(path))
}

fn matched_role(found: PathAttributes, matches: &Matches<'_>) -> FileRole {
    let set = [
        (found.vendored, FileRole::Vendored),
        (found.generated, FileRole::Generated),
        (found.documentation, FileRole::Documentation),
    ];
    let is_denied =
        |role| set.contains(&(Some(false), role)) || (role == FileRole::Asset && found.binary == Some(false));
    let by_rules = matches.role(is_denied).unwrap_or(FileRole::Code);
    if by_rules == FileRole::Lock {
        return by_rules;
    }
    if let Some((_, role)) = set.into_iter().find(|(value, _)| *value == Some(true)) {
        return role;
    }
    match by_rules {
        FileRole::Code | FileRole::Configuration | FileRole::Documentation if found.binary == Some(true) => {
            FileRole::Asset
        }
        role => role,
    }
}

/// A file that runs in production can be sensitive. The words of an asset's name carry no evidence.
fn sensitive_match(role: FileRole, path: &RepoPath, matches: &Matches<'_>) -> Option<Sensitive> {
    match role {
        FileRole::Test | FileRole::Documentation | FileRole::Generated | FileRole::Lock => None,
        FileRole::Asset => matches.sensitive(),
        // A table or a record is named after its subject: `stripe.json` holds examples, and `login.json` translations.
        FileRole::Configuration if is_data(matches.language()) => matches.sensitive(),
        FileRole::Code | FileRole::Configuration | FileRole::Vendored => {
            let by_words = matches.sensitive_by_words(path);
            // Security goes before production.
            [matches.sensitive(), by_words].into_iter().flatten().min()
        }
    }
}

/// Whether files in a language hold data, and set up nothing by their name.
fn is_data(language: Option<&str>) -> bool {
    matches!(language, Some("JSON" | "CSV" | "SVG" | "Diff"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(path: &[u8], attributes: &str) -> PathClass {
        let mut read = GitAttributes::default();
        read.add(&RepoPath::new(""), attributes.as_bytes());
        classify_path(&RepoPath::new(path), &read, &PathRules::shipped().unwrap())
    }

    #[track_caller]
    fn check(path: &str, expected: &str) {
        let PathClass { language, role, sensitive, framework } = class(path.as_bytes(), "");
        let mut said = format!("{role:?} {}", language.map_or("-".into(), |language| language.0));
        if let Some(sensitive) = sensitive {
            said += &format!(" {sensitive:?}");
        }
        if let Some(framework) = framework {
            said += &format!(" ({})", framework.0);
        }
        assert_eq!(said, expected, "{path}");
    }

    #[test]
    fn code_and_its_language() {
        check("src/app.py", "Code Python");
        check("a/b/c.RS", "Code Rust");
        check("main.go", "Code Go");
        check("web/App.tsx", "Code TypeScript");
        check("src/types.d.ts", "Code TypeScript");
        check("lib/x.hpp", "Code C++");
        check("bin/run", "Code -");
        check("src/x.unheardof", "Code -");
        check("", "Code -");
        check("schema.graphql", "Code GraphQL (Schema of an interface)");
    }

    #[test]
    fn tests_by_name_and_folder() {
        for path in [
            "pkg/test_users.py",
            "pkg/users_test.py",
            "conftest.py",
            "app/tests.py",
            "x/users_test.go",
            "src/tests.rs",
            "crates/a/tests/it.rs",
            "src/test/java/org/a/FooTest.java",
            "a/FooTests.java",
            "a/FooIT.java",
            "src/a.spec.ts",
            "src/a.test.tsx",
            "src/__tests__/a.ts",
            "spec/models/user_spec.rb",
            "spec/factories.rb",
            "test/x.js",
            "cypress/e2e/a.ts",
            "FooTests.cs",
            "t/basic.t",
            "jest.config.js",
            "benches/speed.rs",
            "pkg/testdata/a.json",
            "tests/fixtures/data.yml",
            "app/src/androidTest/kotlin/A.kt",
        ] {
            assert_eq!(class(path.as_bytes(), "").role, FileRole::Test, "{path}");
        }
        for path in [
            "src/contest.py",
            "src/latest.go",
            "src/attest.rs",
            "a/Contest.java",
            "src/testament.rs",
            "a/Greatest.java",
            "src/protest/x.py",
            "spec/openapi.rs",
            "src/inspector.ts",
            "tester.py",
            "a/Audit.java",
            "benches/a.py",
            "src/testing.rs",
            "src/coverage/lcov.rs",
        ] {
            assert_eq!(class(path.as_bytes(), "").role, FileRole::Code, "{path}");
        }
    }

    #[test]
    fn what_nobody_wrote_by_hand() {
        for (path, role) in [
            ("api/users.pb.go", FileRole::Generated),
            ("api/users_pb2.py", FileRole::Generated),
            ("static/app.min.js", FileRole::Generated),
            ("dist/app.js", FileRole::Generated),
            ("src/__snapshots__/a.test.ts.snap", FileRole::Generated),
            ("tests/snapshots/a.snap", FileRole::Generated),
            ("db/schema.rb", FileRole::Generated),
            ("vendor/github.com/x/y.go", FileRole::Vendored),
            ("third_party/zlib/inflate.c", FileRole::Vendored),
            ("web/node_modules/x/index.js", FileRole::Vendored),
            ("gradlew", FileRole::Vendored),
            ("Cargo.lock", FileRole::Lock),
            ("web/package-lock.json", FileRole::Lock),
            ("go.sum", FileRole::Lock),
            ("docs/logo.png", FileRole::Asset),
            ("x.woff2", FileRole::Asset),
            ("src/distance/a.py", FileRole::Code),
            ("src/vendoring.rs", FileRole::Code),
            ("lockfile.rs", FileRole::Code),
            ("src/minjs.js", FileRole::Code),
            ("app/generate.go", FileRole::Code),
        ] {
            assert_eq!(class(path.as_bytes(), "").role, role, "{path}");
        }
    }

    #[test]
    fn documentation_and_configuration() {
        check("README.md", "Documentation Markdown");
        check("tests/README.md", "Documentation Markdown");
        check("docs/guide/auth.md", "Documentation Markdown");
        check("docs/conf.py", "Code Python");
        check("docs/openapi.yml", "Documentation YAML");
        check("LICENSE", "Documentation -");
        for manual in ["tmux.1", "man/rg.1", "doc/redis.conf.5", "share/man/man8/proem.8"] {
            assert_eq!(class(manual.as_bytes(), "").role, FileRole::Documentation, "{manual}");
        }
        // A library's version is no section of a manual.
        assert_ne!(class(b"lib/libz.so.1", "").role, FileRole::Documentation);
        check("Cargo.toml", "Configuration TOML");
        check("setup.py", "Configuration Python");
        check("build.rs", "Configuration Rust");
        check("requirements-dev.txt", "Configuration -");
        check("CMakeLists.txt", "Configuration CMake");
        check(".gitignore", "Configuration -");
        check("Makefile", "Configuration Makefile");
        check("data/words.txt", "Configuration -");
    }

    #[test]
    fn sensitive_by_whole_words() {
        for path in [
            "src/auth/mod.py",
            "src/userAuth.ts",
            "src/OAuthClient.java",
            "lib/oauth2_provider.rb",
            "app/login_form.py",
            "src/PasswordHasher.cs",
            "src/crypto/aes.rs",
            "pkg/tls/conn.go",
            "app/permissions.py",
            "x/JWTVerifier.kt",
            "src/secrets.rs",
            "src/paymentGateway.ts",
            "billing/invoice.py",
            "src/access_token.rs",
            "src/token_store.go",
            "src/x509.c",
            "app/two_factor/2fa.rb",
            "config/server.pem",
            ".env",
            "vendor/golang.org/x/crypto/ssh/keys.go",
            "CODEOWNERS",
            "config/credentials.json",
            "client_secret_42.json",
            "auth.json",
            "config/stripe.yml",
        ] {
            assert_eq!(class(path.as_bytes(), "").sensitive, Some(Sensitive::Security), "{path}");
        }
        for path in [
            "src/author.py",
            "src/authors/list.ts",
            "src/tokeniser.rs",
            "src/tokenizer.py",
            "src/lexer/token.rs",
            "src/parser/tokens.go",
            "css/design-tokens.json",
            "src/secretary.rs",
            "src/certain.rs",
            "src/passwordless.rs",
            "src/cryptic.py",
            "tests/test_auth.py",
            "docs/auth.md",
            "auth/package-lock.json",
            "icons/login.png",
            "api/examples/stripe.json",
            "locales/de/login.json",
            "data/passwords.csv",
            "src/loginov.c",
            "api/auth.pb.go",
            "src/payee.rs",
        ] {
            assert_eq!(class(path.as_bytes(), "").sensitive, None, "{path}");
        }
    }

    #[test]
    fn sensitive_for_production() {
        for path in [
            "Dockerfile",
            "build/Dockerfile.web",
            "docker-compose.override.yml",
            "deploy/k8s/app.yml",
            "infra/main.tf",
            "charts/app/templates/deployment.yaml",
            ".github/workflows/ci.yml",
            ".github/workflows/test-and-deploy.yml",
            ".gitlab-ci.yml",
            "Jenkinsfile",
            "app/migrations/0001_initial.py",
            "db/migrate/20200101_add_users.rb",
            "migrations/0001_init/up.sql",
            "conf/nginx.conf",
            "nginx/site.conf",
            "config/settings/production.py",
            "src/application-prod.yml",
            "Procfile",
            "deploy/app.service",
            "src/main/resources/db/migration/V1__init.sql",
        ] {
            assert_eq!(class(path.as_bytes(), "").sensitive, Some(Sensitive::Production), "{path}");
        }
        for path in [
            "src/dockerfile.rs",
            "src/workflows/ci.rs",
            "src/migrations.rs",
            "src/user.service.ts",
            "src/production.rs",
            "src/terraforming.py",
            "src/nginx.rs",
            "x/k8s.go",
            ".github/ISSUE_TEMPLATE.md",
            ".github/workflows/tests.yaml",
            ".github/workflows/pre-commit.yml",
        ] {
            assert_eq!(class(path.as_bytes(), "").sensitive, None, "{path}");
        }
    }

    #[test]
    fn frameworks_that_couple_by_design() {
        check("shop/models.py", "Code Python (Django)");
        check("config/routes.rb", "Code Ruby (Rails)");
        check("web/src/components/index.tsx", "Code TypeScript (Barrel)");
        check("src/main/java/a/WebConfiguration.java", "Code Java (Spring)");
        check("pkg/x/doc.go", "Code Go (Go package documentation)");
        check("app/migrations/0002_more.py", "Code Python Production (Django migrations)");
        check("crates/a/src/lib.rs", "Code Rust (Rust module root)");
        check("pkg/supermodels.py", "Code Python");
        check("src/reindex.ts", "Code TypeScript");
    }

    #[test]
    fn attributes_go_before_rules() {
        let role = |path: &str, attributes: &str| class(path.as_bytes(), attributes).role;
        assert_eq!(role("a.c", "a.c linguist-generated"), FileRole::Generated);
        assert_eq!(role("tests/a.c", "tests/** linguist-vendored"), FileRole::Vendored);
        assert_eq!(role("src/a.c", "src/** linguist-documentation"), FileRole::Documentation);
        assert_eq!(role("dist/a.js", "dist/** -linguist-generated"), FileRole::Code);
        assert_eq!(role("vendor/a/test/x.js", "vendor/** linguist-vendored=false"), FileRole::Test);
        assert_eq!(role("Cargo.lock", "*.lock linguist-generated"), FileRole::Lock);
        assert_eq!(role("a.c", "a.c binary"), FileRole::Asset);
        assert_eq!(role("tests/a.c", "*.c binary"), FileRole::Test);
        assert_eq!(role("a.svg", "*.svg -binary"), FileRole::Configuration);
        assert_eq!(class(b"auth.py", "auth.py linguist-generated").sensitive, None);
    }

    #[test]
    fn bytes_that_are_no_text_are_classified_by_the_rest() {
        let PathClass { language, role, sensitive, .. } = class(b"\xff\xfe/auth/\xc3(.py", "");
        assert_eq!((language, role), (Some(Language("Python".into())), FileRole::Code));
        assert_eq!(sensitive, Some(Sensitive::Security));
        assert_eq!(class(b"tests/\xff.rs", "").role, FileRole::Test);
        assert_eq!(class(b"a\nb/\"c.test.ts", "").role, FileRole::Test);
    }
}
