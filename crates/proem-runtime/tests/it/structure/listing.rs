//! The files of a commit and of the work tree.

use std::{cell::RefCell, ffi::OsStr, fs, os::unix::ffi::OsStrExt, os::unix::fs::symlink};

use proem_imports::SourceLanguage;
use proem_runtime::{
    Error,
    structure::{StructureLimits, StructureReader, TreeState},
};

use crate::fixture::Fixture;
use crate::structure::fixture::{edges, paths};

#[test]
fn a_commit_is_read_as_it_was() {
    let fixture = Fixture::of_files(&[
        ("Cargo.toml", "[package]\nname = \"x\"\n"),
        ("src/lib.rs", "mod a;\n\nuse crate::a::A;\nuse std::fmt;\n#[cfg(test)]\nmod tests {\n}\n"),
        ("src/a.rs", "pub struct A;\n"),
        ("native.zig", "int x;\n\nint y;\n"),
        ("README.md", "text\n"),
    ]);
    fixture.write("src/a.rs", "use crate::b;\n");
    fixture.write("src/b.rs", "");
    let found = fixture.read(TreeState::Commit("HEAD"));
    assert_eq!(paths(&found), ["Cargo.toml", "README.md", "native.zig", "src/a.rs", "src/lib.rs"]);
    assert_eq!(edges(&found), ["src/lib.rs -> src/a.rs"]);
    let [_, readme, native, a, lib] = &found.files[..] else { panic!("{:?}", found.files) };
    assert_eq!((readme.language, readme.lines), (None, None));
    assert_eq!((native.language, native.lines), (None, Some(2)));
    assert_eq!((a.language, a.lines, a.resolved), (Some(SourceLanguage::Rust), Some(1), 0));
    assert_eq!((lib.lines, lib.inline_test_lines, lib.resolved, lib.external), (Some(6), 2, 1, 1));
    assert_eq!(found.without_parser.into_iter().collect::<Vec<_>>(), [("Zig", 1)]);
    assert_eq!(found.gaps, Vec::<String>::new());
}

#[test]
fn the_work_tree_is_read_as_it_is() {
    let fixture = Fixture::of_files(&[
        (".gitignore", "ignored.py\n"),
        ("pkg/__init__.py", ""),
        ("pkg/a.py", ""),
        ("pkg/b.py", "from . import a\n"),
        ("pkg/gone.py", "from . import a\n"),
    ]);
    fixture.write("pkg/b.py", "from . import c, gone\n");
    fixture.write("pkg/c.py", "from . import a\n");
    fixture.write("ignored.py", "import pkg.a\n");
    fs::remove_file(fixture.repo.join("pkg/gone.py")).unwrap();
    let found = fixture.read(TreeState::WorkTree);
    assert_eq!(paths(&found), [".gitignore", "pkg/__init__.py", "pkg/a.py", "pkg/b.py", "pkg/c.py"]);
    assert_eq!(edges(&found), ["pkg/b.py -> pkg/__init__.py", "pkg/b.py -> pkg/c.py", "pkg/c.py -> pkg/a.py"]);
    assert_eq!(edges(&fixture.read(TreeState::Commit("HEAD"))), ["pkg/b.py -> pkg/a.py", "pkg/gone.py -> pkg/a.py"]);
}

#[test]
fn the_index_is_read_as_it_would_be_committed() {
    let fixture = Fixture::of_files(&[
        ("a.py", "import b\n"),
        ("b.py", ""),
        ("kept.py", "import b\n"),
        ("gone.py", "import b\n"),
        ("package.json", "{}"),
    ]);
    fixture.write("a.py", "import c\n");
    fixture.write("c.py", "import b\n");
    fixture.write("w\n\"x.py", "import kept\n");
    fixture.git(&["add", "a.py", "c.py", "w\n\"x.py"]);
    fixture.git(&["rm", "-q", "--cached", "gone.py"]);
    // The work tree's contents count for nothing here.
    fixture.write("a.py", "import kept\n");
    fixture.write("kept.py", "import a\n");
    fixture.write("untracked.py", "import a\n");
    fixture.write("intended.py", "import a\n");
    fixture.git(&["add", "-N", "intended.py"]);
    for path in ["c.py", "w\n\"x.py", "b.py"] {
        fs::remove_file(fixture.repo.join(path)).unwrap();
    }
    let found = fixture.read(TreeState::Index);
    assert_eq!(paths(&found), ["a.py", "b.py", "c.py", "kept.py", "package.json", "w\\n\\\"x.py"]);
    let expected = ["a.py -> c.py", "c.py -> b.py", "kept.py -> b.py", "w\\n\\\"x.py -> kept.py"];
    assert_eq!((edges(&found), found.gaps), (expected.map(str::to_owned).to_vec(), Vec::new()));
    assert_eq!(edges(&fixture.read(TreeState::WorkTree)).len(), 4);
    fixture.git(&["commit", "-q", "-m", "next"]);
    assert_eq!(edges(&fixture.read(TreeState::Commit("HEAD"))), expected);
}

