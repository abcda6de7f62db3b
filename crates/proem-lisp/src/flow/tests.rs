use super::{rules::rule_of, *};
use crate::builtins::Run;
use std::{collections::BTreeSet, vec::Vec};

#[test]
fn every_function_of_the_table_has_a_rule_and_every_rule_a_function() {
    let missing: Vec<&str> = builtins::rows()
        .filter(|(_, row)| !matches!(row.run, Run::Lisp(_)) && rule_of(row.name).is_none())
        .map(|(_, row)| row.name)
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
    let named: Vec<&str> = rules::RULES.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    let unknown = named.iter().filter(|name| builtins::id_of(name).is_none_or(|id| builtins::row(id).is_none()));
    assert_eq!(unknown.collect::<Vec<_>>(), Vec::<&&str>::new());
    let distinct: BTreeSet<&str> = named.iter().copied().collect();
    assert_eq!(distinct.len(), named.len(), "a function has two rules");
}
