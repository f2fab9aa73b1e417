//! Element-wise activations, in place.

use pulp::{Arch, Simd, WithSimd};

use super::math::erf;

/// A transformer's activation function, by its name in a model's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Activation {
    /// max(x, 0).
    Relu,
    /// x·Φ(x), with the error function and not its tanh approximation.
    Gelu,
}

impl Activation {
    pub(crate) fn apply(self, values: &mut [f32]) {
        Arch::new().dispatch(Apply { kind: self, values });
    }
}

struct Apply<'a> {
    kind: Activation,
    values: &'a mut [f32],
}

impl WithSimd for Apply<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        match self.kind {
            Activation::Relu => self.values.iter_mut().for_each(|x| *x = x.max(0.0)),
            Activation::Gelu => self.values.iter_mut().for_each(|x| *x = gelu(*x)),
        }
    }
}

#[inline(always)]
fn gelu(x: f32) -> f32 {
    0.5 * x * (1.0 + erf(x * std::f32::consts::FRAC_1_SQRT_2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        let mut values = [-3.0, -1.0, 0.0, 0.5, 2.0, -0.0];
        Activation::Gelu.apply(&mut values);
        // torch.nn.functional.gelu in double precision.
        let expected = [
            -0.004_049_69,
            -0.158_655_25,
            0.0,
            0.345_731_23,
            1.954_499_7,
            0.0,
        ];
        for (x, y) in values.iter().zip(expected) {
            assert!((x - y).abs() < 1e-6, "{x} for {y}");
        }
        let mut values = [-3.0, 0.0, 2.5];
        Activation::Relu.apply(&mut values);
        assert_eq!(values, [0.0, 0.0, 2.5]);
    }
}
