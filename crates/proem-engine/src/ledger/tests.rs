use super::*;
use crate::assembly::{Assembly, PromptId};
use crate::call::{AnswerForm, Arrival, CacheWriteUsage, Usage, call_cost};
use crate::providers::Providers;
use core::num::NonZeroU32;
use proptest::{collection::vec, prelude::*};

fn request(output_tokens: usize) -> Request {
    let prompt = PromptId {
        agent: String::from("reviews"),
        name: String::from("triage"),
        version: String::from("1.0.0"),
        closure: String::new(),
    };
    Request {
        model: String::from("any"),
        assembly: Assembly { prompt, sections: Vec::new(), boundaries: Vec::new(), output_tokens },
        answer: AnswerForm::Text,
        sampling: Default::default(),
        arrival: Arrival::Whole,
        way: None,
        inquiry: None,
    }
}

fn model(name: &str) -> Model {
    Providers::load().unwrap().model(name).unwrap().clone()
}

/// A body's bytes and the answer's cap → tokens and nano-dollars.
#[track_caller]
fn check_bounds(name: &str, (bytes, output): (usize, usize), expected: Option<(u64, Option<u64>)>) {
    let bound = bound_of_attempt(bytes, &request(output), &model(name), Pricing::Listed);
    assert_eq!(bound.map(|b| (b.tokens, b.nanos.map(|nanos| nanos.0))), expected, "{name} {bytes} {output}");
}

#[test]
fn bounds_take_the_dearest_of_everything() {
    // An hour in the cache is the dearest thing that can happen to a token of Claude's.
    check_bounds("claude-haiku-4-5", (880, 100), Some((3_100, Some(3_000 * 2_000 + 100 * 5_000))));
    // The longer band is dearer, and its writes follow the provider's rule.
    check_bounds("gpt-5.6-luna", (880, 100), Some((3_100, Some(3_000 * 500 + 100 * 1_800))));
    // An answer is never longer than the model's longest.
    check_bounds("claude-haiku-4-5", (880, 1_000_000), Some((67_000, Some(3_000 * 2_000 + 64_000 * 5_000))));
    check_bounds("claude-haiku-4-5", (880, 0), Some((67_000, Some(3_000 * 2_000 + 64_000 * 5_000))));
}

#[test]
fn what_is_not_known_has_no_bound() {
    check_bounds("gpt-4o", (880, 0), None);
    check_bounds("gpt-4o", (usize::MAX, 1), None);
    // No price is listed for prompts that long.
    check_bounds("gpt-6-sol", (272_000, 1), Some((274_121, None)));
    check_bounds("claude-haiku-4-5", (usize::MAX - 64_000 - 2_120, 1), Some((u64::MAX - 63_999, Some(u64::MAX))));
    let unpriced = Model { prices: Vec::new(), ..model("claude-haiku-4-5") };
    let of = |priced| bound_of_attempt(880, &request(100), &unpriced, priced).unwrap();
    assert_eq!(of(Pricing::Listed), Bound { nanos: None, tokens: 3_100 });
    assert_eq!(of(Pricing::Free), Bound { nanos: Some(NanoDollars(0)), tokens: 3_100 });
}

const DAY: Cap = Cap { scope: CapScope::Project, period: CapPeriod::Day, unit: CapUnit::NanoDollars, most: 100 };
const TOKENS: Cap = Cap { scope: CapScope::User, period: CapPeriod::Month, unit: CapUnit::Tokens, most: 1_000 };

fn spent(settled: u64, open: u64) -> CapBalance {
    CapBalance { settled, open }
}

#[track_caller]
fn judges((nanos, tokens): (Option<u64>, u64), caps: &[(Cap, CapBalance)], expected: BookingDecision) {
    let bound = Bound { nanos: nanos.map(NanoDollars), tokens };
    assert_eq!(judge_booking(&bound, caps), expected, "{bound:?} {caps:?}");
}

