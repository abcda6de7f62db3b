//! Reads the assertions of handlebars.js out of `spec/*.js`, without running them.
//!
//! The rule: an assertion is a chain `expectTemplate(T)….toCompileTo(E)`. It counts if the chain has no call
//! but `withInput`, `withPartial`, `withPartials` and `withMessage`, so neither a helper, a decorator nor an
//! option; if T, E and every partial are constant texts; and if the input is a constant JSON object, the empty
//! one where none is given. Constant are literals, arrays and objects of them, sums, products and differences,
//! and names that a `var`, `let` or `const` of a function around gives such a value.

use std::sync::Arc;

use proem_engine::ordered_json::OrderedJson;
use proem_text::OrderedMap;
use serde_json::Number;
use tree_sitter::{Node, Parser, Tree};

/// One assertion.
#[derive(Debug)]
pub(super) struct Assertion {
    /// `file:line` of its `expectTemplate`.
    pub(super) place: String,
    pub(super) template: String,
    pub(super) partials: Vec<(String, String)>,
    pub(super) input: OrderedMap<OrderedJson>,
    pub(super) expected: String,
}

/// The assertions of a file.
#[derive(Debug, Default)]
pub(super) struct SpecAssertions {
    pub(super) assertions: Vec<Assertion>,
    /// Why the others don't count.
    pub(super) left_out: Vec<&'static str>,
}

/// Reads one file.
pub(super) fn read_assertions(name: &str, source: &str) -> Result<SpecAssertions, String> {
    let mut parser = Parser::new();
    let language = tree_sitter_javascript::LANGUAGE.into();
    parser.set_language(&language).map_err(|error| format!("the grammar can't be used: {error}"))?;
    let tree = parser.parse(source, None).ok_or_else(|| format!("{name} can't be parsed"))?;
    let file = SpecFile { name, source };
    let mut read = SpecAssertions::default();
    for call in calls_in_order(&tree) {
        if file.method(call).is_some_and(|(_, method)| method == "toCompileTo") {
            match file.assertion(call) {
                Some(Ok(assertion)) => read.assertions.push(assertion),
                Some(Err(why)) => read.left_out.push(why),
                // Another chain's end, or a method's definition.
                None => {}
            }
        }
    }
    Ok(read)
}

/// Every call in reading order.
fn calls_in_order(tree: &Tree) -> Vec<Node<'_>> {
    let mut found = Vec::new();
    let mut cursor = tree.walk();
    loop {
        if cursor.node().kind() == "call_expression" {
            found.push(cursor.node());
        }
        if cursor.goto_first_child() || cursor.goto_next_sibling() {
            continue;
        }
        loop {
            if !cursor.goto_parent() {
                found.sort_by_key(Node::end_byte);
                return found;
            }
            if cursor.goto_next_sibling() {
                break;
            }
        }
    }
}

struct SpecFile<'s> {
    name: &'s str,
    source: &'s str,
}

/// The most steps from a name to its value.
const MAX_DEPTH: usize = 64;

const NOT_CONSTANT: &str = "the template, a partial or the expected text is computed";
const NOT_JSON: &str = "the input is no constant JSON object";
const WITH_HELPER: &str = "it needs a helper, a decorator or an option";

impl<'s> SpecFile<'s> {
    fn text(&self, node: Node<'_>) -> &'s str {
        self.source.get(node.byte_range()).unwrap_or_default()
    }

    /// The object and name of a method call.
    fn method<'t>(&self, call: Node<'t>) -> Option<(Node<'t>, &'s str)> {
        let function = call.child_by_field_name("function").filter(|node| node.kind() == "member_expression")?;
        Some((function.child_by_field_name("object")?, self.text(function.child_by_field_name("property")?)))
    }

