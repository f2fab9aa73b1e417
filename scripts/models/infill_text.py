"""Units, masking and encoding of the infilling model, for training and rewriting.

A unit is a maximal run of letters, digits and apostrophes, or one other
character that is not white space. A unit may be masked when it holds a letter
or digit and stands first or after white space. A masked unit becomes ONE
<mask>: every piece of its word that overlaps it is replaced by that mask.

Each white-space word is encoded alone with a space in front; as the tokenizer
adds that space itself and never joins words, this equals encoding the text.

Library; writes nothing.
"""

import re
from functools import lru_cache

from tokenizers import Tokenizer

BOS, PAD, EOS, UNK, MASK = range(5)
UNIT = re.compile(r"(?:[^\W_]|['\u2019])+|\S")


class Encoder:
    def __init__(self, path):
        self.tokenizer = Tokenizer.from_file(str(path))
        self.word = lru_cache(maxsize=None)(self._word)

    def _word(self, word: str) -> tuple[tuple[int, ...], int]:
        """Piece ids of a word and how many of the first belong to its maskable unit."""
        encoding = self.tokenizer.encode(word, add_special_tokens=False)
        unit = UNIT.match(word)
        first = 0
        if unit and any(c.isalnum() for c in unit.group()):
            first = sum(1 for start, _ in encoding.offsets if start < unit.end())
        return tuple(encoding.ids), first

    def text(self, text: str) -> list[tuple[tuple[int, ...], int]]:
        return [self.word(w) for w in text.split()]

    def ids(self, words, masked=frozenset()) -> list[int]:
        """<s> pieces </s>, the maskable unit of each word in `masked` as one <mask>."""
        out = [BOS]
        for i, (pieces, first) in enumerate(words):
            if i in masked:
                out.append(MASK)
                out.extend(pieces[first:])
            else:
                out.extend(pieces)
        out.append(EOS)
        return out

    def whole_words(self) -> list[int]:
        """Pieces that are the space marker and then only letters and digits."""
        keep = []
        for piece, i in self.tokenizer.get_vocab().items():
            if piece.startswith("\u0120") and len(piece) > 1:
                text = self.tokenizer.decode([i]).strip()
                if text and "\ufffd" not in text and all(c.isalnum() for c in text):
                    keep.append(i)
        return sorted(keep)
