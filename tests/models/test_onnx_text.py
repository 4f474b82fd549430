"""Vectors by onnxruntime: of the right form, a function of the text alone, and near those of torch in 32 bits."""

import json
import shutil
import threading

import huggingface_hub.constants
import numpy as np
import pytest
from encoder_weights import needs_weights
from typer.testing import CliRunner

import bemps
from bemps.cli import app
from bemps.errors import InputError
from bemps.models.encoders import OnnxTextEncoder, encoder_registry, feature_cache, find_weights, weight_packages
from bemps.models.encoders import encoder_files as encoder_files_module
from bemps.models.encoders.encoder_files import encoder_files, is_hub_name
from bemps.models.encoders.encoder_table import TEXT_ENCODERS
from bemps.models.encoders.feature_cache import CachedEncoder
from bemps.models.encoders.onnx_graph import with_outputs

pytest.importorskip("onnxruntime")
TEXTS = [
    "What is the capital of Austria?",
    "The battery does not charge any more, please help.",
    "We propose a new method for active learning and compare it with five others.",
    "",
    "A gripping film " * 100,
]


@pytest.fixture(scope="module")
def encoder() -> OnnxTextEncoder:
    needs_weights("bge-small")
    return OnnxTextEncoder(layer=(-1, 6))


def test_layers_stand_side_by_side_each_of_norm_one(encoder):
    vectors = encoder.embeddings(TEXTS)
    assert vectors.shape == (5, 768)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors.reshape(5, 2, 384), axis=2), 1, rtol=1e-5)


@pytest.mark.parametrize("name", TEXT_ENCODERS)
def test_a_vector_depends_on_its_text_alone_and_progress_is_one_bar(name):
    needs_weights(name)
    steps: list[tuple[str, int, int]] = []
    layers = TEXT_ENCODERS[name].view_layers
    encoder = OnnxTextEncoder(name, max_length=32, layer=layers, progress=lambda *step: steps.append(step))
    texts = [*TEXTS, "The soup is too cold, please help.", TEXTS[0]]  # some of one length
    together = encoder.embeddings(texts)
    assert together.shape == (7, TEXT_ENCODERS[name].width * len(layers))
    np.testing.assert_array_equal(together, np.vstack([encoder.embeddings([text]) for text in texts]))
    with bemps.limits(threads=2):
        np.testing.assert_array_equal(together, encoder.embeddings(texts))
    steps.clear()
    encoder.embeddings([TEXTS[i % 3] for i in range(100)])
    assert [done for _, done, _ in steps] == sorted({done for _, done, _ in steps})
    assert steps[-1] == ("embed", 100, 100)
    assert len(steps) > 1


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_follow_the_limits(monkeypatch, threads):
    needs_weights("minilm")
    encoder, busy, most = OnnxTextEncoder("minilm"), [], []
    work = encoder._vectors

    def watched(tokens):
        busy.append(threading.get_ident())
        most.append(len(set(busy)))
        return work(tokens)

    monkeypatch.setattr(encoder, "_vectors", watched)
    with bemps.limits(threads=threads):
        encoder.embeddings([f"text number {i}" for i in range(20)])
    assert encoder._session.get_session_options().intra_op_num_threads == 1
    assert (threading.get_ident() in busy) == (threads == 1)
    assert max(most) <= threads


def test_what_was_encoded_is_kept_when_interrupted_and_progress_is_one_bar(tmp_path, monkeypatch):
    needs_weights("minilm")
    monkeypatch.setattr(feature_cache, "SEGMENT", 16)
    texts, steps = [f"text number {i}" for i in range(50)], []

    def stop_late(task, done, total):
        steps.append((done, total))
        if done >= 40:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        CachedEncoder(OnnxTextEncoder("minilm", progress=stop_late), tmp_path).embeddings(texts)
    again: list[tuple[int, int]] = []
    encoder = OnnxTextEncoder("minilm", progress=lambda task, done, total: again.append((done, total)))
    assert CachedEncoder(encoder, tmp_path).embeddings(texts).shape == (50, 384)
    assert steps == [(16, 50), (32, 50), (48, 50)]
    assert again == [(16, 18), (18, 18)]  # the first two parts were on disk


