"""A function with `assert`, in a module in which pytest leaves them as they are."""

from typing import Any

import numpy as np


def asserted(x: Any) -> Any:
    assert x > 0, "not positive"
    assert np.isfinite(x)
    return np.sqrt(x)