    fn arguments<'t>(call: Node<'t>) -> Vec<Node<'t>> {
        let Some(arguments) = call.child_by_field_name("arguments") else { return Vec::new() };
        let mut cursor = arguments.walk();
        arguments.named_children(&mut cursor).filter(|node| node.kind() != "comment").collect()
    }

    /// The assertion that ends with this call. `None` if it doesn't begin with `expectTemplate`.
    fn assertion(&self, end: Node<'_>) -> Option<Result<Assertion, &'static str>> {
        let mut chain = Vec::new();
        let mut call = end;
        while let Some((object, method)) = self.method(call) {
            chain.push((method, Self::arguments(call)));
            call = object;
        }
        let root = call.child_by_field_name("function").map(|function| self.text(function));
        if root != Some("expectTemplate") {
            return None;
        }
        let place = format!("{}:{}", self.name, call.start_position().row.saturating_add(1));
        Some(self.assemble(place, &Self::arguments(call), &chain))
    }

    fn assemble(
        &self,
        place: String,
        template: &[Node<'_>],
        chain: &[(&str, Vec<Node<'_>>)],
    ) -> Result<Assertion, &'static str> {
        let one = |nodes: &[Node<'_>]| match nodes {
            [node] => self.constant_text(*node).ok_or(NOT_CONSTANT),
            _ => Err(NOT_CONSTANT),
        };
        let mut assertion = Assertion {
            place,
            template: one(template)?,
            partials: Vec::new(),
            input: OrderedMap::default(),
            expected: String::new(),
        };
        // From the end to the start: the chain's last word of a kind is first.
        for (method, arguments) in chain.iter().rev() {
            match (*method, arguments.as_slice()) {
                ("toCompileTo", arguments) => assertion.expected = one(arguments)?,
                ("withMessage", _) => {}
                ("withInput", [input]) => match self.constant(*input, MAX_DEPTH) {
                    Some(OrderedJson::Map(fields)) => assertion.input = Arc::unwrap_or_clone(fields),
                    _ => return Err(NOT_JSON),
                },
                ("withPartial", [name, text]) => {
                    let name = self.constant_text(*name).ok_or(NOT_CONSTANT)?;
                    assertion.partials.push((name, self.constant_text(*text).ok_or(NOT_CONSTANT)?));
                }
                ("withPartials", [all]) => match self.constant(*all, MAX_DEPTH) {
                    Some(OrderedJson::Map(fields)) => {
                        for (name, text) in fields.iter() {
                            let OrderedJson::Text(text) = text else { return Err(NOT_CONSTANT) };
                            assertion.partials.push((name.to_owned(), text.as_ref().to_owned()));
                        }
                    }
                    _ => return Err(NOT_CONSTANT),
                },
                _ => return Err(WITH_HELPER),
            }
        }
        Ok(assertion)
    }

    fn constant_text(&self, node: Node<'_>) -> Option<String> {
        match self.constant(node, MAX_DEPTH)? {
            OrderedJson::Text(text) => Some(text.as_ref().to_owned()),
            OrderedJson::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    /// The value of a constant expression.
    fn constant(&self, node: Node<'_>, depth: usize) -> Option<OrderedJson> {
        let depth = depth.checked_sub(1)?;
        match node.kind() {
            "string" => self.string(node).map(OrderedJson::from),
            "number" => self.text(node).parse().ok().map(OrderedJson::Number),
            "true" => Some(OrderedJson::Bool(true)),
            "false" => Some(OrderedJson::Bool(false)),
            "null" => Some(OrderedJson::Null),
            "parenthesized_expression" => self.constant(node.named_child(0)?, depth),
            "array" => {
                let mut cursor = node.walk();
                let items: Option<Vec<OrderedJson>> =
                    node.named_children(&mut cursor).map(|item| self.constant(item, depth)).collect();
                Some(OrderedJson::List(Arc::new(items?)))
            }
            "object" => {
                let mut cursor = node.walk();
                let fields: Option<OrderedMap<OrderedJson>> = node
                    .named_children(&mut cursor)
                    .map(|pair| self.field(pair, depth))
                    .collect::<Option<Vec<_>>>()
                    .map(|all| all.into_iter().collect());
                fields.map(OrderedJson::from)
            }
            "binary_expression" => {
                let left = self.constant(node.child_by_field_name("left")?, depth)?;
                let right = self.constant(node.child_by_field_name("right")?, depth)?;
                combine(&left, self.text(node.child_by_field_name("operator")?), &right)
            }
            "identifier" => self.constant(self.declared(node)?, depth),
            _ => None,
        }
    }

    fn field(&self, pair: Node<'_>, depth: usize) -> Option<(String, OrderedJson)> {
        if pair.kind() != "pair" {
            return None;
        }
        let key = pair.child_by_field_name("key")?;
        let name = match key.kind() {
            "property_identifier" | "number" => self.text(key).to_owned(),
            "string" => self.string(key)?,
            _ => return None,
        };
        Some((name, self.constant(pair.child_by_field_name("value")?, depth)?))
    }

    /// The value that a declaration of a function around gives a name.
    fn declared<'t>(&self, name: Node<'t>) -> Option<Node<'t>> {
        let mut around = name.parent();
        while let Some(node) = around {
            if matches!(node.kind(), "statement_block" | "program") {
                let mut cursor = node.walk();
                for statement in node.named_children(&mut cursor) {
                    let mut inner = statement.walk();
                    let declarators: Vec<Node<'t>> = statement.named_children(&mut inner).collect();
                    let found = declarators.into_iter().find(|declarator| {
                        declarator.kind() == "variable_declarator"
                            && declarator.child_by_field_name("name").is_some_and(|n| self.text(n) == self.text(name))
                    });
                    if let Some(found) = found {
                        return found.child_by_field_name("value");
                    }
                }
            }
            around = node.parent();
        }
        None
    }

    /// The text of a string literal.
    fn string(&self, node: Node<'_>) -> Option<String> {
        let quoted = self.text(node);
        let inner = quoted.get(1..quoted.len().checked_sub(1)?)?;
        let mut out = String::new();
        let mut chars = inner.chars();
        while let Some(c) = chars.next() {
            if c != '\\' {
                out.push(c);
                continue;
            }
            match chars.next()? {
                'n' => out.push('\n'),
                'r' => out.push('\r'),
                't' => out.push('\t'),
                'u' => {
                    let digits: String = chars.by_ref().take(4).collect();
                    out.push(char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?);
                }
                'x' | 'b' | 'f' | 'v' | '0' | '\n' => return None,
                other => out.push(other),
            }
        }
        Some(out)
    }
}

/// The result of an operator on two constants.
fn combine(left: &OrderedJson, operator: &str, right: &OrderedJson) -> Option<OrderedJson> {
    if let (OrderedJson::Text(left), "+", OrderedJson::Text(right)) = (left, operator, right) {
        return Some(format!("{left}{right}").into());
    }
    let (OrderedJson::Number(left), OrderedJson::Number(right)) = (left, right) else { return None };
    let (left, right) = (left.as_f64()?, right.as_f64()?);
    let value = match operator {
        "+" => left + right,
        "-" => left - right,
        "*" => left * right,
        _ => return None,
    };
    Number::from_f64(value).map(OrderedJson::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A specification of ours, in the form of theirs.
    const SOURCE: &str = r#"
describe('greeting', function () {
  var hash = { name: 'Ada', age: 20 + 1.5, tags: ['a', "b\n"] };
  it('is constant', function () {
    var text = 'Hi ' + '{{name}}';
    expectTemplate(text)
      .withInput(hash)
      .withPartials({ p: 'x' })
      .withMessage('says hello')
      .toCompileTo('Hi Ada');
    expectTemplate('{{a}}').toCompileTo('');
    expectTemplate('{{a}}').withInput({ a: function () {} }).toCompileTo('');
    expectTemplate('{{a}}').withInput(undefined).toCompileTo('');
    expectTemplate('{{a}}').withHelper('a', f).toCompileTo('');
    expectTemplate('{{a}}').toCompileTo(String(hash));
    expectTemplate('{{a').toThrow(Error);
    other('{{a}}').toCompileTo('');
  });
});
"#;

    #[test]
    fn constant_assertions_are_read_and_others_left_out_with_a_reason() {
        let read = read_assertions("greeting.js", SOURCE).unwrap();
        let found: Vec<String> = read
            .assertions
            .iter()
            .map(|one| {
                let input = OrderedJson::from(one.input.clone()).compact();
                format!("{} {} {} {:?} → {}", one.place, one.template, input, one.partials, one.expected)
            })
            .collect();
        assert_eq!(
            found,
            [
                r#"greeting.js:6 Hi {{name}} {"name":"Ada","age":21.5,"tags":["a","b\n"]} [("p", "x")] → Hi Ada"#,
                "greeting.js:11 {{a}} {} [] → ",
            ]
        );
        assert_eq!(read.left_out, [NOT_JSON, NOT_JSON, WITH_HELPER, NOT_CONSTANT]);
    }
}
