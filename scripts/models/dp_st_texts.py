"""Print the public texts of DP-ST's triples: the train texts of the novels and of MedQuAD's answers, in turn.

Inputs : the corpora (corpora.py), of which the held-out texts and all of SNIPS are left out.
Outputs: one text a line, in an order that a fixed seed shuffles.
Command: python dp_st_texts.py --data DATA | dp_st_corpus > ../../mechanisms/src/dp_st/public.tsv
"""

import argparse
import random

from corpora import add_data_argument, load

if __name__ == "__main__":
    cli = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_data_argument(cli)
    corpora = load(cli.parse_args().data)
    lists = []
    for name in ("novels", "answers"):
        texts = sorted(dict.fromkeys(corpora[name]["train"]))
        random.Random(name).shuffle(texts)
        lists.append(texts)
    for pair in zip(*lists):
        print(*pair, sep="\n")
