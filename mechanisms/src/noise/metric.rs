//! Noise for metric differential privacy.
//!
//! # Definition
//! Density ∝ exp(−ε‖z‖) on ℝᵈ. In spherical coordinates that is a direction uniform on the sphere and, independently,
//! a radius with density ∝ rᵈ⁻¹ e^{−εr}: Gamma(d, 1/ε).
//!
//! # Sampling
//! The direction is that of d standard normals (Box and Muller's transform), the radius a sum of d exponentials with
//! rate ε. Both use only [`Stream::uniform`], so that no library update changes a recorded result.
//!
//! # Source
//! Feyisetan, Balle, Drake and Diethe (WSDM 2020), the noise of Algorithm 1.

use std::f64::consts::TAU;

use ndarray::Array1;
use teda_core::Stream;

/// z ∈ ℝᵈ with density ∝ exp(−ε‖z‖).
pub fn draw(dimension: usize, epsilon: f64, stream: &mut Stream) -> Array1<f64> {
    let mut direction = normals(dimension, stream);
    let norm = direction.dot(&direction).sqrt();
    direction *= radius(dimension, epsilon, stream) / norm;
    direction
}

/// Gamma(d, 1/ε) as the sum of d exponentials −ln(U)/ε.
fn radius(dimension: usize, epsilon: f64, stream: &mut Stream) -> f64 {
    (0..dimension).map(|_| exponential(stream)).sum::<f64>() / epsilon
}

/// −ln U for U uniform in (0, 1].
fn exponential(stream: &mut Stream) -> f64 {
    -(1.0 - stream.uniform()).ln()
}

/// Independent standard normals, two from each pair of uniforms.
pub fn normals(count: usize, stream: &mut Stream) -> Array1<f64> {
    let mut values = Vec::with_capacity(count + 1);
    while values.len() < count {
        let length = (2.0 * exponential(stream)).sqrt();
        let (sine, cosine) = (TAU * stream.uniform()).sin_cos();
        values.extend([length * cosine, length * sine]);
    }
    values.truncate(count);
    values.into()
}

#[cfg(test)]
mod tests {
    use statrs::distribution::{Beta, ContinuousCDF, Gamma, Normal};
    use teda_core::Seed;

    use super::*;
    use crate::testing::statistics::assert_follows;

    const DRAWS: usize = 20_000;

    fn sample(dimension: usize, epsilon: f64) -> Vec<Array1<f64>> {
        let mut stream = Seed::root(12).at(dimension as u64).stream();
        (0..DRAWS)
            .map(|_| draw(dimension, epsilon, &mut stream))
            .collect()
    }

    #[test]
    fn the_radius_is_gamma_distributed() {
        for (dimension, epsilon) in [(1, 0.5), (2, 3.0), (5, 1.0), (160, 40.0)] {
            let radii = sample(dimension, epsilon)
                .iter()
                .map(|z| z.dot(z).sqrt())
                .collect();
            let gamma = Gamma::new(dimension as f64, epsilon).unwrap();
            assert_follows(radii, |r| gamma.cdf(r), &format!("radius in {dimension}"));
        }
    }

    /// For a direction uniform on the sphere, the square of its product with any unit vector is Beta(½, (d−1)/2), and
    /// its sign is fair.
    #[test]
    fn the_direction_is_uniform() {
        for dimension in [2, 3, 160] {
            let directions: Vec<Array1<f64>> = sample(dimension, 1.0)
                .into_iter()
                .map(|z| &z / z.dot(&z).sqrt())
                .collect();
            let axes = [
                Array1::from_shape_fn(dimension, |i| f64::from(u8::from(i == 0))),
                Array1::from_shape_fn(dimension, |i| f64::from(u8::from(i + 1 == dimension))),
                Array1::from_elem(dimension, 1.0 / (dimension as f64).sqrt()),
            ];
            let beta = Beta::new(0.5, (dimension as f64 - 1.0) / 2.0).unwrap();
            for axis in axes {
                let products: Vec<f64> = directions.iter().map(|z| z.dot(&axis)).collect();
                let positive = products.iter().filter(|p| **p > 0.0).count() as f64;
                // Four standard deviations of Bin(n, ½).
                let n = DRAWS as f64;
                assert!((positive - n / 2.0).abs() < 2.0 * n.sqrt(), "{positive}");
                let squares = products.iter().map(|p| (p * p).min(1.0)).collect();
                assert_follows(
                    squares,
                    |s| beta.cdf(s),
                    &format!("direction in {dimension}"),
                );
            }
        }
    }

    #[test]
    fn radius_and_direction_are_independent() {
        let sample = sample(3, 1.0);
        let (mut near, mut far) = (Vec::new(), Vec::new());
        for z in &sample {
            let radius = z.dot(z).sqrt();
            // The median of Gamma(3, 1).
            let half = if radius < 2.674 { &mut near } else { &mut far };
            half.push(z[0] / radius);
        }
        // In three dimensions a coordinate is uniform on [−1, 1] (Archimedes).
        assert_follows(near, |x| (x + 1.0) / 2.0, "directions of short noise");
        assert_follows(far, |x| (x + 1.0) / 2.0, "directions of long noise");
    }

    #[test]
    fn normals_are_normal() {
        let mut stream = Seed::root(13).stream();
        let normal = Normal::new(0.0, 1.0).unwrap();
        for count in [DRAWS, DRAWS + 1] {
            let values = normals(count, &mut stream).to_vec();
            assert_eq!(values.len(), count);
            assert_follows(values, |x| normal.cdf(x), "normals");
        }
    }
}
