//! Notebooks of Jupyter as code: their cells without outputs.
//!
//! Each line of a cell stays on the line of the file where it is written, and everything else becomes an empty line, so
//! that places in the text are places in the file. A notebook that has a whole cell in one string has no such lines: its
//! cells follow each other. Linear in the length of the file.

use serde_json::Value;

/// A cell of a notebook in its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CodeCell {
    /// Its first line, counted from 1.
    pub(crate) first: u32,
    /// Its last line.
    pub(crate) last: u32,
}

/// A notebook as it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notebook {
    pub(crate) text: String,
    pub(crate) cells: Vec<CodeCell>,
    /// The language of its kernel, in lower case. Empty if it doesn't say.
    pub(crate) language: String,
}

/// The cells of a notebook as code. Text of other cells is in comments. `None` if it is no notebook.
#[must_use]
pub fn notebook_text(source: &str) -> Option<String> {
    read_notebook(source).map(|notebook| notebook.text)
}

pub(crate) fn read_notebook(source: &str) -> Option<Notebook> {
    let whole: Value = serde_json::from_str(source).ok()?;
    let cells = whole.get("cells")?.as_array()?;
    let language = ["/metadata/kernelspec/language", "/metadata/language_info/name"]
        .into_iter()
        .find_map(|place| whole.pointer(place)?.as_str())
        .unwrap_or_default()
        .to_lowercase();
    let sources: Vec<(bool, Vec<&str>)> = cells
        .iter()
        .map(|cell| {
            let is_code = cell.get("cell_type").and_then(Value::as_str) == Some("code");
            let lines = match cell.get("source") {
                Some(Value::Array(lines)) => lines.iter().filter_map(Value::as_str).collect(),
                Some(Value::String(text)) => vec![text.as_str()],
                _ => Vec::new(),
            };
            (is_code, lines)
        })
        .collect();
    let is_by_line = |text: &&str| !text.trim_end_matches('\n').contains('\n');
    let can_stay = sources.iter().flat_map(|(_, lines)| lines).all(is_by_line);
    let placed = if can_stay { place_cells(source, &sources) } else { None };
    let (text, cells) = placed.unwrap_or_else(|| in_sequence(&sources));
    Some(Notebook { text, cells, language })
}

/// A line of a cell as it is shown.
fn cell_line(is_code: bool, line: &str) -> String {
    let line = line.trim_end_matches(['\n', '\r']);
    if is_code || line.is_empty() { line.to_owned() } else { format!("# {line}") }
}

/// The cells one behind another.
fn in_sequence(sources: &[(bool, Vec<&str>)]) -> (String, Vec<CodeCell>) {
    let (mut text, mut cells, mut line) = (String::new(), Vec::new(), 1_u32);
    for (is_code, parts) in sources {
        let first = line;
        for part in parts.concat().split_inclusive('\n') {
            text.push_str(&cell_line(*is_code, part));
            text.push('\n');
            line = line.saturating_add(1);
        }
        if *is_code && line > first {
            cells.push(CodeCell { first, last: line.saturating_sub(1) });
        }
        text.push('\n');
        line = line.saturating_add(1);
    }
    (text, cells)
}

/// The lines of the cells on the lines of the file that hold them. `None` if two share one.
fn place_cells(source: &str, sources: &[(bool, Vec<&str>)]) -> Option<(String, Vec<CodeCell>)> {
    let mut lines: Vec<String> = vec![String::new(); source.lines().count().max(1)];
    let mut cells = Vec::new();
    let mut numbers = source_lines(source.as_bytes()).into_iter();
    for (is_code, parts) in sources.iter().filter(|(_, parts)| !parts.is_empty()) {
        let of_cell = numbers.next().filter(|of_cell| of_cell.len() == parts.len())?;
        if of_cell.windows(2).any(|pair| matches!(pair, [one, other] if one == other)) {
            return None;
        }
        for (number, part) in of_cell.iter().zip(parts) {
            *lines.get_mut(*number)? = cell_line(*is_code, part);
        }
        if let Some((first, last)) = of_cell.first().zip(of_cell.last()).filter(|_| *is_code) {
            let line = |number: usize| u32::try_from(number.saturating_add(1)).unwrap_or(u32::MAX);
            cells.push(CodeCell { first: line(*first), last: line(*last) });
        }
    }
    let mut text = lines.join("\n");
    text.push('\n');
    Some((text, cells))
}