def test_nothing_in_nothing_out(encoder):
    assert encoder.embeddings([]).shape == (0, 768)


def test_texts_of_one_meaning_are_near(encoder):
    vectors = OnnxTextEncoder().embeddings(
        ["How do I reset my password?", "I forgot my password.", "The soup was cold and salty."]
    )
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.05


@pytest.mark.parametrize(("name", "layers"), [("minilm", (-1, 4)), ("mpnet", (-1, 8))])
def test_graphs_in_32_bits_give_the_vectors_of_torch(name, layers):
    needs_weights(name)
    torch_encoders = pytest.importorskip("bemps.models.encoders.text_encoder")
    exact = torch_encoders.TextEncoder(name, layer=layers, device="cpu", max_length=128).embeddings(TEXTS)
    ours = OnnxTextEncoder(name, layer=layers, max_length=128, bits=32).embeddings(TEXTS)
    np.testing.assert_allclose(ours, exact, atol=1e-5)


def test_minilm_in_8_bits_is_near_to_torch():
    needs_weights("minilm")
    torch_encoders = pytest.importorskip("bemps.models.encoders.text_encoder")
    exact = torch_encoders.TextEncoder(layer=(-1, 4), device="cpu", max_length=128).embeddings(TEXTS)
    fast = OnnxTextEncoder("minilm", layer=(-1, 4), max_length=128).embeddings(TEXTS)
    cosines = (exact.reshape(5, 2, 384) * fast.reshape(5, 2, 384)).sum(2)
    assert cosines.min() > 0.97
    assert cosines.mean() > 0.985


def test_grids_have_the_vectors_of_minilm_without_torch(monkeypatch):
    needs_weights("minilm")
    pytest.importorskip("torch")
    exact = encoder_registry.minilm_encoder((-1, 4))
    monkeypatch.setattr(encoder_registry, "find_spec", lambda name: None if name == "torch" else name)
    ours = encoder_registry.minilm_encoder((-1, 4))
    assert isinstance(ours, OnnxTextEncoder)
    np.testing.assert_allclose(ours.embeddings(TEXTS), exact.embeddings(TEXTS), atol=1e-5)


@pytest.mark.parametrize("kind", ["bert", "roberta", "mpnet"])
def test_a_folder_of_safetensors_gives_the_vectors_of_torch(kind, tmp_path):
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    sizes = {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4}
    config = transformers.AutoConfig.for_model(kind, **sizes, intermediate_size=48, max_position_embeddings=70)
    model = transformers.AutoModel.from_config(config, attn_implementation="eager").eval()
    model.save_pretrained(tmp_path)
    write_tokenizer(tmp_path / "tokenizer.json")
    texts = [" ".join(f"w{(7 * i + 3 * j) % 90}" for i in range(5 + 9 * j)) for j in range(6)]
    encoder = OnnxTextEncoder(tmp_path, layer=(-1, 2, 1), max_length=60, normalise=False)
    ids = [encoder._tokenizer.encode(text).ids for text in texts]
    with torch.no_grad():
        states = [model(torch.tensor([row]), output_hidden_states=True).hidden_states for row in ids]
    expected = [np.hstack([state[layer][0].mean(0).numpy() for layer in (3, 2, 1)]) for state in states]
    np.testing.assert_allclose(encoder.embeddings(texts), np.array(expected), atol=2e-5)
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    first = OnnxTextEncoder(tmp_path, max_length=60, normalise=False).embeddings(texts)
    np.testing.assert_allclose(first, [state[-1][0, 0].numpy() for state in states], atol=2e-5)


