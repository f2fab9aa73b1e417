//! Attention over stored keys and values.

use candle_core::{Device, Tensor};
use teda_core::Result;

use super::{Backend, Matrix, failed, mixed, tensor};
use crate::kernel;
use crate::kernel::keys_values::KeysValues;

/// The keys and values of one layer for a number of tokens, the *slots*.
pub(crate) enum Stored {
    Packed(KeysValues),
    /// `[slots × heads·width]` each.
    Tensors {
        keys: Tensor,
        values: Tensor,
        heads: usize,
    },
}

impl Stored {
    /// Empty room.
    pub(crate) fn new(backend: &Backend, heads: usize, width: usize, slots: usize) -> Result<Self> {
        match backend {
            Backend::Kernels(_) => Ok(Self::Packed(KeysValues::new(heads, width, slots))),
            Backend::Candle(device) => {
                let empty = || tensor(vec![0.0; slots * heads * width], heads * width, device);
                Ok(Self::Tensors {
                    keys: empty()?,
                    values: empty()?,
                    heads,
                })
            }
        }
    }

    /// Stores row i of `keys` and `values` `[tokens × heads·width]` in `slots[i]`.
    pub(crate) fn write(&mut self, slots: &[usize], keys: &Matrix, values: &Matrix) -> Result<()> {
        match (self, keys, values) {
            (
                Self::Packed(stored),
                Matrix::Host {
                    values: keys,
                    columns,
                },
                Matrix::Host { values, .. },
            ) => {
                let rows = keys
                    .chunks_exact(*columns)
                    .zip(values.chunks_exact(*columns));
                for (slot, (key, value)) in slots.iter().zip(rows) {
                    stored.write(*slot, key, value);
                }
                Ok(())
            }
            (
                Self::Tensors { keys, values, .. },
                Matrix::Device(new_keys),
                Matrix::Device(new_values),
            ) => {
                let mut row = 0;
                for run in slots.chunk_by(|a, b| a + 1 == *b) {
                    for (stored, new) in [(&*keys, new_keys), (&*values, new_values)] {
                        new.narrow(0, row, run.len())
                            .and_then(|new| stored.slice_set(&new.contiguous()?, 0, run[0]))
                            .map_err(failed)?;
                    }
                    row += run.len();
                }
                Ok(())
            }
            _ => Err(mixed()),
        }
    }

    /// Copies `count` slots starting at `from` to those starting at `to`; both are multiples of 32.
    pub(crate) fn copy(&mut self, from: usize, to: usize, count: usize) -> Result<()> {
        match self {
            Self::Packed(stored) => stored.copy(from, to, count),
            Self::Tensors { keys, values, .. } => {
                for stored in [keys, values] {
                    stored
                        .narrow(0, from, count)
                        .and_then(|run| stored.slice_set(&run.copy()?, 0, to))
                        .map_err(failed)?;
                }
            }
        }
        Ok(())
    }
}

/// A run of slots.
#[derive(Clone, Copy)]
pub(crate) struct Span<'a> {
    pub(crate) stored: &'a Stored,
    /// The first slot; a multiple of 32.
    pub(crate) start: usize,
    pub(crate) count: usize,
}

/// One row's part of an attention.
pub(crate) struct Row<'a> {
    /// Where its keys are, in order.
    pub(crate) spans: Vec<Span<'a>>,
    /// The first and one past the last key that each of its queries sees.
    pub(crate) seen: Vec<(usize, usize)>,
    /// Added to the scores, `[heads × queries × keys]`.
    pub(crate) bias: Option<Vec<f32>>,
}

/// softmax(Q Kᵀ + bias) V of each row and head, for `queries` `[all rows' queries × heads·width]`.
pub(crate) fn attend(queries: &Matrix, heads: usize, rows: &[Row<'_>]) -> Result<Matrix> {
    match queries {
        Matrix::Host { values, columns } => {
            let mut output = vec![0.0; values.len()];
            let mut first = 0;
            for row in rows {
                let part = first..first + row.seen.len() * columns;
                let spans = row.spans.iter().map(packed).collect::<Result<Vec<_>>>()?;
                kernel::attention::Attention {
                    queries: &values[part.clone()],
                    heads,
                    spans: &spans,
                    seen: &row.seen,
                    bias: row.bias.as_deref(),
                    output: &mut output[part.clone()],
                }
                .run();
                first = part.end;
            }
            Ok(Matrix::Host {
                values: output,
                columns: *columns,
            })
        }
        Matrix::Device(queries) => {
            let mut first = 0;
            let mut outputs = Vec::with_capacity(rows.len());
            for row in rows.iter().filter(|row| !row.seen.is_empty()) {
                let part = queries.narrow(0, first, row.seen.len()).map_err(failed)?;
                outputs.push(on_device(&part, heads, row)?);
                first += row.seen.len();
            }
            Tensor::cat(&outputs, 0).map(Matrix::Device).map_err(failed)
        }
    }
}

fn packed<'a>(span: &Span<'a>) -> Result<kernel::attention::Span<'a>> {
    match span.stored {
        Stored::Packed(stored) => Ok(kernel::attention::Span {
            stored,
            start: span.start,
            count: span.count,
        }),
        Stored::Tensors { .. } => Err(mixed()),
    }
}

