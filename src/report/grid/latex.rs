//! A grid as a table of LaTeX, for the package `booktabs`.

use std::fmt::Write;

use super::Grid;

impl Grid {
    /// What all rows share as a comment, and a `tabular` below it.
    #[must_use]
    pub fn latex(&self) -> String {
        let (shared, left) = self.shared(false);
        let mut text = "% needs \\usepackage{booktabs}\n".to_owned();
        match &shared[..] {
            "" => {}
            shared => text += &comment(shared),
        }
        let alignments: String = left
            .iter()
            .map(|place| {
                if self.columns[*place].number {
                    'r'
                } else {
                    'l'
                }
            })
            .collect();
        let line = |entries: &mut dyn Iterator<Item = String>| {
            entries.collect::<Vec<_>>().join(" & ") + r" \\"
        };
        let names = &mut left.iter().map(|place| escaped(&self.columns[*place].name));
        let _ = writeln!(
            text,
            "\\begin{{tabular}}{{{alignments}}}\n\\toprule\n{}\n\\midrule",
            line(names)
        );
        for row in &self.rows {
            let entries = &mut left.iter().map(|place| escaped(&row[*place]));
            let _ = writeln!(text, "{}", line(entries));
        }
        text + "\\bottomrule\n\\end{tabular}\n"
    }
}

/// Lines that LaTeX does not set.
#[must_use]
pub fn comment(text: &str) -> String {
    text.lines()
        .fold(String::new(), |all, line| match line.trim_end() {
            "" => all + "%\n",
            line => all + "% " + line + "\n",
        })
}

/// A text that LaTeX sets as it is.
fn escaped(text: &str) -> String {
    text.chars().fold(String::new(), |mut escaped, c| {
        match c {
            '\\' => escaped += r"\textbackslash{}",
            '~' => escaped += r"\textasciitilde{}",
            '^' => escaped += r"\textasciicircum{}",
            '<' => escaped += r"\textless{}",
            '>' => escaped += r"\textgreater{}",
            'ε' => escaped += r"$\varepsilon$",
            'λ' => escaped += r"$\lambda$",
            'δ' => escaped += r"$\delta$",
            '≥' => escaped += r"$\geq$",
            '±' => escaped += r"$\pm$",
            '∞' => escaped += r"$\infty$",
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
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
    fn entries_are_set_as_they_are() {
        let mut grid = Grid::new()
            .words("mechanism", Role::Group)
            .words("attack", Role::Key)
            .numbers("empirical ε ≥", Role::Value);
        grid.add(["a_b", r"x & 50 % \input{y}", "0.5"]);
        grid.add(["a_b", "z", "1"]);
        assert_eq!(
            grid.latex(),
            "% needs \\usepackage{booktabs}\n% mechanism a_b\n\\begin{tabular}{lr}\n\\toprule\nattack & empirical $\\varepsilon$ $\\geq$ \\\\\n\\midrule\nx \\& 50 \\% \\textbackslash{}input\\{y\\} & 0.5 \\\\\nz & 1 \\\\\n\\bottomrule\n\\end{tabular}\n"
        );
    }
}
