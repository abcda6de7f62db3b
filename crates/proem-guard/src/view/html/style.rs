//! The visibility of text by the attributes of its element.
//!
//! Only what is at the element itself: style sheets are not read.

use alloc::string::String;
use proem_text::hex::hex_byte;

type Colour = [u8; 3];

/// Colours count as one up to this difference in each of red, green and blue.
const NEARLY_EQUAL: u8 = 12;

/// The smallest text that is seen, in pixels or points.
const SMALLEST: f32 = 2.0;

/// How far outside of the page is off screen, in pixels.
const FAR_OUT: f32 = -400.0;

/// The style of one element.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ElementStyle {
    hidden: bool,
    positioned: bool,
    off_screen: bool,
    clipped: bool,
    tiny_box: bool,
    overflow_hidden: bool,
    /// Whether its text is too small to be seen, if it says how large.
    tiny_text: Option<bool>,
    colour: Option<Shade>,
    background: Option<Shade>,
}

/// A colour, as far as it is known here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shade {
    Known(Colour),
    Transparent,
    Unknown,
}

/// The colours that an element's text has, with those of the elements around it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Colours {
    text: Shade,
    background: Shade,
    tiny_text: bool,
}

impl Default for Colours {
    /// Text of any colour on white.
    fn default() -> Self {
        Self { text: Shade::Unknown, background: Shade::Known([255; 3]), tiny_text: false }
    }
}

impl Colours {
    pub(super) fn with(self, look: &ElementStyle) -> Self {
        Self {
            text: look.colour.unwrap_or(self.text),
            background: look.background.filter(|shade| *shade != Shade::Transparent).unwrap_or(self.background),
            tiny_text: look.tiny_text.unwrap_or(self.tiny_text),
        }
    }

    /// Whether text can't be told from what is behind it, or is too small.
    pub(super) fn hide(&self) -> bool {
        let is_lost = match (self.text, self.background) {
            (Shade::Transparent, _) => true,
            (Shade::Known(text), Shade::Known(background)) => {
                text.iter().zip(background).all(|(a, b)| a.abs_diff(b) <= NEARLY_EQUAL)
            }
            _ => false,
        };
        is_lost || self.tiny_text
    }
}

impl ElementStyle {
    pub(super) const fn is_hidden(&self) -> bool {
        self.hidden || (self.positioned && (self.off_screen || self.clipped)) || (self.overflow_hidden && self.tiny_box)
    }

    /// Takes in an attribute, whose name is in lower case.
    pub(super) fn read(&mut self, name: &str, value: &str) {
        match name {
            "hidden" => self.hidden = true,
            "aria-hidden" => self.hidden |= value.eq_ignore_ascii_case("true"),
            "color" | "text" => self.colour = Some(shade(&value.to_ascii_lowercase())),
            "bgcolor" => self.background = Some(shade(&value.to_ascii_lowercase())),
            "style" => {
                for declaration in without_css_comments(&value.to_ascii_lowercase()).split(';') {
                    if let Some((property, value)) = declaration.split_once(':') {
                        self.declare(property.trim(), value.trim().trim_end_matches("!important").trim_end());
                    }
                }
            }
            _ => {}
        }
    }

    fn declare(&mut self, property: &str, value: &str) {
        let first = value.split(char::is_whitespace).next().unwrap_or_default();
        match property {
            "display" => self.hidden |= value == "none",
            "visibility" => self.hidden |= matches!(value, "hidden" | "collapse"),
            "content-visibility" => self.hidden |= value == "hidden",
            "mso-hide" => self.hidden |= value == "all",
            "opacity" => {
                self.hidden |=
                    leading_number(value).is_some_and(|(opacity, unit)| opacity < if unit == "%" { 5.0 } else { 0.05 });
            }
            "font-size" => self.tiny_text = length_in_pixels(value).map(|size| size <= SMALLEST).or(Some(false)),
            "color" | "-webkit-text-fill-color" => self.colour = Some(shade(value)),
            "background-color" | "background" => self.background = Some(background(value)),
            "background-image" => self.background = Some(Shade::Unknown),
            "position" => self.positioned = matches!(first, "absolute" | "fixed"),
            "left" | "top" | "right" | "bottom" => self.off_screen |= is_far_out(value),
            "text-indent" | "margin-left" | "margin-top" | "margin" => self.hidden |= is_far_out(first),
            "transform" => self.transform(value),
            "clip" => self.clipped |= value.starts_with("rect(0") || value.starts_with("rect(1px"),
            "clip-path" => {
                self.hidden |=
                    ["inset(50%", "inset(100%", "circle(0", "polygon(0 0)"].iter().any(|clip| value.starts_with(clip));
            }
            "overflow" | "overflow-x" | "overflow-y" => self.overflow_hidden |= matches!(first, "hidden" | "clip"),
            "width" | "height" | "max-width" | "max-height" => {
                self.tiny_box |= length_in_pixels(value).is_some_and(|size| size <= 1.0);
            }
            _ => {}
        }
    }