#[test]
fn caps_let_pass_what_fits() {
    let short = |cap, spent, wanted| CapShortfall { cap, spent, wanted };
    let refused = |cap, spent, wanted| BookingDecision::Refuse(Refusal::Short(short(cap, spent, wanted)));
    judges((Some(10), 1), &[], BookingDecision::Book);
    judges((None, 1), &[], BookingDecision::Book);
    judges((Some(10), 1), &[(DAY, spent(60, 30))], BookingDecision::Book);
    let crowded = spent(60, 31);
    judges((Some(10), 1), &[(DAY, crowded)], BookingDecision::Wait(short(DAY, crowded, 10)));
    let full = spent(91, 0);
    judges((Some(10), 1), &[(DAY, full)], refused(DAY, full, 10));
    // A call that is refused for good does not wait for another first.
    judges((Some(10), 10), &[(DAY, crowded), (TOKENS, spent(991, 0))], refused(TOKENS, spent(991, 0), 10));
    // A free call takes no dollars, even where too many were spent.
    judges((Some(0), 10), &[(DAY, spent(200, 0))], BookingDecision::Book);
    judges((Some(0), 10), &[(TOKENS, spent(991, 0))], refused(TOKENS, spent(991, 0), 10));
    // Sums beyond 64 bits are beyond any cap.
    let widest = Cap { most: u64::MAX, ..DAY };
    let high = spent(u64::MAX - 5, 0);
    judges((Some(10), 1), &[(widest, high)], refused(widest, high, 10));
    let open = spent(1, u64::MAX);
    judges((Some(10), 1), &[(widest, open)], BookingDecision::Wait(short(widest, open, 10)));
}

#[test]
fn an_unknown_price_needs_a_cap_of_tokens() {
    judges((None, 10), &[(DAY, spent(0, 0))], BookingDecision::Refuse(Refusal::NoPrice));
    judges((None, 10), &[(DAY, spent(100, 0)), (TOKENS, spent(0, 0))], BookingDecision::Book);
    let full = spent(991, 0);
    let short = CapShortfall { cap: TOKENS, spent: full, wanted: 10 };
    judges((None, 10), &[(DAY, spent(0, 0)), (TOKENS, full)], BookingDecision::Refuse(Refusal::Short(short)));
}

#[test]
fn refusals_say_what_to_do() {
    let dollars = |period, most| Cap { scope: CapScope::Project, period, unit: CapUnit::NanoDollars, most };
    let cents = |cents: u64| cents * 10_000_000;
    let tokens = |period| Cap { scope: CapScope::User, period, unit: CapUnit::Tokens, most: 5_000 };
    for (refusal, expected) in [
        (
            Refusal::Short(CapShortfall {
                cap: dollars(CapPeriod::Day, cents(30)),
                spent: spent(cents(26), 0),
                wanted: cents(5),
            }),
            "a call that may cost up to $0.05 exceeds the budget: $0.26 of $0.30 a day for this project are spent; \
             raise `budget.project.day`, or wait until tomorrow",
        ),
        (
            Refusal::Short(CapShortfall {
                cap: dollars(CapPeriod::Month, cents(30)),
                spent: spent(cents(30), 12_345),
                wanted: 1,
            }),
            "a call that may cost up to $0.000000001 exceeds the budget: $0.30 of $0.30 a month for this project are \
             spent and $0.000012345 reserved by calls in progress; raise `budget.project.month`, or wait until next \
             month",
        ),
        (
            Refusal::Short(CapShortfall {
                cap: dollars(CapPeriod::Run, cents(1)),
                spent: spent(0, 0),
                wanted: cents(5),
            }),
            "a call that may cost up to $0.05 exceeds the budget: $0.00 of $0.01 a run for this project are spent; \
             raise the cap on this run's cost or `budget.project.run`, or keep fewer tokens free for the answer",
        ),
        (
            Refusal::Short(CapShortfall { cap: tokens(CapPeriod::Run), spent: spent(4_000, 0), wanted: 1_001 }),
            "a call that may take up to 1001 tokens exceeds the budget: 4000 tokens of 5000 tokens a run for all \
             projects are spent; raise `budget.user.run_tokens`, or start another run",
        ),
        (
            Refusal::Short(CapShortfall { cap: tokens(CapPeriod::Day), spent: spent(0, 0), wanted: 5_001 }),
            "a call that may take up to 5001 tokens exceeds the budget: 0 tokens of 5000 tokens a day for all projects \
             are spent; raise `budget.user.day_tokens`, or keep fewer tokens free for the answer",
        ),
        (
            Refusal::Short(CapShortfall {
                cap: dollars(CapPeriod::Day, cents(30)),
                spent: spent(0, cents(26)),
                wanted: cents(5),
            }),
            "a call that may cost up to $0.05 exceeds the budget: $0.00 of $0.30 a day for this project are spent and \
             $0.26 reserved by calls in progress; wait until those calls end, or raise `budget.project.day`",
        ),
        (
            Refusal::NoPrice,
            "the price of this model is unknown, and no budget limits tokens; set one, such as \
             `budget.user.day_tokens`, or the model's prices",
        ),
        (
            Refusal::NoBound,
            "the maximum length of the answer is unknown, so no budget can limit it; set `output` under `budget` in \
             the prompt file",
        ),
    ] {
        assert_eq!(refusal.in_words(), expected);
    }
}

