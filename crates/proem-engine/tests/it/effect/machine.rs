//! [`step`] over all states, events, authorities, versions and epochs, and with every requirement broken.

use proem_engine::{
    effect::{
        ActionEvent, ActionEventKind, ActionHash, ActionStanding, ActionState, ActionVersion, ApprovalChange,
        Authority, BytesHash, EpochRule, GateRuling, HoldCondition, LedgerTime, PerformerEpoch, PolicyHash,
        RefusalRule, ReleaseWindow, StandingApproval, Surroundings, TRANSITIONS, TakeUp, Transition, TransitionRefused,
        TransitionRequest, TransitionRequirement as Requirement, step, transition,
    },
    run::Time,
};

const NOW: Time = Time(1_800_000_000_000);
const HOUR: i64 = 3_600_000;
const CONTENT: ActionHash = ActionHash([1; 32]);
const OTHER_CONTENT: ActionHash = ActionHash([2; 32]);
const POLICY: PolicyHash = PolicyHash([3; 32]);
const BYTES: BytesHash = BytesHash([4; 32]);
const VERSION: ActionVersion = ActionVersion(7);
const EPOCH: PerformerEpoch = PerformerEpoch(5);
const OLD_EPOCH: PerformerEpoch = PerformerEpoch(4);

/// An action, what is to happen to it, and what is so meanwhile.
#[derive(Debug, Clone)]
struct Scene {
    standing: ActionStanding,
    request: TransitionRequest,
    around: Surroundings,
}

impl Scene {
    fn step(&self) -> Result<Transition, TransitionRefused> {
        step(&self.standing, &self.request, &self.around)
    }
}

fn good_approval() -> StandingApproval {
    StandingApproval { content: CONTENT, policy: POLICY, expires: Time(NOW.0 + HOUR) }
}

/// A scene in which nothing but the table can forbid the event.
fn scene(state: ActionState, kind: ActionEventKind) -> Scene {
    let has_approval = matches!(state, ActionState::Approved | ActionState::Resend);
    let has_bytes =
        matches!(state, ActionState::Executing | ActionState::Unknown | ActionState::Resend | ActionState::Resending);
    let taken_by = if kind == ActionEventKind::Die { OLD_EPOCH } else { EPOCH };
    let deadline = if kind == ActionEventKind::Expire { NOW.0 } else { NOW.0 + HOUR };
    let mut approval = good_approval();
    if kind == ActionEventKind::LapseApproval {
        approval.expires = NOW;
    }
    let standing = ActionStanding {
        state,
        version: VERSION,
        content: CONTENT,
        deadline: Time(deadline),
        due: (state == ActionState::Held).then_some(NOW),
        approval: has_approval.then_some(approval),
        performer: matches!(state, ActionState::Executing | ActionState::Resending).then_some(taken_by),
        bytes: has_bytes.then_some(BYTES),
    };
    let epoch = (kind.epoch() != EpochRule::Any).then_some(EPOCH);
    Scene {
        standing,
        request: TransitionRequest { event: event(kind), by: kind.authority(), version: VERSION, epoch },
        around: Surroundings {
            time: LedgerTime::new(NOW, NOW),
            epoch: EPOCH,
            policy: POLICY,
            window: ReleaseWindow::default(),
        },
    }
}

fn event(kind: ActionEventKind) -> ActionEvent {
    match kind {
        ActionEventKind::Hold => ActionEvent::Hold { due: NOW },
        ActionEventKind::RequireApproval => ActionEvent::RequireApproval,
        ActionEventKind::Refuse => ActionEvent::Refuse,
        ActionEventKind::Approve => ActionEvent::Approve(good_approval()),
        ActionEventKind::Release => ActionEvent::Release(good_approval()),
        ActionEventKind::Edit => ActionEvent::Edit { content: OTHER_CONTENT },
        ActionEventKind::Cancel => ActionEvent::Cancel,
        ActionEventKind::Expire => ActionEvent::Expire,
        ActionEventKind::LapseApproval => ActionEvent::LapseApproval,
        ActionEventKind::TakeUp => {
            ActionEvent::TakeUp(TakeUp { gate: GateRuling::Permits, unmet: Vec::new(), bytes: BYTES })
        }
        ActionEventKind::Sent => ActionEvent::Sent,
        ActionEventKind::Fail => ActionEvent::Fail,
        ActionEventKind::NotSent => ActionEvent::NotSent,
        ActionEventKind::Lose => ActionEvent::Lose,
        ActionEventKind::Die => ActionEvent::Die,
        ActionEventKind::ResolveSent => ActionEvent::ResolveSent,
        ActionEventKind::ResolveNotSent => ActionEvent::ResolveNotSent,
        ActionEventKind::Resend => ActionEvent::Resend(good_approval()),
        ActionEventKind::Doubt => ActionEvent::Doubt,
    }
}

