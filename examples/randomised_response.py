"""k-ary randomised response as a process that teda audits: a template for your own mechanism.

    teda audit --mech exec:"python3 examples/randomised_response.py texts.txt" --dataset texts.txt

teda starts this program, several times at once if need be, and writes one query a line to its standard
input:

    {"id": 0, "text": "play some jazz", "epsilon": 2.0, "seed": 4711}

For each of them the program writes one line to its standard output, in any order:

    {"id": 0, "text": "what is released"}        or        {"id": 0, "error": "why there is no release"}

Where the adversary knows the mechanism (`--attack likelihood-ratio`, `--estimator certificate` or
`rao-blackwell`), teda also asks how likely a release is for a text. Nothing is drawn then, and `seed` is 0:

    {"id": 1, "text": "play some jazz", "release": "will it rain", "epsilon": 2.0, "seed": 0}

The answer is the natural logarithm of that probability, or "-inf" where the release is impossible:

    {"id": 1, "log_likelihood": -2.13}             or        {"id": 1, "error": "why it is not known"}

A mechanism that does not know is audited all the same, without these three: leave `log_likelihood` out.

To audit a mechanism of yours, copy this file and replace `Mechanism`. Three things matter:

1.  Toss all coins with a generator that is seeded by `seed` (for torch: torch.manual_seed(seed)). Then a run
    can be repeated, and a query is answered alike in whatever process and order.
2.  Keep nothing from one query to the next: the audit's statistics suppose that releases are independent.
3.  Write nothing but answers to standard output (print(..., file=sys.stderr) for the rest), and flush it.

The mechanism here: of the N distinct lines of a file, the one that is the text is released with probability
e^ε / (e^ε + N − 1), each other one with probability 1 / (e^ε + N − 1). It is ε-differentially private between
any two of these lines, and not more private than that (Warner 1965; Kairouz, Oh & Viswanath 2014).
"""

import json
import math
import random
import sys


class Mechanism:
    """Randomised response over the lines of a file. Whatever takes long is done here, once."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            lines = [line.strip() for line in file]
        # Distinct, without empty ones, in the order of the file.
        self.domain = list(dict.fromkeys(line for line in lines if line))
        self.number = {line: number for number, line in enumerate(self.domain)}
        if len(self.domain) < 2:
            sys.exit(f"{path} has {len(self.domain)} distinct line(s): at least 2 are needed")

    def place(self, text):
        """The number of a text in the domain, or a ValueError where this text cannot have a release."""
        if text not in self.number:
            raise ValueError("the text is no line of the file")
        return self.number[text]

    def kept(self, epsilon):
        """e^ε / (e^ε + N − 1), divided through by e^ε so that no ε overflows."""
        return 1 / (1 + (len(self.domain) - 1) * math.exp(-epsilon))

    def release(self, text, epsilon, seed):
        """The release for one text."""
        secret = self.place(text)
        coins = random.Random(seed)
        if coins.random() < self.kept(epsilon):
            return text
        # Uniform over the other N − 1: those from the secret on move up by one.
        other = coins.randrange(len(self.domain) - 1)
        return self.domain[other if other < secret else other + 1]

    def log_likelihood(self, release, text, epsilon):
        """ln P(release | text)."""
        self.place(text)
        if release not in self.number:
            return -math.inf
        return math.log(self.kept(epsilon)) - (0 if release == text else epsilon)


def main():
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} FILE")
    mechanism = Mechanism(sys.argv[1])
    for line in sys.stdin:
        query = json.loads(line)
        if query["epsilon"] is None:
            sys.exit("randomised response needs an epsilon")
        try:
            if "release" in query:
                value = mechanism.log_likelihood(query["release"], query["text"], query["epsilon"])
                # JSON has no infinity.
                answer = {"id": query["id"], "log_likelihood": "-inf" if value == -math.inf else value}
            else:
                release = mechanism.release(query["text"], query["epsilon"], query["seed"])
                answer = {"id": query["id"], "text": release}
        except ValueError as error:
            # An outcome of this text, counted by the audit. Any other exception ends the program: teda starts
            # it again, and shows the traceback if that does not help.
            answer = {"id": query["id"], "error": str(error)}
        # json.dumps escapes newlines, so an answer is always one line.
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
