//! Whose view of a mechanism is audited: what is released, or what the rewriting service is sent on the way.

use teda_core::{Parameter, Settings};

/// The choice of view.
pub const VIEW: Parameter = Parameter::choice(
    "view",
    &["release", "provider"],
    "what is released: the result, or what the rewriting service is sent",
);

/// Whether what the rewriting service is sent is the release.
pub fn is_providers(settings: &Settings) -> bool {
    settings.chosen(VIEW.name) == "provider"
}
