//! Sentence vectors from `embeddings`.
//!
//! Some servers embed several texts of one request wrongly (llama-cpp-python 0.3.36 mixes the tokens of all but the
//! first, if the model does no pooling), which would silently blind an attack. So texts are sent one by one unless
//! [`Http::open_encoder`] has verified that together they get the same vectors as alone.

use ndarray::{Array2, ArrayView1};
use serde::Serialize;
use serde_json::Value;
use teda_core::{Encoder, Error, Result};

use super::Http;
use super::cache::Key;
use super::client::{Lack, Question, Read, Reply};

/// Texts per request, if the server embeds several together correctly.
const BATCH: usize = 32;
/// Texts embedded alone and together to find that out.
const PROBES: [&str; 2] = ["dimension", "play some jazz by miles davis"];
/// The least cosine between a text's vectors alone and together: far below the effect of rounding.
const SAME: f32 = 0.99;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    input: &'a [&'a str],
}

impl Encoder for Http {
    /// A text of only white space has the vector 0: servers refuse to embed it.
    ///
    /// # Errors
    /// If the server gives no vector for a text, or vectors of different length.
    fn encode(&self, texts: &[&str]) -> Result<Array2<f32>> {
        let mut rows: Vec<Option<Vec<f32>>> = Vec::with_capacity(texts.len());
        for text in texts {
            rows.push(self.kept(&key(text))?);
        }
        let missing: Vec<usize> = (0..texts.len())
            .filter(|row| rows[*row].is_none() && !texts[*row].trim().is_empty())
            .collect();
        let asked: Vec<&str> = missing.iter().map(|row| texts[*row]).collect();
        let batch = self.batch.get().copied().unwrap_or(1);
        let fresh = self.embed(&asked, batch, |text, vector, tokens| {
            self.keep(&key(text), &vector, tokens)
        })?;
        for (row, vector) in missing.iter().zip(fresh) {
            rows[*row] = Some(vector);
        }
        let dimension = match rows.iter().flatten().next() {
            Some(row) => *self.dimension.get_or_init(|| row.len()),
            None => self.dimension(),
        };
        let mut vectors = Array2::zeros((texts.len(), dimension));
        for (mut to, vector) in vectors.rows_mut().into_iter().zip(rows) {
            let Some(vector) = vector else {
                continue;
            };
            if vector.len() != dimension {
                return Err(Error::failed(format!(
                    "{}: an embedding has {} numbers, others have {dimension}",
                    self.name(),
                    vector.len()
                )));
            }
            to.assign(&ArrayView1::from(&vector));
        }
        Ok(vectors)
    }

    /// 0 until a text has been embedded; [`Http::open_encoder`] embeds some.
    fn dimension(&self) -> usize {
        self.dimension.get().copied().unwrap_or(0)
    }
}

impl Http {
    /// Finds out the vectors' length, and whether several texts may share a request.
    ///
    /// # Errors
    /// Same as [`Encoder::encode`].
    pub(super) fn probe(&self) -> Result<()> {
        let alone = self.encode(&PROBES)?;
        let key = Key::of("embeddings together", b"", None);
        let right = match self.kept(&key)? {
            Some(right) => right,
            None => {
                let together = self.embed(&PROBES, PROBES.len(), |_, _, _| Ok(()))?;
                let right = alone.rows().into_iter().zip(&together).all(|(one, other)| {
                    one.len() == other.len() && one.dot(&ArrayView1::from(other)) >= SAME
                });
                self.keep(&key, &right, 0)?;
                right
            }
        };
        self.batch.get_or_init(|| if right { BATCH } else { 1 });
        Ok(())
    }

