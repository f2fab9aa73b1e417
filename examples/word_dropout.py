"""A mechanism of one's own, as short as it gets: drops each word with probability 1 / (1 + e^epsilon), by the query's seed.

    teda audit --mech exec:"python3 examples/word_dropout.py" --epsilon 1,2 --claim neighbours=any-texts

It claims epsilon between any two texts, and does not keep it: a word that is there was in the text. The audit shows it.
examples/randomised_response.py explains the protocol.
"""

import json
import math
import random
import sys

for line in sys.stdin:
    query = json.loads(line)
    coins = random.Random(query["seed"])
    dropped = 1 / (1 + math.exp(query["epsilon"]))
    words = [word for word in query["text"].split() if coins.random() >= dropped]
    # A release that is empty counts as a failure.
    print(json.dumps({"id": query["id"], "text": " ".join(words) or "-"}), flush=True)
