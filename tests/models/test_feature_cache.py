import subprocess
import sys

import numpy as np
import pytest
from encoder_weights import needs_weights

from bemps.errors import InputError
from bemps.models.content_models import TextVectors, encode_once
from bemps.models.encoders import feature_cache
from bemps.models.encoders.feature_cache import CachedEncoder, FeatureCache, content, digest, identity_of
from bemps.models.heads.head_classifier import HeadClassifier
from bemps.models.text.hidden_store import HiddenStore

TEXTS = ["a cat", "a dog", "two dogs", "", "naïve café", "a cat"]


class LetterCounts:
    """Vectors that anyone can check: how often each of 26 letters occurs, times `scale`."""

    def __init__(self, scale=1.0, device=None):
        self.scale, self.device = scale, device
        self._seen = []

    def embeddings(self, items):
        self._seen.append(list(items))
        counts = [[text.count(chr(97 + letter)) for letter in range(26)] for text in items]
        return self.scale * np.array(counts, dtype=np.float32).reshape(-1, 26)


class Pooled:
    """Mean and spread of arrays of any shape."""

    calls = 0

    def embeddings(self, items):
        self.calls += len(items)
        return np.array([[np.mean(item), np.std(item)] for item in items], dtype=np.float32)


def test_every_item_is_encoded_once(tmp_path):
    encoder = LetterCounts()
    cached = CachedEncoder(encoder, tmp_path)
    expected = LetterCounts().embeddings(TEXTS)
    assert np.array_equal(cached(TEXTS), expected)
    assert encoder._seen == [TEXTS[:5]], "the repeated text is looked at once"
    assert np.array_equal(cached(TEXTS[::-1]), expected[::-1])
    assert np.array_equal(cached(["a cat", "new"]), LetterCounts().embeddings(["a cat", "new"]))
    assert encoder._seen[1:] == [["new"]]


def test_texts_that_nobody_asks_for_again_are_not_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(TextVectors, "text_encoder", lambda _: LetterCounts())
    vectors = TextVectors("bge-small", str(tmp_path))
    vectors(["kept"])
    assert np.array_equal(encode_once(vectors, ["kept", "not kept"])[0], vectors(["kept"])[0])
    assert vectors.unread(["kept", "not kept"]) == 1
    assert np.array_equal(encode_once(TfidfLike(), ["ab"]), [[2.0]])


class TfidfLike:
    """An encoder that keeps nothing anyway."""

    progress = None

    def __call__(self, contents):
        return np.array([[float(len(text))] for text in contents])


def test_another_object_finds_what_was_saved(tmp_path):
    CachedEncoder(LetterCounts(), tmp_path)(TEXTS)
    later = LetterCounts()
    assert np.array_equal(CachedEncoder(later, tmp_path).embeddings(TEXTS), LetterCounts().embeddings(TEXTS))
    assert later._seen == []


def test_vectors_are_memory_mapped(tmp_path):
    cached = CachedEncoder(LetterCounts(), tmp_path)
    cached(TEXTS)
    assert all(isinstance(segment, np.memmap) for segment in cached.cache._segments.values())


def test_other_settings_have_vectors_of_their_own_but_the_device_does_not_matter(tmp_path):
    CachedEncoder(LetterCounts(), tmp_path)(TEXTS)
    double, elsewhere = LetterCounts(scale=2.0), LetterCounts(device="cuda:3")
    assert np.array_equal(CachedEncoder(double, tmp_path)(TEXTS), 2 * LetterCounts().embeddings(TEXTS))
    CachedEncoder(elsewhere, tmp_path)(TEXTS)
    assert elsewhere._seen == []


def test_an_encoder_can_state_its_identity():
    encoder = LetterCounts()
    encoder.identity = "letters, second edition"
    assert identity_of(encoder) == "letters, second edition"


def test_a_temporary_folder_goes_with_the_encoder():
    cached = CachedEncoder(LetterCounts())
    cached(TEXTS)
    folder = cached.cache.folder
    assert list(folder.glob("*.npy"))
    del cached
    assert not folder.exists()


def test_no_items(tmp_path):
    assert CachedEncoder(LetterCounts(), tmp_path)([]).shape == (0, 26)


def test_arrays_differ_by_type_shape_and_values():
    row = np.arange(6, dtype=np.uint8)
    contents = [row, row.astype(np.int8), row.reshape(2, 3), row.reshape(3, 2), row[::-1]]
    assert len({digest(content(item)) for item in contents}) == 5
    assert content(np.arange(12, dtype=np.uint8)[::2][:3]) == content(np.array([0, 2, 4], dtype=np.uint8))


def test_images_of_different_sizes(tmp_path):
    images = [np.full((height, 4, 3), height, dtype=np.uint8) for height in (2, 3, 5, 2)]
    encoder = Pooled()
    cached = CachedEncoder(encoder, tmp_path)
    assert cached(images)[:, 0] == pytest.approx([2, 3, 5, 2])
    cached(np.stack([images[0], images[3]]))
    assert encoder.calls == 3, "an image is the same in an array and in a list"


def test_progress_runs_once_from_nothing_to_all(tmp_path, monkeypatch):
    monkeypatch.setattr(feature_cache, "SEGMENT", 2)

    class Reports(LetterCounts):
        def __init__(self):
            super().__init__()
            self.progress = lambda task, done, total: steps.append((task, done, total))

        def embeddings(self, items):
            for done in range(1, len(items) + 1):
                self.progress("embed", done, len(items))
            return super().embeddings(items)

    steps = []
    encoder = Reports()
    own = encoder.progress
    cached = CachedEncoder(encoder, tmp_path)
    cached([f"text {number}" for number in range(5)])
    assert steps == [("embed", done, 5) for done in range(1, 6)]
    assert encoder.progress is own


