//! Coverage of the estimators: over thousands of simulated audits of mechanisms whose ε is known, a
//! bound at level α exceeds the true ε no more often than α/2, the tail that it spends, also where it is
//! looked at after every trial if it says that it may be. And power: on examples whose answer is known
//! it is not far below.

mod black_box;
mod simulation;
mod two_rates;
mod unlimited;
mod white_box;
