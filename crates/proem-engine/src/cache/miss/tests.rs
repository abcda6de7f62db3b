use super::*;
use crate::providers::Providers;

const HAIKU: &str = "claude-haiku-4-5";

/// A request, as far as a case says. The rest is here.
struct Sent {
    seconds: i64,
    prompt: &'static str,
    model: &'static str,
    endpoint: &'static str,
    tools: Option<&'static str>,
    /// `name=text/tokens`, stable up to `|`.
    sections: &'static str,
    marked: CacheMarking,
    usage: Option<Usage>,
}

impl Default for Sent {
    fn default() -> Self {
        Self {
            seconds: 0,
            prompt: "desk/answer",
            model: HAIKU,
            endpoint: "anthropic",
            tools: Some(""),
            sections: "role=a/1000 rules=b/6000 | task=c/500",
            marked: CacheMarking::Yes,
            usage: cache_usage(7_500, 0, 7_000),
        }
    }
}

fn cache_usage(input: u64, read: u64, written: u64) -> Option<Usage> {
    let write = CacheWriteUsage { seconds: NonZeroU32::new(300), tokens: written };
    let cache_writes = if written == 0 { Vec::new() } else { vec![write] };
    Some(Usage { input: Some(input), cache_read: Some(read), cache_writes, output: Some(100), ..Usage::default() })
}