/// The lines, counted from 0, on which the strings of each cell's source begin. None for a cell without any.
fn source_lines(source: &[u8]) -> Vec<Vec<usize>> {
    let mut found: Vec<Vec<usize>> = Vec::new();
    let (mut at, mut line, mut depth) = (0_usize, 0_usize, 0_usize);
    // The last string, which is a key if a colon follows. Whether the value of `cells` and of a `source` is being read.
    let mut last: &[u8] = &[];
    let (mut in_cells, mut in_source) = (false, false);
    let mut is_value = false;
    while let Some(&byte) = source.get(at) {
        at = at.saturating_add(1);
        match byte {
            b'\n' => line = line.saturating_add(1),
            b'{' | b'[' => {
                if byte == b'[' && is_value && depth == 1 {
                    in_cells = last == b"cells";
                }
                if byte == b'[' && is_value && depth == 3 && in_cells && last == b"source" {
                    in_source = true;
                    found.push(Vec::new());
                }
                is_value = false;
                depth = depth.saturating_add(1);
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                in_source &= depth > 3;
                in_cells &= depth > 1;
            }
            b':' => is_value = true,
            b',' => is_value = false,
            b'"' => {
                let length = string_length(source.get(at..).unwrap_or_default());
                let text = source.get(at..at.saturating_add(length)).unwrap_or_default();
                if in_source {
                    found.last_mut().into_iter().for_each(|cell| cell.push(line));
                } else if is_value && depth == 3 && in_cells && last == b"source" {
                    found.push(vec![line]);
                } else if !is_value {
                    last = text;
                }
                at = at.saturating_add(length).saturating_add(1);
            }
            _ => {}
        }
    }
    found.retain(|cell| !cell.is_empty());
    found
}

/// How many bytes a string of JSON has before its closing quote.
fn string_length(text: &[u8]) -> usize {
    let mut at = 0_usize;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at = at.saturating_add(2),
            _ => at = at.saturating_add(1),
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTEBOOK: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "source": [
    "# Prices"
   ]
  },
  {
   "cell_type": "code",
   "outputs": [
    {
     "data": {"image/png": "iVBOR\n", "source": ["no cell"]}
    }
   ],
   "source": [
    "def price(a):\n",
    "    return \"a\" + a"
   ]
  },
  {"cell_type": "code", "source": []}
 ],
 "metadata": {"kernelspec": {"language": "python"}, "source": ["neither"]}
}
"##;

    #[test]
    fn lines_of_cells_stay_where_they_are_and_outputs_are_gone() {
        let notebook = read_notebook(NOTEBOOK).unwrap();
        let lines: Vec<(usize, &str)> = (1..).zip(notebook.text.lines()).filter(|(_, line)| !line.is_empty()).collect();
        assert_eq!(lines, [(6, "# # Prices"), (17, "def price(a):"), (18, "    return \"a\" + a")]);
        assert_eq!(notebook.cells, [CodeCell { first: 17, last: 18 }]);
        assert_eq!(notebook.language, "python");
    }

    #[test]
    fn a_notebook_on_one_line_has_its_cells_one_behind_another() {
        let text = notebook_text(
            r#"{"cells":[{"source":"a = 1\nb = 2","cell_type":"code"},{"cell_type":"raw","source":["x"]}]}"#,
        );
        assert_eq!(text.as_deref(), Some("a = 1\nb = 2\n\n# x\n\n"));
        for other in ["", "[]", "{\"cells\": 1}", "{\"cells\": [", &"[".repeat(100_000)] {
            assert_eq!(notebook_text(other), None);
        }
        assert_eq!(notebook_text("{\"cells\": [1, {\"source\": [2]}]}").as_deref(), Some("\n"));
    }
}