/// A usage of at most that many tokens of prompt and answer.
fn usage_within(input: u64, output: u64) -> impl Strategy<Value = Usage> {
    let writes = vec((prop::sample::select(vec![0_u32, 300, 1_800, 3_600]), 0..=100_u64), 0..4);
    (0..=input, 0..=100_u64, writes, 0..=output).prop_map(|(input, read, writes, output)| {
        // Shares of the prompt, so that the parts are never more than the whole.
        let parts = writes.iter().map(|(_, share)| share).sum::<u64>() + read + 1;
        let of = |share: u64| u64::try_from(u128::from(input) * u128::from(share) / u128::from(parts)).unwrap();
        let written =
            |(seconds, share): &(u32, u64)| CacheWriteUsage { seconds: NonZeroU32::new(*seconds), tokens: of(*share) };
        let cache_writes = writes.iter().map(written).collect();
        Usage { input: Some(input), cache_read: Some(of(read)), cache_writes, output: Some(output), ..Usage::default() }
    })
}

fn attempt() -> impl Strategy<Value = (Model, usize, usize, Usage)> {
    let models: Vec<Model> = Providers::load().unwrap().models().cloned().collect();
    (prop::sample::select(models), 0..600_000_usize, 1..200_000_usize).prop_flat_map(|(model, bytes, output)| {
        let cap = output_cap(output, &model).unwrap();
        let most = u64::try_from(bytes).unwrap() + TEMPLATE_TOKENS;
        usage_within(most, cap).prop_map(move |usage| (model.clone(), bytes, output, usage))
    })
}

fn any_caps() -> impl Strategy<Value = Vec<(Cap, CapBalance)>> {
    let unit = prop::sample::select(vec![CapUnit::NanoDollars, CapUnit::Tokens]);
    let amount = || prop_oneof![0..200_u64, Just(u64::MAX), Just(u64::MAX - 50)];
    let cap = (unit, amount(), amount(), amount()).prop_map(|(unit, most, settled, open)| {
        (Cap { scope: CapScope::User, period: CapPeriod::Day, unit, most }, CapBalance { settled, open })
    });
    vec(cap, 0..4)
}

proptest! {
    #[test]
    fn no_attempt_costs_more_than_its_bound((model, bytes, output, usage) in attempt()) {
        let bound = bound_of_attempt(bytes, &request(output), &model, Pricing::Listed).unwrap();
        prop_assert!(usage.input.unwrap() + usage.output.unwrap() <= bound.tokens);
        if let Some(nanos) = bound.nanos {
            // No known price means no known cost: nothing to compare, and nothing that passes as zero.
            prop_assert!(call_cost(&usage, &model).is_none_or(|cost| cost <= nanos), "{usage:?} of {}", model.name);
        }
    }

    #[test]
    fn nothing_is_booked_beyond_a_cap(nanos in prop::option::of(0..200_u64), tokens in 0..200_u64, caps in any_caps()) {
        let bound = Bound { nanos: nanos.map(NanoDollars), tokens };
        let verdict = judge_booking(&bound, &caps);
        let fits = |open: fn(&CapBalance) -> u64| caps.iter().all(|(cap, spent)| {
            let wanted = match cap.unit { CapUnit::Tokens => Some(tokens), CapUnit::NanoDollars => nanos };
            let Some(wanted) = wanted else { return caps.iter().any(|(cap, _)| cap.unit == CapUnit::Tokens) };
            let sum = u128::from(spent.settled) + u128::from(open(spent)) + u128::from(wanted);
            wanted == 0 || sum <= u128::from(cap.most)
        });
        let (fits_beside_open, fits_alone) = (fits(|spent| spent.open), fits(|_| 0));
        prop_assert_eq!(verdict == BookingDecision::Book, fits_beside_open);
        prop_assert_eq!(matches!(verdict, BookingDecision::Refuse(_)), !fits_alone);
    }
}
