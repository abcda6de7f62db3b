//! The least that a signal matters by its words.

use std::collections::BTreeSet;

use proem_triage::{
    ClassificationContext, FloorReason, ProjectSignal, SignalInBatch,
    contract::{ClassifySignal, RecommendedAction, SignalCategory, SignalImportance},
};
use serde_json::json;

use super::{
    classify::{classified_one, created_ticket, mail, project, shipped_lexicon},
    one,
    sanitise::{comment, sanitised},
};

/// The reasons of a floor, as they are named in code.
fn reasons(signal: &ProjectSignal) -> String {
    classified_one(signal).floor.reasons.iter().map(|reason| format!("{reason:?}")).collect::<Vec<_>>().join(" ")
}

fn note(text: &str) -> ProjectSignal {
    comment(1, "PAY-7", "ann", text)
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(reasons(&note(text)), expected, "{text:?}");
}

#[test]
fn words_of_trouble_hold_a_signal_in_every_language_of_the_guard() {
    for text in [
        "We are blocked here.",
        "Wir sind blockiert.",
        "Nous sommes bloqués.",
        "Estamos bloqueados.",
        "Estamos bloqueados desde ontem.",
        "Siamo bloccati.",
        "We zijn geblokkeerd.",
        "Мы заблокированы.",
        "Engellendik.",
        "Kami terhambat.",
        "Chúng tôi bị chặn.",
        "Naka-block kami.",
        "我们被阻塞了。",
        "作業がブロックされています。",
        "작업이 막혔습니다.",
        "نحن محظورون.",
        "काम रुका हुआ है।",
        "কাজ আটকে আছে।",
        "งานติดขัด",
    ] {
        let found = classified_one(&note(text));
        assert_eq!(found.floor.least, SignalImportance::High, "{text}");
        assert_eq!(found.answer.category, SignalCategory::Blocker, "{text}");
    }
}

#[test]
fn trouble_that_is_denied_or_over_holds_nothing() {
    for text in [
        "No risk here any more, no delay",
        "No blockers, no delay, all on plan.",
        "Nothing is blocked here.",
        "Went through without any outage or delay.",
        "The outage of last week is resolved.",
        "We are no longer blocked.",
        "Unblocked again.",
        "Keine Verzögerung, nichts ist blockiert.",
        "Nicht mehr blockiert.",
        "Aucun retard, aucun blocage.",
        "Sin retrasos ni bloqueos.",
        "没有延迟，没有阻塞。",
        "遅れはありません。",
        "지연 없음.",
        "कोई देरी नहीं।",
        "Gecikme yok.",
        "Без задержек.",
        "ไม่มีความล่าช้า",
    ] {
        check(text, "");
        let answer = classified_one(&note(text)).answer;
        assert_eq!((answer.category, answer.importance), (SignalCategory::Progress, SignalImportance::Low), "{text}");
    }
}

#[test]
fn a_denial_of_something_else_takes_nothing_back() {
    for (text, expected) in [
        ("No. We are blocked.", "Block"),
        ("No, we are blocked.", "Block"),
        ("We are blocked, no kidding.", "Block"),
        ("It is not only late but blocked.", "Block"),
        ("No doubt we are blocked.", "Block"),
        ("Ohne Zweifel sind wir blockiert.", "Block"),
        ("The first problem is solved, but we are blocked.", "Block"),
        ("We are blocked, although the first problem is solved.", "Block"),
        ("No blocker is known. Today we are blocked.", "Block"),
    ] {
        check(text, expected);
    }
}

#[test]
fn a_negation_of_a_negation_is_none() {
    for (text, expected) in [
        ("This does not go without delay.", "Delay"),
        ("We went live without delay.", ""),
        ("Not a day passes without an outage.", "Outage"),
        ("Das geht nicht ohne Verzögerung.", "Delay"),
        ("Not unblocked yet.", "Block"),
        ("The outage is not resolved.", "Outage"),
        ("The outage has to be resolved.", "Outage"),
        ("We are blocked until the outage is resolved.", "Block Outage"),
        ("Die Störung ist noch nicht behoben.", "Outage"),
        ("不是没有风险，而是被阻塞了。", "Block"),
    ] {
        check(text, expected);
    }
}

