//! `laplace`: the Laplace mechanism on the one-hot vector of a text's category.
//!
//! # Definition
//! y = e_x + z with independent z_i of law Laplace(Δ₁/ε), Δ₁ = 2 the largest ℓ1 distance of two one-hot vectors. On
//! these vectors it is the protocol `she`, draw for draw.
//!
//! # Guarantee
//! ε-LDP between any two texts of the domain, and tight: see `she`. Proven for exact noise.
//!
//! # Source
//! Dwork, McSherry, Nissim & Smith (TCC 2006), Section 3.
//!
//! # Deviations
//! Same as `she`.

use super::she;
use crate::entry::Entry;

pub const ENTRY: Entry = Entry {
    name: "laplace",
    summary: "Laplace mechanism on the one-hot vector of the text: the draw of she",
    source: "Dwork, McSherry, Nissim & Smith (TCC 2006)",
    build: &|context, epsilon, _| Ok(Box::new(she::protocol(context, "'laplace'", epsilon)?)),
    ..she::ENTRY
};