def write_tokenizer(path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    words = {"[UNK]": 4} | {f"w{i}": i + 5 for i in range(90)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, "[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(path))


@pytest.mark.parametrize(
    ("config", "arrays", "match"),
    [
        ({"model_type": "t5"}, {}, "model_type one of bert"),
        ({"model_type": "bert", "hidden_act": "relu"}, {}, "relu"),
        ({"model_type": "bert"}, {}, "no array embeddings.position_embeddings.weight"),
        ({"model_type": "bert"}, None, "expected an encoder as exported"),
    ],
)
def test_a_folder_of_another_network_is_refused(config, arrays, match, tmp_path):
    sizes = {"num_hidden_layers": 1, "hidden_size": 4, "num_attention_heads": 1}
    (tmp_path / "config.json").write_text(json.dumps(sizes | config))
    header = json.dumps(arrays).encode()
    (tmp_path / "model.safetensors").write_bytes(
        b"cut" if arrays is None else len(header).to_bytes(8, "little") + header
    )
    write_tokenizer(tmp_path / "tokenizer.json")
    with pytest.raises(InputError, match=match):
        OnnxTextEncoder(tmp_path).embeddings(["w1"])


def test_texts_of_one_meaning_are_near_in_all_languages():
    needs_weights("multilingual")
    encoder = OnnxTextEncoder("multilingual")
    question = [
        "How do I reset my password?",
        "Wie setze ich mein Passwort zurück?",
        "密码怎么重置",
        "¿Cómo restablezco mi contraseña?",
    ]
    vectors = encoder.embeddings([*question, "Die Suppe war kalt und versalzen.", "<s> no </s> markers"])
    assert vectors.shape == (6, 512)
    assert (vectors[:4] @ vectors[0] > 0.5).all()
    assert vectors[0] @ vectors[4] < 0.2
    assert 1 not in encoder._tokenizer.encode("<s> no </s> markers").ids[1:-1]  # texts cannot write control pieces
    with pytest.raises(InputError, match="1 to 1"):
        OnnxTextEncoder("multilingual", layer=4).embeddings(["a"])


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """A hub whose repositories all have these files; returns what it is asked for."""
    asked = []
    (tmp_path / "config.json").write_text('{"model_type": "bert", "num_hidden_layers": 2, "hidden_size": 8}')
    for name in ("tokenizer.json", "model.safetensors"):
        (tmp_path / name).write_bytes(b"")

    def fetch(repository, path, commit=None):
        asked.append((repository, path))
        if not (tmp_path / path).exists():
            raise FileNotFoundError(path)
        return tmp_path / path

    monkeypatch.setattr(encoder_files_module, "fetch_from_hub", fetch)
    return asked


def test_a_name_on_the_hub_is_an_encoder(hub, tmp_path):
    files = encoder_files("someone/encoder")
    assert (files.model.name, files.layers, files.width, files.pooling) == ("model.safetensors", 2, 8, "mean")
    assert {repository for repository, _ in hub} == {"someone/encoder"}
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(InputError, match=r"a repository on the Hugging Face hub with config\.json"):
        encoder_files("someone/encoder")
    assert [is_hub_name(name) for name in ("a/b", "./b", "a/b/c", "b", "/b", "~/b")] == [True] + [False] * 5


def test_an_encoder_of_the_hub_is_brought_by_name(hub, tmp_path):
    brought = CliRunner().invoke(app, ["weights", "someone/encoder"])
    assert brought.exit_code == 0, brought.output
    assert f"someone/encoder: {tmp_path}" in brought.output
    assert {path for _, path in hub} >= {"config.json", "tokenizer.json", "model.safetensors"}
    (tmp_path / "config.json").unlink()
    refused = CliRunner().invoke(app, ["weights", "someone/encoder"])
    assert refused.exit_code == 2
    assert "Check the name and the network" in " ".join(refused.output.split())


def test_what_the_cache_of_the_hub_has_needs_no_network(monkeypatch, tmp_path):
    snapshot = tmp_path / "models--someone--encoder" / "snapshots" / ("0" * 40)
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text("{}")
    (snapshot.parents[1] / "refs").mkdir()
    (snapshot.parents[1] / "refs" / "main").write_text("0" * 40)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(weight_packages.socket, "getaddrinfo", lambda *_: (_ for _ in ()).throw(OSError("no network")))
    assert weight_packages.fetch_from_hub("someone/encoder", "config.json") == snapshot / "config.json"
    with pytest.raises(OSError, match="no network"):
        weight_packages.fetch_from_hub("someone/encoder", "tokenizer.json")


def test_all_files_come_from_the_commit_of_the_config_though_the_hub_has_a_newer_one(monkeypatch, tmp_path):
    """The cache has all files of commit A but the pooling; another program moves its newest commit to B meanwhile."""
    repository = tmp_path / "models--someone--encoder"
    first, second = (repository / "snapshots" / (letter * 40) for letter in "ab")
    for folder in (first, second, repository / "refs"):
        folder.mkdir(parents=True)
    (repository / "refs" / "main").write_text(first.name)
    (first / "config.json").write_text('{"model_type": "bert", "num_hidden_layers": 2, "hidden_size": 8}')
    for name in ("tokenizer.json", "model.safetensors"):
        (first / name).write_bytes(b"of A")

    def download(_, path, revision=None):
        folder = second if revision is None else repository / "snapshots" / revision
        if revision is None:
            (repository / "refs" / "main").write_text(second.name)
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text('{"pooling_mode_cls_token": true}')
        return str(folder / path)

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    monkeypatch.setattr(weight_packages.socket, "getaddrinfo", lambda *_: [])
    files = encoder_files("someone/encoder")
    assert (files.model, files.pooling) == (first / "model.safetensors", "cls")
    assert list(second.iterdir()) == []
    assert encoder_files("someone/encoder") == files


@pytest.mark.parametrize("changed", ["model.safetensors", "tokenizer.json", "config.json"])
def test_an_own_encoder_is_known_by_weights_tokenizer_and_config(changed, tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "bert", "num_hidden_layers": 2, "hidden_size": 8}')
    for name in ("tokenizer.json", "model.safetensors"):
        (tmp_path / name).write_bytes(b"")
    before = encoder_files(str(tmp_path)).identity
    assert encoder_files(str(tmp_path)).identity == before
    with (tmp_path / changed).open("a") as file:
        file.write(" ")
    assert encoder_files(str(tmp_path)).identity != before


def test_encoders_of_the_table_keep_their_identity():
    """Committed runs and caches have vectors under it."""
    needs_weights("bge-small")
    assert encoder_files("bge-small").identity == "bge-small 68807e3ff2abb83c"


@pytest.mark.parametrize("layer", [0, 13, -13])
def test_a_layer_that_is_not_there_is_refused(encoder, layer):
    with pytest.raises(InputError, match="1 to 12"):
        OnnxTextEncoder(layer=layer).embeddings(["a"])


@pytest.mark.parametrize(("items", "got"), [("one text", "one string"), (["a", 3], "a int")])
def test_what_is_no_list_of_texts_is_refused(encoder, items, got):
    with pytest.raises(InputError, match=got):
        encoder.embeddings(items)


def test_a_local_folder_is_an_encoder(encoder, tmp_path):
    paths = find_weights("bge-small")
    assert paths is not None
    for name, path in paths.items():
        shutil.copy(path, tmp_path / name)
    with pytest.raises(InputError, match=r"Copy the config.json"):
        OnnxTextEncoder(tmp_path).embeddings(["a"])
    (tmp_path / "config.json").write_text(json.dumps({"num_hidden_layers": 12, "hidden_size": 384}))
    own = OnnxTextEncoder(tmp_path, layer=(-1, 6), pooling="cls")
    np.testing.assert_array_equal(own.embeddings(TEXTS[:2]), encoder.embeddings(TEXTS[:2]))
    (tmp_path / "model.onnx").write_bytes(b"no graph")
    with pytest.raises(InputError, match="expected weights that can be loaded"):
        OnnxTextEncoder(tmp_path, pooling="cls").embeddings(["a"])


def test_a_folder_without_weights_is_refused(tmp_path):
    with pytest.raises(
        InputError, match=r"expected model.onnx or model.safetensors, and tokenizer.json; got no model.onnx"
    ):
        OnnxTextEncoder(tmp_path).embeddings(["a"])
    with pytest.raises(InputError, match="one of bge-small"):
        OnnxTextEncoder(tmp_path / "nowhere").embeddings(["a"])


def test_no_further_outputs_leave_a_graph_as_it_is():
    assert with_outputs(b"graph", []) == b"graph"
    long_name = "n" * 200  # longer than one byte of length
    appended = with_outputs(b"", [long_name])
    assert appended[0] == 7 << 3 | 2
    assert long_name.encode() in appended