#[test]
fn look_alikes_and_hidden_characters_change_nothing() {
    for text in [
        "We are bl\u{43e}cked.",
        "We are blo\u{200b}cked.",
        "We are BLOCKED.",
        "We are ｂｌｏｃｋｅｄ.",
        "We are b\u{301}locked.",
    ] {
        check(text, "Block");
    }
}

#[test]
fn small_things_are_no_trouble() {
    for text in [
        "The lunch on Friday is cancelled.",
        "The cancel button works.",
        "The stop button and the block quote are reviewed.",
        "Please block the afternoon for the team event.",
        "When an order is cancelled, the stock goes up.",
        "The p95 went down from 3 s to 1 s.",
        "Legal has approved the text.",
    ] {
        check(text, "");
    }
}

#[test]
fn each_kind_of_trouble_has_its_reason() {
    for (text, expected) in [
        ("The pilot may not go live without an agreement.", "Stop"),
        ("Ohne Betriebsvereinbarung darf der Pilot nicht starten.", "Stop Legal"),
        ("The wallet is cancelled.", "Cancel"),
        ("Legal objects to the banner.", "Legal"),
        ("They threaten with a lawsuit.", "Legal"),
        ("There is a security hole in the reset.", "Security"),
        ("The shop is down.", "Outage"),
        ("All payments fail in production.", "Outage"),
        ("The release is in danger.", "Danger"),
        ("This is delayed by a month.", "Delay"),
    ] {
        check(text, expected);
    }
    let least = |text: &str| classified_one(&note(text)).floor.least;
    assert_eq!(least("This is delayed by some days."), SignalImportance::Medium);
    assert_eq!(least("The launch is delayed by some days."), SignalImportance::High);
}

#[test]
fn a_quote_of_an_old_mail_raises_nothing() {
    let old = "The shop is down. We are blocked.";
    let body = |head: &str, mark: &str| format!("Thank you!\n\n{head}\n{mark}{old}");
    for (subject, body) in [
        ("Re: Shop", body("On Mon, 16 Nov 2026 at 09:12, Tom wrote:", "> ")),
        ("Re: Shop", body("On Mon, 16 Nov 2026 at 09:12, Tom wrote:", "")),
        ("AW: Shop", body("Am 16.11.2026 schrieb Tom:", "")),
        ("RE: Shop", body("-----Original Message-----", "")),
        ("RE: Shop", body("From: Tom\nSent: Monday", "")),
        ("回复: Shop", body("发件人：Tom\n发送时间：2026-11-16", "")),
        ("Re: We are blocked", "Thank you!".to_owned()),
        ("Shop", body("", "> ")),
    ] {
        assert_eq!(reasons(&mail(1, "lena@corp.example", subject, &body)), "", "{subject}: {body}");
    }
}

#[test]
fn what_only_looks_like_a_quote_is_read() {
    for (subject, body) in [
        // A mail that is sent on is news.
        ("Fwd: Shop", "See below.\n\n-----Original Message-----\nWe are blocked."),
        // A first mail quotes nothing.
        ("Shop", "On 3 May 2026 Tom wrote:\nWe are blocked."),
        // A text that would be a quote from its first line to its last.
        ("Re: Shop", "> We are blocked."),
        ("Re: Shop", "On 3 May 2026 Tom wrote:\nWe are blocked."),
        // Answers between quoted lines.
        ("Re: Shop", "> How is it going?\nWe are blocked."),
        // The subject of a reply that quotes nothing.
        ("Re: We are blocked", "Please call me at once."),
        // `From` in a sentence.
        ("Re: Shop", "From what I hear: bad news.\nWe are blocked."),
    ] {
        assert_eq!(reasons(&mail(1, "lena@corp.example", subject, body)), "Block", "{subject}: {body}");
    }
}

