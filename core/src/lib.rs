//! The vocabulary of an audit: seeds, guarantees, candidate sampling, estimators and the traits that every mechanism,
//! attack and model implements.
//!
//! Nothing here reads a file, prints or holds a model. Data flows one way:
//! texts → candidate set and secret → release → scores → guess → matrix → bound → verdict.

mod attack;
mod autoencoder;
mod confusion_matrix;
pub mod digest;
mod dots;
mod error;
pub mod estimator;
mod failure;
mod guarantee;
mod inversion;
mod masked;
mod mechanism;
mod model;
mod parameter;
mod plain;
pub mod sampling;
pub mod seed;
mod softmax;
pub mod stats;
mod verdict;

pub use attack::{
    Attack, Example, Fitted, Learner, Observation, Reading, Recalled, Reconstruction,
    Reconstructor, Sign,
};
pub use autoencoder::Autoencoder;
pub use confusion_matrix::ConfusionMatrix;
pub use dots::{dots, dots_of};
pub use error::{Error, Result};
pub use failure::{Cause, Failure};
pub use guarantee::{Basis, Composition, Guarantee, Lengths, Neighbours, Privacy, Unit};
pub use inversion::Inversion;
pub use masked::{Gap, Keep, MaskedLanguageModel, State};
pub use mechanism::{Categorical, Latent, Likelihood, Mechanism, Query, Release};
pub use model::{
    Answer, BeamSearch, Beyond, Choose, Encoder, EncoderDecoder, Followed, Generated,
    LanguageModel, LogLikelihood, MASK, MaxNewTokens, Prompt, Sampling, Scorer, Sequence,
    TextGenerator, TokenEncoder, TokenMap, TokenVectors, Weigh, grouped, likeliest,
};
pub use parameter::{Parameter, Settings};
pub use plain::{listed, plain, plain_lines, shown};
pub use seed::{Role, Seed, Stream};
pub use softmax::ln_softmax_over;
pub use verdict::Verdict;
