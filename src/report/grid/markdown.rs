//! A grid as a table of GitHub-flavoured Markdown.

use std::fmt::Write;

use super::Grid;

impl Grid {
    /// What all rows share as a line, and the table below it.
    #[must_use]
    pub fn markdown(&self) -> String {
        let (shared, left) = self.shared(false);
        let mut text = match &shared[..] {
            "" => String::new(),
            shared => format!("{}\n\n", escaped(shared)),
        };
        let line = |entries: &mut dyn Iterator<Item = String>| {
            entries.fold("|".to_owned(), |line, entry| line + " " + &entry + " |")
        };
        let names = &mut left.iter().map(|place| escaped(&self.columns[*place].name));
        let _ = writeln!(text, "{}", line(names));
        let rules = &mut left.iter().map(|place| match self.columns[*place].number {
            true => "---:".to_owned(),
            false => "---".to_owned(),
        });
        let _ = writeln!(text, "{}", line(rules));
        for row in &self.rows {
            let entries = &mut left.iter().map(|place| escaped(&row[*place]));
            let _ = writeln!(text, "{}", line(entries));
        }
        text
    }
}

/// A text that Markdown shows as it is.
#[must_use]
pub fn escaped(text: &str) -> String {
    text.chars().fold(String::new(), |mut escaped, c| {
        match c {
            '<' => escaped += "&lt;",
            '&' => escaped += "&amp;",
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '>' => {
                escaped.push('\\');
                escaped.push(c);
            }
            _ => escaped.push(c),
        }
        escaped
    })
}

#[cfg(test)]
mod tests {
    use super::super::Role;
    use super::*;

    #[test]
    fn entries_cannot_end_a_cell_or_become_markup() {
        let mut grid = Grid::new()
            .words("mechanism", Role::Group)
            .words("attack", Role::Key)
            .numbers("rate", Role::Value);
        grid.add(["a_b", "x | <b>*y*\n", "0.5"]);
        grid.add(["a_b", "z", "1"]);
        assert_eq!(
            grid.markdown(),
            "mechanism a\\_b\n\n| attack | rate |\n| --- | ---: |\n| x \\| &lt;b\\>\\*y\\*\\\\n | 0.5 |\n| z | 1 |\n"
        );
    }
}
