//! The known elements and attributes of HTML.

/// How an element is in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ElementDisplay {
    /// In a line.
    Inline,
    /// On lines of its own.
    Block,
    /// Without content (section 13.1.2 of the standard).
    Void,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct HtmlElement {
    pub(super) kind: ElementDisplay,
    /// Whether its content isn't shown.
    pub(super) is_hidden: bool,
    /// Whether the standard has it, or had it.
    pub(super) is_known: bool,
    border: &'static str,
}

impl HtmlElement {
    /// The element of a name in lower case.
    pub(super) fn named(name: &str) -> Self {
        let kind = element_display(name);
        let border = match name {
            "td" | "th" => " ",
            "br" | "hr" => "\n",
            _ if kind == Some(ElementDisplay::Block) => "\n",
            _ => "",
        };
        let is_hidden = matches!(name, "template" | "noscript" | "datalist");
        let is_known = kind.is_some();
        let kind = kind.unwrap_or(ElementDisplay::Inline);
        Self { kind, is_hidden, is_known, border }
    }

    /// The replacement of its tags in the visible text.
    pub(super) const fn border(&self) -> &'static str {
        self.border
    }
}

/// How an element that the standard has, or had, is in the text.
fn element_display(name: &str) -> Option<ElementDisplay> {
    Some(match name {
        "p" | "div" | "td" | "tr" | "table" | "li" | "ul" | "ol" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "th"
        | "tbody" | "thead" | "tfoot" | "caption" | "section" | "article" | "header" | "footer" | "main" | "nav"
        | "aside" | "address" | "blockquote" | "center" | "dd" | "dl" | "dt" | "details" | "summary" | "dialog"
        | "fieldset" | "figure" | "figcaption" | "form" | "legend" | "html" | "head" | "body" | "title" | "option"
        | "pre" | "template" => ElementDisplay::Block,
        "br" | "img" | "hr" | "input" | "meta" | "link" | "area" | "base" | "col" | "embed" | "source" | "track"
        | "wbr" | "param" | "frame" | "basefont" | "bgsound" | "keygen" => ElementDisplay::Void,
        "a" | "span" | "b" | "i" | "em" | "strong" | "font" | "u" | "s" | "small" | "big" | "sub" | "sup" | "code"
        | "kbd" | "samp" | "var" | "tt" | "mark" | "q" | "cite" | "abbr" | "acronym" | "dfn" | "del" | "ins"
        | "strike" | "label" | "button" | "select" | "textarea" | "script" | "style" | "noscript" | "iframe"
        | "noembed" | "noframes" | "object" | "video" | "audio" | "canvas" | "picture" | "svg" | "math" | "map"
        | "time" | "bdi" | "bdo" | "ruby" | "rt" | "xmp" | "marquee" | "slot" | "datalist" | "nobr" => {
            ElementDisplay::Inline
        }
        _ => return None,
    })
}

/// Whether the value of the attribute is text for people or for programs that read aloud.
pub(super) fn is_read_aloud(element: &str, attribute: &str, value: &str) -> bool {
    let has_word = value.bytes().filter(|byte| byte.is_ascii_alphabetic() || *byte >= 0x80).count() >= 2;
    let name = attribute.to_ascii_lowercase();
    has_word
        && match name.as_str() {
            "alt"
            | "title"
            | "placeholder"
            | "summary"
            | "label"
            | "srcdoc"
            | "aria-label"
            | "aria-description"
            | "aria-placeholder"
            | "aria-roledescription"
            | "aria-valuetext" => true,
            "content" => element == "meta" && value.contains(char::is_whitespace),
            "value" => matches!(element, "input" | "option" | "param" | "data" | "button"),
            name => name.starts_with("data-") && value.contains(char::is_whitespace),
        }
}
