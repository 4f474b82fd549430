"""How much an encoder loses that learnt from fewer labels than its head: studies/retraining.py --out FILE

The page fine-tunes the encoder again when the labels have doubled, and the head follows every label. So with n labels
the encoder has learnt from n / 2 to n of them. One line of CSV for each draw: weighted F1 on 800 test items of the
fine-tuned model alone, with n labels and an encoder of n / 2 and of n. Lines that are there are not computed again.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from adapted import Cell, Draw, drawn, f1

from bemps.limits import limits
from bemps.models.text.finetuned_laplace import FineTunedLaplace

HEAD = "dataset,seed,labels,encoder_labels,f1"


def scores(draw: Draw, labels: int, encoder_labels: int, seed: int) -> float:
    """F1 of a model whose encoder has learnt from the first of the labels."""
    classes = [str(code) for code in range(draw.K)]
    model = FineTunedLaplace(pool=draw.pool, device="cpu")
    model.fit_encoder(draw.pool[:encoder_labels], draw.codes[:encoder_labels], classes, np.random.default_rng(seed))
    model.fit_head(draw.pool[:labels], draw.codes[:labels], classes, np.random.default_rng(seed))
    return f1(model.predict_map(draw.test), draw.truth)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data", type=Path, default=Path("datasets"))
    parser.add_argument("--sets", nargs="+", default=["trec6", "csabstruct", "sst5"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--labels", type=int, nargs="+", default=[100, 200])
    given = parser.parse_args()
    lines = given.out.read_text().splitlines() if given.out.exists() else [HEAD]
    for dataset, seed, labels in ((d, s, n) for n in given.labels for s in given.seeds for d in given.sets):
        for learnt in (labels // 2, labels):
            start = f"{dataset},{seed},{labels},{learnt},"
            if any(line.startswith(start) for line in lines):
                continue
            with limits(threads=1):
                value = scores(drawn(Cell(dataset, seed, labels), given.data), labels, learnt, seed)
            lines.append(f"{start}{value:.4f}")
            given.out.write_text("\n".join(lines) + "\n")
            sys.stdout.write(lines[-1] + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
