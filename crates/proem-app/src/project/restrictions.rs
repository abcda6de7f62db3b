//! The permissions of an untrusted configuration: lowering caps, and keeping less of runs.

use proem_agents::assemble::settings::{AssembleSettings, ContextDepth};

use crate::config::lisp::LispFile;
use crate::config::{BudgetFile, Config, Dollars, KeepRecords, SpendLimits};

/// Lowers caps to those of an untrusted file, and keeps less of runs if it says so; what changed, in
/// words.
pub(super) fn restrict(config: &mut Config, table: &toml::Table) -> Vec<String> {
    let mut lowered = restrict_settings(&mut config.assemble, table);
    lowered.extend(restrict_budget(&mut config.budget, table));
    lowered.extend(restrict_programs(&mut config.lisp, table));
    let keep = table.get("records").and_then(|records| records.get("keep"));
    let Some(wanted) = keep.and_then(|keep| keep.clone().try_into::<KeepRecords>().ok()) else { return lowered };
    // Nobody else's file switches the ledger off that a budget needs.
    let wanted = if config.budget.is_empty() { wanted } else { wanted.min(KeepRecords::Hashes) };
    if wanted > config.records.keep {
        config.records.keep = wanted;
        let word = if wanted == KeepRecords::Hashes { "hashes" } else { "nothing" };
        lowered.push(format!("records.keep = \"{word}\""));
    }
    lowered
}

/// Lowers what programs may do.
fn restrict_programs(lisp: &mut LispFile, table: &toml::Table) -> Vec<String> {
    let theirs = |key: &str| u64::try_from(table.get("lisp")?.get(key)?.as_integer()?).ok();
    let lower = |(key, slot, usual): (&str, &mut Option<u64>, u64)| {
        let value = theirs(key).filter(|value| *value < slot.unwrap_or(usual))?;
        *slot = Some(value);
        Some(format!("lisp.{key} = {value}"))
    };
    let mut lowered: Vec<String> = lisp.keys().into_iter().filter_map(lower).collect();
    for (key, slot) in lisp.turn_keys() {
        let value = theirs(key).and_then(|value| u32::try_from(value).ok());
        if let Some(value) = value.filter(|value| *value < slot.unwrap_or(u32::MAX)) {
            *slot = Some(value);
            lowered.push(format!("lisp.{key} = {value}"));
        }
    }
    lowered
}

/// Lowers what calls may cost.
fn restrict_budget(budget: &mut BudgetFile, table: &toml::Table) -> Vec<String> {
    let mut lowered = Vec::new();
    let theirs = |scope: &str| table.get("budget").and_then(|budget| budget.get(scope));
    for (scope, limits) in [("user", &mut budget.user), ("project", &mut budget.project)] {
        lowered.extend(theirs(scope).into_iter().flat_map(|theirs| restrict_limits(scope, limits, theirs)));
    }
    for (agent, theirs) in theirs("agent").and_then(toml::Value::as_table).into_iter().flatten() {
        // The budget that ships with an agent holds if the user sets none, so that is the one that may be lowered.
        let Ok(usual) = crate::records::agent_budget(budget, agent) else { continue };
        let mut limits = usual.limits();
        let changed = restrict_limits(&format!("agent.{agent}"), &mut limits, theirs);
        if !changed.is_empty() {
            budget.agent.insert(agent.clone(), usual.with(limits));
            lowered.extend(changed);
        }
    }
    lowered
}

/// Lowers the caps of one table; what changed, in words.
fn restrict_limits(scope: &str, limits: &mut SpendLimits, theirs: &toml::Value) -> Vec<String> {
    let mut lowered = Vec::new();
    let mut lower = |key: &str, text: Option<String>| {
        lowered.extend(text.map(|text| format!("budget.{scope}.{key} = {text}")));
    };
    let SpendLimits { day, month, run, day_tokens, month_tokens, run_tokens } = limits;
    for (key, slot) in [("day", day), ("month", month), ("run", run)] {
        let value = theirs.get(key).and_then(|value| value.clone().try_into::<Dollars>().ok());
        lower(key, lower_cap(slot, value).map(String::from));
    }
    for (key, slot) in [("day_tokens", day_tokens), ("month_tokens", month_tokens), ("run_tokens", run_tokens)] {
        let value = theirs.get(key).and_then(|value| u64::try_from(value.as_integer()?).ok());
        lower(key, lower_cap(slot, value).map(|tokens| tokens.to_string()));
    }
    lowered
}

