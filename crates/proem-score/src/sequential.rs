//! Whether one mean is above another, looked at after any outcome.
//!
//! Every look is valid: the probability that an interval *ever* misses the true difference is at most the chosen error,
//! however often somebody looks and whenever he stops. Nothing is assumed of the values but that they are between 0 and
//! 1, that outcomes of one arm have one mean given those before, and that arms are not chosen by their outcomes.
//!
//! For arm `k` with mean `m`, `exp(λ Σ(x − m) − ψ(|λ|) V)` is a supermartingale for every rate `|λ| < 1`, where
//! `ψ(λ) = −ln(1 − λ) − λ` and `V` sums the squared distances of each value from the mean of those before it (Howard,
//! Ramdas, McAuliffe and Sekhon, *Time-uniform, nonparametric, nonasymptotic confidence sequences*, 2021, theorem 4, after
//! Fan, Grama and Liu, 2015). Products over both arms and mixtures over rates are supermartingales too. A difference is
//! refused once the mixture exceeds `1 / error` for every pair of means with that difference (Ville's inequality). The
//! mixture's exponents are linear in the means, so the accepted differences are an interval.

use crate::interval::Interval;

/// The error of a two-sided test or interval of 95 %.
pub const ERROR_OF_95: f64 = 0.05;

/// The rates of the mixture: the optimum is near difference / variance. With the lowest rate, differences of a third of
/// a point still meet a rate within a factor of two.
const RATES: [f64; 8] = [0.8, 0.4, 0.2, 0.1, 0.05, 0.025, 0.0125, 0.006_25];

/// The weight of bets on the difference. The others are on each mean alone and confine the means.
const WEIGHT_OF_PAIRS: f64 = 0.75;

/// Each rate as a pair, on the first arm and on the second arm, in both directions.
const BETS: usize = RATES.len() * 6;

/// Steps of a search on an interval of length 2: far below any difference that somebody would state.
const STEPS: usize = 30;

/// How many times more outcomes an estimate of the missing ones considers.
const FURTHEST: f64 = 1024.0;

/// The outcomes of one arm in their order of arrival, in constant space.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ArmTally {
    count: f64,
    sum: f64,
    spread: f64,
}

impl ArmTally {
    /// Adds an outcome. False, and nothing is counted, if the value is not within 0 to 1.
    #[must_use]
    pub fn add(&mut self, value: f64) -> bool {
        if !(0.0..=1.0).contains(&value) {
            return false;
        }
        // The mean of those before, with half an outcome in the middle: known before the value.
        let expected = (self.sum + 0.5) / (self.count + 1.0);
        self.spread += (value - expected) * (value - expected);
        self.sum += value;
        self.count += 1.0;
        true
    }

    /// How many outcomes were added.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of whole additions")]
    pub const fn count(&self) -> u64 {
        self.count as u64
    }

    /// The mean of the outcomes. `None` before the first.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0.0).then(|| self.sum / self.count)
    }

    /// The same outcomes `times` over.
    fn repeated(&self, times: f64) -> Self {
        Self { count: self.count * times, sum: self.sum * times, spread: self.spread * times }
    }
}

/// The verdict of outcomes about a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DifferenceVerdict {
    /// The second mean is above the first.
    Better,
    /// The second mean is below the first.
    Worse,
    /// The second mean exceeds the first by less than the smallest difference that matters, if at all.
    TooSmall,
    /// Not yet known.
    Open,
}

/// The rates of one bet on both arms, their costs by spread, and the logarithm of its weight.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Bet {
    base: f64,
    other: f64,
    base_cost: f64,
    other_cost: f64,
    weight: f64,
}

/// A test of the difference between the means of two arms, the second minus the first.
#[derive(Debug, Clone, PartialEq)]
pub struct DifferenceTest {
    bets: [Bet; BETS],
    threshold: f64,
}

