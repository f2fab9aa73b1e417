//! Real noise on a lattice, so that floating-point numbers do not give the input away.
//!
//! # Definition
//! y = x + h·round(z/h), where x is a multiple of the step h, z is the noise and h is a power of two: at most
//! 1, about 2⁻²⁰ of the noise's scale, and at least 2⁻⁵⁰ so that y is exact.
//!
//! # Guarantee
//! Rounding the sum x + z to a multiple of h is post-processing, so y has the guarantee of x + z. Every y is a
//! multiple of h whatever x was: no input has numbers that only it can produce, as happens with sums of floating-point
//! noise. The noise is computed to some 53 bits, which changes the probability of a y by about a relative 2⁻³⁰: the
//! step is that much wider than what the noise resolves. That is not proven here.
//!
//! # Source
//! The pitfall: Mironov (2012), *On significance of the least significant bits for differential privacy*; the
//! remedy is that of Google's differential privacy library, with plain noise instead of a discrete draw.

/// Steps of a lattice per scale of the noise: 2 to this power.
const FINENESS: i32 = 20;

/// The multiples of a step.
#[derive(Debug, Clone, Copy)]
pub struct Lattice {
    step: f64,
}

impl Lattice {
    /// The lattice for noise of this scale.
    pub fn new(scale: f64) -> Self {
        let power = scale.log2().floor().clamp(-30.0, 20.0) as i32 - FINENESS;
        Self {
            step: 2_f64.powi(power),
        }
    }

    /// h.
    pub fn step(&self) -> f64 {
        self.step
    }

    /// x + z for a multiple x of the step, z rounded to one.
    pub fn add(&self, x: f64, noise: f64) -> f64 {
        x + (noise / self.step).round_ties_even() * self.step
    }

    /// Whether y is a multiple of the step.
    pub fn contains(&self, y: f64) -> bool {
        (y / self.step).fract() == 0.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sums_are_multiples_of_a_small_step(
            ln_scale in -60.0_f64..30.0, z in -40.0_f64..40.0, x in 0_u8..2
        ) {
            let scale = ln_scale.exp();
            let lattice = Lattice::new(scale);
            let x = f64::from(x);
            let y = lattice.add(x, scale * z);
            prop_assert!(lattice.contains(y) && lattice.contains(1.0));
            prop_assert!(!lattice.contains(y + lattice.step() / 2.0));
            prop_assert!((y - x - scale * z).abs() <= lattice.step() / 2.0 * (1.0 + 1e-9));
            prop_assert!(scale < 1e-9 || lattice.step() <= scale / 1e6);
            prop_assert!(!lattice.contains(f64::NAN) && !lattice.contains(f64::INFINITY));
        }
    }
}