#[test]
fn what_headers_include_is_read_wherever_they_are() {
    let fixture = Fixture::of_files(&[
        ("src/main.cpp", "#include \"shape.h\"\n#include <shop/money.hpp>\n#include <vector>\n"),
        ("src/shape.h", "#ifdef SHOP\n#include <shop/money.hpp>\n#endif\n"),
        ("include/shop/money.hpp", "// #include \"shape.h\"\n"),
        ("old/c.c", "#include \"money.hpp\"\n#include \"none.h\"\n"),
    ]);
    let expected = [
        "old/c.c -> include/shop/money.hpp",
        "src/main.cpp -> include/shop/money.hpp",
        "src/main.cpp -> src/shape.h",
        "src/shape.h -> include/shop/money.hpp",
    ];
    for at in [TreeState::Commit("HEAD"), TreeState::Index, TreeState::WorkTree] {
        let found = fixture.read(at);
        assert_eq!(edges(&found), expected, "{at:?}");
        assert!(found.without_parser.is_empty() && found.gaps.is_empty(), "{found:?}");
    }
    let found = fixture.read(TreeState::Commit("HEAD"));
    let languages = [SourceLanguage::Cpp, SourceLanguage::C, SourceLanguage::Cpp, SourceLanguage::C].map(Some);
    assert!(found.files.iter().map(|file| file.language).eq(languages), "{:?}", found.files);
    assert_eq!((found.files[1].resolved, found.files[1].unresolved, found.files[2].external), (1, 1, 1));
}

#[test]
fn an_index_in_conflict_is_refused() {
    let fixture = Fixture::of_files(&[("a.py", ""), ("b.py", "import a\n")]);
    let commit = || fixture.commit("next");
    fixture.git(&["checkout", "-q", "-b", "side"]);
    fixture.write("a.py", "x = 1\n");
    fixture.write("b.py", "x = 1\n");
    commit();
    fixture.git(&["checkout", "-q", "main"]);
    fixture.write("a.py", "x = 2\n");
    fixture.write("b.py", "x = 2\n");
    commit();
    fixture.git(&["read-tree", "-m", "main~1", "main", "side"]);
    let error = fixture.try_read(TreeState::Index, StructureLimits::default()).unwrap_err();
    assert!(matches!(error, Error::InConflict { paths: 2 }), "{error}");
    assert_eq!(paths(&fixture.read(TreeState::WorkTree)), ["a.py", "b.py"]);
}

#[test]
fn ids_of_sha_256_are_read() {
    let fixture = Fixture::unborn_sha256();
    assert_eq!(paths(&fixture.read(TreeState::Index)), Vec::<String>::new());
    for (path, content) in [("a.py", "import b\n"), ("b.py", ""), ("package.json", "{}")] {
        fixture.write(path, content);
    }
    fixture.commit("next");
    for at in [TreeState::Commit("HEAD"), TreeState::Index, TreeState::WorkTree] {
        assert_eq!(edges(&fixture.read(at)), ["a.py -> b.py"], "{at:?}");
    }
    let (first, second) = (fixture.read_cached(), fixture.read_cached());
    assert_eq!((first.read, second.read, edges(&second)), (3, 1, edges(&first)));
    fixture.write("c.py", "import a\n");
    fixture.git(&["add", "c.py"]);
    assert_eq!(edges(&fixture.read(TreeState::Index)), ["a.py -> b.py", "c.py -> a.py"]);
}

