"""The handwritten digits that ship with the project, as arrays ready for training."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

ARCHIVE: Final = Path(__file__).parent.parent / "data" / "digits.npz"
BRIGHTEST: Final = 16  # a pixel counts the dark points in a 4 x 4 block of the original bitmap
TRAIN_SIZE: Final = 1437  # four fifths of 1797, rounded down; 360 remain for the test
SPLIT_SEED: Final = 0


class Digits(NamedTuple):
    """The images and labels of 1797 handwritten digits, with a fixed split.

    - `images`: float32 of shape (1797, 64), each row an 8 x 8 image read row by row, 0 for paper to 1 for ink
    - `labels`: int64 of shape (1797,), the digit 0 to 9 that each image shows
    - `train`: int64 of shape (1437,), the rows to train on
    - `test`: int64 of shape (360,), the rows to test on; together with `train`, every row once
    """

    images: NDArray[np.float32]
    labels: NDArray[np.int64]
    train: NDArray[np.int64]
    test: NDArray[np.int64]


def load_digits() -> Digits:
    """Read the digits: no download, no randomness, new arrays at each call.

    The split is `numpy.random.RandomState(0).permutation(1797)`: its first 1437 rows train, the other 360
    test. It mixes writers, so an accuracy measured on it says less about the handwriting of strangers.

    The data are the test part of E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten Digits, UCI
    Machine Learning Repository, 1998, https://doi.org/10.24432/C50P49, under CC BY 4.0.

    >>> digits = load_digits()
    >>> digits.images.shape, str(digits.images.dtype), float(digits.images.max())
    ((1797, 64), 'float32', 1.0)
    >>> digits.labels[:10].tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    >>> digits.images[digits.train].shape, digits.labels[digits.test].shape
    ((1437, 64), (360,))
    """
    with np.load(ARCHIVE, allow_pickle=False) as archive:
        pixels: NDArray[np.uint8] = archive["images"]
        labels: NDArray[np.uint8] = archive["labels"]
    images = pixels.reshape(len(pixels), -1).astype(np.float32) / np.float32(BRIGHTEST)
    # RandomState and not default_rng: NumPy promises (NEP 19) that only the former's stream never changes.
    rows = np.random.RandomState(SPLIT_SEED).permutation(len(pixels)).astype(np.int64)
    return Digits(images, labels.astype(np.int64), rows[:TRAIN_SIZE], rows[TRAIN_SIZE:])