impl DifferenceTest {
    /// A test that is wrong with probability `error` at most, where the second arm is expected to get `share` of the
    /// outcomes.
    ///
    /// `share` affects only how soon the test decides: it is valid for any arrival. `None` if one of them is not
    /// strictly between 0 and 1.
    #[must_use]
    pub fn new(error: f64, share: f64) -> Option<Self> {
        let is_inside = |value: f64| value > 0.0 && value < 1.0;
        if !is_inside(error) || !is_inside(share) {
            return None;
        }
        // With rates in the inverse proportion of the counts, a shift of both means leaves the bet's value alone.
        let (base, other) = if share < 0.5 { (share / (1.0 - share), 1.0) } else { (1.0, (1.0 - share) / share) };
        let pair = WEIGHT_OF_PAIRS / 2.0;
        let single = (1.0 - WEIGHT_OF_PAIRS) / 4.0;
        let kinds = [
            (-base, other, pair),
            (base, -other, pair),
            (-1.0, 0.0, single),
            (1.0, 0.0, single),
            (0.0, -1.0, single),
            (0.0, 1.0, single),
        ];
        let mut bets = [Bet::default(); BETS];
        let all = kinds.into_iter().flat_map(|kind| RATES.map(|rate| (kind, rate)));
        for (bet, ((base, other, weight), rate)) in bets.iter_mut().zip(all) {
            *bet = Bet {
                base: base * rate,
                other: other * rate,
                base_cost: cost_by_spread(base * rate),
                other_cost: cost_by_spread(other * rate),
                weight: libm::log(weight / 8.0),
            };
        }
        Some(Self { bets, threshold: -libm::log(error) })
    }

    /// The differences that the outcomes do not refuse: −1 to 1 as long as an arm has no outcome.
    #[must_use]
    pub fn interval(&self, base: &ArmTally, other: &ArmTally) -> Interval {
        let (Some(first), Some(second)) = (base.mean(), other.mean()) else {
            return Interval { low: -1.0, high: 1.0 };
        };
        let difference = second - first;
        let end = |outermost: f64| {
            if !self.refuses(base, other, outermost) {
                return outermost;
            }
            let (mut outside, mut inside) = (outermost, difference);
            for _ in 0..STEPS {
                let middle = f64::midpoint(outside, inside);
                if self.refuses(base, other, middle) { outside = middle } else { inside = middle }
            }
            // The outer one: rounding must not cut a difference off.
            outside
        };
        Interval { low: end(-1.0), high: end(1.0) }
    }

    /// Whether the outcomes refuse this difference.
    #[must_use]
    pub fn refuses(&self, base: &ArmTally, other: &ArmTally, difference: f64) -> bool {
        let (low, high) = ((-difference).max(0.0), (1.0 - difference).min(1.0));
        if low > high {
            return true;
        }
        let lines = self.bets.map(|bet| {
            let at_zero = bet.other * (other.sum - other.count * difference) + bet.base * base.sum;
            let at_zero = at_zero - bet.other_cost * other.spread - bet.base_cost * base.spread + bet.weight;
            (at_zero, -bet.other * other.count - bet.base * base.count)
        });
        let pooled = (base.sum + other.sum - other.count * difference) / (base.count + other.count).max(1.0);
        lowest_exceeds(&lines, self.threshold, [low, pooled.clamp(low, high), high])
    }

    /// The verdict of the outcomes. An advantage below `smallest` is not worth having.
    #[must_use]
    pub fn verdict(&self, base: &ArmTally, other: &ArmTally, smallest: f64) -> DifferenceVerdict {
        let (Some(first), Some(second)) = (base.mean(), other.mean()) else { return DifferenceVerdict::Open };
        let difference = second - first;
        let is_above = difference > 0.0 && self.refuses(base, other, 0.0);
        let is_below = |limit: f64| difference < limit && self.refuses(base, other, limit);
        match (is_below(0.0), is_below(smallest), is_above) {
            (true, _, _) => DifferenceVerdict::Worse,
            (_, true, _) => DifferenceVerdict::TooSmall,
            (_, _, true) => DifferenceVerdict::Better,
            _ => DifferenceVerdict::Open,
        }
    }

    /// About how many more outcomes of both arms together decide, if those to come are like those so far.
    ///
    /// `None` while an arm has no outcome, or if a thousand times the outcomes would not decide.
    #[must_use]
    pub fn outcomes_missing(&self, base: &ArmTally, other: &ArmTally, smallest: f64) -> Option<u64> {
        if base.count() == 0 || other.count() == 0 {
            return None;
        }
        let decides = |times: f64| {
            self.verdict(&base.repeated(times), &other.repeated(times), smallest) != DifferenceVerdict::Open
        };
        let mut enough = 1.0;
        while !decides(enough) {
            enough *= 2.0;
            if enough > FURTHEST {
                return None;
            }
        }
        let mut too_few = enough / 2.0;
        for _ in 0..12 {
            let middle = f64::midpoint(too_few, enough);
            if decides(middle) { enough = middle } else { too_few = middle }
        }
        let more = libm::ceil((enough - 1.0).max(0.0) * (base.count + other.count));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 1024 times a count")]
        Some(more as u64)
    }
}

