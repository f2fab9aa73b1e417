//! The studies that ship.

/// A study in the binary.
pub struct Shipped {
    /// Its short name.
    pub name: &'static str,
    /// Its file.
    pub text: &'static str,
}

/// All of them, in the order of the papers.
pub const SHIPPED: [Shipped; 5] = [
    Shipped {
        name: "teda",
        text: include_str!("../../../studies/teda.toml"),
    },
    Shipped {
        name: "privrewrite",
        text: include_str!("../../../studies/privrewrite.toml"),
    },
    Shipped {
        name: "safedp-rewrite",
        text: include_str!("../../../studies/safedp-rewrite.toml"),
    },
    Shipped {
        name: "just-rewrite-it-again",
        text: include_str!("../../../studies/just-rewrite-it-again.toml"),
    },
    Shipped {
        name: "dp-gtr",
        text: include_str!("../../../studies/dp-gtr.toml"),
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::file;
    use super::*;
    use teda_datasets::Limits;

    #[test]
    fn every_study_can_be_read_at_every_scale() {
        for one in SHIPPED {
            for scale in ["smoke", "default", "paper"] {
                let none = BTreeMap::new();
                let read = file::parse(
                    one.name,
                    one.name,
                    one.text,
                    scale,
                    &none,
                    Limits::default(),
                );
                let study = read.unwrap_or_else(|e| panic!("{} at {scale}: {e}", one.name));
                study.check().unwrap();
                assert!(!study.views.statements.is_empty(), "{}", one.name);
            }
        }
    }
}
