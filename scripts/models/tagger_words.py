"""The words of a text, as mechanisms/src/text/words.rs divides it.

This file is a library for tagger_train.py; it writes nothing.
"""

CLITICS = ("n't", "'s", "'re", "'ve", "'ll", "'m", "'d")


def words(text: str) -> list[str]:
    """Runs of letters and digits, joined by single hyphens or apostrophes; any other character is one word.

    An English clitic is a word of its own.
    """
    found, i = [], 0
    while i < len(text):
        if text[i].isspace():
            i += 1
        elif not text[i].isalnum():
            found.append(text[i])
            i += 1
        else:
            end = i
            while end < len(text) and (
                text[end].isalnum()
                or (text[end] in "-'’" and end + 1 < len(text) and text[end + 1].isalnum())
            ):
                end += 1
            word = text[i:end]
            lower = word.lower().replace("’", "'")
            clitic = next((c for c in CLITICS if lower.endswith(c) and len(lower) > len(c)), "")
            cut = len(word) - len(clitic)
            found += [word[:cut], word[cut:]] if clitic else [word]
            i = end
    return found
