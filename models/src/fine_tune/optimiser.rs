//! AdamW, as PyTorch computes it, on gradients that are cut to a norm.
//!
//! # Definition
//! g is the gradient of all parameters, multiplied by min(1, 1 / (|g| + 10⁻⁶)). For each number
//! m ← β₁ m + (1 − β₁) g, v ← β₂ v + (1 − β₂) g², θ ← θ − η (m / (1 − β₁ᵗ)) / (√(v / (1 − β₂ᵗ)) + ε), with β₁ = 0.9,
//! β₂ = 0.999, ε = 10⁻⁸ and t = 1, 2, …. The weight decay is 0, so parameters without a gradient stay as they are.
//! These are the defaults of transformers' `Trainer`. candle-nn has the same update; this one runs in place, on all threads.
//!
//! # Source
//! Kingma & Ba (2015); Loshchilov & Hutter (2019).

use std::sync::Mutex;

use candle_core::backprop::GradStore;
use candle_core::{CpuStorage, InplaceOp2, Layout, Result, Tensor, Var};
use rayon::prelude::*;

const BETAS: [f64; 2] = [0.9, 0.999];
const EPSILON: f64 = 1e-8;
/// The norm that gradients are cut to, and what keeps the division from 0.
const NORM: f64 = 1.0;
const NEAR_ZERO: f64 = 1e-6;
/// Numbers in a task.
const TASK: usize = 1 << 14;

/// The parameters with their moments.
pub(super) struct AdamW {
    parameters: Vec<Parameter>,
    steps: i32,
}

struct Parameter {
    var: Var,
    /// (m, v) of each number.
    moments: Mutex<Vec<[f32; 2]>>,
}

/// The gradients of a batch, a sum over its parts, in the order of the parameters; none where nothing depends on one.
pub(super) struct Gradients(pub(super) Vec<Option<Tensor>>);

impl AdamW {
    pub(super) fn new(vars: impl Iterator<Item = Var>) -> Self {
        let parameters = vars.map(|var| Parameter {
            moments: Mutex::new(vec![[0.0; 2]; var.elem_count()]),
            var,
        });
        Self {
            parameters: parameters.collect(),
            steps: 0,
        }
    }

    /// No gradients yet.
    pub(super) fn gradients(&self) -> Gradients {
        Gradients(vec![None; self.parameters.len()])
    }

    /// Adds those of one part.
    pub(super) fn add(&self, sums: &mut Gradients, store: &mut GradStore) -> Result<()> {
        for (sum, parameter) in sums.0.iter_mut().zip(&self.parameters) {
            let Some(own) = store.remove(&parameter.var) else {
                continue;
            };
            *sum = Some(match sum.take() {
                None => own.contiguous()?,
                Some(sum) => (sum + own)?.contiguous()?,
            });
        }
        Ok(())
    }

    /// One step at the learning rate `rate`, and the norm that the gradients had. If that is not finite, nothing is
    /// changed.
    pub(super) fn step(&mut self, gradients: &Gradients, rate: f64) -> Result<f64> {
        let mut square = 0.0;
        for gradient in gradients.0.iter().flatten() {
            square += square_of(gradient)?;
        }
        let norm = f64::sqrt(square);
        if !norm.is_finite() {
            return Ok(norm);
        }
        self.steps += 1;
        let [first, second] = BETAS.map(|beta| 1.0 - beta.powi(self.steps));
        for (gradient, parameter) in gradients.0.iter().zip(&self.parameters) {
            let Some(gradient) = gradient else {
                continue;
            };
            let update = Update {
                moments: &parameter.moments,
                scale: (NORM / (norm + NEAR_ZERO)).min(1.0) as f32,
                rate: (rate / first) as f32,
                root: (1.0 / second.sqrt()) as f32,
            };
            parameter.var.inplace_op2(gradient, &update)?;
        }
        Ok(norm)
    }
}

/// Σ g² in an order that no thread decides.
fn square_of(gradient: &Tensor) -> Result<f64> {
    let (storage, layout) = gradient.storage_and_layout();
    let candle_core::Storage::Cpu(storage) = &*storage else {
        candle_core::bail!("a gradient that is not on the processor");
    };
    let values = slice(storage, layout)?;
    let sums: Vec<f64> = values
        .par_chunks(TASK)
        .map(|task| task.iter().map(|x| f64::from(*x) * f64::from(*x)).sum())
        .collect();
    Ok(sums.iter().sum())
}

fn slice<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f32]> {
    let CpuStorage::F32(values) = storage else {
        candle_core::bail!("numbers that are not f32");
    };
    match layout.contiguous_offsets() {
        Some((from, to)) => Ok(&values[from..to]),
        None => candle_core::bail!("a tensor that is not contiguous"),
    }
}

/// One step of one parameter.
struct Update<'a> {
    moments: &'a Mutex<Vec<[f32; 2]>>,
    /// What gradients are multiplied by.
    scale: f32,
    /// η / (1 − β₁ᵗ)
    rate: f32,
    /// 1 / √(1 − β₂ᵗ)
    root: f32,
}

impl InplaceOp2 for Update<'_> {
    fn name(&self) -> &'static str {
        "adamw"
    }

    fn cpu_fwd(
        &self,
        values: &mut CpuStorage,
        layout: &Layout,
        gradient: &CpuStorage,
        its_layout: &Layout,
    ) -> Result<()> {
        let gradient = slice(gradient, its_layout)?;
        let Some((from, to)) = layout.contiguous_offsets() else {
            candle_core::bail!("a parameter that is not contiguous");
        };
        let CpuStorage::F32(values) = values else {
            candle_core::bail!("a parameter that is not f32");
        };
        let mut moments = self.moments.lock().expect("no update panics");
        let [keep_first, keep_second] = BETAS.map(|beta| beta as f32);
        let [take_first, take_second] = BETAS.map(|beta| (1.0 - beta) as f32);
        let epsilon = EPSILON as f32;
        values[from..to]
            .par_chunks_mut(TASK)
            .zip(moments.par_chunks_mut(TASK))
            .zip(gradient.par_chunks(TASK))
            .for_each(|((values, moments), gradient)| {
                for ((x, [m, v]), g) in values.iter_mut().zip(moments).zip(gradient) {
                    let g = g * self.scale;
                    *m = keep_first * *m + take_first * g;
                    *v = keep_second * *v + take_second * g * g;
                    *x -= self.rate * *m / (v.sqrt() * self.root + epsilon);
                }
            });
        Ok(())
    }
}
