//! Models over HTTP against a small server on this machine that misbehaves on a fixed schedule.
//! Nothing here depends on how long anything takes.

mod caching;
mod faults;
mod likelihoods;
mod limits;
mod model;
mod server;
mod texts;
mod thinking;
mod vectors;
