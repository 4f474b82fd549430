"""A small real DistilBERT with a WordPiece vocabulary of its own, and real questions of TREC to teach it."""

import atexit
import functools
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")  # a module that needs this network is skipped without it
transformers = pytest.importorskip("transformers")

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers  # noqa: E402

CLASSES = ["person", "place", "number"]
QUESTIONS = {
    "person": [
        "Who is the nebbish that is Marvel 's official mascot ?",
        "Who was the tallest U.S. president ?",
        "Who commanded the French forces at the Battle of Orleans ?",
        "What Pope inaugurated Vatican International Radio ?",
        "Who invented the telephone ?",
        "Who wrote the song , `` Boys of Summer '' ?",
        "Who was the first woman killed in the Vietnam War ?",
        "Who developed the Macintosh computer ?",
    ],
    "place": [
        "What country is famous for Persian rugs ?",
        "Where did guinea pigs originate ?",
        "On what continent is Mozambique ?",
        "Where is the Valley of the Kings ?",
        "What country other than Germany invaded Poland in September 1939 ?",
        "What 's the longest river in the world ?",
        "Where is the highest point in Japan ?",
        "What city is served by Logan International Airport ?",
    ],
    "number": [
        "How many Americans have HIV ?",
        "How many John Deere tractors have been manufactured ?",
        "When did Jaco Pastorius die ?",
        "How many islands does Fiji have ?",
        "How much did Manchester United spend on players in 1993 ?",
        "What is the date of Boxing Day ?",
        "When is President Nixon 's birthday ?",
        "How many minutes were there on the original GE College Bowl clock ?",
    ],
}
TEXTS = [question for asked in zip(*QUESTIONS.values(), strict=True) for question in asked]
LABELS = np.tile(np.arange(3), 8)


@functools.cache
def tiny_distilbert() -> Path:
    """The folder of a DistilBERT of two layers of width 32, with its masked-language-model head."""
    config = transformers.DistilBertConfig(
        vocab_size=len(_tokenizer()),
        dim=32,
        n_layers=2,
        n_heads=4,
        hidden_dim=64,
        max_position_embeddings=64,
        initializer_range=0.2,
    )
    return _saved(transformers.DistilBertForMaskedLM, config)


@functools.cache
def tiny_bert(positions: int = 64) -> Path:
    """The folder of a BERT of three layers of width 32, without any head."""
    config = transformers.BertConfig(
        vocab_size=len(_tokenizer()),
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=positions,
        initializer_range=0.2,
    )
    return _saved(transformers.BertModel, config)


def _saved(kind: type, config: transformers.PretrainedConfig) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="bemps-tiny-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        kind(config).save_pretrained(folder)
    _tokenizer().save_pretrained(folder)
    return folder


@functools.cache
def _tokenizer() -> transformers.PreTrainedTokenizerFast:
    raw = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    raw.normalizer = normalizers.BertNormalizer(lowercase=True)
    raw.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    raw.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    raw.train_from_iterator(
        TEXTS, trainers.WordPieceTrainer(vocab_size=300, special_tokens=special, show_progress=False)
    )
    raw.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=64,
    )
