"""The training of one member on disk, so that an interrupted fit continues where it stopped.

A folder holds `progress.json` and the safetensors files that it names. Tensors are written first, under the
number of their epoch, and the JSON is replaced last in one step: whenever the process dies, the JSON names
complete files.
"""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from bemps._utils.files import written_whole
from bemps.data.checksums import digest_of_file
from bemps.data.json_text import parse_object
from bemps.errors import InputError

Tensors = dict[str, torch.Tensor]
PROGRESS = "progress.json"


@dataclass(frozen=True)
class Progress:
    """The content of the JSON file.

    Attributes
    ----------
    identity : dict
        What tells this training from others: its seed and its settings.
    epochs : list of dict
        One entry for each finished epoch.
    weights : str
        The file of the best weights so far.
    state : str or None
        The file of the last weights and of the optimiser; None once the training is done.
    digests : dict of str to str
        The digests of these files.
    """

    identity: dict[str, Any]
    epochs: list[dict[str, Any]]
    weights: str
    state: str | None
    digests: dict[str, str] = field(default_factory=dict)


class Checkpoint:
    """A folder for the training of one member; it is made when the first epoch is saved."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self._committed: set[str | None] = set()
        self._digests: dict[str, str] = {}

    def read(self, identity: dict[str, Any]) -> Progress | None:
        """The progress of the training; None if it has not begun. A folder of another training is refused."""
        path = self.folder / PROGRESS
        if not path.exists():
            return None
        progress = self._parsed(path)
        if progress.identity != identity:
            raise InputError(
                "checkpoint",
                expected=f"the training {identity}",
                got=f"{progress.identity} in {self.folder}",
                fix="Give another folder, or delete this one.",
            )
        self._committed, self._digests = {progress.weights, progress.state}, progress.digests
        return progress

    def _parsed(self, path: Path) -> Progress:
        try:
            return Progress(**parse_object(path.read_text(encoding="utf-8"), str(path)))
        except (TypeError, UnicodeDecodeError, OSError) as error:
            raise self._damaged(str(error)) from error

    def _damaged(self, got: str) -> InputError:
        fix = "Delete the folder; the training starts again."
        return InputError(f"checkpoint {self.folder}", expected="the files that were written", got=got, fix=fix)

    def tensors(self, name: str) -> Tensors:
        """The tensors of one file that the progress names."""
        path = self.folder / name
        if not path.is_file() or self._digests.get(name) != digest_of_file(path):
            raise self._damaged(f"another {name}, or none")
        return load_file(self.folder / name)

    def write(
        self,
        identity: dict[str, Any],
        epochs: list[dict[str, Any]],
        *,
        best_epoch: int,
        best: Tensors,
        state: Tensors | None,
    ) -> None:
        """Save an epoch; best weights are written only when they are new.

        Parameters
        ----------
        identity : dict
            What the training depends on.
        epochs : list of dict
            The finished epochs.
        best_epoch : int
            The number of the epoch with the best weights.
        best : dict of str to tensor
            The best weights.
        state : dict of str to tensor, or None
            What the next epoch starts from; None marks the training as done.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        weights = f"best-{best_epoch}.safetensors"
        if weights not in self._committed:
            self._save(weights, best)
        name = None if state is None else f"state-{len(epochs)}.safetensors"
        if state is not None and name is not None:
            self._save(name, state)
        digests = {file: self._digests[file] for file in (weights, name) if file is not None}
        self._commit(Progress(identity, epochs, weights, name, digests))

    def _save(self, name: str, tensors: Tensors) -> None:
        with written_whole(self.folder / name, "checkpoint") as draft:
            save_file({key: value.detach().cpu().contiguous().clone() for key, value in tensors.items()}, draft)
        self._digests[name] = digest_of_file(self.folder / name)

    def _commit(self, progress: Progress) -> None:
        with written_whole(self.folder / PROGRESS, "checkpoint") as draft:
            draft.write_text(json.dumps(asdict(progress), indent=1), encoding="utf-8")
        self._committed = {progress.weights, progress.state}
        for old in self.folder.glob("*.safetensors"):
            if old.name not in self._committed:
                old.unlink()
