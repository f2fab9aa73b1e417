//! ADePT: noise on the one vector that an autoencoder makes of a text.

crate::registry::mechanisms! {
    adept,
}