#[test]
fn a_sponsor_or_customer_who_asks_for_a_decision_a_date_or_money_is_heard() {
    let sponsor = |text: &str| mail(1, "dana@corp.example", "Pilot", text);
    for text in [
        "Move the pilot to January and tell the customers today.",
        "How much have we spent?",
        "Which supplier do we take? I need your decision.",
        "Wann gehen wir live? Ich brauche ein Datum.",
        "我们什么时候上线？我需要一个日期。",
    ] {
        let found = classified_one(&sponsor(text));
        assert_eq!(found.floor.reasons, BTreeSet::from([FloorReason::Request]), "{text}");
        assert_eq!(found.floor.least, SignalImportance::High, "{text}");
    }
    // No request, or nothing of weight.
    for text in ["Thank you, the date is fine.", "Could you show me the dashboard?"] {
        assert_eq!(reasons(&sponsor(text)), "", "{text}");
    }
    // From anybody else it is a question like others.
    assert_eq!(reasons(&mail(1, "lena@corp.example", "Pilot", "How much have we spent?")), "");
    // In any spelling of the address.
    assert_eq!(reasons(&mail(1, "Dana@Corp.example", "Pilot", "How much have we spent?")), "Request");
}

#[test]
fn roles_tell_who_is_a_sponsor_or_customer() {
    for (role, expected) in [
        ("COO", "Request"),
        ("Sponsor", "Request"),
        ("Auftraggeberin", "Request"),
        ("client", "Request"),
        ("заказчик", "Request"),
        ("发起人", "Request"),
        ("customer support", ""),
        ("product owner", ""),
        ("art director", ""),
        ("", ""),
    ] {
        let mut people = project();
        people.roles.insert("dana@corp.example".to_owned(), role.to_owned());
        let signal = mail(1, "dana@corp.example", "Pilot", "How much have we spent?");
        let sanitised = sanitised(&signal);
        let batch = [SignalInBatch { signal: &signal, sanitised: &sanitised }];
        let found = proem_triage::classify_signals(
            &batch,
            ClassificationContext { lexicon: shipped_lexicon(), project: &people },
        );
        let found: Vec<String> = found[0].floor.reasons.iter().map(|reason| format!("{reason:?}")).collect();
        assert_eq!(found.join(" "), expected, "{role:?}");
    }
}

/// The rest of the rules' word behind a model that calls everything unimportant.
fn lowered(signal: &ProjectSignal) -> ClassifySignal {
    let (rules, sanitised, project) = (classified_one(signal), sanitised(signal), project());
    let said = ClassifySignal {
        importance: SignalImportance::Low,
        category: SignalCategory::Administrative,
        secondary_categories: Vec::new(),
        recommended_action: RecommendedAction::NoAction,
        artefacts_affected: Vec::new(),
        confidence: 1.0,
        ..rules.answer.clone()
    };
    let context = ClassificationContext { lexicon: shipped_lexicon(), project: &project };
    let item = SignalInBatch { signal, sanitised: &sanitised };
    rules.told(&said, &item, context, &BTreeSet::new()).answer
}

#[test]
fn no_model_lowers_a_floor_or_passes_it_over() {
    for signal in [
        mail(1, "dana@corp.example", "Pilot", "Move the pilot to January and tell the customers today."),
        mail(2, "lena@corp.example", "Works council", "The pilot may not go live without an agreement."),
        note("We are blocked."),
        note("The wallet is cancelled."),
        note("There is a security hole in the reset."),
    ] {
        for answer in [classified_one(&signal).answer, lowered(&signal)] {
            assert!(answer.importance.is_at_least(SignalImportance::High), "{answer:?}");
            assert_ne!(answer.recommended_action, RecommendedAction::NoAction, "{answer:?}");
        }
    }
    assert_eq!(lowered(&note("This is delayed by some days.")).importance, SignalImportance::Medium);
}

