use crate::imports::{check, read};

#[test]
fn absolute_and_relative_imports_lead_to_modules() {
    check(
        &[
            ("app/__init__.py", ""),
            ("app/core.py", "def run():\n    pass\n"),
            ("app/sub/__init__.py", ""),
            ("app/sub/deep.py", "from ..core import run\nfrom . import near\nrun()\nrun()\nnear.go()\n"),
            ("app/sub/near.py", "import os, requests\ndef go(): pass\n"),
            ("main.py", "import app.core\nimport app.sub.near as n\napp.core.run()\nn.go()\nn.other.x()\n"),
        ],
        &[
            "app/sub/deep.py -> app/core.py 2",
            "app/sub/deep.py -> app/sub/near.py 1",
            "main.py -> app/core.py 1",
            "main.py -> app/sub/near.py 2",
            "app/sub/near.py: 2 external",
        ],
    );
}

#[test]
fn a_name_that_a_package_hands_on_leads_to_where_it_is_defined() {
    let files = |user: &'static str| {
        [
            ("pkg/__init__.py", "from .thing import Thing as T\nfrom .more import *\n"),
            ("pkg/more.py", "class More: pass\nLIMIT = 3\n"),
            ("pkg/thing.py", "class Thing:\n    def inner(self): pass\n"),
            ("user.py", user),
        ]
    };
    let own = ["pkg/__init__.py -> pkg/more.py ?", "pkg/__init__.py -> pkg/thing.py"];
    let with = |more: &[&'static str]| [&own[..], more].concat();
    check(&files("from pkg import T\nT()\n"), &with(&["user.py -> pkg/__init__.py", "user.py -> pkg/thing.py 1"]));
    check(
        &files("import pkg\npkg.T()\npkg.More()\n"),
        &with(&["user.py -> pkg/__init__.py 2", "user.py -> pkg/more.py 1", "user.py -> pkg/thing.py 1"]),
    );
    check(&files("from pkg import More, LIMIT\n"), &with(&["user.py -> pkg/__init__.py", "user.py -> pkg/more.py"]));
    check(&files("from pkg import thing\n"), &with(&["user.py -> pkg/thing.py"]));
    check(&files("from pkg import inner\n"), &with(&["user.py -> pkg/__init__.py"]));
    check(&files("from pkg import *\n"), &with(&["user.py -> pkg/__init__.py ?"]));
}

#[test]
fn sources_may_have_a_folder_of_their_own() {
    check(
        &[
            ("src/app/__init__.py", ""),
            ("src/app/util.py", ""),
            ("src/plain/tool.py", ""),
            ("tests/helpers.py", ""),
            ("tests/unit/test_util.py", "import app.util\nimport plain.tool\nfrom helpers import x\n"),
        ],
        &[
            "tests/unit/test_util.py -> src/app/util.py",
            "tests/unit/test_util.py -> src/plain/tool.py",
            "tests/unit/test_util.py -> tests/helpers.py",
        ],
    );
}

#[test]
fn the_standard_library_is_nobodys_file() {
    check(
        &[
            ("tools/json.py", ""),
            ("tools/run.py", "import json\nimport logging.handlers\n"),
            ("Lib/abc.py", ""),
            ("Lib/os.py", "import abc\n"),
            ("Lib/shutil.py", "import os.path\nfrom os.path import join\nos.path.join()\njoin()\n"),
            ("Lib/types.py", ""),
        ],
        &["Lib/os.py -> Lib/abc.py", "Lib/shutil.py -> Lib/os.py 2", "tools/run.py: 2 external"],
    );
}

#[test]
fn what_looks_internal_and_is_not_there_is_unresolved() {
    check(
        &[
            ("app/__init__.py", ""),
            ("app/a.py", "from .gone import x\nfrom app.gone import y\nimport app.gone\nfrom ... import z\n"),
        ],
        &["app/a.py: 4 unresolved"],
    );
}

#[test]
fn imports_for_type_checkers_and_dynamic_ones_are_told_apart() {
    check(
        &[
            ("app/__init__.py", ""),
            ("app/a.py", ""),
            ("app/b.py", ""),
            (
                "app/c.py",
                "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .a import A\nelse:\n    from . import b\n\
                 import importlib\nimportlib.import_module('app.a')\nimportlib.import_module(name)\n",
            ),
            ("app/d.py", "if TYPE_CHECKING:\n    from .a import A\n\ndef f():\n    from .b import B\n    B()\n"),
        ],
        &[
            "app/c.py -> app/a.py ?",
            "app/c.py -> app/b.py",
            "app/d.py -> app/a.py types",
            "app/d.py -> app/b.py 1",
            "app/c.py: 2 external",
        ],
    );
}

#[test]
fn errors_leave_what_could_be_read() {
    let facts = read("a.py", "import one\ndef f(:\n  )(\nimport two\nclass\n");
    assert!(facts.errors);
    assert!(facts.imports.iter().any(|import| import.path == "one"), "{facts:#?}");
    let facts = read("a.py", "X, Y = 1, 2\nclass C:\n    Z = 1\n    def m(self): pass\nA: int = 3\n");
    assert_eq!(facts.definitions, ["A", "C", "X", "Y"]);
    assert_eq!((facts.lines, facts.inline_test_lines, facts.errors), (5, 0, false));
}
