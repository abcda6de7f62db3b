//! Amounts of money as a currency and an integer number of its minor units.

use alloc::{format, string::String, vec::Vec};

/// More digits than any amount has; 30 fit into 128 bits.
const MAX_DIGITS: usize = 30;

/// The codes of ISO 4217 with two minor digits that are in use for money.
const CODES: &str = "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF \
    CHF CNY COP CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR \
    ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR \
    MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP \
    STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VES WST XCD YER ZAR ZMW ZWG";
/// Those without minor digits, and with three.
const WHOLE_CODES: &str = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF";
const THREE_DIGIT_CODES: &str = "BHD IQD JOD KWD LYD OMR TND";

/// Signs and words, longest first where one starts another. `$`, `¥` and the words for them represent several
/// currencies, so they are currencies of their own: `$5` isn't `USD 5`.
pub(super) const SIGNS: [(&str, &str); 45] = [
    ("US$", "USD"),
    ("AU$", "AUD"),
    ("CA$", "CAD"),
    ("NZ$", "NZD"),
    ("HK$", "HKD"),
    ("A$", "AUD"),
    ("C$", "CAD"),
    ("R$", "BRL"),
    ("S$", "SGD"),
    ("$", "$"),
    ("€", "EUR"),
    ("£", "GBP"),
    ("¥", "¥"),
    ("₹", "INR"),
    ("₽", "RUB"),
    ("₩", "KRW"),
    ("₺", "TRY"),
    ("₴", "UAH"),
    ("₪", "ILS"),
    ("₫", "VND"),
    ("₦", "NGN"),
    ("₱", "PHP"),
    ("฿", "THB"),
    ("₿", "BTC"),
    ("zł", "PLN"),
    ("Kč", "CZK"),
    ("euros", "EUR"),
    ("euro", "EUR"),
    ("eur", "EUR"),
    ("dollars", "$"),
    ("dollar", "$"),
    ("usd", "USD"),
    ("bucks", "$"),
    ("pounds", "GBP"),
    ("pound", "GBP"),
    ("quid", "GBP"),
    ("gbp", "GBP"),
    ("chf", "CHF"),
    ("franken", "CHF"),
    ("francs", "CHF"),
    ("yen", "¥"),
    ("yuan", "CNY"),
    ("rupees", "INR"),
    ("bitcoin", "BTC"),
    ("btc", "BTC"),
];

/// An amount of money.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Amount {
    currency: String,
    minor_units: u128,
}

/// The canonical form of an amount, such as `EUR 120050` for `1.200,50 €`.
///
/// Exactly one currency and one number in ASCII digits. A sign, `k`, exponents, and digits that
/// two conventions read differently have no canonical form.
pub(super) fn canonical_amount(text: &str) -> Option<String> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    let end = text.rfind(|c: char| c.is_ascii_digit())?.checked_add(1)?;
    let currency = match (designator(text.get(..start)?)?, designator(text.get(end..)?)?) {
        ("", "") => return None,
        ("", one) | (one, "") => one,
        (one, other) if one == other => one,
        ("$", code) | (code, "$") if code.ends_with('D') => code,
        ("¥", code @ ("JPY" | "CNY")) | (code @ ("JPY" | "CNY"), "¥") => code,
        _ => return None,
    };
    let minor_units = minor_units(text.get(start..end)?, exponent(currency))?;
    let amount = Amount { currency: String::from(currency), minor_units };
    Some(format!("{} {}", amount.currency, amount.minor_units))
}

/// The currency that a text names. Nothing for nothing, `None` for anything else.
fn designator(text: &str) -> Option<&str> {
    let text = text.trim_matches([' ', '\u{a0}', '\u{202f}']);
    if text.is_empty() {
        return Some("");
    }
    let sign = SIGNS.iter().find(|(sign, _)| text == *sign || (sign.len() > 3 && text.eq_ignore_ascii_case(sign)));
    sign.map(|(_, code)| *code).or_else(|| currency_code(text))
}

/// A currency's code in upper case, out of the lists.
pub(super) fn currency_code(text: &str) -> Option<&'static str> {
    if text.len() != 3 || !text.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    let mut all = [CODES, WHOLE_CODES, THREE_DIGIT_CODES].into_iter().flat_map(str::split_whitespace);
    all.find(|code| *code == text)
}

fn exponent(currency: &str) -> usize {
    let is_in = |codes: &str| codes.split_whitespace().any(|code| code == currency);
    match currency {
        "BTC" => 8,
        "¥" => 0,
        _ if is_in(WHOLE_CODES) => 0,
        _ if is_in(THREE_DIGIT_CODES) => 3,
        _ => 2,
    }
}

/// The number of minor units, by exact decimal arithmetic.
fn minor_units(text: &str, exponent: usize) -> Option<u128> {
    let (whole, fraction) = whole_and_fraction(text, exponent)?;
    let fraction = fraction.trim_end_matches('0');
    let zeros = exponent.checked_sub(fraction.len())?;
    if whole.len().saturating_add(exponent) > MAX_DIGITS || (whole.len() > 1 && whole.starts_with('0')) {
        return None;
    }
    format!("{whole}{fraction}{:0<zeros$}", "").parse().ok()
}

/// The digits before and behind the decimal sign.
///
/// One kind of separator, standing once before exactly three digits, groups them in every
/// convention that money is written in, unless the currency has three minor digits or eight.
fn whole_and_fraction(text: &str, exponent: usize) -> Option<(String, &str)> {
    let groups: Vec<&str> = text.split(|c: char| !c.is_ascii_digit()).collect();
    let separators: Vec<char> = text.chars().filter(|c| !c.is_ascii_digit()).collect();
    let (Some(last_group), Some(first), Some(last)) = (groups.last(), separators.first(), separators.last()) else {
        return Some((String::from(text), ""));
    };
    let uniform = separators.iter().all(|c| c == first);
    let grouped_before = separators.split_last().is_none_or(|(_, before)| before.iter().all(|c| c == first));
    let may_be_decimal = matches!(last, '.' | ',') && (!uniform || separators.len() == 1);
    let three = last_group.len() == 3 && groups.first().is_some_and(|group| group.len() <= 3);
    if may_be_decimal && uniform && three && exponent > 2 {
        return None;
    }
    let decimal = may_be_decimal && !(uniform && three && !text.starts_with('0'));
    if !grouped_before || separators.iter().any(|c| !matches!(c, '.' | ',' | '\'' | '’' | '\u{a0}' | '\u{202f}')) {
        return None;
    }
    let (fraction, whole) = if decimal { groups.split_last()? } else { (&"", groups.as_slice()) };
    let (first_group, others) = whole.split_first()?;
    let well_grouped =
        others.iter().all(|group| group.len() == 3) && (others.is_empty() || (1..=3).contains(&first_group.len()));
    (well_grouped && (!decimal || !fraction.is_empty())).then(|| (whole.concat(), *fraction))
}
