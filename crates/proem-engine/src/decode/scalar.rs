//! Reads what stands without quotes: numbers, literals, words.

use serde_json::Number;

use super::RepairKind;
use super::cursor::LenientReader;
use super::strings::is_quote;
use super::tree::{Id, JsonNodeKind};
use super::turns::is_template_token;

use proem_text::Span;

impl LenientReader<'_> {
    /// The number, literal or word that starts here. `None` if the text ends inside of it.
    pub(super) fn unquoted(&mut self) -> Option<Id> {
        let start = self.at;
        let rest = self.rest();
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b'_');
        let len = rest.bytes().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        let (token, after) = rest.split_at_checked(len).unwrap_or((rest, ""));
        if !token.is_empty() && is_end(after) {
            self.at = start.saturating_add(len);
            let kind = self.classify(token);
            let whole_word = matches!(kind, JsonNodeKind::Null | JsonNodeKind::Bool(_));
            // Half a number may be another number.
            if after.is_empty() && self.depth > 0 && !whole_word {
                self.cut(start);
                return None;
            }
            return Some(self.add(kind, start));
        }
        self.words(start)
    }

    /// Words up to the end of the line or what ends a value.
    fn words(&mut self, start: usize) -> Option<Id> {
        let rest = self.rest();
        let mut ambiguous = false;
        let mut end = rest.len();
        for (at, c) in rest.char_indices() {
            let comment =
                c == '/' && rest.get(at..).is_some_and(|rest| rest.starts_with("//") || rest.starts_with("/*"));
            if matches!(c, ',' | ']' | '}' | '\n') || (comment && at > 0) {
                end = at;
                break;
            }
            if matches!(c, '{' | '[') && at > 0 {
                (end, ambiguous) = (at, true);
                break;
            }
            ambiguous |= matches!(c, ':' | '\\' | '`' | '<' | '>') || is_quote(c);
        }
        self.at = start.saturating_add(end);
        if end == rest.len() && self.depth > 0 {
            self.cut(start);
            return None;
        }
        // Words that represent more are no value.
        let words = rest.get(..end).unwrap_or_default().trim_end();
        ambiguous |= words.trim_end_matches('.').ends_with("etc") || words.contains("...") || words.contains('…');
        let id = self.add(if ambiguous { JsonNodeKind::Unread } else { JsonNodeKind::Bare }, start);
        let len = rest.get(..end).unwrap_or_default().trim_end().len();
        if let Some(node) = self.nodes.get_mut(id) {
            node.span.end = start.saturating_add(len);
        }
        Some(id)
    }

    fn classify(&mut self, token: &str) -> JsonNodeKind {
        let span = Span::new(self.at.saturating_sub(token.len()), self.at);
        let python = match token {
            "null" => return JsonNodeKind::Null,
            "true" => return JsonNodeKind::Bool(true),
            "false" => return JsonNodeKind::Bool(false),
            "NaN" | "nan" | "undefined" | "etc" | "etc." => return JsonNodeKind::Unread,
            _ if token.starts_with("...") => return JsonNodeKind::Unread,
            _ if token.trim_start_matches(['+', '-']) == "Infinity" => return JsonNodeKind::Unread,
            "None" => JsonNodeKind::Null,
            "True" => JsonNodeKind::Bool(true),
            "False" => JsonNodeKind::Bool(false),
            _ => {
                // Rounded, its digits would be those of another number; as a text it keeps them.
                if is_beyond_64_bits(token) {
                    return JsonNodeKind::Bare;
                }
                if let Ok(number) = token.parse::<Number>() {
                    return JsonNodeKind::Number(number);
                }
                let Some(number) = respell_number(token) else { return JsonNodeKind::Bare };
                self.repairs.push(RepairKind::NumberSpelling, span);
                return JsonNodeKind::Number(number);
            }
        };
        self.repairs.push(RepairKind::PythonLiteral, span);
        python
    }
}

/// Whether `token` spells an integer that neither 64 bits nor a float hold exactly.
pub(super) fn is_beyond_64_bits(token: &str) -> bool {
    let token = token.trim_end_matches('.');
    let digits = token.trim_start_matches(['+', '-']);
    let is_integer = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_integer && digits.len() > 18 && token.parse::<i64>().is_err() && token.parse::<u64>().is_err()
}

/// The number that `token` is without a leading plus and with the zeros that JSON wants.
fn respell_number(token: &str) -> Option<Number> {
    let unsigned = token.strip_prefix(['+', '-']).unwrap_or(token);
    let sign = if token.starts_with('-') { "-" } else { "" };
    if !unsigned.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-')) {
        return None;
    }
    let digits = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    let respelled = match unsigned.strip_prefix('.') {
        Some(fraction) if digits(fraction) => format!("{sign}0.{fraction}"),
        Some(_) => return None,
        None if digits(unsigned) => format!("{sign}{}", unsigned.strip_suffix('.').unwrap_or(unsigned)),
        None => return None,
    };
    respelled.parse().ok()
}

/// Whether a number or literal may end before `after`.
fn is_end(after: &str) -> bool {
    let trimmed = after.trim_start_matches([' ', '\t', '\r']);
    match trimmed.chars().next() {
        None | Some(',' | ']' | '}' | '\n') => true,
        Some('/') => trimmed.starts_with("//") || trimmed.starts_with("/*"),
        Some('<') => is_template_token(trimmed),
        Some(c) => is_quote(c),
    }
}
