//! Every cap of the settings holds, and what it leaves out is named.

use std::collections::BTreeMap;

use proem_agents::assemble::Task;
use proem_agents::assemble::place_facts::{ChangedPath, PathStatus};
use proem_agents::assemble::settings::{AssembleSettings, LayerName, ModeSettings};
use proem_engine::ErrorKind;
use proem_engine::report::SectionState;
use proem_engine::section::Layer;
use proem_select::mode::Mode;

use crate::assemble::scene::{Scene, differing, outside, text_of};

fn names(names: &str) -> Vec<String> {
    names.split_whitespace().map(str::to_owned).collect()
}

/// Settings, a mode, and the tools, skills and names left out that come of them.
fn check(settings: AssembleSettings, mode: Mode, tools: &str, skills: &str, left_out: &[&str]) {
    let assembled = Scene { settings, mode: Some(mode), ..Scene::with("a clock") }.assemble();
    assert_eq!(assembled.tools, names(tools));
    assert_eq!(assembled.skills, names(skills));
    assert_eq!(assembled.left_out, left_out);
    let capabilities = text_of(&assembled, "capabilities");
    for name in assembled.tools.iter().chain(&assembled.skills) {
        assert!(capabilities.contains(name.as_str()), "{name} in {capabilities:?}");
    }
    let mut named = capabilities.split([':', ',', ' ', '\n']).filter(|word| word.len() == 1);
    assert!(
        named.all(|word| assembled.tools.iter().chain(&assembled.skills).any(|name| name == word)),
        "{capabilities}"
    );
}

#[test]
fn tools_and_skills() {
    let act = ModeSettings { tools: names("x y"), skills: names("z"), max_tools: Some(3), ..ModeSettings::default() };
    let all = AssembleSettings {
        tools: names("d b c a"),
        skills: names("r q p s"),
        max_tools: 2,
        modes: BTreeMap::from([(Mode::Act, act)]),
        ..AssembleSettings::default()
    };
    // In the order of the settings until the cap, then sorted.
    check(
        all.clone(),
        Mode::Plan,
        "b d",
        "p q r",
        &["tool `c`: exceeds `max_tools`", "tool `a`: exceeds `max_tools`", "skill `s`: exceeds `max_skills`"],
    );
    // A mode's own come first, under its own cap.
    check(
        all.clone(),
        Mode::Act,
        "d x y",
        "q r z",
        &[
            "tool `b`: exceeds `max_tools`",
            "tool `c`: exceeds `max_tools`",
            "tool `a`: exceeds `max_tools`",
            "skill `p`: exceeds `max_skills`",
            "skill `s`: exceeds `max_skills`",
        ],
    );
    let none = AssembleSettings {
        max_tools: 0,
        max_skills: 0,
        tools: names("a"),
        skills: names("p"),
        ..AssembleSettings::default()
    };
    check(none, Mode::Review, "", "", &["tool `a`: exceeds `max_tools`", "skill `p`: exceeds `max_skills`"]);
    let narrower = all.restricted_by(&AssembleSettings { max_tools: 1, max_skills: 0, ..AssembleSettings::default() });
    check(
        narrower,
        Mode::Act,
        "x",
        "",
        &[
            "tool `y`: exceeds `max_tools`",
            "tool `d`: exceeds `max_tools`",
            "tool `b`: exceeds `max_tools`",
            "tool `c`: exceeds `max_tools`",
            "tool `a`: exceeds `max_tools`",
            "skill `z`: exceeds `max_skills`",
            "skill `r`: exceeds `max_skills`",
            "skill `q`: exceeds `max_skills`",
            "skill `p`: exceeds `max_skills`",
            "skill `s`: exceeds `max_skills`",
        ],
    );
}

#[test]
fn memories() {
    let mut scene = Scene::with("a clock");
    scene.settings.max_memories = 1;
    let assembled = scene.assemble();
    assert_eq!((assembled.memories.kept.len(), assembled.memories.over), (1, 1));
    assert_eq!((assembled.activity.kept.len(), assembled.activity.over), (1, 0));
}