/// One row in candle's operations: its sequences one after the other, which is simple rather than fast.
fn on_device(queries: &Tensor, heads: usize, row: &Row<'_>) -> Result<Tensor> {
    let mut parts = (Vec::new(), Vec::new());
    let mut stored_heads = heads;
    for span in &row.spans {
        let Stored::Tensors {
            keys,
            values,
            heads,
        } = span.stored
        else {
            return Err(mixed());
        };
        stored_heads = *heads;
        let part = |all: &Tensor| all.narrow(0, span.start, span.count).map_err(failed);
        parts.0.push(part(keys)?);
        parts.1.push(part(values)?);
    }
    let attended = || {
        let (asked, hidden) = queries.dims2()?;
        let width = hidden / heads;
        let keys = by_head(&Tensor::cat(&parts.0, 0)?, stored_heads, heads)?;
        let values = by_head(&Tensor::cat(&parts.1, 0)?, stored_heads, heads)?;
        let queries = queries
            .reshape((asked, heads, width))?
            .transpose(0, 1)?
            .contiguous()?;
        let mut scores = queries.matmul(&keys.transpose(1, 2)?.contiguous()?)?;
        let tokens = keys.dim(1)?;
        if let Some(bias) = &row.bias {
            let bias = Tensor::from_slice(bias, (heads, asked, tokens), queries.device())?;
            scores = (scores + bias)?;
        }
        let hidden_keys = mask(&row.seen, tokens, queries.device())?;
        let weights = candle_nn::ops::softmax_last_dim(&scores.broadcast_add(&hidden_keys)?)?;
        weights
            .matmul(&values)?
            .transpose(0, 1)?
            .contiguous()?
            .reshape((asked, hidden))
    };
    attended().map_err(failed)
}

/// `[tokens × stored heads·width]` → `[heads × tokens × width]`, heads of a group repeated.
fn by_head(x: &Tensor, stored_heads: usize, heads: usize) -> candle_core::Result<Tensor> {
    let (tokens, columns) = x.dims2()?;
    let width = columns / stored_heads;
    x.reshape((tokens, stored_heads, 1, width))?
        .expand((tokens, stored_heads, heads / stored_heads, width))?
        .permute((1, 2, 0, 3))?
        .contiguous()?
        .reshape((heads, tokens, width))
}

/// −∞ if a query does not see a key, `[1 × asked × tokens]`.
fn mask(seen: &[(usize, usize)], tokens: usize, device: &Device) -> candle_core::Result<Tensor> {
    let values: Vec<f32> = seen
        .iter()
        .flat_map(|(from, to)| {
            (0..tokens).map(move |t| {
                if (*from..*to).contains(&t) {
                    0.0
                } else {
                    f32::NEG_INFINITY
                }
            })
        })
        .collect();
    Tensor::from_vec(values, (1, seen.len(), tokens), device)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{agree, numbers};
    use super::*;

    #[test]
    fn both_backends_agree() {
        agree(|backend| {
            let (heads, stored_heads, width) = (4, 2, 8);
            let mut whole = Stored::new(backend, stored_heads, width, 96)?;
            let rows = |shift| backend.matrix(numbers(40 * 16, shift), 16);
            let slots: Vec<usize> = (0..33).chain(64..71).collect();
            whole.write(&slots, &rows(1)?, &rows(2)?)?;
            whole.copy(64, 32, 7)?;
            whole.copy(32, 64, 7)?;
            let span = |start, count| Span {
                stored: &whole,
                start,
                count,
            };
            let rows = [
                Row {
                    spans: vec![span(0, 33), span(64, 7)],
                    seen: vec![(0, 40)],
                    bias: None,
                },
                Row {
                    spans: vec![span(64, 7)],
                    seen: vec![(0, 1), (2, 7)],
                    bias: Some(numbers(heads * 2 * 7, 5)),
                },
            ];
            attend(&backend.matrix(numbers(3 * 32, 9), 32)?, heads, &rows)
        });
    }
}
