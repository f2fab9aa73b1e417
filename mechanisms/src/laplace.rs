//! `laplace`: the Laplace mechanism on the one-hot vector of a text's category.
//!
//! # Definition
//! y = e_x + z with independent z_i of law Laplace(Δ₁/ε), Δ₁ = 2 the greatest ℓ1 distance of two one-hot
//! vectors. On these vectors it is the protocol `she`, draw for draw.
//!
//! # Guarantee
//! ε-LDP between any two texts of the domain, and tight: see `she`. Proven for exact noise.
//!
//! # Source
//! Dwork, McSherry, Nissim & Smith (TCC 2006), Section 3.
//!
//! # Deviations
//! Those of `she`.

use teda_core::Unit;

use crate::histogram::Histogram;
use crate::krr::GRID;
use crate::protocol::Local;
use crate::registry::{Entry, Kind, Rewriter};
use crate::she::Laplace;

pub const ENTRY: Entry = Entry {
    name: "laplace",
    summary: "Laplace mechanism on the one-hot vector of the text: the draw of she",
    source: "Dwork, McSherry, Nissim & Smith (TCC 2006)",
    kind: Kind::Protocol,
    unit: Some(Unit::Text),
    grid: &GRID,
    parameters: &[],
    presets: &[],
    rewriter: Rewriter::Nothing,
    build: &|context, epsilon, _| {
        let claim = (epsilon, 0.0);
        Ok(Box::new(Local::new(context, "'laplace'", claim, |size| {
            Histogram::new(size, Laplace::of_sensitivity(2.0, epsilon))
        })?))
    },
};
