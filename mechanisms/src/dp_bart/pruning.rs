//! Which numbers of a token's vector DP-BART-PR keeps.
//!
//! # Definition
//! The weight of number i is Σ |w_{oi}| over the outputs o of the projection that makes the keys of the decoder's first
//! cross-attention. A round drops, of the numbers that are left, those whose weight is strictly below the first
//! quartile of theirs (linearly interpolated).
//!
//! # Source
//! Igamberdiev & Habernal (Findings of ACL 2023), Section 4.2, and `determine_neurons_to_prune` and
//! `add_neurons_to_prune` in its code.

/// The numbers that `rounds` rounds keep, ascending.
pub fn kept(weights: &[f64], rounds: usize) -> Vec<usize> {
    let mut kept: Vec<usize> = (0..weights.len()).collect();
    for _ in 0..rounds {
        let threshold = first_quartile(kept.iter().map(|i| weights[*i]).collect());
        kept.retain(|i| weights[*i] >= threshold);
    }
    kept
}

/// The first quartile of some values, interpolated between the two nearest of them.
fn first_quartile(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = (values.len() - 1) as f64 / 4.0;
    let (below, share) = (place.floor() as usize, place.fract());
    let above = (below + 1).min(values.len() - 1);
    values[below] + share * (values[above] - values[below])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `torch.quantile` of the same values: 1.75 of 1, 2, 3, 4 and 20 of 10, 20, 30, 40, 50.
    #[test]
    fn quartiles_are_interpolated() {
        assert_eq!(first_quartile(vec![4.0, 1.0, 3.0, 2.0]), 1.75);
        assert_eq!(first_quartile(vec![50.0, 10.0, 30.0, 20.0, 40.0]), 20.0);
        assert_eq!(first_quartile(vec![7.0]), 7.0);
    }

    #[test]
    fn a_round_drops_the_lowest_quarter_of_what_is_left() {
        let weights: Vec<f64> = (0..16).map(|i| f64::from((i * 7) % 16)).collect();
        let of = |rounds| {
            let mut kept: Vec<f64> = kept(&weights, rounds).iter().map(|i| weights[*i]).collect();
            kept.sort_by(f64::total_cmp);
            kept
        };
        let from = |first: u32| (first..16).map(f64::from).collect::<Vec<f64>>();
        assert_eq!((of(0), of(1), of(2)), (from(0), from(4), from(7)));
        // What is equal to the quartile stays.
        assert_eq!(kept(&[1.0; 5], 9), [0, 1, 2, 3, 4]);
    }

    /// Five rounds keep 182 of 768 different weights: 20 tokens have the 3,640 values of TeDA's Figure 10.
    #[test]
    fn five_rounds_keep_the_published_number() {
        let weights: Vec<f64> = (0..768).map(f64::from).collect();
        let sizes: Vec<usize> = (0..=5).map(|rounds| kept(&weights, rounds).len()).collect();
        assert_eq!(sizes, [768, 576, 432, 324, 243, 182]);
        assert_eq!(20 * sizes[5], 3_640);
    }
}
