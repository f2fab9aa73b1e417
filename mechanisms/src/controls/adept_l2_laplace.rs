//! `adept-l2-laplace`: ADePT with the sensitivity of its first paper. Known to be broken.
//!
//! # Definition
//! Like `adept`, whose latents are clipped in ℓ2 to C, with Laplace noise of scale 2C/ε on each number.
//!
//! # Guarantee
//! It **claims** ε per text. Laplace noise needs a bound in ℓ1, and two latents of d numbers are up to 2C√d apart in it: its
//! ε is √d times what it claims. Its sound twin is `adept` with `noise=laplace`.
//!
//! # Source
//! Krishna, Gupta & Dupuy, *ADePT* (EACL 2021), Section 3; the defect: Habernal, *When differential privacy meets NLP: The
//! devil is in the detail* (EMNLP 2021).
//!
//! # Deviations
//! Model and decoding are those of `adept`.

use teda_core::{Basis, Guarantee};

use crate::adept::adept::{self, Adept, CLIP, Norm, model};
use crate::entry::{Entry, Kind};
use crate::noise::additive::{AdditiveNoise, Sensitivity};

pub const ENTRY: Entry = Entry {
    name: "adept-l2-laplace",
    summary: "BROKEN on purpose: adept with Laplace noise for the l2 bound, as first published",
    source: "ADePT (EACL 2021), Section 3; its defect: Habernal (EMNLP 2021)",
    kind: Kind::Control,
    parameters: &[CLIP],
    build: &|context, epsilon, settings| {
        let model = model(context, "'adept-l2-laplace'")?;
        let clip = settings.get(CLIP.name);
        // The defect: in ℓ1, latents clipped in ℓ2 are up to √d times as far apart.
        let (l2, l1) = (2.0 * clip, 2.0 * clip);
        let noise = AdditiveNoise::new("laplace", Sensitivity { l2, l1 }, epsilon, 0.0);
        let claim = Guarantee {
            basis: Basis::Claimed,
            ..noise.guarantee()
        };
        Ok(Box::new(Adept {
            model,
            norm: Norm::L2,
            clip,
            noise,
            claim,
        }))
    },
    ..adept::ENTRY
};
