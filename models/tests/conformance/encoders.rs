//! Sentence encoders and the masked language model.

use ndarray::{Array2, Axis};
use teda_core::Encoder;
use teda_models::{MaskedLm, Row, SentenceEncoder};

use crate::fixture::{BACKENDS, Fixture, assert_close, recorded};

#[test]
fn states_and_sentence_vectors_agree_with_transformers() {
    for architecture in ["bert", "mpnet"] {
        let fixture = Fixture::read(architecture);
        for backend in BACKENDS {
            let encoder = SentenceEncoder::on(fixture.open("config.json"), &backend).unwrap();
            let (texts, tokens): (Vec<_>, Vec<_>) =
                (0..fixture.cases.len()).partition(|case| fixture.cases[*case].text.is_some());
            let rows: Vec<&[u32]> = tokens.iter().map(|c| &fixture.cases[*c].ids[..]).collect();
            let expected: Vec<Array2<f32>> = tokens
                .iter()
                .map(|case| fixture.array(&format!("case{case}.hidden")))
                .collect();
            let views: Vec<_> = expected.iter().map(|states| states.view()).collect();
            let expected = ndarray::concatenate(Axis(0), &views).unwrap();
            let states = encoder.hidden_states(&rows).unwrap();
            assert_close(&format!("{architecture} {backend:?}"), &states, &expected);
            let sentences: Vec<&str> = texts
                .iter()
                .map(|case| fixture.cases[*case].text.as_deref().unwrap())
                .collect();
            let vectors = encoder.encode(&sentences).unwrap();
            for (case, vector) in texts.into_iter().zip(vectors.rows()) {
                let vector = vector.to_owned().insert_axis(Axis(0));
                let expected = fixture.array(&format!("case{case}.vector"));
                assert_close(
                    &format!("{architecture} {backend:?} case {case}"),
                    &vector,
                    &expected,
                );
            }
        }
    }
}

#[test]
fn a_sentence_has_the_same_bits_in_any_batch() {
    let fixture = Fixture::read("mpnet");
    let encoder = SentenceEncoder::load(fixture.open("config.json")).unwrap();
    let texts: Vec<String> = (0..90).map(|i| "what is it? ".repeat(1 + i % 5)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let all = encoder.encode(&texts).unwrap();
    for batch in [1, 7] {
        for (chunk, rows) in texts
            .chunks(batch)
            .zip(all.axis_chunks_iter(Axis(0), batch))
        {
            assert_eq!(encoder.encode(chunk).unwrap(), rows);
        }
    }
    // Longer than the model's window: counted by its beginning.
    let long = "what is it? ".repeat(9_000);
    assert!(
        encoder
            .encode(&[&long, ""])
            .unwrap()
            .iter()
            .all(|x| x.is_finite())
    );
}

#[test]
fn masked_logits_agree_with_transformers() {
    let fixture = Fixture::read("roberta");
    let model = MaskedLm::load(&fixture.open("config.json")).unwrap();
    for (index, case) in fixture.cases.iter().enumerate() {
        let every: Vec<usize> = (0..case.ids.len()).collect();
        let rows = [Row {
            tokens: &case.ids,
            asked: &every,
        }];
        let logits = model.logits(&rows).unwrap();
        let sum: f64 = logits
            .rows()
            .into_iter()
            .zip(&case.ids)
            .map(|(row, id)| {
                let total: f64 = row.iter().map(|x| f64::from(*x).exp()).sum();
                f64::from(row[*id as usize]) - total.ln()
            })
            .sum();
        assert!((sum - case.log_prob).abs() < 1e-3, "case {index}: {sum}");
        if case.text.is_none() {
            let what = format!("case {index}");
            let expected = fixture.array(&format!("case{index}.logits"));
            assert_close(&what, &recorded(index, &logits), &expected);
            let expected = fixture.array(&format!("case{index}.hidden"));
            assert_close(&what, &model.hidden_states(&rows).unwrap(), &expected);
        }
    }
}
