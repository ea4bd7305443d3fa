"""Who a network is: a digest of its architecture, settings and weights, as far as these say what it computes.

A network with code of one's own in it has no identity, for nothing tells when that code has changed.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn

from exemplar import seeds

KNOWN = ("torch", "exemplar", "timm", "transformers")  # packages whose modules do what their attributes and weights say
WHOLE = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}  # bytes → whole numbers that have as many

# network → its tensors as they were, and their digest
_digests: WeakKeyDictionary[nn.Module, tuple[dict[str, Tensor], str]] = WeakKeyDictionary()


def identify_network(network: nn.Module) -> str:
    """A digest of all modules and tensors; "" where code that is neither torch's nor a known package's is part of it."""
    if not is_known(network):
        return ""
    modules = network.named_modules(remove_duplicate=False)
    return seeds.digest({name: _settings(module) for name, module in modules}, _digest_tensors(network))


def is_known(network: nn.Module) -> bool:
    """Whether it does what its settings and tensors say: every part is a package's, and nothing was changed about it."""
    return all(map(_is_plain, network.modules()))


def _digest_tensors(network: nn.Module) -> str:
    """Hashed once, and again only when a tensor no longer has the very bits it had."""
    tensors = {**dict(network.named_parameters()), **dict(network.named_buffers())}  # those too that a state dict omits
    before = _digests.get(network)
    if before is not None and _are_same(before[0], tensors):
        return before[1]
    digest = seeds.digest({name: _bytes(tensor) for name, tensor in tensors.items()})
    _digests[network] = ({name: tensor.detach().clone() for name, tensor in tensors.items()}, digest)
    return digest


def _are_same(before: dict[str, Tensor], now: dict[str, Tensor]) -> bool:
    return list(before) == list(now) and all(map(_has_same_bits, before.values(), now.values()))


def _has_same_bits(one: Tensor, other: Tensor) -> bool:
    if (one.shape, one.dtype, one.device) != (other.shape, other.dtype, other.device):
        return False
    bits = WHOLE.get(one.element_size())
    return bits is not None and torch.equal(one.view(bits), other.detach().view(bits))


def _is_plain(module: nn.Module) -> bool:
    """Whether its class is a package's, and no hook or other forward was attached to it."""
    changed = module._forward_hooks or module._forward_pre_hooks or "forward" in vars(module)
    return not changed and type(module).__module__.partition(".")[0] in KNOWN


def _settings(module: nn.Module) -> tuple[str, str, dict[str, str]]:
    """What a module is besides its tensors and parts: class, what it says of itself, and plain attributes."""
    kind = type(module)
    plain = {
        name: repr(value)
        for name, value in vars(module).items()
        if name != "training" and isinstance(value, bool | int | float | str | tuple | None)
    }
    return f"{kind.__module__}.{kind.__qualname__}", module.extra_repr(), plain


def _bytes(tensor: Tensor) -> tuple[str, tuple[int, ...], np.ndarray]:
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    return str(tensor.dtype), tuple(tensor.shape), flat.view(torch.uint8).numpy()  # NumPy has no bfloat16
