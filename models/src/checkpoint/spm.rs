//! SentencePiece vocabularies in GGUF files.
//!
//! Such a file lists pieces with scores and no merges. The merges are rebuilt: every way to write a piece as two
//! pieces of the vocabulary, in the order of the pieces' scores, as in the conversion of the hub's own library.

use std::collections::HashMap;

use candle_core::quantized::gguf_file::Value as Entry;
use tokenizers::decoders::byte_fallback::ByteFallback;
use tokenizers::decoders::fuse::Fuse;
use tokenizers::decoders::sequence::Sequence;
use tokenizers::models::bpe::BPE;
use tokenizers::normalizers::replace::Replace;
use tokenizers::processors::template::TemplateProcessing;
use tokenizers::{AddedToken, DecoderWrapper, Tokenizer};

use super::tensors::plain;

/// llama.cpp's numbers for the types of pieces.
const CONTROL: u32 = 3;
const USER_DEFINED: u32 = 4;

/// Most bytes in a piece: each is looked up at every split.
const LONGEST: usize = 1024;

/// The tokenizer of a file's metadata.
///
/// # Errors
/// If a part is missing or the parts do not fit together.
pub(super) fn tokenizer(metadata: &HashMap<String, Entry>) -> Result<Tokenizer, String> {
    let list = |key: &str| -> Result<&Vec<Entry>, String> {
        metadata
            .get(key)
            .ok_or(format!("{key} is missing"))?
            .to_vec()
            .map_err(|e| plain(&e))
    };
    let pieces: Vec<String> = list("tokenizer.ggml.tokens")?
        .iter()
        .map(|piece| piece.to_string().cloned().map_err(|e| plain(&e)))
        .collect::<Result<_, _>>()?;
    let scores: Vec<f32> = list("tokenizer.ggml.scores")?
        .iter()
        .map(|score| score.to_f32().map_err(|e| plain(&e)))
        .collect::<Result<_, _>>()?;
    let kinds: Vec<u32> = list("tokenizer.ggml.token_type")?
        .iter()
        .map(|kind| match kind {
            Entry::I32(kind) => Ok(kind.unsigned_abs()),
            other => other.to_u32().map_err(|e| plain(&e)),
        })
        .collect::<Result<_, _>>()?;
    if let Some(piece) = pieces.iter().find(|piece| piece.len() > LONGEST) {
        return Err(format!(
            "a token has {} bytes, at most {LONGEST} are read",
            piece.len()
        ));
    }
    if scores.len() != pieces.len() || kinds.len() != pieces.len() {
        return Err(format!(
            "{} tokens, {} scores and {} token types",
            pieces.len(),
            scores.len(),
            kinds.len()
        ));
    }
    let ids: HashMap<&str, u32> = pieces.iter().map(String::as_str).zip(0..).collect();
    let bpe = BPE::builder()
        .vocab_and_merges(
            pieces
                .iter()
                .cloned()
                .zip(0..)
                .collect::<tokenizers::models::bpe::Vocab>(),
            merges(&pieces, &scores, &ids),
        )
        .byte_fallback(true)
        .fuse_unk(true)
        .unk_token("<unk>".to_owned())
        .build()
        .map_err(|e| e.to_string())?;
    let mut tokenizer = Tokenizer::new(bpe);
    let space = |from: &str, to: &str| Replace::new(from, to).map_err(|e| e.to_string());
    let decoder = Sequence::new(vec![
        DecoderWrapper::Replace(space("▁", " ")?),
        DecoderWrapper::ByteFallback(ByteFallback::new()),
        DecoderWrapper::Fuse(Fuse::new()),
    ]);
    tokenizer
        .with_normalizer(Some(space(" ", "▁")?))
        .map_err(|e| e.to_string())?
        .with_decoder(Some(decoder));
    let added = |kind| {
        pieces
            .iter()
            .zip(&kinds)
            .filter(move |(_, k)| **k == kind)
            .map(move |(piece, _)| {
                AddedToken::from(piece.clone(), kind == CONTROL).normalized(false)
            })
            .collect::<Vec<_>>()
    };
    tokenizer
        .add_special_tokens(added(CONTROL))
        .and_then(|_| tokenizer.add_tokens(added(USER_DEFINED)))
        .map_err(|e| e.to_string())?;
    let begins = !matches!(
        metadata.get("tokenizer.ggml.add_bos_token"),
        Some(Entry::Bool(false))
    );
    let begin = metadata
        .get("tokenizer.ggml.bos_token_id")
        .and_then(|id| id.to_u32().ok())
        .filter(|_| begins);
    if let Some(id) = begin {
        let begin = pieces
            .get(id as usize)
            .ok_or(format!("the first token {id} is not a token"))?;
        let template = TemplateProcessing::builder()
            .try_single(format!("{begin} $A"))
            .map(|builder| builder.special_tokens(vec![(begin.clone(), id)]))
            .and_then(|builder| builder.build().map_err(|e| e.to_string()))?;
        tokenizer.with_post_processor(Some(template));
    }
    Ok(tokenizer)
}

/// Every (left, right) whose concatenation is a piece, by the score of the concatenation from the highest, then by the
/// numbers of left and right.
fn merges(pieces: &[String], scores: &[f32], ids: &HashMap<&str, u32>) -> Vec<(String, String)> {
    let mut found: Vec<(f32, u32, u32)> = Vec::new();
    for (piece, score) in pieces.iter().zip(scores) {
        for (at, _) in piece.char_indices().skip(1) {
            let (left, right) = piece.split_at(at);
            if let (Some(left), Some(right)) = (ids.get(left), ids.get(right)) {
                found.push((*score, *left, *right));
            }
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let text = |id: u32| pieces[id as usize].clone();
    found
        .into_iter()
        .map(|(_, left, right)| (text(left), text(right)))
        .collect()
}
