//! Element-wise activations, in place.

use pulp::{Arch, Simd, WithSimd};

use super::math::{erf, exp};

/// A transformer's activation function, by its name in a model's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Activation {
    /// max(x, 0).
    Relu,
    /// x·Φ(x), with the error function.
    Gelu,
    /// x·Φ(x) with tanh in place of the error function: ½x(1 + tanh(√(2/π)(x + 0.044715x³))).
    #[serde(alias = "gelu_pytorch_tanh")]
    GeluNew,
    /// x / (1 + e^−x).
    #[serde(alias = "swish")]
    Silu,
}

impl Activation {
    /// f(x) in place.
    pub(crate) fn apply(self, values: &mut [f32]) {
        Arch::new().dispatch(Apply { kind: self, values });
    }

    /// f(gate)·up for rows `[gate | up]` `[rows × 2·width]`: `[rows × width]`.
    pub(crate) fn apply_gated(self, values: &[f32], width: usize) -> Vec<f32> {
        let mut output = Vec::with_capacity(values.len() / 2);
        for row in values.chunks_exact(2 * width) {
            output.extend_from_slice(&row[..width]);
        }
        self.apply(&mut output);
        for (output, row) in output
            .chunks_exact_mut(width)
            .zip(values.chunks_exact(2 * width))
        {
            for (x, up) in output.iter_mut().zip(&row[width..]) {
                *x *= up;
            }
        }
        output
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
            Activation::GeluNew => self.values.iter_mut().for_each(|x| *x = gelu_tanh(*x)),
            Activation::Silu => self.values.iter_mut().for_each(|x| *x *= logistic(*x)),
        }
    }
}

#[inline(always)]
fn gelu(x: f32) -> f32 {
    0.5 * x * (1.0 + erf(x * std::f32::consts::FRAC_1_SQRT_2))
}

/// ½(1 + tanh(u)) is the logistic function of 2u.
#[inline(always)]
fn gelu_tanh(x: f32) -> f32 {
    const TWICE_SQRT_2_OVER_PI: f32 = 1.595_769_2;
    x * logistic(TWICE_SQRT_2_OVER_PI * (0.044_715 * x * x).mul_add(x, x))
}

#[inline(always)]
fn logistic(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
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
    #[test]
    fn smooth_functions_equal_their_definition() {
        for i in -200..=200 {
            let x = i as f32 / 10.0;
            let d = f64::from(x);
            let tanh = (0.797_884_560_802_865_4 * (d + 0.044_715 * d.powi(3))).tanh();
            for (kind, expected) in [
                (Activation::GeluNew, 0.5 * d * (1.0 + tanh)),
                (Activation::Silu, d / (1.0 + (-d).exp())),
            ] {
                let mut value = [x];
                kind.apply(&mut value);
                assert!(
                    (f64::from(value[0]) - expected).abs() < 1e-6 * (1.0 + d.abs()),
                    "{kind:?}({x})"
                );
            }
        }
    }

    #[test]
    fn a_gate_multiplies() {
        let output = Activation::Relu.apply_gated(&[1.0, -2.0, 5.0, 7.0, 3.0, 4.0, 0.5, 0.5], 2);
        assert_eq!(output, [5.0, 0.0, 1.5, 2.0]);
    }
}
