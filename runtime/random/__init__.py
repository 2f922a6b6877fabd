"""Random numbers whose state is part of the program: the same from the same seed, compiled or not.

A `Generator` has NumPy's methods and a state of two small arrays: a key, derived from the seed, and a counter of the
draws. The numbers are a function of the two (Philox 4×32 with 10 rounds, Salmon et al., SC 2011), so they are the
same on every backend and in every order of computation.

>>> import numpy as np, tracemill as tm
>>> rng = tm.random.default_rng(7)
>>> rng.normal(size=2)
array([-0.92079525, -0.09303965])

A draw advances the counter in place. Inside a traced function this is an update of an array like any other, whether
the function closes over the generator or receives it as an argument. Compiled or not, it gives the same numbers and
leaves the same state, and the next call gives new ones.

>>> @tm.compile
... def noisy(x, rng):
...     return x + rng.normal(size=x.shape)
>>> first, second = noisy(np.zeros(2), rng), noisy(np.zeros(2), rng)
>>> bool(np.any(first == second))
False

A gradient flows through location and scale, and through other parameters of a draw. The generator itself cannot be
differentiated, and is updated once per call:

>>> tm.grad(lambda scale: rng.exponential(scale))(2.0) > 0
np.True_

Under `vmap`, say what a draw means: ``"different"`` gives each example its own random numbers, ``"same"`` draws once
for all. These numbers do not depend on how the batch is split into chunks.

>>> tm.vmap(lambda x: x + rng.integers(100), randomness="same")(np.zeros(3)).std()
np.float64(0.0)

In a loop, close over the generator or carry it; each step draws new numbers:

>>> _, walk = tm.scan(lambda at, _: (at + rng.normal(), at), 0.0, length=3)
>>> len(set(walk.tolist()))
3

For threads, `Generator.spawn` makes independent generators.
"""

from .generator import Generator, default_rng

__all__ = ["Generator", "default_rng"]
