//! `teda data list`: the data sets that ship in the binary.

use clap::{Args, Subcommand};
use teda_core::Result;

use super::Outcome;
use super::output::{fitted, print, prose};
use teda::report::columns::table;

/// Shows the data sets that ship in the binary.
#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Lists them with splits, source, licence and digest.
    List,
}

impl Arguments {
    pub fn run(self) -> Result<Outcome> {
        let Command::List = self.command;
        let mut overview = table([
            "data set",
            "language",
            "splits (texts; * default)",
            "licence",
        ]);
        let mut details = String::new();
        for card in teda_datasets::cards() {
            let splits: Vec<String> = card
                .splits
                .iter()
                .map(|s| {
                    let star = if s.name == card.default_split {
                        "*"
                    } else {
                        ""
                    };
                    format!("{}{star} {}", s.name, s.rows)
                })
                .collect();
            overview.add_row([
                card.name.to_owned(),
                card.language.to_owned(),
                splits.join(", "),
                card.licence.to_owned(),
            ]);
            details += &format!(
                "\n{}: {}\n  source  {}\n  credit  {}\n  sha256  {}\n",
                card.name, card.title, card.source, card.attribution, card.sha256
            );
        }
        let own = "\nMade up: --dataset categories:K, K names of categories for protocols of tabular data.\nYour own: --dataset FILE.{jsonl,csv,tsv,parquet,txt}[.gz][:COLUMN], or - for standard input.\n";
        print(&(fitted(overview) + &prose(&(details + own))))?;
        Ok(Outcome::Done)
    }
}
