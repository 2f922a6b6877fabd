"""The packaged digits are complete, scaled, and split the same way for ever."""

import numpy as np

from tracemill.tools.demo.digits import ARCHIVE, load_digits


def test_the_archive_is_small_and_holds_no_pickles() -> None:
    assert ARCHIVE.stat().st_size < 150_000
    with np.load(ARCHIVE, allow_pickle=False) as archive:
        assert {name: (archive[name].shape, archive[name].dtype.name) for name in archive.files} == {
            "images": ((1797, 8, 8), "uint8"),
            "labels": ((1797,), "uint8"),
        }


def test_images_are_float32_rows_between_zero_and_one() -> None:
    images = load_digits().images
    assert images.shape == (1797, 64)
    assert images.dtype == np.float32
    assert (images.min(), images.max()) == (0.0, 1.0)


def test_labels_count_each_digit_as_the_source_does() -> None:
    labels = load_digits().labels
    assert labels.dtype == np.int64
    assert np.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_the_split_holds_every_row_once() -> None:
    digits = load_digits()
    assert (len(digits.train), len(digits.test)) == (1437, 360)
    assert sorted([*digits.train.tolist(), *digits.test.tolist()]) == list(range(1797))


def test_the_split_is_the_documented_permutation() -> None:
    digits = load_digits()
    rows = [*digits.train.tolist(), *digits.test.tolist()]
    assert rows == np.random.RandomState(0).permutation(1797).tolist()
    assert rows[:5] == [1081, 1707, 927, 713, 262]


def test_a_caller_may_change_what_it_got() -> None:
    load_digits().images[:] = -1
    assert load_digits().images.min() == 0.0
