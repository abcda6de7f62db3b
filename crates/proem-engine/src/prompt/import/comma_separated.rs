//! Comma-separated values: <https://www.rfc-editor.org/rfc/rfc4180>, with either line ending.

/// A row of fields, with the line it begins on, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CsvRow {
    pub(super) line: usize,
    pub(super) fields: Vec<String>,
}

/// Reads all rows; blank lines are none.
///
/// # Errors
///
/// The line at which a field in quotes begins that has no end.
pub(super) fn parse_rows(text: &str) -> Result<Vec<CsvRow>, usize> {
    let mut rows = Vec::new();
    let mut row = CsvRow { line: 1, fields: Vec::new() };
    let mut field = String::new();
    let (mut line, mut opened) = (1_usize, None);
    let mut chars = text.strip_prefix('\u{feff}').unwrap_or(text).chars().peekable();
    while let Some(c) = chars.next() {
        match (c, opened) {
            ('"', Some(_)) if chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            ('"', Some(_)) => opened = None,
            ('"', None) if field.is_empty() => opened = Some(line),
            (',', None) => row.fields.push(core::mem::take(&mut field)),
            ('\r', None) if chars.peek() == Some(&'\n') => {}
            ('\n', None) => {
                line = line.saturating_add(1);
                end_row(&mut row, &mut field, line, &mut rows);
            }
            (c, _) => {
                line = line.saturating_add(usize::from(c == '\n'));
                field.push(c);
            }
        }
    }
    if let Some(line) = opened {
        return Err(line);
    }
    end_row(&mut row, &mut field, line, &mut rows);
    Ok(rows)
}

fn end_row(row: &mut CsvRow, field: &mut String, next: usize, rows: &mut Vec<CsvRow>) {
    let is_blank = row.fields.is_empty() && field.is_empty();
    row.fields.push(core::mem::take(field));
    let done = core::mem::replace(row, CsvRow { line: next, fields: Vec::new() });
    if !is_blank {
        rows.push(done);
    }
}