/// Whether the second arm is two points better, however few the outcomes: the rule that most tools suggest, with a tenth
/// of the traffic on the second arm.
///
/// It is no test. The table in `evals/lifecycle/experiments.md` has the share of equal versions that it promotes.
#[must_use]
pub fn two_points_better(base: &ArmTally, other: &ArmTally) -> bool {
    matches!((base.mean(), other.mean()), (Some(first), Some(second)) if second - first >= 0.02)
}

/// `ψ(|rate|)`.
fn cost_by_spread(rate: f64) -> f64 {
    let rate = libm::fabs(rate);
    -libm::log1p(-rate) - rate
}

/// Whether `ln Σ exp(a + b m)` is at least `threshold` for every `m` in a range. The function is convex in `m`.
fn lowest_exceeds(lines: &[(f64, f64); BETS], threshold: f64, [low, start, high]: [f64; 3]) -> bool {
    let (mut low, mut middle, mut high) = (low, start, high);
    for _ in 0..STEPS {
        let (value, slope, curvature) = mixture_at(lines, middle);
        if value < threshold {
            return false;
        }
        if slope > 0.0 {
            high = middle;
        } else {
            low = middle;
        }
        // The tangent bounds the function from below.
        let furthest = if slope > 0.0 { low } else { high };
        if value + slope * (furthest - middle) >= threshold {
            return true;
        }
        let newton = middle - slope / curvature;
        let is_inside = newton > low && newton < high;
        middle = if is_inside { newton } else { f64::midpoint(low, high) };
    }
    true
}

/// `ln Σ exp(a + b m)` with its first and second derivative by `m`.
fn mixture_at(lines: &[(f64, f64); BETS], m: f64) -> (f64, f64, f64) {
    let top = lines.iter().map(|(a, b)| a + b * m).fold(f64::NEG_INFINITY, f64::max);
    let (mut total, mut first, mut second) = (0.0, 0.0, 0.0);
    for (a, b) in lines {
        let weight = libm::exp(a + b * m - top);
        total += weight;
        first += weight * b;
        second += weight * b * b;
    }
    let slope = first / total;
    (top + libm::log(total), slope, second / total - slope * slope)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An arm with `successes` spread evenly over `trials`.
    fn arm(successes: u32, trials: u32) -> ArmTally {
        let mut tally = ArmTally::default();
        for trial in 0..trials {
            let is_success = (trial + 1) * successes / trials > trial * successes / trials;
            assert!(tally.add(f64::from(u8::from(is_success))));
        }
        tally
    }

    fn check(base: (u32, u32), other: (u32, u32), verdict: DifferenceVerdict, missing: Option<u64>) {
        let test = DifferenceTest::new(ERROR_OF_95, 0.5).unwrap();
        let (base, other) = (arm(base.0, base.1), arm(other.0, other.1));
        let interval = test.interval(&base, &other);
        let found = (test.verdict(&base, &other, 0.02), test.outcomes_missing(&base, &other, 0.02));
        assert_eq!(found, (verdict, missing), "{interval:?}");
    }

    #[test]
    fn a_verdict_waits_for_enough_outcomes() {
        check((0, 0), (0, 0), DifferenceVerdict::Open, None);
        check((3, 5), (4, 5), DifferenceVerdict::Open, Some(436));
        check((60, 100), (70, 100), DifferenceVerdict::Open, Some(1050));
        check((300, 500), (400, 500), DifferenceVerdict::Better, Some(0));
        check((400, 500), (300, 500), DifferenceVerdict::Worse, Some(0));
        check((300, 500), (310, 500), DifferenceVerdict::Open, Some(27997));
        check((30_000, 50_000), (30_000, 50_000), DifferenceVerdict::TooSmall, Some(0));
    }

    #[test]
    fn a_value_outside_the_range_is_not_counted() {
        let mut tally = ArmTally::default();
        for value in [f64::NAN, -0.1, 1.1, f64::INFINITY] {
            assert!(!tally.add(value));
        }
        assert_eq!(tally, ArmTally::default());
        assert_eq!(DifferenceTest::new(0.0, 0.5), None);
        assert_eq!(DifferenceTest::new(0.05, 1.0), None);
        assert_eq!(DifferenceTest::new(f64::NAN, 0.5), None);
    }

    #[test]
    fn few_outcomes_leave_every_difference_open() {
        let test = DifferenceTest::new(ERROR_OF_95, 0.1).unwrap();
        let nothing = Interval { low: -1.0, high: 1.0 };
        assert_eq!(test.interval(&ArmTally::default(), &arm(3, 3)), nothing);
        assert_eq!(test.interval(&arm(0, 1), &arm(1, 1)), nothing);
    }
}
