#!/usr/bin/env python3
"""Writes src/task/fixtures/reference.json: what scikit-learn makes of small examples.

Regressions are LogisticRegression with an L2 penalty of C = 1 / lambda, solved to a gradient of 1e-10; scores are
accuracy_score and f1_score(average="macro"). Needs numpy and scikit-learn (made with 1.9); run from the repository's root.
"""

import json
import sys

import numpy as np
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score

FILE = "src/task/fixtures/reference.json"


def regression(generator, classes, penalty):
    """Examples of `classes` classes in 5 columns, one of them rarely other than 0, and the fitted weights."""
    rows = np.round(generator.normal(size=(60, 5)), 3)
    rows[:, 4] *= generator.random(60) < 0.2
    truth = generator.normal(size=(5, classes))
    labels = np.argmax(rows @ truth + generator.gumbel(size=(60, classes)), axis=1)
    # Each class once at least.
    labels[:classes] = range(classes)
    model = LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=100_000)
    model.fit(rows, labels)
    return {
        "penalty": penalty,
        "classes": classes,
        "rows": rows.tolist(),
        "labels": labels.tolist(),
        "weights": model.coef_.tolist(),
        "intercepts": model.intercept_.tolist(),
        "probabilities": model.predict_proba(rows[:5]).tolist(),
    }


def score(truth, predicted):
    return {
        "truth": truth,
        "predicted": predicted,
        "accuracy": accuracy_score(truth, predicted),
        "macro_f1": f1_score(truth, predicted, average="macro", zero_division=0),
    }


def main():
    generator = np.random.default_rng(7)
    regressions = [regression(generator, k, l) for k in (3, 5) for l in (0.1, 1.0, 30.0)]
    scores = [
        score([0, 1, 2, 0, 1, 2], [0, 2, 1, 0, 0, 1]),
        # Class 3 is predicted and never true, class 1 is true and never predicted, class 4 is neither.
        score([0, 1, 2, 2, 5, 5, 0], [0, 3, 2, 3, 5, 0, 0]),
        score([1, 1, 1], [1, 1, 1]),
        score([1, 1, 1], [0, 0, 0]),
        score(*generator.integers(0, 6, size=(2, 200)).tolist()),
    ]
    document = {
        "made_with": f"scikit-learn {sklearn.__version__}",
        "regressions": regressions,
        "scores": scores,
    }
    with open(FILE, "w") as file:
        json.dump(document, file, indent=None, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    sys.exit(main())
