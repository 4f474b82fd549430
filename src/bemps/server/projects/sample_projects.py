"""Samples to try at once: texts written for this purpose, and handwritten digits that come with scikit-learn."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

MESSAGES = Path(__file__).parent / "samples" / "library_messages.csv"
DIGITS, SCALE = 400, 8  # images, and how often each pixel is repeated in both directions


@dataclass(frozen=True)
class Sample:
    """A sample project.

    Attributes
    ----------
    title : str
        The name of the sample.
    words : str
        A short description.
    write : callable
        A function that writes the files into a folder and returns the path to read.
    columns : dict
        The columns to read.
    wishes : dict
        The settings of the project.
    needs : str or None
        A package that the sample needs.
    """

    title: str
    words: str
    write: Callable[[Path], Path]
    columns: dict[str, Any]
    wishes: dict[str, Any]
    needs: str | None = None

    @property
    def is_available(self) -> bool:
        """Whether the package that it needs is installed."""
        return self.needs is None or find_spec(self.needs) is not None


def write_messages(folder: Path) -> Path:
    """Copy the texts into a folder; returns the file."""
    return Path(shutil.copyfile(MESSAGES, folder / MESSAGES.name))


def write_digits(folder: Path) -> Path:
    """Write the first digits as images; returns the folder."""
    from PIL import Image
    from sklearn.datasets import load_digits

    pixels = (255 - load_digits().images[:DIGITS] * (255 / 16)).astype("uint8")
    for number, image in enumerate(pixels):
        large = image.repeat(SCALE, axis=0).repeat(SCALE, axis=1)
        Image.fromarray(large).save(folder / f"digit-{number:03d}.png")
    return folder


SAMPLES = {
    "messages": Sample(
        "Messages to a library",
        "100 short texts; is it a question, a complaint, praise or a suggestion?",
        write_messages,
        {"text": ["message"]},
        {
            "classes": ["question", "complaint", "praise", "suggestion"],
            "audit": 0.2,
            "guidelines": "What does the writer want? An answer: question. Something mended: complaint. "
            "Nothing, they are pleased: praise. Something new: suggestion.",
        },
    ),
    "digits": Sample(
        "Handwritten digits",
        f"{DIGITS} small images; which digit is it?",
        write_digits,
        {},
        {"classes": [str(digit) for digit in range(10)]},
        "PIL",
    ),
}
