"""Write a random model of the size of DeBERTa-v3-base, to measure what fine-tuning one costs.

Inputs : TEXTS, a file with a text a line, from which a Unigram tokenizer is made.
Outputs: OUT, a directory with config.json, model.safetensors and tokenizer.json. The weights are random: the time of a
         step is that of the published model, its scores are not.
Command: python base_size.py TEXTS OUT [--layers N --hidden N --vocabulary N]
Then   : /usr/bin/time -v teda task --classifier OUT --limit 400 --seeds 1
"""

import argparse

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

SPECIAL = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts")
    parser.add_argument("out")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--hidden", type=int, default=768)
    parser.add_argument("--vocabulary", type=int, default=128100)
    arguments = parser.parse_args()

    trained = Tokenizer(models.Unigram())
    trained.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=8000, special_tokens=SPECIAL, unk_token="[UNK]")
    trained.train([arguments.texts], trainer)
    pieces = sorted(trained.get_vocab().items(), key=lambda piece: piece[1])
    tokenizer = transformers.DebertaV2Tokenizer(vocab=[(piece, -0.01 * rank) for piece, rank in pieces], unk_id=3)
    tokenizer.save_pretrained(arguments.out)

    config = transformers.DebertaV2Config(
        vocab_size=arguments.vocabulary, hidden_size=arguments.hidden, num_hidden_layers=arguments.layers,
        num_attention_heads=arguments.hidden // 64, intermediate_size=4 * arguments.hidden,
        max_position_embeddings=512, type_vocab_size=0, layer_norm_eps=1e-7, relative_attention=True,
        max_relative_positions=-1, position_buckets=256, norm_rel_ebd="layer_norm", share_att_key=True,
        pos_att_type=["p2c", "c2p"], position_biased_input=False, pad_token_id=0,
    )
    torch.manual_seed(0)
    transformers.DebertaV2Model(config).save_pretrained(arguments.out)


if __name__ == "__main__":
    main()
