//! The results as a table for people, with what its lines mean.

use teda_core::plain_lines;

use super::document::{Document, Line, Mode};
use super::score::Spread;
use crate::report::columns::wrap;
use crate::report::grid::{Grid, Role, comment, escaped};
use crate::report::mechanism::nominal;

impl Mode {
    /// What it is called in the table.
    fn title(self) -> &'static str {
        match self {
            Self::Majority => "majority class",
            Self::Clean => "clean",
            Self::Utility => "utility",
            Self::Static => "static attacker",
            Self::Adaptive => "adaptive attacker",
        }
    }

    /// What its line says.
    fn meaning(self) -> &'static str {
        match self {
            Self::Majority => {
                "the class that most training texts have, whatever the text: the lower line"
            }
            Self::Clean => "trained on clean texts and tested on clean ones: the upper line",
            Self::Utility => {
                "trained on privatised texts, tested on clean ones: what they are still good for"
            }
            Self::Static => "trained on clean texts, infers the label of privatised ones",
            Self::Adaptive => {
                "trained on privatised texts, infers the label of other privatised ones"
            }
        }
    }

    const ALL: [Self; 5] = [
        Self::Majority,
        Self::Clean,
        Self::Utility,
        Self::Static,
        Self::Adaptive,
    ];
}

/// One line for every mechanism, ε and mode, and what they mean, in lines of at most `width` columns. The same document gives
/// the same bytes.
#[must_use]
pub fn render(document: &Document, width: usize) -> String {
    grid(document).render(width) + &wrap(&plain_lines(&legend(document)), width)
}

/// The same as Markdown.
#[must_use]
pub fn markdown(document: &Document) -> String {
    let legend = plain_lines(&legend(document)).into_owned();
    let legend: Vec<String> = legend.lines().map(escaped).collect();
    grid(document).markdown() + &legend.join("  \n") + "\n"
}

/// The same as LaTeX: a table, and the rest as comments.
#[must_use]
pub fn latex(document: &Document) -> String {
    grid(document).latex() + &comment(&plain_lines(&legend(document)))
}

fn grid(document: &Document) -> Grid {
    let mut grid = Grid::new()
        .words("mechanism", Role::Key)
        .words("nominal ε", Role::Key)
        .words("mode", Role::Key)
        .numbers("accuracy", Role::Value)
        .numbers("macro F1", Role::Value)
        .numbers("no release", Role::Value);
    for line in &document.results {
        grid.add([
            line.mechanism.clone().unwrap_or("-".into()),
            nominal(line.epsilon, line.epsilon_unit),
            line.mode.title().to_owned(),
            number(&line.accuracy),
            number(&line.macro_f1),
            missing(line),
        ]);
    }
    grid
}

fn number(spread: &Spread) -> String {
    match spread.deviation {
        None => format!("{:.4}", spread.mean),
        Some(deviation) => format!("{:.4} ± {deviation:.4}", spread.mean),
    }
}

fn missing(line: &Line) -> String {
    match (&line.mechanism, line.lost) {
        (None, _) => "-".to_owned(),
        (_, 0) => line.missing.to_string(),
        (_, lost) => format!("{} ({lost} lost on the way)", line.missing),
    }
}

/// What the numbers are of, and what the modes mean that are in the table.
fn legend(document: &Document) -> String {
    let data = &document.data;
    let by = match data.divided_by {
        "splits" => "divided by its own splits",
        _ => "divided 9 to 1 by the digests of the texts",
    };
    let mut text = format!(
        "\n{}: {} texts to train on, {} to test on, {by}; {} classes of '{}'.\n",
        data.name,
        data.train,
        data.test,
        data.classes.len(),
        data.label
    );
    let modes = Mode::ALL.into_iter();
    let used = modes.filter(|mode| document.results.iter().any(|line| line.mode == *mode));
    for mode in used {
        text += &format!("  {:<18} {}\n", mode.title(), mode.meaning());
    }
    let clean = document
        .results
        .iter()
        .find(|line| line.mode == Mode::Clean);
    if let Some(clean) = clean {
        let rate = clean.accuracy.mean;
        let error = (rate * (1.0 - rate) / data.test as f64).sqrt();
        text += &format!(
            "An accuracy of {rate:.4} on {} texts has a standard error of {error:.4}.\n",
            data.test
        );
    }
    text += &training(document);
    if document.results.iter().any(|line| line.mechanism.is_some()) {
        text += "A text without a release is an empty text, to train and to test on; counted over all seeds.\n";
    }
    text
}

/// How a model was fine-tuned, and what a seed changes.
fn training(document: &Document) -> String {
    let (mut text, whose, changes) = match &document.fine_tuning {
        None if document.results.iter().all(|line| line.mechanism.is_none()) => {
            return String::new();
        }
        None => (
            String::new(),
            "the mechanism's coins",
            "the coins of the mechanism and nothing else",
        ),
        Some(tuning) => (
            format!(
                "Classifier: {}, fine-tuned for {} {} at a learning rate of {:e} in batches of {}; it reads at most {} tokens of a text.\n",
                tuning.model,
                tuning.epochs,
                if tuning.epochs == 1 {
                    "epoch"
                } else {
                    "epochs"
                },
                tuning.learning_rate,
                tuning.batch,
                tuning.max_tokens
            ),
            "other coins",
            "the coins of mechanism and training, and nothing else",
        ),
    };
    text += &match document.seeds {
        1 => format!("One seed: {whose} would give other numbers with another.\n"),
        seeds => {
            format!("Mean ± standard deviation over {seeds} seeds. A seed changes {changes}.\n")
        }
    };
    text
}