fn cache_sections(text: &'static str) -> Vec<CacheSection<'static>> {
    let mut stable = true;
    let mut parts = Vec::new();
    for word in text.split(' ') {
        if word == "|" {
            stable = false;
            continue;
        }
        let (name, rest) = word.split_once('=').unwrap();
        let (hash, tokens) = rest.split_once('/').unwrap();
        parts.push(CacheSection { name, hash, tokens: tokens.parse().unwrap(), stable });
    }
    parts
}

fn compared(first: &Sent, second: &Sent) -> CacheComparison {
    let sections = [cache_sections(first.sections), cache_sections(second.sections)];
    let [one, other] = [(first, &sections[0]), (second, &sections[1])].map(|(sent, sections)| CacheRequest {
        at: Time(sent.seconds * 1_000),
        prompt: sent.prompt,
        model: sent.model,
        endpoint: sent.endpoint,
        tools: sent.tools,
        sections,
        stable_tokens: sections.iter().filter(|part| part.stable).map(|part| part.tokens).sum(),
        marked: sent.marked,
        usage: sent.usage.as_ref(),
    });
    let providers = Providers::load().unwrap();
    compare_requests(&one, &other, providers.model(second.model).ok())
}

#[track_caller]
fn check(first: &Sent, second: &Sent, (verdict, missed, cost): (CacheOutcome, Option<u64>, Option<u64>), words: &str) {
    let compared = compared(first, second);
    assert_eq!(compared.verdict, verdict);
    assert_eq!((compared.missed_tokens, compared.cost), (missed, cost.map(NanoDollars)));
    assert_eq!(compared.in_words(), words);
}

#[test]
fn what_is_read_is_a_hit() {
    let second = Sent { seconds: 60, usage: cache_usage(7_500, 6_800, 0), ..Sent::default() };
    check(
        &Sent::default(),
        &second,
        (CacheOutcome::Hit { tokens: 6_800 }, Some(0), Some(0)),
        "the cache was read: 6,800 tokens",
    );
    let second = Sent { sections: "role=a/1000 rules=b/6000 | task=d/500", ..second };
    check(
        &Sent::default(),
        &second,
        (CacheOutcome::Hit { tokens: 6_800 }, Some(0), Some(0)),
        "the cache was read: 6,800 tokens; the first change, in section `task`, comes after the stable prefix",
    );
}

#[test]
fn a_change_in_the_prefix_is_named_with_its_cost() {
    let missed = || (CacheOutcome::Changed, Some(7_000), Some(7_000 * 900));
    let second = |sections| Sent { sections, ..Sent::default() };
    check(
        &Sent::default(),
        &second("role=a/1000 rules=x/6000 | task=c/500"),
        missed(),
        "the cache missed because section `rules` changed, which is part of the stable prefix; 7,000 tokens were paid \
         in full, $0.006300 more than from the cache; put sections that change from call to call after those that \
         don't, and mark them `cache: never`",
    );
    let endpoint = Sent { endpoint: "proxy", ..Sent::default() };
    check(
        &Sent::default(),
        &endpoint,
        missed(),
        "the cache missed because another endpoint was asked, and each has a cache of its own; 7,000 tokens were paid in \
         full, $0.006300 more than from the cache; keep calls that share a prefix with one endpoint",
    );
    let tools = Sent { tools: Some("t"), ..Sent::default() };
    check(
        &Sent::default(),
        &tools,
        missed(),
        "the cache missed because the tools or the schema of the answer changed, which come before everything else; \
         7,000 tokens were paid in full, $0.006300 more than from the cache; keep them the same from call to call, and \
         put what one task needs further down in the prompt",
    );
    let model = Sent { model: "claude-sonnet-4-6", ..Sent::default() };
    check(
        &Sent::default(),
        &model,
        (CacheOutcome::Changed, Some(7_000), Some(7_000 * 2_700)),
        "the cache missed because another model was asked, and each has a cache of its own; 7,000 tokens were paid in \
         full, $0.018900 more than from the cache; keep calls that share a prefix with one model",
    );
    // Tokens read from an earlier breakpoint are not missed, nor are more than the prompt that was sent.
    let part = Sent {
        sections: "role=a/1000 rules=x/6000 | task=c/500",
        usage: cache_usage(7_500, 1_000, 6_000),
        ..Sent::default()
    };
    assert_eq!(compared(&Sent::default(), &part).missed_tokens, Some(6_000));
    let small =
        Sent { sections: "role=a/1000 rules=x/6000 | task=c/500", usage: cache_usage(5_000, 0, 0), ..Sent::default() };
    assert_eq!(compared(&Sent::default(), &small).missed_tokens, Some(5_000));
}

#[test]
fn the_first_change_is_found() {
    let section = |name: &str, index, stable| RequestDifference::Section { name: name.to_owned(), index, stable };
    let (base, name) = ("a=1/10 b=2/20 | c=3/30", |name: &str| name.to_owned());
    for (second, expected, shared) in [
        (base, None, 60),
        ("a=1/10 b=2/20 | c=9/30", Some(section("c", 2, false)), 30),
        ("a=9/10 b=2/20 | c=9/30", Some(section("a", 0, true)), 0),
        (
            "a=1/10 x=9/5 b=2/20 | c=3/30",
            Some(RequestDifference::Added { name: name("x"), index: 1, stable: true }),
            10,
        ),
        (
            "a=1/10 b=2/20 | c=3/30 d=4/1",
            Some(RequestDifference::Added { name: name("d"), index: 3, stable: false }),
            60,
        ),
        ("b=2/20 | c=3/30", Some(RequestDifference::Removed { name: name("a"), index: 0, stable: true }), 0),
        ("a=1/10 b=2/20 |", Some(RequestDifference::Removed { name: name("c"), index: 2, stable: false }), 30),
        ("b=2/20 a=1/10 | c=3/30", Some(RequestDifference::Moved { name: name("b"), index: 0, stable: true }), 0),
        ("a=1/10 x=2/20 | c=3/30", Some(RequestDifference::Added { name: name("x"), index: 1, stable: true }), 10),
    ] {
        let compared =
            compared(&Sent { sections: base, ..Sent::default() }, &Sent { sections: second, ..Sent::default() });
        assert_eq!((compared.first_change, compared.shared_tokens), (expected, shared), "{second}");
    }
}

#[test]
fn a_prefix_below_the_minimum_is_never_cached() {
    let short = || Sent {
        sections: "role=a/1000 rules=b/240 | task=c/500",
        usage: cache_usage(1_740, 0, 0),
        ..Sent::default()
    };
    let verdict = || CacheOutcome::TooShort { tokens: 1_240, minimum: 4_096 };
    let words = "nothing was cached: the prefix has 1,240 tokens, and this model's provider caches no prefix below \
                 4,096; move more constant text to the front, or use a model with a lower minimum";
    check(&short(), &short(), (verdict(), Some(0), Some(0)), words);
    // However much changed in it.
    let changed = Sent { sections: "role=x/1000 rules=b/240 | task=c/500", ..short() };
    check(&short(), &changed, (verdict(), Some(0), Some(0)), words);
    // OpenAI's models before GPT-5.6 keep what comes behind the stable prefix too.
    let implicit = |sections| Sent { model: "gpt-4o", sections, usage: cache_usage(1_740, 0, 0), ..Sent::default() };
    let same = "role=a/600 | log=b/700 task=c/440";
    assert_eq!(compared(&implicit(same), &implicit(same)).verdict, CacheOutcome::Unexplained);
    let other = "role=a/600 | log=x/700 task=c/440";
    assert_eq!(
        compared(&implicit(same), &implicit(other)).verdict,
        CacheOutcome::TooShort { tokens: 600, minimum: 1_024 }
    );
}

#[test]
fn entries_expire() {
    let after = |seconds| Sent { seconds, ..Sent::default() };
    let lifetime = |seconds| NonZeroU32::new(seconds).unwrap();
    check(
        &Sent::default(),
        &after(412),
        (CacheOutcome::Expired { seconds: 412, lifetime: lifetime(300) }, Some(7_000), Some(6_300_000)),
        "the cache missed because the entry had expired: 6 minutes passed, and an entry is kept for 5 minutes after \
         its last use; 7,000 tokens were paid in full, $0.006300 more than from the cache; make calls at shorter \
         intervals",
    );
    assert_eq!(compared(&Sent::default(), &after(300)).verdict, CacheOutcome::Unexplained);
    assert_eq!(compared(&Sent::default(), &after(-9)).verdict, CacheOutcome::Unexplained);
    // An entry that was bought for an hour lives an hour, and reading refreshes it.
    let hour = CacheWriteUsage { seconds: NonZeroU32::new(3_600), tokens: 7_000 };
    let bought = Usage { cache_writes: vec![hour], ..cache_usage(7_500, 0, 0).unwrap() };
    let bought = Sent { usage: Some(bought), ..Sent::default() };
    assert_eq!(compared(&bought, &after(3_600)).verdict, CacheOutcome::Unexplained);
    assert_eq!(
        compared(&bought, &after(3_601)).verdict,
        CacheOutcome::Expired { seconds: 3_601, lifetime: lifetime(3_600) }
    );
    let read = Sent { seconds: 200, usage: cache_usage(7_500, 7_000, 0), ..Sent::default() };
    assert_eq!(compared(&read, &after(450)).verdict, CacheOutcome::Unexplained);
    // How long OpenAI's older models keep an entry is not known.
    let implicit = |seconds| Sent { seconds, model: "gpt-4o", usage: cache_usage(7_500, 0, 0), ..Sent::default() };
    assert_eq!(compared(&implicit(0), &implicit(100_000)).verdict, CacheOutcome::Unexplained);
}

#[test]
fn what_was_not_written_or_not_asked_for_is_not_read() {
    let silent = Sent { usage: cache_usage(7_500, 0, 0), ..Sent::default() };
    check(
        &silent,
        &Sent::default(),
        (CacheOutcome::NeverWritten { why: CacheSkipReason::NothingKept }, Some(7_000), Some(6_300_000)),
        "the cache missed because the first request wrote nothing to it; 7,000 tokens were paid in full, $0.006300 more \
         than from the cache; see its sections in the recorded run",
    );
    let unmarked = Sent { marked: CacheMarking::No, usage: None, ..Sent::default() };
    let nothing_kept = CacheOutcome::NeverWritten { why: CacheSkipReason::NothingKept };
    assert_eq!(compared(&unmarked, &Sent::default()).verdict, nothing_kept);
    let never =
        || Sent { model: "gpt-4", marked: CacheMarking::No, usage: cache_usage(7_500, 0, 0), ..Sent::default() };
    check(
        &never(),
        &never(),
        (CacheOutcome::NeverWritten { why: CacheSkipReason::NoCache }, Some(0), None),
        "the cache missed because nothing is cached for this model; GPT-4o and later models have a cache",
    );
    check(
        &Sent::default(),
        &Sent { marked: CacheMarking::No, ..Sent::default() },
        (CacheOutcome::Unmarked, Some(7_000), Some(6_300_000)),
        "the cache was not used: the second request has no cache breakpoint; 7,000 tokens were paid in full, $0.006300 more \
         than from the cache; see its sections in the recorded run",
    );
}

#[test]
fn what_was_read_without_the_first_requests_doing_is_no_miss() {
    let words =
        "the cache was read: 6,800 tokens; a third request had written them, because the first has another prefix";
    let read = || Sent { usage: cache_usage(7_500, 6_800, 0), ..Sent::default() };
    let hit = || (CacheOutcome::Hit { tokens: 6_800 }, Some(0), Some(0));
    check(&Sent::default(), &Sent { sections: "role=x/1000 rules=b/6000 | task=c/500", ..read() }, hit(), words);
    check(&Sent::default(), &Sent { sections: "role=a/1000 rules=x/6000 | task=c/500", ..read() }, hit(), words);
    check(&Sent { endpoint: "proxy", ..Sent::default() }, &read(), hit(), words);
    check(
        &Sent::default(),
        &Sent {
            sections: "role=a/1000 rules=x/6000 | task=c/500",
            usage: cache_usage(7_500, 1_010, 5_900),
            ..Sent::default()
        },
        (CacheOutcome::Changed, Some(5_990), Some(5_990 * 900)),
        "the cache was read up to 1,010 tokens, and missed after that because section `rules` changed, which is part \
         of the stable prefix; 5,990 tokens were paid in full, $0.005391 more than from the cache; put sections that \
         change from call to call after those that don't, and mark them `cache: never`",
    );
}

#[test]
fn a_prompt_finds_nothing_that_another_wrote() {
    let decision = Sent { prompt: "risk/decision", tools: Some("d"), ..Sent::default() };
    let synthesis = |sections| Sent { prompt: "risk/synthesis", tools: Some("s"), sections, ..Sent::default() };
    let other_prompt = || (CacheOutcome::NeverWritten { why: CacheSkipReason::OtherPrompt }, Some(0), Some(0));
    let words = "the cache missed because the first request did not cache this prefix: it was made from another \
                 prompt, and the two differ from the start";
    check(&decision, &synthesis("role=a/1000 rules=b/6000 | task=c/500"), other_prompt(), words);
    let same_tools = Sent { tools: decision.tools, ..synthesis("other=x/7000 | task=c/500") };
    check(&decision, &same_tools, other_prompt(), words);
    // Text shared by two prompts counts like text within one.
    let shared = Sent { tools: decision.tools, ..synthesis("role=a/1000 rules=x/6000 | task=c/500") };
    assert_eq!(compared(&decision, &shared).verdict, CacheOutcome::Changed);
    let elsewhere = Sent { model: "claude-sonnet-4-6", ..synthesis("other=x/7000 | task=c/500") };
    assert_eq!(compared(&decision, &elsewhere).first_change, Some(RequestDifference::Model));
    assert_eq!(compared(&decision, &elsewhere).verdict, CacheOutcome::Changed);
    let short = synthesis("other=x/100 | task=c/500");
    assert_eq!(compared(&decision, &short).verdict, CacheOutcome::TooShort { tokens: 100, minimum: 4_096 });
    check(
        &Sent { marked: CacheMarking::Unsent, usage: None, ..Sent::default() },
        &Sent { sections: "role=x/7000 | task=c/500", ..Sent::default() },
        (CacheOutcome::NeverWritten { why: CacheSkipReason::NotSent }, Some(0), Some(0)),
        "the cache missed because the first request was not sent, so it wrote nothing to the cache",
    );
}

#[test]
fn what_is_not_known_is_not_invented() {
    // Text before the sections is not compared if it is not kept.
    let tools = |tools| Sent { tools, ..Sent::default() };
    assert_eq!(compared(&tools(Some("t")), &tools(None)).first_change, None);
    assert_eq!(compared(&tools(None), &tools(Some("t"))).first_change, None);
    let unreported = (CacheOutcome::Unreported, None, None);
    let words = "whether the cache was read is not known: the provider reported nothing about it";
    check(&Sent::default(), &Sent { usage: None, ..Sent::default() }, unreported.clone(), words);
    let usage = Some(Usage { cache_read: None, ..cache_usage(7_500, 0, 0).unwrap() });
    check(&Sent::default(), &Sent { usage, ..Sent::default() }, unreported, words);
    let usage = Some(Usage { input: None, ..cache_usage(7_500, 0, 0).unwrap() });
    check(
        &Sent::default(),
        &Sent { usage, ..Sent::default() },
        (CacheOutcome::Unexplained, None, None),
        "the cache missed, and the record doesn't say why: the recorded prefix is the same, long enough and not \
         expired; the number of tokens affected is unknown; providers drop entries early when they are busy",
    );
    let unlisted = || Sent { model: "nobody-knows", ..Sent::default() };
    check(
        &unlisted(),
        &Sent { tools: Some("t"), ..unlisted() },
        (CacheOutcome::Changed, Some(7_000), None),
        "the cache missed because the tools or the schema of the answer changed, which come before everything else; 7,000 \
         tokens were paid in full, for an unknown price; keep them the same from call to call, and put what \
         one task needs further down in the prompt",
    );
    // 4,200 tokens are an estimate from above, so the prefix may be below the minimum.
    let near = || Sent { sections: "role=a/4200 | task=c/500", usage: cache_usage(4_000, 0, 1), ..Sent::default() };
    check(
        &near(),
        &near(),
        (CacheOutcome::PerhapsTooShort { tokens: 4_200, minimum: 4_096 }, Some(4_000), Some(3_600_000)),
        "the cache missed, perhaps because the prefix is too short: 4,200 tokens are an estimate, and none below 4,096 are \
         cached; 4,000 tokens were paid in full, $0.003600 more than from the cache; move more constant text to the front",
    );
}