/// A scene with far more changed files than fit.
fn crowded() -> Scene {
    let mut scene = Scene::with("a clock");
    let change =
        |n| ChangedPath { path: outside(&format!("folder/file-{n}.rs")), status: PathStatus::Modified, lines: None };
    let tree = scene.gathered.git.as_mut().unwrap().work_tree.as_mut().unwrap();
    tree.changes = Some((0..400).map(change).collect());
    scene
}

fn context_tokens(scene: &Scene) -> usize {
    let sections = scene.assemble().assembly.sections;
    sections.iter().filter(|section| section.layer == Layer::Context).map(|section| section.tokens).sum()
}

#[test]
fn tokens_of_context_in_all_and_by_mode() {
    let mut scene = crowded();
    scene.settings.max_context_tokens = Some(20_000);
    assert!(context_tokens(&scene) > 2000);
    scene.settings.max_context_tokens = Some(1000);
    assert!(context_tokens(&scene) <= 1000);
    let assembled = scene.assemble();
    let cut: Vec<_> = assembled
        .report
        .sections
        .iter()
        .filter(|section| section.state != SectionState::Kept && section.full_tokens > 0)
        .collect();
    assert!(!cut.is_empty());
    for section in cut {
        assert!(section.reason.as_deref().is_some_and(|reason| reason.contains("tokens left out")), "{section:?}");
    }
    let own = ModeSettings { max_context_tokens: Some(300), ..ModeSettings::default() };
    scene.settings.modes.insert(Mode::Act, own);
    assert!(context_tokens(&scene) <= 300);
    scene.mode = Some(Mode::Plan);
    assert!((301..=1000).contains(&context_tokens(&scene)), "{}", context_tokens(&scene));
}

#[test]
fn tokens_of_other_layers() {
    for (layer, section) in [
        (LayerName::Constitution, "constitution"),
        (LayerName::Rules, "rules"),
        (LayerName::Capabilities, "capabilities"),
        (LayerName::Task, "task"),
    ] {
        let mut scene = Scene::with("a clock");
        scene.settings.layers.insert(layer, 1);
        let error = scene.try_assemble().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BudgetTooSmall);
        assert!(error.to_string().contains(&format!("`{section}`")), "{error}");
        scene.settings.layers.insert(layer, 5000);
        scene.assemble();
    }
}

#[test]
fn a_budget_that_is_too_small_names_what_needs_it() {
    let scene = Scene { input_tokens: Some(100), ..Scene::with("a clock") };
    let error = scene.try_assemble().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BudgetTooSmall);
    for name in ["constitution", "rules", "mode-rules", "runtime", "task"] {
        assert!(error.to_string().contains(&format!("`{name}` ")), "{error}");
    }
}

#[test]
fn another_mode_changes_its_rules_only() {
    let mut scene = Scene::with("a clock");
    let mut assembled = |mode| {
        scene.mode = Some(mode);
        scene.assemble()
    };
    let [plan, review, act] = Mode::ALL.map(&mut assembled);
    assert_eq!(differing(&plan, &act), ["mode-rules"]);
    assert_eq!(differing(&plan, &review), ["mode-rules"]);
    let own = ModeSettings { tools: names("edit"), ..ModeSettings::default() };
    scene.settings.modes.insert(Mode::Act, own);
    scene.mode = Some(Mode::Act);
    assert_eq!(differing(&plan, &scene.assemble()), ["mode-rules", "capabilities"]);
}

#[test]
fn words_from_outside_choose_no_mode() {
    let mut scene = Scene::with("a clock");
    scene.mode = None;
    scene.task = Task::Outside(outside("fix this"));
    assert_eq!(scene.assemble().mode.mode, Mode::Plan);
    assert_eq!(scene.assemble().memories.kept.len(), 0, "nor which memories are put in");
    scene.task = Task::Caller("fix this".to_owned());
    assert_eq!(scene.assemble().mode.mode, Mode::Act);
}
