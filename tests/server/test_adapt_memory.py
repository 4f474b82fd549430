"""The memory of the process that fine-tunes in the background, at the size that the page asks of it."""

import subprocess
import sys
from contextlib import closing

import numpy as np
import pytest
from encoder_weights import needs_weights
from serving import write_tickets

from bemps.project.adapted_model import adaptation_file, load_adaptation
from bemps.project.project_models import cache_folder
from bemps.server.model.window import ADAPTED_WINDOW
from bemps.server.project_start import Source, Wishes, prepared
from bemps.store import Said

LABELS = 300
MOST = 2_000  # MiB; 1,350 were measured
CLASSES = ("bug", "feature", "question")
WORDS = [f"{first}{rest}" for first in "bdfklmnprst" for rest in ("ar", "el", "in", "on", "up", "ale", "ost", "ick")]
JOB = """
import sys
from bemps.experiments.memory import peak_memory_mb
from bemps.limits import library_threads
from bemps.models.pool_weights import PoolWeights
from bemps.models.text import adapted_text
from bemps.server.model.job_worker import run_job
from bemps.server.model.messages import StartJob

adapted_text.pool_weights = lambda evidence: PoolWeights(0.5)  # the window is read, whatever the labels say
with library_threads(1):
    run_job(StartJob(sys.argv[1], sys.argv[2]), lambda message: None)
print(peak_memory_mb())
"""


def sentences(count):
    """Texts of 5 to 35 words; a class has words of its own."""
    rng = np.random.default_rng(0)
    for _ in range(count):
        code = int(rng.integers(len(CLASSES)))
        words = rng.choice(WORDS[code * 25 : code * 25 + 38], size=rng.integers(5, 36))
        yield " ".join(words), CLASSES[code]


def peak_mib(where, task):
    """The peak memory of a process that does a job."""
    done = subprocess.run([sys.executable, "-c", JOB, where, task], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


@pytest.mark.soak
def test_fine_tuning_and_reading_a_window_stay_within_bounded_memory(tmp_path):
    pytest.importorskip("torch")
    needs_weights("bge-small", "minilm")
    texts = dict(sentences(ADAPTED_WINDOW + LABELS + 200))
    write_tickets(tmp_path / "tickets.csv", list(texts.items()))
    where = str(tmp_path / "tickets.bemps")
    wishes = Wishes(classes=CLASSES, model="bge-words", adapt="auto")
    store, _ = prepared(where, Source(tmp_path / "tickets.csv", {"text": "body"}), wishes)
    with closing(store):
        audit = store.audit()
        items = [item for item in store.items() if item.id not in audit][:LABELS]
        store.record([Said("ann", item.id, "label", texts[item.content]) for item in items])
        peaks = [peak_mib(where, task) for task in ("read", "adapt")]
        saved = load_adaptation(adaptation_file(cache_folder(store.path), store.read_settings().id), "bge-words")
    assert saved is not None
    assert saved.labels == LABELS
    assert len(saved.vectors) >= ADAPTED_WINDOW
    assert peaks[0] < peaks[1] < MOST, f"{peaks} MiB"
