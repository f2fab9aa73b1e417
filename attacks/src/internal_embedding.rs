//! `internal-embedding`: guesses the candidate whose latent is nearest to the noisy latent.
//!
//! # Threat model
//! The adversary knows the candidate set and the mechanism with all its parameters and models, and sees the noisy
//! latent: the vector that a decoder turns into the release. It does not see the release, which is made of that vector
//! alone, and not the coins. Nobody is shown the latent: what this attack finds bounds what any release can show, and
//! is no finding about the release.
//!
//! # Definition
//! score(v) = ln of the density of the noisy latent y, had it been made of v. With Gaussian noise that is −‖y − h_v‖² /
//! 2σ² for the clean latent h_v, so that the guess is the nearest candidate by Euclidean distance; with Laplace noise,
//! by the ℓ1 distance. The secret is uniform over the candidates, so no other guess is right more often.
//!
//! # Source
//! TeDA (arXiv 2603.22968), Section 4.1 (internal embedding, for DP-BART and ADePT): nearest candidate by the latents
//! before and after the noise.
//!
//! # Errors
//! As of `likelihood-ratio`.

use crate::entry::{Build, Entry};
use crate::likelihood_ratio::LikelihoodRatio;

pub const ENTRY: Entry = Entry {
    name: "internal-embedding",
    summary: "nearest candidate to the noisy latent, which no release shows: bounds what any decoder can reveal",
    source: "TeDA, Section 4.1",
    judge: false,
    likelihoods: true,
    latent: true,
    reads: false,
    build: Build::Scores(|_| Ok(Box::new(LikelihoodRatio))),
};
