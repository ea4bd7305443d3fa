"""Multiply-accumulates of whatever torch does inside, backward passes and inner loops included: 1 MAC is 2 FLOP.

Matrix products, convolutions and attention are counted by torch's own formulas (`torch.utils.flop_counter`); distances, norms,
normalisation and recurrent layers, for which these give nothing, by those below. Element by element arithmetic is counted
apart, one per element written. An operator that nobody has a formula for is listed, not taken for free.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

aten = torch.ops.aten


class Operations(TorchDispatchMode):
    """Counts while it is entered. macs: multiply-accumulates; elementwise: elements written by other arithmetic; unknown:
    operator → calls, of those without a formula."""

    def __init__(self) -> None:
        super().__init__()
        self.macs, self.elementwise = 0, 0
        self.unknown: Counter[str] = Counter()
        self.n_calls = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        packet = func._overloadpacket
        if packet not in OURS and packet not in flop_registry and packet is not torch.ops.prim.device:
            with self:  # an operator made of others, where nothing was recorded: count those
                whole = func.decompose(*args, **kwargs)
            if whole is not NotImplemented:
                return whole
        out = func(*args, **kwargs)
        self.n_calls += 1
        if packet in OURS:
            self.macs += OURS[packet](args, kwargs, out)
        elif packet in flop_registry:
            self.macs += flop_registry[packet](*args, **kwargs, out_val=out) // 2
        else:
            self._others(func, packet, out)
        return out

    def _others(self, func: Any, packet: Any, out: Any) -> None:
        name = str(packet).removeprefix("aten.").rstrip("_")
        if torch.Tag.pointwise in func.tags or torch.Tag.reduction in func.tags or name in ARITHMETIC:
            self.elementwise += sum(tensor.numel() for tensor in _tensors(out))
        elif not (func.is_view or name in FREE or name.startswith(FREE_STARTS)):
            self.unknown[str(packet)] += 1


@contextmanager
def count_operations() -> Iterator[Operations]:
    """Within, everything torch computes is counted."""
    with Operations() as found:
        yield found


def _tensors(out: Any) -> list[torch.Tensor]:
    many = out if isinstance(out, tuple | list) else (out,)
    return [one for one in many if isinstance(one, torch.Tensor)]


def _distances(args: Any, kwargs: Any, out: torch.Tensor) -> int:
    """Every pair of rows, every dimension: a difference, squared and added."""
    return out.numel() * args[0].shape[-1]


def _distances_backward(args: Any, kwargs: Any, out: torch.Tensor) -> int:
    """grad, x1, x2, p, distances: for each pair and dimension a difference times a weight, added."""
    return args[4].numel() * args[1].shape[-1]


def _of_input(per_element: int) -> Callable[[Any, Any, Any], int]:
    return lambda args, kwargs, out: per_element * args[0].numel()


def _normalised(args: Any, kwargs: Any, out: Any) -> int:
    """Scale and shift; in training mean and variance too, one each. The flag is the sixth argument, or absent (layer norm)."""
    training = bool(args[5]) if len(args) > 5 and isinstance(args[5], bool) else True
    return (3 if training else 1) * args[0].numel()


def _recurrent(args: Any, kwargs: Any, out: Any) -> int:
    """One layer, oneDNN: input (steps, batch, n), weights (gates · hidden, n) and (gates · hidden, hidden), for each step and
    sequence."""
    steps, batch = args[0].shape[:2]
    return int(steps * batch * (args[1].numel() + args[2].numel()))


def _attention(args: Any, kwargs: Any, out: Any) -> int:
    """query, key, value (batch, heads, n, d): scores, then their mixture of the values."""
    query, key, value = args[:3]
    batch, heads, n, d = query.shape
    return int(batch * heads * n * key.shape[-2] * (d + value.shape[-1]))


def _attention_backward(args: Any, kwargs: Any, out: Any) -> int:
    """The scores once more, and two products for each of the forward pass's two."""
    forward = _attention(args[1:], kwargs, out)
    return int(2 * forward + forward * args[1].shape[-1] // (args[1].shape[-1] + args[3].shape[-1]))


def _gates(args: Any, kwargs: Any, out: Any) -> int:
    """A whole recurrent layer or stack: every weight matrix once per step and sequence."""
    data, _, weights = args[:3]
    matrices = sum(prod(weight.shape) for weight in weights if weight.ndim == 2)
    return int(matrices * data.shape[0] * data.shape[1])


def _solved(args: Any, kwargs: Any, out: Any) -> int:
    """Factorising n × n: n³ / 3."""
    n = args[0].shape[-1]
    return int(prod(args[0].shape[:-2]) * n**3 // 3)


def _inverted(args: Any, kwargs: Any, out: Any) -> int:
    n = args[0].shape[-1]
    return int(prod(args[0].shape[:-2]) * n**3)


def _back_substituted(args: Any, kwargs: Any, out: torch.Tensor) -> int:
    """Two triangular systems of n × n for k right sides: n² k."""
    return int(out.numel() * out.shape[-2])


def _triangular(args: Any, kwargs: Any, out: torch.Tensor) -> int:
    return int(out.numel() * args[0].shape[-1] // 2)


OURS: dict[Any, Callable[[Any, Any, Any], int]] = {
    aten._cdist_forward: _distances,
    aten._cdist_backward: _distances_backward,
    aten._euclidean_dist: _distances,
    aten.linalg_vector_norm: _of_input(1),
    aten.norm: _of_input(1),
    aten.native_batch_norm: _normalised,
    aten._native_batch_norm_legit: _normalised,
    aten._native_batch_norm_legit_functional: _normalised,
    aten._batch_norm_with_update: lambda args, kwargs, out: 3 * args[0].numel(),
    aten._batch_norm_no_update: lambda args, kwargs, out: args[0].numel(),
    aten.cudnn_batch_norm: _normalised,
    aten.native_batch_norm_backward: lambda args, kwargs, out: 4 * args[1].numel(),
    aten.batch_norm_backward: lambda args, kwargs, out: 4 * args[1].numel(),
    aten.native_layer_norm: _of_input(3),
    aten.native_layer_norm_backward: lambda args, kwargs, out: 4 * args[1].numel(),
    aten.native_group_norm: _of_input(3),
    aten.mkldnn_rnn_layer: _recurrent,
    aten.lstm: _gates,
    aten.gru: _gates,
    aten._scaled_dot_product_flash_attention_for_cpu: _attention,
    aten._scaled_dot_product_flash_attention_for_cpu_backward: _attention_backward,
    aten.dot: _of_input(1),
    aten.mv: _of_input(1),
    aten.linalg_cholesky_ex: _solved,
    aten.cholesky_solve: _back_substituted,
    aten.cholesky_inverse: _inverted,
    aten.linalg_inv_ex: _inverted,
    aten.linalg_solve_triangular: _triangular,
    aten._linalg_solve_ex: lambda args, kwargs, out: _solved(args, kwargs, out) + _back_substituted(args, kwargs, out[0]),
}  # fmt: skip
ARITHMETIC = {
              "_softmax", "_log_softmax", "_softmax_backward_data", "_log_softmax_backward_data", "sum", "mean", "cumsum",
              "var",
              "var_mean", "max", "min", "amax", "amin", "argmax", "nll_loss_forward", "nll_loss_backward", "logsumexp",
              "threshold_backward", "native_dropout", "max_pool2d_with_indices", "max_pool2d_with_indices_backward",
              "avg_pool2d", "avg_pool2d_backward", "_adaptive_avg_pool2d", "_adaptive_avg_pool2d_backward", "prod",
              "index_add", "scatter_add", "any", "all", "std", "aminmax", "std_mean", "addcmul", "addcdiv", "lerp"}  # fmt: skip
FREE = {"clone", "copy", "_to_copy", "cat", "stack", "empty", "zeros", "ones", "full", "arange", "fill", "zero", "index",
        "gather",
        "scatter", "detach", "lift_fresh", "index_select", "eye", "randperm", "one_hot", "_local_scalar_dense", "repeat",
        "set", "resize", "_reshape_alias", "new_empty_strided", "contiguous", "constant_pad_nd", "masked_fill", "where",
        "index_put", "flip", "roll", "sort", "topk", "argsort", "bincount", "nonzero", "_unique2", "unique_dim", "equal",
        "isfinite", "_assert_async", "resolve_conj", "resolve_neg", "is_same_size", "item", "slice_backward", "select_backward",
        "as_strided_scatter", "slice_scatter", "unsafe_split", "uniform", "normal", "bernoulli", "exponential",
        "split_with_sizes_copy", "max_pool2d_with_indices_double_backward"}  # fmt: skip
FREE_STARTS = (
    "profiler.",
    "_unsafe_view",
    "new_",
    "empty",
    "zeros",
    "ones",
    "full",
    "rand",
    "_foreach_",
    "scalar_tensor",
    "_assert",
    "sym_",
    "alias",
)
