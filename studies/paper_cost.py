"""What the paper's own setting costs: python studies/paper_cost.py [--labels 126]

One member of the paper's ensemble is trained as there (all layers, 128 tokens, AdamW with 2e-5 and linear decay, at
most 30 epochs in batches of 16, a validation part of 30 % drawn anew, early stopping) on random labels of SST5, and
reads some texts. The network is MiniLM in place of DistilBERT. The CPU seconds of one whole cell follow: five members,
26 to 526 labels in batches of 50, a pool of 8,000 and 2,210 test texts.
"""

import argparse
import sys
import time

import numpy as np

from bemps.data import load
from bemps.limits import limits
from bemps.models._torch.training_loop import TrainingRecipe
from bemps.models.text.text_classifier import TextClassifier

ROUNDS = range(26, 527, 50)
MEMBERS, POOL, TEST, READ = 5, 8_000, 2_210, 256
STRATEGIES, SEEDS, SETS = 10, 5, 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=int, default=126)
    parser.add_argument("--data", help="folder of the known datasets; else BEMPS_DATA")
    given = parser.parse_args()
    data = load("sst5", data_dir=given.data, max_pool=POOL)
    order = np.random.default_rng(0).permutation(len(data.pool))
    texts, rows = list(data.pool.items), order[: given.labels]
    with limits(threads=1):
        paper = TrainingRecipe(learning_rate=2e-5, epochs=30, decay="linear")  # not that of MiniLM
        model = TextClassifier(members=1, validation="dynamic", recipe=paper, batch_size=16, device="cpu")
        start = time.process_time()
        model.fit([texts[row] for row in rows], data.pool.labels[rows], data.classes, np.random.default_rng(0))
        trained = time.process_time()
        model.predict([texts[row] for row in order[-READ:]])
        read = time.process_time()
    training, reading = (trained - start) / given.labels, (read - trained) / READ
    cell = MEMBERS * (training * sum(ROUNDS) + reading * (POOL + TEST) * len(ROUNDS))
    hours = cell * STRATEGIES * SEEDS * SETS / 3600
    sys.stdout.write(
        f"one member, {given.labels} labels: {trained - start:.0f} CPU s to train, {1 / reading:.0f} texts a second\n"
        f"one cell: {cell / 3600:.1f} CPU hours; {STRATEGIES} strategies, {SEEDS} seeds, {SETS} sets: {hours:.0f}\n"
    )


if __name__ == "__main__":
    main()
