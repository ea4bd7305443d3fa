"""MAML's own numbers, arranged for a GPU: all tasks in one tensor, convolutions as one batched product a layer.

The project's `Maml` maps over tasks with torch.func, which makes grouped convolutions with their slow second derivatives.
Here the task is an explicit first dimension; a layer is (tasks, channels, images, h, w). Same draws, same loss, same gradient.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from exemplar.spaces.meta import Maml
from exemplar.spaces.protonet import sample_classes, sample_drawings


class Columns(torch.autograd.Function):
    """(t, c, n, h, w) → (t, c · 9, n · h · w): each pixel's 3 × 3 neighbourhood, 0 beyond the image. Linear; see `Pixels`."""

    @staticmethod
    def forward(ctx, x):
        t, c, n, h, w = ctx.shape = x.shape
        seen = functional.pad(x, (1, 1, 1, 1)).unfold(3, h, 1).unfold(4, w, 1)  # (t, c, n, 3, 3, h, w)
        return seen.permute(0, 1, 3, 4, 2, 5, 6).reshape(t, c * 9, n * h * w)

    @staticmethod
    def backward(ctx, slope):
        return Pixels.apply(slope, ctx.shape)


class Pixels(torch.autograd.Function):
    """The adjoint of `Columns`."""

    @staticmethod
    def forward(ctx, columns, shape):
        t, c, n, h, w = shape
        part = columns.view(t, c, 9, n, h, w)
        out = columns.new_zeros(t, c, n, h + 2, w + 2)
        for k in range(9):
            out[..., k // 3 : k // 3 + h, k % 3 : k % 3 + w] += part[:, :, k]
        return out[..., 1:-1, 1:-1].contiguous()

    @staticmethod
    def backward(ctx, slope):
        return Columns.apply(slope.contiguous()), None


def forward(params: dict[str, Tensor], images: Tensor, relu: bool) -> Tensor:
    """images: (t, n, 1, h, w); params: (t, …) → (t, n, ways)."""
    x = images.transpose(1, 2)  # (t, c, n, h, w)
    for k in range(4):
        weight, bias = params[f"blocks.{k}.0.weight"], params[f"blocks.{k}.0.bias"]
        t, _, n, h, w = x.shape
        x = torch.baddbmm(bias[:, :, None], weight.flatten(2), Columns.apply(x))  # (t, o, n · h · w)
        centred = x - x.mean(2, keepdim=True)
        variance = centred.square().mean(2, keepdim=True)
        scale = params[f"blocks.{k}.1.weight"][:, :, None] * (variance + 1e-5).rsqrt()
        x = centred * scale + params[f"blocks.{k}.1.bias"][:, :, None]
        x = functional.max_pool2d(x.view(-1, n, h, w), 2)
        x = functional.relu(x).view(t, -1, n, h // 2, w // 2)
    x = x.transpose(1, 2).flatten(2)  # (t, n, c · h · w)
    x = torch.baddbmm(params["feature.bias"][:, None], x, params["feature.weight"].mT)
    if relu:
        x = functional.relu(x)
    return torch.baddbmm(params["last.bias"][:, None], x, params["last.weight"].mT)


@dataclass(frozen=True)
class FastMaml(Maml):
    def _attempt(self, network, data, rng, n_tasks, steps, *, exemplar_first=True):
        classes = sample_classes(data.n_classes, n_tasks, self.ways, rng).flatten()
        each = self.shots + self.queries
        rows = sample_drawings(data, classes, each, rng, exemplar_first=exemplar_first)
        images = data.take(rows.flatten()).view(n_tasks, self.ways, each, *data.shape)
        label = torch.arange(self.ways, device=rng.device)
        support = images[:, :, : self.shots].flatten(1, 2)
        labels = label.repeat_interleave(self.shots).repeat(n_tasks)
        target = label.repeat_interleave(self.queries).expand(n_tasks, -1)
        relu, outer = self.network == "conv4", torch.is_grad_enabled()
        with torch.enable_grad():
            params = {
                # contiguous: channels-last weights would be copied for every product
                name: value.contiguous().expand(n_tasks, *value.shape) if outer
                else value.detach().contiguous().expand(n_tasks, *value.shape).clone().requires_grad_()
                for name, value in network.named_parameters()
            }
            for _ in range(steps):
                out = forward(params, support, relu)
                loss = functional.cross_entropy(out.flatten(0, 1), labels, reduction="sum") / (self.ways * self.shots)
                slopes = torch.autograd.grad(loss, list(params.values()), create_graph=outer)
                stepped = [value - self.inner_rate * slope for value, slope in zip(params.values(), slopes, strict=True)]
                if not outer:
                    stepped = [value.detach().requires_grad_() for value in stepped]
                params = dict(zip(params, stepped, strict=True))
            query = images[:, :, self.shots :].flatten(1, 2)
            found = forward(params, query, relu)
        return (found if outer else found.detach()), target
