//! A repository that would make git run something: reading its structure must not.

use proem_runtime::structure::TreeState;

use crate::fixture::Fixture;
use crate::structure::fixture::edges;

#[test]
fn nothing_of_the_repository_runs() {
    for key in
        ["core.fsmonitor", "filter.x.clean", "filter.x.smudge", "filter.x.process", "diff.x.textconv", "core.pager"]
    {
        let fixture = Fixture::of_files(&[
            (".gitattributes", "* filter=x diff=x\n"),
            ("a.py", "import b\n"),
            ("b.py", "x = 1\n"),
        ]);
        let canary = fixture.canary("canary");
        fixture.git(&["config", key, canary.script()]);
        fixture.write("b.py", "x = 2\n");
        // The same size and another time: git has to look at the content.
        let found = [
            fixture.read(TreeState::WorkTree),
            fixture.read(TreeState::Index),
            fixture.read(TreeState::Commit("HEAD")),
        ];
        assert!(!canary.was_run(), "{key} ran");
        for found in found {
            assert_eq!(edges(&found), ["a.py -> b.py"], "{key}");
        }
        if key == "filter.x.clean" {
            fixture.git(&["diff", "--stat"]);
            assert!(canary.was_run(), "the trap doesn't work");
        }
    }
}

#[test]
fn hooks_and_committed_caches_are_nothing_special() {
    let fixture = Fixture::of_files(&[("a.py", "import b\n"), ("b.py", ""), ("structure-2.bin", "proemst2")]);
    let canary = fixture.canary("canary");
    for hook in ["post-index-change", "pre-auto-gc", "reference-transaction", "post-checkout"] {
        canary.copy_to(&fixture.repo.join(".git/hooks").join(hook));
    }
    assert_eq!(edges(&fixture.read(TreeState::WorkTree)), ["a.py -> b.py"]);
    assert!(!canary.was_run());
}
