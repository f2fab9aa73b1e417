//! Results in rows and columns, for a terminal of any width, for Markdown and for LaTeX.
//!
//! What all rows share is said once above the table instead of in every row. On a terminal the table then takes the widest form
//! that fits: everything in one row; the columns of a group as a heading above its rows; without details, which it says; the
//! rest of the columns below one another.

mod latex;
mod markdown;
mod terminal;

use teda_core::plain;

pub use latex::comment;
pub use markdown::escaped;

/// What a column is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// What several rows have in common: in the heading above them where the width is short.
    Group,
    /// What tells one row of a group from another: never left out.
    Key,
    /// What is reported.
    Value,
    /// What is left out where the width is short, the lowest number first.
    Detail(u8),
}

/// One column.
#[derive(Debug, Clone)]
struct Column {
    name: String,
    role: Role,
    /// Whether it holds numbers, which end below each other.
    number: bool,
}

/// Rows and columns of text.
#[derive(Debug, Clone, Default)]
pub struct Grid {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Grid {
    /// A grid without columns and without rows.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A grid with the columns that every table of results begins with: what was audited, and how its sets were drawn.
    #[must_use]
    pub fn of_results() -> Self {
        Self::new()
            .words("data set", Role::Group)
            .words("mechanism", Role::Group)
            .words("nominal ε", Role::Key)
            .numbers("k", Role::Group)
            .numbers("λ", Role::Group)
    }

    /// With a further column of words.
    #[must_use]
    pub fn words(self, name: impl Into<String>, role: Role) -> Self {
        self.column(name.into(), role, false)
    }

    /// With a further column of numbers.
    #[must_use]
    pub fn numbers(self, name: impl Into<String>, role: Role) -> Self {
        self.column(name.into(), role, true)
    }

    fn column(mut self, name: String, role: Role, number: bool) -> Self {
        self.columns.push(Column { name, role, number });
        self
    }

    /// Adds a row, which has an entry for every column. Control characters are escaped.
    pub fn add<T: AsRef<str>>(&mut self, row: impl IntoIterator<Item = T>) {
        let row: Vec<String> = row
            .into_iter()
            .map(|entry| plain(entry.as_ref()).into_owned())
            .collect();
        debug_assert_eq!(row.len(), self.columns.len(), "{row:?}");
        self.rows.push(row);
    }

    /// Without the columns of these names, if every entry of them is `nothing`.
    #[must_use]
    pub fn without(mut self, names: &[&str], nothing: &str) -> Self {
        for name in names {
            let place = self.columns.iter().position(|column| column.name == *name);
            if let Some(place) = place
                && self.rows.iter().all(|row| row[place] == nothing)
            {
                self.columns.remove(place);
                for row in &mut self.rows {
                    row.remove(place);
                }
            }
        }
        self
    }

    /// What all rows share, as (name, entry), and the places of the columns that are left; details only of at least `details` rows.
    fn parted(&self, details: usize) -> (Vec<(&str, &str)>, Vec<usize>) {
        let is_shared = |place: usize| {
            let same = |rows: &[Vec<String>]| rows[0][place] == rows[1][place];
            let fewest = match self.columns[place].role {
                Role::Group => 1,
                Role::Detail(_) => details,
                Role::Key | Role::Value => return false,
            };
            self.rows.len() >= fewest && self.rows.windows(2).all(same)
        };
        let (shared, left): (Vec<usize>, Vec<usize>) =
            (0..self.columns.len()).partition(|place| is_shared(*place));
        let said = |place: &usize| (&self.columns[*place].name[..], &self.rows[0][*place][..]);
        (shared.iter().map(said).collect(), left)
    }

    /// What all rows share, in words, and the places of the columns that are left. Details of a single row stay in it, where
    /// there is room.
    fn shared(&self, is_short: bool) -> (String, Vec<usize>) {
        let (shared, left) = self.parted(if is_short { 1 } else { 2 });
        let said: Vec<String> = shared
            .iter()
            .map(|(name, entry)| format!("{name} {entry}"))
            .collect();
        (said.join(", "), left)
    }
}