#[test]
fn what_is_held_high_is_not_called_routine() {
    for (from, text) in [
        ("dana@corp.example", "Move the pilot to January and tell the customers today."),
        ("lena@corp.example", "The pilot may not go live without an agreement."),
    ] {
        let answer = classified_one(&mail(1, from, "Pilot", text)).answer;
        assert!(!matches!(answer.category, SignalCategory::Administrative | SignalCategory::Progress), "{answer:?}");
        assert!(answer.action_rationale.contains("; at least high ("), "{}", answer.action_rationale);
    }
}

#[test]
fn many_words_of_trouble_take_time_in_proportion() {
    for unit in [
        "no delay or outage ",
        "not resolved blocked ",
        "> blocked\n",
        "没有延迟",
        "On 1 Tom wrote:\n",
        "б\u{43e}locked ",
    ] {
        let text = unit.repeat(64 * 1024 / unit.len());
        let found = classified_one(&mail(1, "lena@corp.example", "Re: Shop", &text));
        assert!(found.floor.reasons.len() <= FloorReason::ALL.len(), "{unit}");
    }
}

/// A story as Jira creates it, in a sprint of that state.
fn created_in(sprints: &serde_json::Value, of_type: &str, is_subtask: bool) -> ProjectSignal {
    created_ticket(&json!({
        "summary": "Statement export", "description": "Export the statements as a file.", "issuetype": { "name": of_type, "subtask": is_subtask },
        "priority": { "name": "Medium" }, "customfield_10020": sprints
    }))
}

#[test]
fn a_story_that_is_created_in_a_running_sprint_changes_its_scope() {
    let cloud = |state: &str| json!([{ "id": 7, "name": "Sprint 7", "state": state, "boardId": 3 }]);
    let server = |state: &str| {
        json!([format!("com.atlassian.greenhopper.service.sprint.Sprint@7c[id=7,state={state},name=Sprint 7]")])
    };
    let is_scope = |signal: &ProjectSignal| {
        let answer = classified_one(signal).answer;
        answer.category == SignalCategory::Scope
            && answer.importance == SignalImportance::High
            && answer.recommended_action == RecommendedAction::Escalate
    };
    for (sprints, of_type, is_subtask, expected) in [
        (cloud("active"), "Story", false, true),
        (server("ACTIVE"), "Story", false, true),
        (cloud("future"), "Story", false, false),
        (server("CLOSED"), "Story", false, false),
        (json!(null), "Story", false, false),
        (cloud("active"), "Bug", false, false),
        (cloud("active"), "Sub-task", true, false),
        // A person who writes `active` into a list of labels makes no sprint.
        (json!([{ "name": "x", "state": "active" }]), "Story", false, false),
        (json!(["state=ACTIVE"]), "Story", false, false),
    ] {
        assert_eq!(is_scope(&created_in(&sprints, of_type, is_subtask)), expected, "{sprints} {of_type}");
    }
}

#[test]
fn a_wish_for_the_same_thing_done_better_is_no_change_of_scope() {
    for text in ["Make it faster", "Make it faster.", "Please make the search faster", "Make it quicker"] {
        let signals = [
            note(text),
            created_ticket(&json!({ "summary": text, "issuetype": { "name": "Task" } })),
            mail(1, "lena@corp.example", text, text),
            one(&json!({
                "timestamp": 1_795_300_000_000_u64, "webhookEvent": "jira:issue_updated", "user": { "accountId": "ann" },
                "changelog": { "id": "9", "items": [{ "field": "summary", "fromString": "Search", "toString": format!("Search: {text}") }] },
                "issue": { "id": "7", "key": "PAY-7", "fields": { "summary": text, "status": { "statusCategory": { "key": "indeterminate" } } } }
            })),
        ];
        for (place, signal) in signals.iter().enumerate() {
            let answer = classified_one(signal).answer;
            assert_ne!(answer.category, SignalCategory::Scope, "{place}: {text}: {}", answer.action_rationale);
        }
    }
}
