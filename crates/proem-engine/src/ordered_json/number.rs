//! Numbers as JavaScript prints them.

use serde_json::Number;

/// The digits of a number: `1.0` is `1`, `1e21` is `1e+21`. A whole number is as it is, however long.
///
/// Source: ECMA-262, Number::toString, <https://tc39.es/ecma262/#sec-numeric-types-number-tostring>.
pub(crate) fn print_number(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => print_float(float),
        _ => number.to_string(),
    }
}

fn print_float(float: f64) -> String {
    // Rust's exponent form has the fewest digits that read back as the same number, as JavaScript wants.
    let shortest = format!("{:e}", float.abs());
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let digits = mantissa.replace('.', "");
    let count = i64::try_from(digits.len()).unwrap_or(i64::MAX);
    // The position of the point, counted from the first digit.
    let point = exponent.parse::<i64>().unwrap_or(0).saturating_add(1);
    let zeros = |count: i64| "0".repeat(usize::try_from(count).unwrap_or(0));
    let number = match point {
        _ if float == 0.0 => return "0".to_owned(),
        point if count <= point && point <= 21 => format!("{digits}{}", zeros(point.saturating_sub(count))),
        point if 0 < point && point <= 21 => {
            let (whole, rest) = digits.split_at_checked(usize::try_from(point).unwrap_or(0)).unwrap_or((&digits, ""));
            format!("{whole}.{rest}")
        }
        point if -6 < point && point <= 0 => format!("0.{}{digits}", zeros(point.saturating_neg())),
        point => {
            let exponent = point.saturating_sub(1);
            let sign = if exponent < 0 { "" } else { "+" };
            format!("{mantissa}e{sign}{exponent}")
        }
    };
    if float < 0.0 { format!("-{number}") } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_print_as_javascript_prints_them() {
        for (written, expected) in [
            ("1.0", "1"),
            ("-1.50", "-1.5"),
            ("-0.0", "0"),
            ("0.1", "0.1"),
            ("100.0", "100"),
            ("1e20", "100000000000000000000"),
            ("123456789012345680000.0", "123456789012345680000"),
            ("1e21", "1e+21"),
            ("1.25e300", "1.25e+300"),
            ("0.000001", "0.000001"),
            ("1.5e-7", "1.5e-7"),
            ("5e-324", "5e-324"),
            ("1.7976931348623157e308", "1.7976931348623157e+308"),
            ("18446744073709551615", "18446744073709551615"),
            ("-9223372036854775808", "-9223372036854775808"),
        ] {
            assert_eq!(print_number(&written.parse::<Number>().unwrap()), expected, "{written}");
        }
    }
}