    fn transform(&mut self, value: &str) {
        let argument = value.split_once('(').map_or("", |(_, argument)| argument);
        let first = argument.split([',', ')']).next().unwrap_or_default().trim();
        self.hidden |= value.starts_with("translate") && is_far_out(first);
        self.hidden |= value.starts_with("scale") && leading_number(first).is_some_and(|(scale, _)| scale.abs() < 0.01);
    }
}

fn without_css_comments(style: &str) -> String {
    let mut plain = String::with_capacity(style.len());
    let mut rest = style;
    while let Some((before, comment)) = rest.split_once("/*") {
        plain.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, behind)| behind);
    }
    plain.push_str(rest);
    plain
}

/// A number and its unit.
fn leading_number(value: &str) -> Option<(f32, &str)> {
    let end = value.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+'))).unwrap_or(value.len());
    let (number, unit) = value.split_at_checked(end)?;
    // More digits than this change nothing.
    let number: f32 = number.get(..number.len().min(32))?.parse().ok()?;
    Some((number, unit.trim()))
}

/// A length in pixels, with the usual text of 16 pixels for relative ones.
fn length_in_pixels(value: &str) -> Option<f32> {
    let (number, unit) = leading_number(value)?;
    match unit {
        "" | "px" | "pt" => Some(number),
        "em" | "rem" | "ex" | "ch" => Some(number * 16.0),
        "%" => Some(number * 0.16),
        "vw" | "vh" => Some(number * 10.0),
        _ => None,
    }
}

fn is_far_out(value: &str) -> bool {
    let far = length_in_pixels(value).is_some_and(|length| length <= FAR_OUT);
    far || leading_number(value).is_some_and(|(number, unit)| matches!(unit, "%" | "vw" | "vh") && number <= -100.0)
}

/// The colour in a shorthand. A picture hides it.
fn background(value: &str) -> Shade {
    if value.contains("url(") || value.contains("gradient") {
        return Shade::Unknown;
    }
    if value.contains('(') {
        return shade(value);
    }
    let mut shades = value.split_whitespace().map(shade).filter(|shade| *shade != Shade::Unknown);
    shades.next().unwrap_or(if value == "none" { Shade::Transparent } else { Shade::Unknown })
}

/// A colour by CSS Color 4, section 4: hexadecimal, `rgb()`, and the names that mails use.
fn shade(value: &str) -> Shade {
    let value = value.trim();
    if let Some(digits) = value.strip_prefix('#') {
        return hex_shade(digits.as_bytes());
    }
    if let Some(arguments) = value.strip_prefix("rgba(").or_else(|| value.strip_prefix("rgb(")) {
        return components(arguments);
    }
    match value {
        "white" | "snow" | "ghostwhite" => Shade::Known([255; 3]),
        "black" => Shade::Known([0; 3]),
        "transparent" => Shade::Transparent,
        "red" => Shade::Known([255, 0, 0]),
        "lime" => Shade::Known([0, 255, 0]),
        "green" => Shade::Known([0, 128, 0]),
        "blue" => Shade::Known([0, 0, 255]),
        "yellow" => Shade::Known([255, 255, 0]),
        "gray" | "grey" => Shade::Known([128; 3]),
        "silver" => Shade::Known([192; 3]),
        "whitesmoke" => Shade::Known([245; 3]),
        "ivory" => Shade::Known([255, 255, 240]),
        _ => Shade::Unknown,
    }
}

fn hex_shade(digits: &[u8]) -> Shade {
    let pair = |high: &u8, low: &u8| hex_byte([*high, *low]);
    let colour = match digits {
        [_, _, _, b'0'] | [_, _, _, _, _, _, b'0', b'0'] => return Shade::Transparent,
        [red, green, blue] | [red, green, blue, _] => [pair(red, red), pair(green, green), pair(blue, blue)],
        [r, s, g, h, b, c] | [r, s, g, h, b, c, _, _] => [pair(r, s), pair(g, h), pair(b, c)],
        _ => return Shade::Unknown,
    };
    match colour {
        [Some(red), Some(green), Some(blue)] => Shade::Known([red, green, blue]),
        _ => Shade::Unknown,
    }
}

fn components(arguments: &str) -> Shade {
    let arguments = arguments.trim_end_matches(')');
    let mut parts = arguments.split([',', ' ', '/']).filter(|part| !part.is_empty()).map(leading_number);
    let mut component = || match parts.next()?? {
        (number, "%") => round_to_byte(number * 2.55),
        (number, _) => round_to_byte(number),
    };
    let colour = (component(), component(), component());
    if parts.next().flatten().is_some_and(|(alpha, _)| alpha < 0.05) {
        return Shade::Transparent;
    }
    match colour {
        (Some(red), Some(green), Some(blue)) => Shade::Known([red, green, blue]),
        _ => Shade::Unknown,
    }
}

/// The nearest number of a byte.
fn round_to_byte(number: f32) -> Option<u8> {
    (0..=u8::MAX).find(|byte| f32::from(*byte) + 0.5 > number)
}
