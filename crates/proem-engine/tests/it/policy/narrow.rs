//! A policy that may only narrow.
#![expect(clippy::indexing_slicing, reason = "a test fails by a panic, in its functions beside the cases, too")]

use proem_engine::policy::{ActionList, AutonomyLevel, Policy};
use proptest::prelude::*;

/// A policy of up to four actions. `list` of each is 0 auto, 1 and 2 hold, 3 approval, 4 never, 5 unmentioned.
fn policy_of_lists(lists: &[u8], level: Option<usize>, hosts: u8) -> String {
    let named = |wanted: &[u8]| -> Vec<String> {
        let of = lists.iter().enumerate().filter(|(_, list)| wanted.contains(list));
        of.map(|(index, _)| format!("\"a{index}\"")).collect()
    };
    let holds = lists.iter().enumerate().filter(|(_, list)| matches!(list, 1 | 2));
    let holds: Vec<String> = holds.map(|(index, list)| format!("a{index} = {}", u32::from(*list) * 10)).collect();
    let hosts: Vec<String> =
        (0..4).filter(|bit| hosts & (1 << bit) != 0).map(|bit| format!("\"h{bit}.example\"")).collect();
    let level = level.map_or_else(String::new, |at| format!("level = \"{}\"\n", AutonomyLevel::ALL[at].as_str()));
    let mut text = format!(
        "version = 1\n{level}[allow]\nhosts = [{}]\n[lists]\nauto = [{}]\nhold = {{ {} }}\napproval = [{}]\nnever = [{}]\n",
        hosts.join(", "),
        named(&[0]).join(", "),
        holds.join(", "),
        named(&[3]).join(", "),
        named(&[4]).join(", ")
    );
    for (index, list) in lists.iter().enumerate().filter(|(_, list)| **list < 4) {
        let bytes = 100 + u32::from(*list) * 10;
        text.push_str(&format!(
            "[actions.a{index}]\nperform = \"inside\"\ntarget = {{ role = \"id\" }}\n\
             fields.x = {{ role = \"text\", max_bytes = {bytes} }}\n"
        ));
    }
    text
}

/// How strict a policy is about an action. `None` where it doesn't mention it.
fn list(policy: &Policy, name: &str) -> Option<ActionList> {
    let never = policy.never().any(|never| never == name).then_some(ActionList::Never);
    never.or_else(|| policy.action(name).map(|terms| terms.list))
}

proptest! {
    #[test]
    fn nothing_gets_milder(
        ours in prop::collection::vec(0_u8..6, 4), theirs in prop::collection::vec(0_u8..6, 4),
        levels in (prop::option::of(0_usize..3), prop::option::of(0_usize..3)), hosts in (0_u8..16, 0_u8..16),
    ) {
        let parse = |text: &str| Policy::parse(text, "policy.toml").unwrap();
        let user = parse(&policy_of_lists(&ours, levels.0, hosts.0));
        let project = parse(&policy_of_lists(&theirs, levels.1, hosts.1));
        let both = user.narrowed_by(&project);
        prop_assert!(both.level() <= user.level());
        for index in 0..4 {
            let name = format!("a{index}");
            let (user_list, project_list, got) = (list(&user, &name), list(&project, &name), list(&both, &name));
            let expected = match (user_list, project_list) {
                (None, Some(ActionList::Never)) => Some(ActionList::Never),
                (None, _) => None,
                (ours, None) => ours,
                (Some(ours), Some(theirs)) => Some(ours.max(theirs)),
            };
            prop_assert_eq!(got, expected, "{}", name);
            if let (Some(before), Some(after)) = (user.action(&name), both.action(&name)) {
                prop_assert!(after.fields["x"].max_bytes <= before.fields["x"].max_bytes);
                prop_assert!(after.level >= before.level);
            }
        }
        // Narrowing by itself or twice changes nothing more.
        prop_assert_eq!(user.narrowed_by(&user).hash(), user.hash());
        prop_assert_eq!(both.narrowed_by(&project).hash(), both.hash());
    }
}
