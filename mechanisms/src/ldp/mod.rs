//! Protocols of local differential privacy over categories: they encode a text's category instead of
//! rewriting the text.

pub mod categories;
pub mod histogram;
pub mod protocol;
pub mod unary;

crate::registry::mechanisms! {
    grr,
    sue,
    oue,
    she,
    the,
    olh,
    laplace,
    gaussian,
}
