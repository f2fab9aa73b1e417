//! End-to-end tests of the binary, as a user runs it.

mod check;
mod controls;
mod dp_gtr;
mod estimators;
mod failures;
mod goldens;
mod hostile;
mod inputs;
mod interrupts;
mod judges;
mod laws;
mod leaks;
mod models;
mod old_runs;
mod outside;
mod pages;
mod recorded;
mod rows;
mod sandbox;
mod studies;
mod tasks;
mod then;
mod utilities;