/// The expected result, written without `step`.
fn expected(scene: &Scene) -> Result<ActionState, RefusalRule> {
    let (standing, request) = (&scene.standing, &scene.request);
    let kind = request.event.kind();
    let people = ["approve", "release", "edit", "cancel", "resolve-sent", "resolve-not-sent", "resend", "doubt"];
    let word = if people.contains(&kind.as_str()) { Authority::Operator } else { Authority::System };
    if request.by != word {
        return Err(RefusalRule::Authority(word));
    }
    if request.version != standing.version {
        return Err(RefusalRule::Version);
    }
    let rule = TRANSITIONS.iter().find(|rule| (rule.from, rule.on) == (standing.state, kind));
    let rule = rule.ok_or(RefusalRule::NoTransition)?;
    let current = request.epoch == Some(EPOCH);
    let own = standing.performer == Some(EPOCH);
    let (fits, epoch) = match kind.as_str() {
        "take-up" => (current, EpochRule::InForce),
        "sent" | "fail" | "not-sent" | "lose" => (current && own, EpochRule::TakenHere),
        "die" => (current && !own, EpochRule::TakenElsewhere),
        _ => (true, EpochRule::Any),
    };
    if fits { Ok(rule.to) } else { Err(RefusalRule::Epoch(epoch)) }
}

#[test]
fn the_machine_does_what_the_table_says() {
    let (mut steps, mut refusals) = (0, 0);
    for state in ActionState::ALL {
        for kind in ActionEventKind::ALL {
            for by in Authority::ALL {
                for version in [VERSION, ActionVersion(6), ActionVersion(8)] {
                    for epoch in [None, Some(EPOCH), Some(OLD_EPOCH), Some(PerformerEpoch(6))] {
                        for performer in [None, Some(EPOCH), Some(OLD_EPOCH)] {
                            let mut scene = scene(state, kind);
                            scene.request = TransitionRequest { by, version, epoch, ..scene.request };
                            scene.standing.performer = performer;
                            let result = scene.step();
                            match &result {
                                Ok(_) => steps += 1,
                                Err(_) => refusals += 1,
                            }
                            let found = result.map(|step| step.after.state).map_err(|refused| refused.rule);
                            assert_eq!(found, expected(&scene), "{scene:?}");
                        }
                    }
                }
            }
        }
    }
    assert_eq!(steps + refusals, 13 * 19 * 4 * 3 * 4 * 3);
    assert!(steps > TRANSITIONS.len() && refusals > steps);
}

