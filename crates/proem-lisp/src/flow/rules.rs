//! The table: what each function does with the labels of its arguments and of what it calls for.
//!
//! A function that only moves elements gets collections without the label of their spine, and elements with theirs. One
//! that looks into elements gets them without labels. All that was taken off is joined to the result. So a row that
//! takes off too little ends in a problem, never in a value without its label: a labelled value is of no type that a
//! function takes, and can't be compared.

/// A function's rule for labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) takes: Takes,
    pub(crate) results: Results,
}

/// The labels that are taken off the arguments before the call, and joined to the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// The first ones as listed, and the rest in turn.
    Listed(&'static [Take], &'static [Take]),
    /// All but the last one in one way, and the last one in another.
    Last(Take, Take),
    /// A value put into a map or a set loses its labels deeply. A value put into a sequence doesn't.
    Conj,
    /// As `Conj`, for the elements of the second argument.
    Into,
    /// A path, along which the spine of each collection counts.
    Path,
    /// Secrets are hidden in what is printed; where something secret decided on printing, it is refused.
    Print,
    /// As `Print`, for a template, which can't hide a part: a secret is refused.
    PrintTemplate,
    /// The label of the memory's names counts.
    MemoryGet,
    /// A stored value has the labels of the decision to store it.
    MemoryPut,
    /// The rest of the budget depends on everything that was done.
    Budget,
}

/// The labels of one argument that are taken off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Take {
    /// All, at any depth: the function compares, computes or prints.
    Deep,
    /// That of the spine: elements are only moved.
    Spine,
    /// None: the argument is only moved.
    Keep,
}

/// The use of the results of a function that is called for elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Results {
    /// They are only moved.
    Elements,
    /// Whether they are true, nil or how many elements they have decides which elements there are.
    Tested,
    /// They are compared, or become keys.
    Keys,
}

use Take::{Deep, Keep, Spine};

const fn listed_rule(first: &'static [Take], rest: &'static [Take]) -> Rule {
    Rule { takes: Takes::Listed(first, rest), results: Results::Elements }
}

const fn last(before: Take, last: Take) -> Rule {
    Rule { takes: Takes::Last(before, last), results: Results::Elements }
}

const fn takes(takes: Takes) -> Rule {
    Rule { takes, results: Results::Elements }
}

/// A function and collections.
const fn calls(results: Results) -> Rule {
    Rule { takes: Takes::Listed(&[], &[Spine]), results }
}

impl Rule {
    /// All labels of all arguments: right for every function that gives what its arguments are compared or computed to.
    pub(crate) const DEEP: Self = listed_rule(&[], &[Deep]);
}

/// The rule of a function by its name.
pub(super) fn rule_of(name: &str) -> Option<Rule> {
    RULES.iter().find(|(_, names)| names.split(' ').any(|other| other == name)).map(|(rule, _)| *rule)
}

/// All functions of the table that are written in Rust, by rule. Those written in the language follow their steps.
pub(super) const RULES: &[(Rule, &str)] = &[
    (
        Rule::DEEP,
        "+ - * / quot rem mod inc dec max min = not= == < > <= >= compare abs long int double float bigint num \
         +' *' -' inc' dec' bit-and bit-or bit-xor bit-and-not bit-not bit-shift-left bit-shift-right \
         unsigned-bit-shift-right bit-test bit-set bit-clear bit-flip Math/PI Math/E Math/abs Math/max Math/min \
         Math/round Math/floor Math/ceil Math/rint Math/sqrt Math/cbrt Math/pow Math/exp Math/expm1 Math/log \
         Math/log10 Math/log1p Math/sin Math/cos Math/tan Math/asin Math/acos Math/atan Math/atan2 Math/sinh \
         Math/cosh Math/tanh Math/hypot Math/signum Math/toRadians Math/toDegrees Math/floorDiv Math/floorMod \
         parse-long parse-int parse-double parse-boolean zero? pos? neg? even? odd? pos-int? neg-int? nat-int? \
         infinite? NaN? distinct? identical? set hash-set sorted-set path/checked range flatten distinct \
         dedupe frequencies sum avg str pr-str print-str println-str prn-str name namespace keyword \
         symbol subs char str/upper-case str/lower-case str/capitalize str/trim str/triml str/trimr \
         str/trim-newline str/reverse str/blank? str/starts-with? str/ends-with? str/includes? str/index-of \
         str/last-index-of str/join str/split str/split-lines str/replace-text str/characters \
         str/re-quote-replacement format .toUpperCase .toLowerCase .trim .strip .startsWith .endsWith .contains \
         .equalsIgnoreCase .length .isEmpty .isBlank .substring .charAt .indexOf .lastIndexOf .concat .repeat \
         .replace .replaceAll .replaceFirst .split .matches .toString .equals re-pattern re-find re-matches \
         re-seq str/weave set/union set/intersection set/difference set/subset? set/superset? date/parse \
         date/year date/month date/day date/weekday date/hour date/minute date/second date/plus-days \
         date/days-between date/seconds-between date/before? date/after? json/parse json/write condp/no-clause",
    ),
    // Only their kind is asked for.
    (
        listed_rule(&[], &[Spine]),
        "nil? some? not boolean true? false? boolean? number? int? integer? float? string? keyword? symbol? \
         map? vector? set? seq? list? sequential? coll? fn? ifn? double? ratio? decimal? rational? ident? any? \
         associative? indexed? reversible? sorted? reduced? uuid? inst? counted? seqable? map-entry? char? \
         simple-keyword? qualified-keyword? simple-symbol? qualified-symbol? type",
    ),
    (
        listed_rule(&[], &[Spine]),
        "count empty? vec peek pop empty not-empty keys vals key val merge seq first second last rest next \
         reverse concat seq->list cycle butlast interleave rseq doall dorun stream/parts",
    ),
    (listed_rule(&[], &[Keep]), "vector list identity reduced return fail pcalls stream/make"),
    (listed_rule(&[Spine, Deep], &[Keep]), "get nth"),
    (listed_rule(&[Spine], &[Deep]), "contains? dissoc disj select-keys find nthrest nthnext subvec"),
    (listed_rule(&[Spine], &[Deep, Keep]), "assoc"),
    (listed_rule(&[], &[Deep, Keep]), "hash-map array-map sorted-map"),
    (listed_rule(&[Deep], &[Spine]), "zipmap call"),
    (takes(Takes::MemoryGet), "memory/get"),
    (takes(Takes::MemoryPut), "memory/put"),
    (takes(Takes::Budget), "budget/remaining"),
    (takes(Takes::Print), "println print prn"),
    (takes(Takes::PrintTemplate), "printf"),
    (last(Deep, Spine), "take drop drop-last take-last take-nth split-at partition partition-all bounded-count"),
    (last(Deep, Keep), "repeat"),
    (last(Keep, Spine), "cons interpose list* apply sort-by reduce reduce-kv"),
    (last(Keep, Deep), "sort"),
    (takes(Takes::Conj), "conj"),
    (takes(Takes::Into), "into"),
    (takes(Takes::Path), "get-in"),
    (calls(Results::Elements), "map mapv map-indexed run! pmap"),
    (
        calls(Results::Tested),
        "filter filterv remove some every? not-every? not-any? take-while drop-while split-with keep \
         keep-indexed mapcat",
    ),
    (
        calls(Results::Keys),
        "group-by partition-by sum-by avg-by min-by max-by distinct-by index-by count-by sort/by-key",
    ),
    (Rule { takes: Takes::Listed(&[Spine], &[Keep]), results: Results::Keys }, "max-key min-key"),
];