    /// The unit vectors of `texts` from the server, `batch` per request. Each is passed to `keep`, with its share of
    /// the tokens, as soon as it arrives.
    fn embed(
        &self,
        texts: &[&str],
        batch: usize,
        keep: impl Fn(&str, &[f32], u64) -> Result<()> + Sync,
    ) -> Result<Vec<Vec<f32>>> {
        let batches: Vec<&[&str]> = texts.chunks(batch).collect();
        let questions = batches
            .iter()
            .map(|input| {
                let model = &self.spec.model;
                let bytes = input.iter().map(|text| text.len()).sum();
                Question::new("embeddings", &Body { model, input }, bytes)
            })
            .collect::<Result<Vec<_>>>()?;
        let answers = self.ask_all(
            &questions.iter().collect::<Vec<_>>(),
            |batch, answer| read(answer, batches[batch].len()),
            |batch, paid| {
                let tokens = paid.tokens / batches[batch].len() as u64;
                batches[batch]
                    .iter()
                    .zip(&paid.value)
                    .try_for_each(|(text, vector)| keep(text, vector, tokens))
            },
        )?;
        let mut vectors = Vec::with_capacity(texts.len());
        for answer in answers {
            let batch = answer
                .map_err(|e| Error::failed(format!("{}: no embeddings: {e}", self.name())))?;
            vectors.extend(batch);
        }
        Ok(vectors)
    }
}

/// The key of a text's vector, independent of the other texts in its request.
fn key(text: &str) -> Key {
    Key::of("embeddings", text.as_bytes(), None)
}

/// The vectors of an answer to `size` texts, in order, each of norm 1.
pub fn read(answer: &Value, size: usize) -> Read<Vec<Vec<f32>>> {
    let data = answer
        .get("data")
        .and_then(Value::as_array)
        .ok_or_else(|| Lack::passing("no data"))?;
    if data.len() != size {
        let message = format!("{} embeddings for {size} texts", data.len());
        return Err(Lack::passing(message));
    }
    let mut value = vec![Vec::new(); size];
    for (position, item) in data.iter().enumerate() {
        let index = item
            .get("index")
            .and_then(Value::as_u64)
            .map_or(position, |index| index as usize);
        let place = value
            .get_mut(index)
            .filter(|place: &&mut Vec<f32>| place.is_empty())
            .ok_or_else(|| Lack::passing("a wrong data[].index"))?;
        *place = item
            .get("embedding")
            .and_then(unit)
            .ok_or_else(|| Lack::passing("no vector with a direction in data[].embedding"))?;
    }
    Ok(Reply { value, text: 0 })
}

/// A vector with Euclidean norm 1, if it has a direction. llama.cpp gives a vector for each token of a text if the
/// model does no pooling: the text's vector is their mean.
fn unit(embedding: &Value) -> Option<Vec<f32>> {
    let items = embedding.as_array()?;
    let list = if items.first()?.is_array() {
        let mut sum = numbers(&items[0])?;
        for item in &items[1..] {
            let vector = numbers(item).filter(|vector| vector.len() == sum.len())?;
            sum.iter_mut().zip(vector).for_each(|(sum, x)| *sum += x);
        }
        sum
    } else {
        numbers(embedding)?
    };
    let norm = list.iter().map(|x| x * x).sum::<f64>().sqrt();
    (norm > 0.0 && norm.is_finite()).then(|| list.iter().map(|x| (x / norm) as f32).collect())
}

fn numbers(list: &Value) -> Option<Vec<f64>> {
    list.as_array()?.iter().map(Value::as_f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn vectors_are_put_in_order_and_normalised() {
        let answer = json!({"data": [
            {"index": 1, "embedding": [0.0, -2.0]},
            {"index": 0, "embedding": [3, 4]},
        ]});
        let vectors = read(&answer, 2).ok().unwrap().value;
        assert_eq!(vectors, [vec![0.6, 0.8], vec![0.0, -1.0]]);
    }

    #[test]
    fn vectors_of_tokens_are_averaged() {
        let answer = json!({"data": [{"embedding": [[1, 8], [5, 0]]}]});
        assert_eq!(read(&answer, 1).ok().unwrap().value, [vec![0.6, 0.8]]);
        let odd = json!({"data": [{"embedding": [[1, 8], [5]]}]});
        assert!(read(&odd, 1).is_err());
    }

    #[test]
    fn what_is_no_vector_is_refused() {
        for answer in [
            json!({}),
            json!({"data": []}),
            json!({"data": [{"embedding": "base64"}]}),
            json!({"data": [{"embedding": [0.0, 0.0]}]}),
            json!({"data": [{"embedding": [null]}]}),
            json!({"data": [{"index": 9, "embedding": [1]}]}),
        ] {
            assert!(read(&answer, 1).is_err(), "{answer}");
        }
        let twice = json!({"index": 0, "embedding": [1]});
        assert!(read(&json!({"data": [twice, twice]}), 2).is_err());
    }
}
