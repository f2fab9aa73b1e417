//! `teda rewrite`: what a mechanism does to a text.

use std::io::{BufRead, Read};

use clap::Args;
use teda_core::{Error, Mechanism, Query, Result, Seed};

use super::Outcome;
use super::flags::{DataArguments, ModelArguments, SpeedArguments};
use super::output::{print, say};
use teda::audit::run;
use teda::audit::source::Source;

/// Rewrites lines from standard input, so that one can look at what a mechanism does.
///
/// One line in, one line out, in order; an empty line out means that nothing was released. Line n
/// draws from its own stream of the seed, so that the same line at the same place gives the same
/// rewrite.
#[derive(Args)]
pub struct Arguments {
    /// Mechanism (see `teda list mechanisms`)
    #[arg(long, value_name = "NAME")]
    mech: String,
    /// Nominal epsilon; not for mechanisms without one
    #[arg(long, value_name = "E", allow_hyphen_values = true)]
    epsilon: Option<f64>,
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    data: DataArguments,
    #[command(flatten)]
    speed: SpeedArguments,
}

/// Lines rewritten together.
const BATCH: usize = 256;

impl Arguments {
    pub fn run(self) -> Result<Outcome> {
        let pool = self.speed.pool()?;
        pool.install(|| self.run_here())
    }

    fn run_here(&self) -> Result<Outcome> {
        let source = Source::parse(&self.mech)?;
        let unit = source.unit(self.epsilon.is_some());
        if unit.is_some() && self.epsilon.is_none() {
            let grid = source.grid(None)?.into_iter().flatten();
            let grid: Vec<String> = grid.map(|epsilon| epsilon.to_string()).collect();
            return Err(Error::usage(format!(
                "'{source}' needs --epsilon, for example one of {}",
                grid.join(", ")
            )));
        }
        if unit.is_none() && self.epsilon.is_some() {
            return Err(Error::usage(format!("'{source}' has no epsilon to set")));
        }
        let requests = self.data.requests();
        if requests.iter().any(|request| request.source == "-") {
            return Err(Error::usage(
                "--dataset -: standard input holds the lines to rewrite; give the data set as a file",
            ));
        }
        let epsilons = self.epsilon.map(|epsilon| vec![epsilon]);
        let access = self.model.access(false);
        let config = self.model.config(vec![source], epsilons, requests);
        let mechanism = run::mechanism(&config, &access)?;
        let seed = Seed::root(self.model.seed).named("rewrite");
        let longest = self.model.limits().text;
        let mut lines = Lines::new(std::io::stdin().lock(), longest);
        loop {
            let first = lines.read;
            let batch = lines.take(BATCH)?;
            if batch.is_empty() {
                return Ok(Outcome::Done);
            }
            print(&rewrite(&*mechanism, &batch, seed, first)?)?;
        }
    }
}

/// One line a release, in order.
fn rewrite(mechanism: &dyn Mechanism, texts: &[String], seed: Seed, first: u64) -> Result<String> {
    let queries: Vec<Query<'_>> = texts
        .iter()
        .zip(first..)
        .map(|(text, number)| Query {
            text,
            seed: seed.at(number),
        })
        .collect();
    let mut out = String::new();
    for (release, number) in mechanism.rewrite(&queries)?.into_iter().zip(first + 1..) {
        if let Some(failure) = release.failure {
            say(format_args!("line {number}: no release: {failure}"));
        }
        out += &release.text.replace(['\n', '\r'], " ");
        out.push('\n');
    }
    Ok(out)
}

/// Lines of UTF-8 text, read as they come.
struct Lines<R> {
    reader: R,
    /// Bytes of a line at most.
    longest: u64,
    read: u64,
}

impl<R: BufRead> Lines<R> {
    fn new(reader: R, longest: u64) -> Self {
        Self {
            reader,
            longest,
            read: 0,
        }
    }

    /// Up to `n` further lines without their ends; none at the end of the input.
    fn take(&mut self, n: usize) -> Result<Vec<String>> {
        let mut lines = Vec::new();
        while lines.len() < n {
            let mut line = Vec::new();
            // Its end, which is not the text's, may come besides.
            let most = self.longest.saturating_add(1);
            let length = (&mut self.reader)
                .take(most)
                .read_until(b'\n', &mut line)
                .map_err(|e| Error::failed(format!("cannot read standard input: {e}")))?;
            if length == 0 {
                break;
            }
            self.read += 1;
            if length as u64 > self.longest && line.last() != Some(&b'\n') {
                return Err(Error::usage(format!(
                    "standard input, line {}: it has more than {} bytes, the most that a text may have: see whether it is text, or raise --max-text-bytes",
                    self.read, self.longest
                )));
            }
            lines.push(self.text(line)?);
        }
        Ok(lines)
    }

    fn text(&self, line: Vec<u8>) -> Result<String> {
        let wrong = |what: &str| {
            Error::usage(format!(
                "standard input, line {}: {what}; send plain UTF-8 text, one text a line",
                self.read
            ))
        };
        let text = String::from_utf8(line).map_err(|_| wrong("not valid UTF-8"))?;
        if text.contains('\0') {
            return Err(wrong("it holds a NUL character"));
        }
        Ok(text.trim().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_in_order_without_their_ends() {
        let mut lines = Lines::new("a\r\n\n  b c \nlast".as_bytes(), 9);
        assert_eq!(lines.take(3).unwrap(), ["a", "", "b c"]);
        assert_eq!(lines.take(3).unwrap(), ["last"]);
        assert!(lines.take(3).unwrap().is_empty());
    }

    #[test]
    fn a_line_without_an_end_is_not_read_to_it() {
        let mut lines = Lines::new("12345\n12345".as_bytes(), 5);
        assert_eq!(lines.take(9).unwrap(), ["12345", "12345"]);
        let endless = std::io::BufReader::new(std::io::repeat(b'x'));
        let error = Lines::new(endless, 1 << 20).take(1).unwrap_err();
        for said in ["line 1", "1048576 bytes", "--max-text-bytes"] {
            assert!(error.to_string().contains(said), "{error}");
        }
    }

    #[test]
    fn broken_lines_are_named_by_number() {
        for (input, what) in [(&b"ok\n\xff\n"[..], "UTF-8"), (b"ok\na\0b\n", "NUL")] {
            let error = Lines::new(input, 9).take(9).unwrap_err().to_string();
            assert!(error.contains("line 2") && error.contains(what), "{error}");
        }
    }
}
