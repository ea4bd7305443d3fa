"""Batch normalisation moved into the convolution before it: in evaluation the same function, in fewer passes over memory.

A convolution and a norm that follow each other in a plain `nn.Sequential` are found; another module says in a class attribute
`folds` which of its parts follow each other so: pairs of names, the convolution's and the norm's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from itertools import pairwise

from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval


def fold_norms(network: nn.Module, layer: str = "") -> nn.Module | None:
    """A copy of the network in evaluation mode, norms folded; None where there is nothing to fold.

    layer: the one whose output is wanted, "" for the network's own; a norm that follows it is left alone. Modules keep their
    names: in the place of a norm stands an identity, so that what a norm gave can still be asked for.
    """
    pairs = [(owner, conv, norm) for owner, conv, norm in _find_pairs(network) if _join(owner, conv) != layer]
    if not pairs:
        return None
    copy = deepcopy(network).eval()
    for owner, conv, norm in pairs:
        module = copy.get_submodule(owner)
        fused = fuse_conv_bn_eval(module.get_submodule(conv), module.get_submodule(norm))  # type: ignore[type-var, arg-type]
        setattr(module, conv, fused)
        setattr(module, norm, nn.Identity())
    return copy.requires_grad_(False)


def _find_pairs(network: nn.Module) -> Iterator[tuple[str, str, str]]:
    """(name of the module they are part of, of the convolution, of the norm), where both are used there and nowhere else."""
    uses = Counter(id(module) for _, module in network.named_modules(remove_duplicate=False))
    for owner, module in network.named_modules(remove_duplicate=False):
        parts = dict(module.named_children())
        for conv, norm in _declared_pairs(module, parts):
            once = uses[id(module)] == uses[id(parts[conv])] == uses[id(parts[norm])] == 1
            if once and _can_fold(parts[conv], parts[norm]):
                yield owner, conv, norm


def _declared_pairs(module: nn.Module, parts: dict[str, nn.Module]) -> Iterator[tuple[str, str]]:
    yield from getattr(type(module), "folds", ())
    if type(module).forward is nn.Sequential.forward:
        yield from pairwise(parts)


def _can_fold(conv: nn.Module, norm: nn.Module) -> bool:
    """Plain torch modules (no subclass, no parametrisation), and a norm that has statistics of its own."""
    return (
        type(conv) is nn.Conv2d
        and type(norm) is nn.BatchNorm2d
        and norm.running_mean is not None
        and norm.num_features == conv.out_channels
    )


def _join(owner: str, part: str) -> str:
    return f"{owner}.{part}" if owner else part
