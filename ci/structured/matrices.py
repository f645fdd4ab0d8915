"""Linear algebra. A matrix is not symmetric where one triangle counts: the other one holds other
numbers."""

from .family import Call, Part
from .tensors import tensor

_WIDE = ("float32", "float64")
_A, _B, _E = "%a", "%b", "%e"


def _of(op: str, *args: object, kind: str = "general", **rest: object) -> Call:
    rest.setdefault("dtypes", _WIDE)
    return Call(op, args, flags=frozenset({kind}), **rest)  # type: ignore[arg-type]


CALLS = (
    (
        _of("linalg_cholesky_ex", _A, name="cholesky-lower"),
        _of("linalg_cholesky_ex", _A, kwargs={"upper": True}, name="cholesky-upper"),
        _of("cholesky_inverse", _A, True),
        _of("cholesky_solve", _B, _A, True),
    ),
    (
        _of("linalg_eigvalsh", _A, grad=False),
        _of("linalg_eigvalsh", _A, "U", name="eigvalsh-upper", grad=False),
    ),
    (
        _of("linalg_solve_triangular", _A, _B, kwargs={"upper": True}),
        _of(
            "linalg_solve_triangular",
            _A,
            "%c",
            kwargs={"upper": False, "left": False},
            name="solve-triangular-right",
        ),
        _of(
            "linalg_solve_triangular",
            _A,
            _B,
            kwargs={"upper": False, "unitriangular": True},
            name="solve-unit-triangular",
        ),
        _of("triangular_solve", _B, _A, False, True),
    ),
    (
        _of("linalg_solve", _A, _B),
        _of("linalg_solve", _A, "%c", kwargs={"left": False}, name="solve-right"),
        _of("linalg_inv_ex", _A),
    ),
    (
        _of("linalg_det", _A),
        _of("linalg_slogdet", _A, of="y1"),
        _of("logdet", _A),
        _of("trace", _A),
    ),
    (
        _of("linalg_lu_factor", _A, grad=False),
        _of("linalg_lu", _A, grad=False),
        _of("linalg_ldl_factor", _A, grad=False),
    ),
    (
        _of("linalg_matrix_power", _A, 5),
        _of("linalg_matrix_power", _A, -2, name="matrix-power-negative"),
        _of("linalg_matrix_exp", _A),
    ),
    (
        _of("linalg_matrix_norm", _A, 1, [1, 0], True, least=2),
        _of("linalg_matrix_norm", _A, "-inf", name="matrix-norm-least"),
        _of("linalg_matrix_norm", _A, 2, name="matrix-norm-spectral"),
        _of("linalg_matrix_norm.str_ord", _A, "nuc"),
        _of("linalg_svdvals", _A),
    ),
    (
        _of("linalg_cross", _E, "%f", kwargs={"dim": 0}),
        _of("cross", _E, "%f", 1, name="cross-middle"),
        _of("tril", _A, -1),
        _of("triu", _A, 1),
    ),
    (
        _of("cov", _A, kwargs={"correction": 0}, grad=False, least=2),
        _of("corrcoef", _A, grad=False, least=2),
    ),
    # The gradient of diag_embed is a view of the one that comes in. Whether autograd keeps such a
    # view or a copy of it, no document says.
    (_of("vander", "%v", 4, True, grad=False), _of("diag_embed", _A, 1, 0, 1, grad=False)),
)


def _allowed(call: Call, row: dict) -> bool:
    return True


def _matrix(n: int) -> list[list[float]]:
    """Eighths between -1 and 1 by a linear congruence, with a heavy diagonal: definite by either
    triangle, whose numbers differ."""
    state, found = 12345, list[list[float]]()
    for i in range(n):
        found.append([])
        for j in range(n):
            state = (1103515245 * state + 12345) % 2**31
            found[-1].append((state >> 16) % 17 / 8 - 1 + (n + 2) * (i == j))
    return found


def _instance(call: Call, row: dict) -> tuple[dict, dict]:
    n, dtype = row["size"], row["dtype"]
    rows = _matrix(n)
    a = {"dtype": dtype, "values": rows}
    if row["layout"] == "transposed":
        by_columns = [rows[i][j] for j in range(n) for i in range(n)]
        a |= {"shape": [n, n], "strides": [1, n], "values": by_columns}
    made = {
        "a": a,
        "b": tensor([n, 3], dtype, row["layout"], seed=2),
        "c": tensor([3, n], dtype, row["layout"], seed=3),
        "e": tensor([3, 3, n], dtype, row["layout"], dim=0, seed=4),
        "f": tensor([3, 3, n], dtype, dim=0, seed=5),
        "v": tensor([n], dtype, row["layout"], seed=6),
    }
    used = {each[1:] for each in call.args if isinstance(each, str)}
    return {name: spec for name, spec in made.items() if name in used}, {}


PART = Part(
    "matrices",
    "Linear algebra of matrices whose two triangles differ",
    ("linear-algebra",),
    CALLS,
    {
        "size": (1, 2, 5, 9),
        "layout": ("contiguous", "transposed", "misaligned"),
        "dtype": _WIDE,
        "gradient": ("none", "expanded", "transposed"),
    },
    _allowed,
    _instance,
)
