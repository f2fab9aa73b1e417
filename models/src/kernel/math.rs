//! Elementary functions that compile to vector instructions and have the same bits everywhere.

/// exp(x) for x ≤ 88, relative error below 3·10⁻⁷; 0 for x < −87 and for −∞.
///
/// exp(x) = 2ⁿ·exp(r) with n = round(x / ln 2) and |r| ≤ ln 2 / 2, exp(r) by its Taylor
/// polynomial of degree 6.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    /// 1.5·2²³: adding it rounds to an integer, which then sits in the low mantissa bits.
    const ROUND: f32 = 12_582_912.0;
    /// ln 2 in two parts, the first short enough for n·HIGH to be exact.
    const HIGH: f32 = 0.693_359_4;
    const LOW: f32 = -2.121_944_4e-4;
    let bounded = x.clamp(-87.0, 88.0);
    let shifted = bounded.mul_add(std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = n.mul_add(-LOW, n.mul_add(-HIGH, bounded));
    let mut series = 1.0_f32 / 720.0;
    for coefficient in [1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        series = series.mul_add(r, coefficient);
    }
    let exponent = shifted.to_bits().wrapping_sub(ROUND.to_bits());
    let power = f32::from_bits(exponent.wrapping_add(127) << 23);
    if x < -87.0 { 0.0 } else { series * power }
}

/// The error function, absolute error below 10⁻⁶ (Abramowitz and Stegun 7.1.26).
#[inline(always)]
pub(crate) fn erf(x: f32) -> f32 {
    let z = x.abs();
    let t = 1.0 / z.mul_add(0.327_591_1, 1.0);
    let mut series = 1.061_405_4_f32;
    for coefficient in [-1.453_152_1, 1.421_413_8, -0.284_496_72, 0.254_829_6] {
        series = series.mul_add(t, coefficient);
    }
    (1.0 - series * t * exp(-z * z)).copysign(x)
}

/// Whether all values are finite: no ±∞ and no NaN. Checks all of them, a vector at a time.
pub(crate) fn all_finite(values: &[f32]) -> bool {
    const EXPONENT: u32 = 0x7f80_0000;
    let odd = |odd, x: &f32| odd | (x.to_bits() & EXPONENT == EXPONENT);
    !values.iter().fold(false, odd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_finite_is_found_wherever_it_stands() {
        let mut values = vec![f32::MAX; 37];
        assert!(all_finite(&[]) && all_finite(&values) && all_finite(&[-0.0, f32::MIN]));
        for place in 0..values.len() {
            for bad in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                values[place] = bad;
                assert!(!all_finite(&values), "{bad} at {place}");
            }
            values[place] = 1.0;
        }
    }

    #[test]
    fn exp_is_within_its_stated_error() {
        for i in -87_000..=88_000 {
            let x = i as f32 / 1000.0;
            let exact = f64::from(x).exp();
            let error = (f64::from(exp(x)) - exact).abs() / exact;
            assert!(error < 3e-7, "exp({x}): relative error {error:e}");
        }
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(-87.1), 0.0);
        assert_eq!(exp(f32::NEG_INFINITY), 0.0);
    }

    #[test]
    fn erf_is_within_its_stated_error() {
        // erf by Simpson's rule from 0, exact to 1e-12 at this step.
        let density = |t: f64| (-t * t).exp() * 2.0 / std::f64::consts::PI.sqrt();
        let (mut exact, step) = (0.0, 1e-3);
        for i in 0..5_000 {
            let x = f64::from(i) * step;
            let error = (f64::from(erf(x as f32)) - exact).abs();
            assert!(error < 1e-6, "erf({x}): error {error:e}");
            assert_eq!(erf(-x as f32).abs(), erf(x as f32));
            exact += step / 6.0 * (density(x) + 4.0 * density(x + step / 2.0) + density(x + step));
        }
    }
}
