"""Every op, by family. Importing this package fills the table of `compiler.op`."""

from .arrays import (
    creation,
    cumulative,
    dynamic_slicing,
    fft,
    index_check,
    indexing,
    layout,
    raise_if,
    random,
    reduction,
    sort,
)
from .composite import require_decompositions
from .control import (
    branching,
    checkpoint,
    collective,
    control,
    custom_rule,
    kernel,
    printing,
    scan,
    tiled,
    while_loop,
)
from .elementwise import activation, arithmetic, comparison, conversion, elementary, quotients
from .linalg import (
    contraction,
    determinant,
    factorization,
    least_squares,
    linear_systems,
    matrix_exponential,
    polar,
    spectral,
)
from .nn import attention, attention_derivatives, attention_sums, convolution, loss, normalization, softmax
from .special import bessel, error_functions, gamma, incomplete

FAMILIES = (
    activation,
    arithmetic,
    attention,
    attention_derivatives,
    attention_sums,
    bessel,
    branching,
    checkpoint,
    collective,
    comparison,
    contraction,
    control,
    conversion,
    convolution,
    creation,
    cumulative,
    custom_rule,
    determinant,
    dynamic_slicing,
    elementary,
    factorization,
    fft,
    gamma,
    incomplete,
    index_check,
    raise_if,
    indexing,
    kernel,
    layout,
    least_squares,
    linear_systems,
    loss,
    matrix_exponential,
    normalization,
    polar,
    printing,
    quotients,
    random,
    reduction,
    scan,
    softmax,
    sort,
    error_functions,
    spectral,
    tiled,
    while_loop,
)
"""The modules with the records of ops; each has samples of the same name."""

require_decompositions()