def test_little_is_lost_when_reading_is_interrupted():
    assert feature_cache.SEGMENT <= 512


def test_an_interruption_loses_one_segment_at_most(tmp_path, monkeypatch):
    monkeypatch.setattr(feature_cache, "SEGMENT", 2)

    class Fails(LetterCounts):
        def embeddings(self, items):
            if "two dogs" in items:
                raise KeyboardInterrupt
            return super().embeddings(items)

    broken, whole = Fails(), LetterCounts()
    broken.identity = whole.identity = "letters"
    with pytest.raises(KeyboardInterrupt):
        CachedEncoder(broken, tmp_path)(TEXTS)
    CachedEncoder(whole, tmp_path)(TEXTS)
    assert whole._seen == [["two dogs", ""], ["naïve café"]]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1],
        lambda data: b"",
        lambda data: data[:-5] + bytes([data[-5] ^ 1]) + data[-4:],
        lambda data: bytes([data[0] ^ 255]) + data[1:],
    ],
    ids=["half", "one byte less", "empty", "a bit in a vector", "no NumPy file"],
)
def test_a_damaged_file_is_named_and_deleting_it_helps(tmp_path, damage):
    CachedEncoder(LetterCounts(), tmp_path)(TEXTS)
    (file,) = tmp_path.rglob("*.npy")
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(InputError, match=rf"(?s){file.name}.*Delete the file"):
        CachedEncoder(LetterCounts(), tmp_path)(TEXTS)
    file.unlink()
    assert np.array_equal(CachedEncoder(LetterCounts(), tmp_path)(TEXTS), LetterCounts().embeddings(TEXTS))


def test_a_file_that_was_never_finished_is_not_read(tmp_path):
    cache = FeatureCache(tmp_path)
    (tmp_path / "abc.part").write_bytes(b"half a segm")
    assert cache.missing([digest(b"x")]) == [0]


WRITER = """
import sys
import numpy as np
from bemps.models.encoders.feature_cache import FeatureCache, digest

cache, start = FeatureCache(sys.argv[1]), int(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
for i in range(start, start + 40):
    cache.add([digest(str(5 * i + j).encode()) for j in range(5)], np.full((5, 3), float(i), dtype=np.float32))
"""


def test_two_processes_write_at_once(tmp_path):
    """Half of the segments of each are those of the other, too."""
    commands = [[sys.executable, "-c", WRITER, str(tmp_path), start] for start in ("0", "20")]
    writers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for command in commands]
    for writer in writers:
        assert writer.stdout.readline() == b"ready\n"
    for writer in writers:
        writer.stdin.write(b"go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate()
    assert [writer.returncode for writer in writers] == [0, 0]
    cache, keys = FeatureCache(tmp_path), [digest(str(i).encode()) for i in range(300)]
    assert cache.missing(keys) == []
    assert np.array_equal(cache.rows(keys)[:, 0], np.arange(300) // 5)
    assert not list(tmp_path.glob("*.part"))


def test_segments_of_another_process_are_found_without_a_restart(tmp_path):
    mine, theirs = FeatureCache(tmp_path), FeatureCache(tmp_path)
    key = digest(b"x")
    assert mine.missing([key]) == [0]
    theirs.add([key], np.ones((1, 2), dtype=np.float32))
    assert mine.missing([key]) == []
    assert np.array_equal(mine.rows([key]), np.ones((1, 2)))


def test_heads_on_texts_see_the_encoder_once_for_each_text(tmp_path):
    encoder = LetterCounts()
    items = [f"{animal} {'x' * i}" for i in range(10) for animal in ("cat", "dog", "bird")]
    labels = np.tile(np.arange(3), 10)
    model = HeadClassifier(items, encode=CachedEncoder(encoder, tmp_path))
    for seed in range(2):
        model.fit(items[:12], labels[:12], ["cat", "dog", "bird"], np.random.default_rng(seed))
        probs = model.predict(items)
    assert (probs.mean(axis=0).argmax(axis=1) == labels).all()
    assert sorted(text for seen in encoder._seen for text in seen) == sorted(items)


def test_heads_on_real_sentences(data_dir, tmp_path):
    needs_weights("minilm")
    parquet = pytest.importorskip("pyarrow.parquet")
    from bemps.models.encoders.text_encoder import TextEncoder

    table = parquet.read_table(data_dir / "trec6" / "train.parquet").slice(0, 160).to_pydict()
    texts, labels = table["text"], np.array(table["label"], dtype=np.int64)
    model = HeadClassifier(texts, encode=CachedEncoder(TextEncoder(), tmp_path))
    model.fit(texts[:100], labels[:100], list("abcdef"), np.random.default_rng(0))
    right = (model.predict(texts[100:]).mean(axis=0).argmax(axis=1) == labels[100:]).mean()
    assert right > np.bincount(labels[100:]).max() / 60 + 0.2


def test_a_full_disk_is_told_and_leaves_nothing_behind(small_disk):
    disk = small_disk(64)
    cache = FeatureCache(disk / "features")
    with pytest.raises(InputError, match=r"feature cache .*No space left on device\. Check space and rights"):
        cache.add([digest(b"a")] * 100, np.zeros((100, 1000), dtype=np.float32))
    assert list((disk / "features").iterdir()) == []


def test_a_full_disk_is_told_by_the_store_of_states(small_disk):
    disk = small_disk(64)
    store = HiddenStore(disk / "hidden")
    with pytest.raises(InputError, match="No space left on device"):
        store.add(["a"], [np.zeros((100, 1000), dtype=np.float32)])
    assert list((disk / "hidden").iterdir()) == []
    assert "a" not in store
