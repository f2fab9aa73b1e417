//! End-to-end tests of the binary, as a user runs it.

mod controls;
mod goldens;
mod inputs;
mod judges;
mod laws;
mod models;
mod sandbox;
