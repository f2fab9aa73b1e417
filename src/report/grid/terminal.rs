//! A grid on a terminal, without frames: readable in a log file, a diff and 80 columns.

use comfy_table::{CellAlignment, Table, presets};

use super::{Column, Grid, Role};
use crate::report::columns::{self, wrap};

/// Blanks before the rows below a heading.
const INDENT: &str = "  ";

impl Grid {
    /// The grid in lines of at most `width` columns, as far as its keys, one value and no broken word allow that.
    #[must_use]
    pub fn render(&self, width: usize) -> String {
        let (shared, left) = self.shared(false);
        let flat = self.flat(&left);
        if fits(&flat, width) {
            return above(&shared, width) + &flat;
        }
        let (shared, left) = self.shared(true);
        above(&shared, width) + &self.narrow(left, width)
    }

    /// The widest form of these columns below headings that fits.
    fn narrow(&self, left: Vec<usize>, width: usize) -> String {
        let (headed, mut left) = self.headed(left);
        let mut omitted: Vec<&str> = Vec::new();
        loop {
            let grouped = self.grouped(&headed, &left, width);
            if fits(&grouped, width) {
                return grouped + &said_of(&omitted, width);
            }
            let details = left.iter().enumerate();
            let details = details.filter_map(|(at, place)| match self.role(*place) {
                Role::Detail(rank) => Some((rank, at)),
                _ => None,
            });
            match details.min() {
                Some((_, at)) => omitted.push(&self.columns[left.remove(at)].name),
                None => return self.divided(&headed, &left, width) + &said_of(&omitted, width),
            }
        }
    }

    /// The columns for headings, and the others.
    fn headed(&self, left: Vec<usize>) -> (Vec<usize>, Vec<usize>) {
        left.into_iter()
            .partition(|place| self.role(*place) == Role::Group)
    }

    fn role(&self, place: usize) -> Role {
        self.columns[place].role
    }

    /// These columns of all rows, a line each, below a header.
    fn flat(&self, places: &[usize]) -> String {
        let mut table = Table::new();
        table
            .load_style(presets::NOTHING)
            .set_header(places.iter().map(|place| &self.columns[*place].name));
        for row in &self.rows {
            table.add_row(places.iter().map(|place| &row[*place]));
        }
        for (column, place) in table.column_iter_mut().zip(places) {
            let Column { number, .. } = self.columns[*place];
            if number {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        columns::lines(&table)
    }

    /// These columns below headings that say what `headed` holds.
    fn grouped(&self, headed: &[usize], places: &[usize], width: usize) -> String {
        let all = self.flat(places);
        if headed.is_empty() {
            return all;
        }
        // The lines of one table, so that all groups have the same columns.
        let mut lines = all.lines();
        let mut text = format!("{INDENT}{}\n", lines.next().unwrap_or_default());
        let heading = |row: &[String]| {
            let said = headed
                .iter()
                .map(|place| match self.columns[*place].number {
                    true => format!("{} {}", self.columns[*place].name, row[*place]),
                    false => row[*place].clone(),
                });
            said.collect::<Vec<_>>().join(", ")
        };
        let mut before = None;
        for (row, line) in self.rows.iter().zip(lines) {
            let heading = heading(row);
            if before.as_ref() != Some(&heading) {
                text += &wrap(&format!("{heading}\n"), width);
                before = Some(heading);
            }
            text += &format!("{INDENT}{line}\n");
        }
        text
    }

    /// The keys with as many values as fit, again and again until there are no more.
    fn divided(&self, headed: &[usize], left: &[usize], width: usize) -> String {
        let (keys, values): (Vec<usize>, Vec<usize>) = left
            .iter()
            .copied()
            .partition(|place| self.role(*place) == Role::Key);
        let mut texts = Vec::new();
        let mut rest = &values[..];
        loop {
            // One value at least, however long.
            let mut most = rest.len();
            let text = loop {
                let with: Vec<usize> = keys.iter().chain(&rest[..most]).copied().collect();
                let text = self.grouped(headed, &with, width);
                if most <= 1 || fits(&text, width) {
                    break text;
                }
                most -= 1;
            };
            texts.push(text);
            rest = &rest[most..];
            if rest.is_empty() {
                return texts.join("\n");
            }
        }
    }
}

/// What all rows share, above a table.
fn above(shared: &str, width: usize) -> String {
    match shared {
        "" => String::new(),
        _ => wrap(shared, width) + "\n",
    }
}

fn fits(text: &str, width: usize) -> bool {
    text.lines().all(|line| columns::width_of(line) <= width)
}

/// What was left out.
fn said_of(omitted: &[&str], width: usize) -> String {
    match omitted {
        [] => String::new(),
        names => wrap(
            &format!("(left out at this width: {})\n", names.join(", ")),
            width,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let mut grid = Grid::new()
            .words("data set", Role::Group)
            .words("mechanism", Role::Group)
            .numbers("k", Role::Group)
            .numbers("ε", Role::Key)
            .numbers("rate", Role::Value)
            .words("verdict", Role::Value)
            .numbers("trials", Role::Detail(1))
            .numbers("ceiling", Role::Detail(0));
        for (mechanism, epsilon, rate, trials, ceiling) in [
            ("krr", "1", "0.73", "100", "4"),
            ("krr", "10", "0.99", "100", "5"),
            ("identity", "-", "1", "100", "4"),
        ] {
            grid.add([
                "snips", mechanism, "2", epsilon, rate, "no-claim", trials, ceiling,
            ]);
        }
        grid
    }

    #[test]
    fn what_all_rows_share_stands_above_and_the_widest_form_that_fits_is_taken() {
        let shown = |width| grid().render(width);
        let wide = " mechanism   ε  rate  verdict   ceiling";
        assert!(shown(80).starts_with("data set snips, k 2, trials 100\n\n"));
        assert_eq!(shown(80).lines().nth(2), Some(wide));
        let grouped = shown(36);
        let lines: Vec<&str> = grouped.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "    ε  rate  verdict   ceiling",
                "krr",
                "    1  0.73  no-claim        4",
                "   10  0.99  no-claim        5",
                "identity",
                "    -     1  no-claim        4"
            ]
        );
        assert!(
            shown(24).ends_with("(left out at this width:\nceiling)\n"),
            "{}",
            shown(24)
        );
        let divided = shown(14);
        assert!(
            divided.contains("    ε  rate\n") && divided.contains("    ε  verdict\n"),
            "{divided}"
        );
    }

    #[test]
    fn one_row_keeps_its_keys_and_values() {
        let mut grid = Grid::new()
            .words("mechanism", Role::Group)
            .words("attack", Role::Key)
            .numbers("rate", Role::Value);
        grid.add(["krr\u{1b}[2J", "random", "0.5"]);
        assert_eq!(
            grid.render(80),
            "mechanism krr\\u{1b}[2J\n\n attack  rate\n random   0.5\n"
        );
        assert_eq!(Grid::new().words("a", Role::Group).render(80), " a\n");
    }
}