#[test]
fn links_and_submodules_are_left_out() {
    let outside = Fixture::of_files(&[("inner.py", "")]);
    let fixture = Fixture::of_files(&[("a.py", "import b\n")]);
    symlink(outside.repo.join("inner.py"), fixture.repo.join("b.py")).unwrap();
    symlink(&outside.repo, fixture.repo.join("folder")).unwrap();
    let id = outside.git(&["rev-parse", "HEAD"]);
    fixture.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{},sub", id.trim())]);
    fixture.git(&["add", "b.py", "folder"]);
    fixture.git(&["commit", "-q", "-m", "next"]);
    let gap = "1 submodule was not read; its imports are unknown";
    for at in [TreeState::Commit("HEAD"), TreeState::Index, TreeState::WorkTree] {
        let found = fixture.read(at);
        assert_eq!((paths(&found), found.gaps), (vec!["a.py".to_owned()], vec![gap.to_owned()]), "{at:?}");
    }
    // A link that isn't known to git, and a folder that took a file's place.
    fs::remove_file(fixture.repo.join("a.py")).unwrap();
    fs::create_dir(fixture.repo.join("a.py")).unwrap();
    symlink("/etc/passwd", fixture.repo.join("new.py")).unwrap();
    assert_eq!(paths(&fixture.read(TreeState::WorkTree)), Vec::<String>::new());
}

#[test]
fn names_are_bytes() {
    let fixture = Fixture::of_files(&[("pkg/__init__.py", ""), ("pkg/a.py", "")]);
    fixture.write("pkg/new\nline\t\".py", "from . import a\n");
    fs::write(fixture.repo.join("pkg").join(OsStr::from_bytes(b"\xff\xfe.py")), "from .a import x\n").unwrap();
    let expected = ["pkg/\\xff\\xfe.py -> pkg/a.py", "pkg/new\\nline\\t\\\".py -> pkg/a.py"];
    let sorted = |mut lines: Vec<String>| {
        lines.sort();
        lines
    };
    assert_eq!(sorted(edges(&fixture.read(TreeState::WorkTree))), expected);
    fixture.commit("next");
    assert_eq!(sorted(edges(&fixture.read(TreeState::WorkTree))), expected);
    assert_eq!(sorted(edges(&fixture.read(TreeState::Commit("HEAD")))), expected);
}

#[test]
fn a_repository_without_files_or_commits_has_no_structure() {
    let fixture = Fixture::unborn();
    assert_eq!(paths(&fixture.read(TreeState::WorkTree)), Vec::<String>::new());
    for commit in ["HEAD", "gone", "--name-only", "-r", ""] {
        let error = fixture.try_read(TreeState::Commit(commit), StructureLimits::default()).unwrap_err();
        assert!(matches!(error, Error::GitFailed { command: "ls-tree", .. }), "{commit}: {error}");
    }
}

#[test]
fn a_bare_repository_has_commits_to_read() {
    let fixture = Fixture::of_files(&[("a.py", "import b\n"), ("b.py", "")]);
    let bare = fixture.base.join("bare.git");
    fixture.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    let git = fixture.program();
    let repository = proem_runtime::git::discover_repository_around(&git, &bare, std::time::Duration::from_mins(1))
        .unwrap()
        .unwrap();
    let reader = StructureReader::open(&git, &repository, None, StructureLimits::default());
    let heard = RefCell::new(Vec::new());
    let progress = |done, total| heard.borrow_mut().push((done, total));
    let found = reader.read(TreeState::Commit("main"), &progress).unwrap();
    assert_eq!(edges(&found), ["a.py -> b.py"]);
    assert_eq!(heard.into_inner(), [(0, 2), (1, 2), (2, 2)]);
    let found = reader.read(TreeState::WorkTree, &|_, _| {}).unwrap();
    assert_eq!(found.files.len(), 0);
    assert_eq!(found.gaps, ["a bare repository has no work tree; name a commit"]);
    let found = reader.read(TreeState::Index, &|_, _| {}).unwrap();
    assert_eq!((found.files.len(), found.gaps.len()), (0, 1));
}
