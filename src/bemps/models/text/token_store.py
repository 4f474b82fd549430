"""Token numbers of texts, computed once and stored on disk; models in any process map them.

The key is the content of a text, and the rules of the tokenizer: another vocabulary, rule or length has other keys.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bemps.models.text.hidden_store import HiddenStore
from bemps.models.text.tokens import Row, tokenise

SEGMENT = 16_384  # texts that are written at once: what an interruption can lose


class TokenStore:
    """The numbers of a tokenizer for texts cut to `max_length`, in a folder.

    Parameters
    ----------
    tokenizer : transformers tokenizer
        The tokenizer.
    max_length : int
        The largest number of tokens of a text.
    folder : Path or str
        Where the numbers are stored.
    """

    def __init__(self, tokenizer: Any, max_length: int, folder: Path | str) -> None:
        self.tokenizer, self.max_length = tokenizer, max_length
        self._store = HiddenStore(folder)
        self._identity = identity_of(tokenizer, max_length)

    def rows(self, texts: Sequence[str]) -> list[Row]:
        """The numbers of each text, as views of mapped files; texts that are new are tokenised and saved."""
        keys = [self._key(text) for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._store}
        missing = list(new)
        for start in range(0, len(missing), SEGMENT):
            part = missing[start : start + SEGMENT]
            rows = tokenise(self.tokenizer, [new[key] for key in part], self.max_length)
            self._store.add(part, [np.array(row, dtype=np.int32) for row in rows])
        return [self._store[key] for key in keys]

    def _key(self, text: str) -> str:
        return hashlib.sha256(self._identity + text.encode("utf-8", errors="surrogatepass")).hexdigest()[:32]


def identity_of(tokenizer: Any, max_length: int) -> bytes:
    """A digest of what token numbers depend on beside the text."""
    if tokenizer.is_fast:
        rules = json.loads(tokenizer.backend_tokenizer.to_str())
        # how the last call cut and padded: it is no property of the tokenizer
        rules = {name: value for name, value in rules.items() if name not in ("truncation", "padding")}
    else:
        rules = {"vocabulary": tokenizer.get_vocab(), "settings": repr(sorted(tokenizer.init_kwargs.items()))}
    facts = [type(tokenizer).__name__, tokenizer.truncation_side, max_length, rules]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).digest()