/// A way to break a scene, and the requirements that it breaks.
type Spoiler = (&'static [Requirement], fn(&mut Scene));

fn spoil_approval(scene: &mut Scene, spoil: fn(&mut StandingApproval)) {
    match &mut scene.request.event {
        ActionEvent::Approve(approval) | ActionEvent::Release(approval) | ActionEvent::Resend(approval) => {
            spoil(approval);
        }
        _ => scene.standing.approval.iter_mut().for_each(spoil),
    }
}

fn spoil_taking(scene: &mut Scene, spoil: fn(&mut TakeUp)) {
    if let ActionEvent::TakeUp(taken) = &mut scene.request.event {
        spoil(taken);
    }
}

/// Each way to break a scene alone. Some need another scene: that approval is over, the deadline is.
const SPOILERS: &[Spoiler] = &[
    (&[Requirement::Gate], |scene| spoil_taking(scene, |taken| taken.gate = GateRuling::Withholds)),
    (&[Requirement::ApprovalContent], |scene| spoil_approval(scene, |approval| approval.content = OTHER_CONTENT)),
    (&[Requirement::ApprovalPolicy], |scene| spoil_approval(scene, |approval| approval.policy = PolicyHash([9; 32]))),
    (&[Requirement::ApprovalTime], |scene| spoil_approval(scene, |approval| approval.expires = NOW)),
    (&[Requirement::ApprovalContent, Requirement::ApprovalPolicy, Requirement::ApprovalTime], |scene| {
        let given = matches!(scene.request.event.kind().as_str(), "approve" | "release" | "resend");
        if given {
            spoil_approval(scene, |approval| approval.content = OTHER_CONTENT);
        } else {
            scene.standing.approval = None;
        }
    }),
    (&[Requirement::ApprovalOver], |scene| spoil_approval(scene, |approval| approval.expires = Time(NOW.0 + HOUR))),
    (&[Requirement::SteadyClock], |scene| {
        scene.around.time = LedgerTime::new(Time(NOW.0 - 60_001), NOW);
    }),
    (&[Requirement::HoldOver], |scene| scene.standing.due = Some(Time(NOW.0 + 1))),
    (&[Requirement::HoldOver, Requirement::ReleaseWindow], |scene| scene.standing.due = None),
    (&[Requirement::ReleaseWindow], |scene| scene.standing.due = Some(Time(NOW.0 - 4 * HOUR - 1))),
    (&[Requirement::HoldConditions], |scene| spoil_taking(scene, |taken| taken.unmet = vec![HoldCondition::NoFinding])),
    (&[Requirement::HoldAhead], |scene| {
        if let ActionEvent::Hold { due } = &mut scene.request.event {
            *due = Time(NOW.0 - 1);
        }
    }),
    (&[Requirement::SameBytes], |scene| spoil_taking(scene, |taken| taken.bytes = BytesHash([9; 32]))),
    (&[Requirement::BytesKept, Requirement::SameBytes], |scene| scene.standing.bytes = None),
    (&[Requirement::ContentDiffers], |scene| {
        if let ActionEvent::Edit { content } = &mut scene.request.event {
            *content = CONTENT;
        }
    }),
    (&[Requirement::BeforeDeadline], |scene| scene.standing.deadline = NOW),
    (&[Requirement::AfterDeadline], |scene| scene.standing.deadline = Time(NOW.0 + 1)),
];

#[test]
fn a_requirement_that_does_not_hold_is_named_and_no_other_is_asked_for() {
    let mut broken: Vec<Requirement> = Vec::new();
    for rule in TRANSITIONS {
        for (spoilt, spoil) in SPOILERS {
            let mut scene = scene(rule.from, rule.on);
            spoil(&mut scene);
            let wanted = rule.requires.iter().find(|requirement| spoilt.contains(requirement)).copied();
            let found = scene.step().map(|step| step.rule).map_err(|refused| refused.rule);
            assert_eq!(
                found,
                wanted.map_or(Ok(rule), |requirement| Err(RefusalRule::Requirement(requirement))),
                "{scene:?}"
            );
            broken.extend(wanted);
        }
    }
    // Every requirement of every line was broken once.
    for requirement in Requirement::ALL {
        assert!(broken.contains(&requirement), "{requirement:?}");
    }
}

#[test]
fn a_transition_changes_what_it_says_and_nothing_else() {
    for rule in TRANSITIONS {
        let scene = scene(rule.from, rule.on);
        let Transition { rule: by, after } = scene.step().unwrap();
        let before = &scene.standing;
        assert_eq!((by, after.state, after.version), (rule, rule.to, ActionVersion(8)));
        assert_eq!(after.deadline, before.deadline);
        assert_eq!(after.content, if rule.on == ActionEventKind::Edit { OTHER_CONTENT } else { CONTENT });
        assert_eq!(after.due, (rule.to == ActionState::Held).then_some(NOW), "{rule:?}");
        assert_eq!(after.approval, (rule.approval == ApprovalChange::Given).then(good_approval), "{rule:?}");
        let executes = matches!(rule.to, ActionState::Executing | ActionState::Resending);
        assert_eq!(after.performer, executes.then_some(EPOCH), "{rule:?}");
        // Bytes that may be out there are kept until it is known what became of them.
        let touched = executes || before.bytes.is_some();
        let handed_over = touched && (rule.from, rule.on) != (ActionState::Executing, ActionEventKind::NotSent);
        assert_eq!(after.bytes, handed_over.then_some(BYTES), "{rule:?}");
    }
}

#[test]
fn hold_conditions_and_the_clock_bind_holds_alone() {
    for condition in HoldCondition::ALL {
        let mut scene = scene(ActionState::Held, ActionEventKind::TakeUp);
        let unmet = vec![condition];
        scene.request.event = ActionEvent::TakeUp(TakeUp { gate: GateRuling::Permits, unmet, bytes: BYTES });
        let refused = scene.step().unwrap_err();
        assert_eq!(refused.rule, RefusalRule::Requirement(Requirement::HoldConditions));
        scene.standing.state = ActionState::Approved;
        scene.standing.approval = Some(good_approval());
        assert!(scene.step().is_ok());
    }
    let held_at = |clock: i64, last_seen: i64| {
        let mut scene = scene(ActionState::Held, ActionEventKind::TakeUp);
        scene.around.time = LedgerTime::new(Time(clock), Time(last_seen));
        scene.step().map(|step| step.after.state).map_err(|refused| refused.rule)
    };
    let day = 24 * HOUR;
    let refused = |requirement| Err(RefusalRule::Requirement(requirement));
    assert_eq!(held_at(NOW.0, NOW.0 - 1), Ok(ActionState::Executing));
    assert_eq!(held_at(NOW.0 - 60_000, NOW.0), Ok(ActionState::Executing));
    assert_eq!(held_at(NOW.0 - day, NOW.0), refused(Requirement::SteadyClock));
    assert_eq!(held_at(0, NOW.0), refused(Requirement::SteadyClock));
    assert_eq!(held_at(NOW.0 + day, NOW.0), refused(Requirement::ReleaseWindow));
    assert_eq!(held_at(2_147_483_647_000, NOW.0), refused(Requirement::ReleaseWindow));
}

#[test]
fn a_stale_performer_changes_nothing() {
    let taken = scene(ActionState::Held, ActionEventKind::TakeUp).step().unwrap().after;
    let mut stale = scene(ActionState::Executing, ActionEventKind::Sent);
    stale.standing = taken;
    stale.request = TransitionRequest { version: stale.standing.version, ..stale.request };
    stale.around.epoch = PerformerEpoch(6);
    assert_eq!(stale.step().unwrap_err().rule, RefusalRule::Epoch(EpochRule::TakenHere));

    let mut buries = stale.clone();
    buries.request.event = ActionEvent::Die;
    buries.request.epoch = Some(PerformerEpoch(6));
    let unknown = buries.step().unwrap().after;
    assert_eq!(unknown.state, ActionState::Unknown);
    stale.standing = unknown;
    assert_eq!(stale.step().unwrap_err().rule, RefusalRule::Version);
}

#[test]
fn refusals_say_what_to_do() {
    let check = |state: &str, event: &str, rule: RefusalRule, words: &str| {
        let state = ActionState::parse(state).unwrap();
        let event = ActionEventKind::parse(event).unwrap();
        let said = TransitionRefused { rule, state, event }.to_string();
        let head = format!("`{}` is refused for an action that is `{}`: ", event.as_str(), state.as_str());
        assert_eq!(said.strip_prefix(&head), Some(words));
    };
    check(
        "held",
        "approve",
        RefusalRule::Authority(Authority::Operator),
        "only an operator may cause it; do it at a terminal",
    );
    check(
        "held",
        "take-up",
        RefusalRule::Authority(Authority::System),
        "only Proem itself may cause it; leave it to the next sweep",
    );
    check("held", "cancel", RefusalRule::Version, "it has changed since it was looked at; look at it again");
    check(
        "executing",
        "sent",
        RefusalRule::Epoch(EpochRule::TakenHere),
        "another performer has taken over; stop, and leave it to that one",
    );
    check(
        "executing",
        "die",
        RefusalRule::Epoch(EpochRule::TakenElsewhere),
        "its performer is alive; wait until that one is done",
    );
    check(
        "held",
        "take-up",
        RefusalRule::Epoch(EpochRule::InForce),
        "only the performer in force may cause it; take its lock first",
    );
    check("executed", "resend", RefusalRule::NoTransition, "it has ended; have it proposed anew from a newer signal");
    check("unknown", "edit", RefusalRule::NoTransition, "nothing leads there from here; look at what it waits for");
    let requirements: Vec<String> = Requirement::ALL
        .into_iter()
        .map(|requirement| {
            let rule = TRANSITIONS.iter().find(|rule| rule.requires.contains(&requirement)).unwrap();
            let rule_broken = RefusalRule::Requirement(requirement);
            TransitionRefused { rule: rule_broken, state: rule.from, event: rule.on }.to_string()
        })
        .collect();
    insta::assert_snapshot!(requirements.join("\n"));
    assert!(transition(ActionState::Executed, ActionEventKind::Resend).is_none());
}
