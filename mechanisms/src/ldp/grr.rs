//! `grr`: generalised randomised response, the name of this protocol in frequency estimation.
//!
//! # Definition
//! With K categories, the client's own is reported with probability p = e^ε / (e^ε + K − 1), each other one with
//! probability q = 1 / (e^ε + K − 1). A category is reported as its text: the mechanism is `krr`, draw for draw.
//!
//! # Guarantee
//! ε-LDP between any two texts of the domain, and tight: p/q = e^ε. Proven.
//!
//! # Source
//! Kairouz, Bonawitz & Ramage, *Discrete distribution estimation under local privacy* (ICML 2016); as "direct
//! encoding", Wang et al. (USENIX Security 2017), Section 4.1.
//!
//! # Deviations
//! Those of `krr`.

use crate::controls::krr;
use crate::entry::{Entry, Kind};

pub const ENTRY: Entry = Entry {
    name: "grr",
    summary: "generalised randomised response over the data set's texts: the draw of krr",
    source: "Kairouz, Bonawitz & Ramage (ICML 2016)",
    kind: Kind::Protocol,
    ..krr::ENTRY
};
