//! Cells in columns: lined up by what is seen of them, whatever colours they have.

use super::form::{Form, Tone};
use crate::claim::standing::Standing;
use crate::store::Grade;

/// A cell of a table: a word with a tone, and what follows it in the same cell.
/// Neither has a control character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    tone: Tone,
    word: String,
    rest: String,
}

impl Cell {
    /// A word with this tone.
    pub(super) fn toned(tone: Tone, word: impl Into<String>) -> Self {
        Self { tone, word: word.into(), rest: String::new() }
    }

    /// The same with something after it, which has no tone.
    pub(super) fn then(self, rest: impl Into<String>) -> Self {
        Self { rest: rest.into(), ..self }
    }

    /// How many characters are seen of it.
    fn width(&self) -> usize {
        self.word.chars().count() + self.rest.chars().count()
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::toned(Tone::Ordinary, text)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<Standing> for Cell {
    fn from(standing: Standing) -> Self {
        Self::toned(standing.into(), standing.as_str())
    }
}

impl From<Grade> for Cell {
    fn from(grade: Grade) -> Self {
        Self::toned(grade.into(), grade.as_str())
    }
}

/// The head of a table.
pub(super) fn head(names: &[&str]) -> Vec<Cell> {
    names.iter().map(|name| Cell::toned(Tone::Head, *name)).collect()
}

/// Lines up columns with two spaces between them.
pub(super) fn columns(rows: &[Vec<Cell>], form: Form) -> String {
    let widths = widths(rows);
    let mut lines = String::new();
    for row in rows {
        let start = lines.len();
        for (cell, width) in row.iter().zip(&widths) {
            lines.push_str(&form.paint(cell.tone, &cell.word));
            lines.push_str(&cell.rest);
            let pad = width.saturating_sub(cell.width()) + 2;
            lines.extend(std::iter::repeat_n(' ', pad));
        }
        let end = start + lines[start..].trim_end().len();
        lines.truncate(end);
        lines.push('\n');
    }
    lines
}

/// The width of each column.
fn widths(rows: &[Vec<Cell>]) -> Vec<usize> {
    let mut widths = Vec::new();
    for row in rows {
        widths.resize(widths.len().max(row.len()), 0);
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width());
        }
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::super::form::Colour;
    use super::*;

    fn rows() -> Vec<Vec<Cell>> {
        vec![
            head(&["A", "NAME"]),
            vec![Cell::from(Standing::Failed).then(", ü"), Cell::from("x")],
            vec![Cell::from("-"), Cell::from(Grade::Ok), Cell::from("more")],
        ]
    }

    #[test]
    fn columns_begin_below_each_other_by_what_is_seen() {
        let plain = "A          NAME\nfailed, ü  x\n-          ok    more\n";
        assert_eq!(columns(&rows(), Form::Plain), plain);
        let coloured = "\x1b[1mA\x1b[0m          \x1b[1mNAME\x1b[0m\n\
            \x1b[33mfailed\x1b[0m, ü  x\n-          \x1b[32mok\x1b[0m    more\n";
        assert_eq!(columns(&rows(), Form::Terminal(Colour::Basic)), coloured);
    }
}