/// Puts `value` into a cap that is higher, or isn't there. The value if it did.
fn lower_cap<T: Copy + PartialOrd>(slot: &mut Option<T>, value: Option<T>) -> Option<T> {
    let value = value.filter(|value| slot.is_none_or(|current| *value < current))?;
    *slot = Some(value);
    Some(value)
}

/// Lowers caps of assemblies.
fn restrict_settings(settings: &mut AssembleSettings, table: &toml::Table) -> Vec<String> {
    let assemble = table.get("assemble").and_then(toml::Value::as_table);
    let cap = |name: &str| usize::try_from(assemble?.get(name)?.as_integer()?).ok();
    let before = settings.clone();
    let mut other = AssembleSettings {
        max_context_tokens: cap("max_context_tokens"),
        context: ContextDepth::Full,
        code_share: cap("code_share").and_then(|share| u8::try_from(share.min(100)).ok()),
        max_tools: usize::MAX,
        max_skills: usize::MAX,
        max_memories: usize::MAX,
        max_results: usize::MAX,
        ..AssembleSettings::default()
    };
    let mut lowered = Vec::new();
    for (name, slot, current) in [
        ("max_tools", &mut other.max_tools, before.max_tools),
        ("max_skills", &mut other.max_skills, before.max_skills),
        ("max_memories", &mut other.max_memories, before.max_memories),
        ("max_results", &mut other.max_results, before.max_results),
    ] {
        if let Some(value) = cap(name) {
            *slot = value;
            if value < current {
                lowered.push(format!("{name} = {value}"));
            }
        }
    }
    let depth = assemble.and_then(|assemble| assemble.get("context")?.clone().try_into::<ContextDepth>().ok());
    other.context = depth.unwrap_or(ContextDepth::Full);
    let after = before.clone().restricted_by(&other);
    for (name, value, changed) in [
        ("code_share", after.code_share.map(usize::from), after.code_share != before.code_share),
        ("max_context_tokens", after.max_context_tokens, after.max_context_tokens != before.max_context_tokens),
    ] {
        if let Some(value) = value.filter(|_| changed) {
            lowered.insert(0, format!("{name} = {value}"));
        }
    }
    if after.context < before.context {
        lowered.push(format!("context = \"{}\"", after.context.as_str()));
    }
    *settings = after;
    lowered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_untrusted_file_only_lowers_the_limits_of_programs() {
        let table = |text: &str| text.parse::<toml::Table>().unwrap();
        let mut config = Config::default();
        config.lisp.fuel = Some(100);
        let theirs = "[lisp]\nfuel = 200\nnesting = 10\ndigits = 5000\nbytes = -1\ntool_calls = 0\nregex_steps = \"1\"\nnothing = 1\nmodel = \"theirs\"\nmax_turns = 2\n";
        let lowered = ["lisp.nesting = 10", "lisp.tool_calls = 0", "lisp.max_turns = 2"];
        assert_eq!(restrict(&mut config, &table(theirs)), lowered);
        let (nesting, tool_calls, max_turns) = (Some(10), Some(0), Some(2));
        let expected = LispFile { fuel: Some(100), nesting, tool_calls, max_turns, ..LispFile::default() };
        assert_eq!(config.lisp, expected);
        // Twice the same changes nothing more, and no shape of the table is an error.
        assert_eq!(restrict(&mut config, &table(theirs)), [""; 0]);
        assert_eq!(restrict(&mut config, &table("lisp = 1\n")), [""; 0]);
    }
}
