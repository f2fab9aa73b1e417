//! Audits a mechanism of this program: one release in four is the text itself, and it claims ε = 1.

use teda::{Audit, Guarantee, Mechanism, Query, Release, Result};

struct Leaky;

impl Mechanism for Leaky {
    fn guarantee(&self) -> Option<Guarantee> {
        Some(Guarantee::claimed(1.0))
    }
    fn rewrite(&self, batch: &[Query<'_>]) -> Result<Vec<Release>> {
        let rewrite = |query: &Query<'_>| match query.seed.stream().below(4) {
            0 => Release::of(query.text),
            _ => Release::of("nothing to see"),
        };
        Ok(batch.iter().map(rewrite).collect())
    }
}

fn main() -> Result<()> {
    print!("{}", Audit::new(Leaky).trials(2_000).run()?.table());
    Ok(())
}
