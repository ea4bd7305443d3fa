"""How FSDM reads what it is shown: a set of drawings becomes one context vector.

`UNetEncoder` (Omniglot): half a U-Net for each drawing, pooled by attention, and the mean over the set (Table 4).
`SetViT` (QuickDraw): a transformer over patches, each of which holds that patch of all drawings of the set (Table 7).
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from exemplar.draw.diffusion.layers import ImageNorm, as_tokens, embed_time
from exemplar.draw.diffusion.residual_unet import (
    GROUPS,
    AttentionBlock,
    ResidualBlock,
    attend,
    check_width,
    time_network,
)
from exemplar.errors import UserError

LEVELS = (1, 2, 3, 4)


class UNetEncoder(nn.Module):
    """2,469,664 parameters at width 32, for 48 px. What it gives does not depend on the time."""

    def __init__(self, size: int = 48, width: int = 32, blocks: int = 2, context: int = 128) -> None:
        super().__init__()
        check_width(width)
        if size % 8:
            raise UserError(f"FSDM's encoder halves images three times: {size} px are not divisible by 8")
        self.width, embedded = width, 4 * width
        self.time = time_network(width)
        self.stem = nn.Conv2d(1, width, 3, padding=1)
        self.down, channels = nn.ModuleList(), width
        for k, level in enumerate(LEVELS):
            for _ in range(blocks):
                self.down.append(ResidualBlock(channels, level * width, embedded))
                channels = level * width
                if k == len(LEVELS) - 1:
                    self.down.append(AttentionBlock(channels, heads=None))
            if k < len(LEVELS) - 1:
                self.down.append(ResidualBlock(channels, channels, embedded, shrink=True))
        self.middle_in = ResidualBlock(channels, channels, embedded)
        self.attention = AttentionBlock(channels, heads=None)
        self.middle_out = ResidualBlock(channels, channels, embedded)
        self.norm = ImageNorm(channels, GROUPS)
        self.pool = AttentionPool((size // 8) ** 2, channels, context)

    def forward(self, sets: torch.Tensor) -> torch.Tensor:
        """sets: (b, n, h, w), ink 1 → (b, n, context): of each drawing."""
        images = sets.flatten(0, 1)[:, None]
        when = self.time(embed_time(images.new_zeros(len(images)), self.width, cosine_first=True))
        known = functional.silu(when)
        images = self.stem(images)
        for part in self.down:
            images = part(images, known) if isinstance(part, ResidualBlock) else part(images)
        images = self.middle_out(self.attention(self.middle_in(images, known)), known)
        return self.pool(functional.silu(self.norm(images))).unflatten(0, sets.shape[:2])


class AttentionPool(nn.Module):
    """The mean over px attends to all px; what it reads is the image's vector. px: how many there are."""

    def __init__(self, px: int, channels: int, context: int) -> None:
        super().__init__()
        self.heads = max(channels // 64, 1)
        self.position = nn.Parameter(torch.randn(px + 1, channels) / channels**0.5)
        self.qkv, self.out = nn.Linear(channels, 3 * channels), nn.Linear(channels, context)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """(b, c, h, w) → (b, context)."""
        tokens = as_tokens(images)
        tokens = torch.cat([tokens.mean(1, keepdim=True), tokens], dim=1)
        tokens = tokens + self.position.to(tokens.dtype)
        return self.out(attend(self.qkv(tokens), self.heads)[:, 0])


class SetViT(nn.Module):
    """5,697,920 parameters, as the rows of Table 7 add up; positions are sines, since the table has no parameters for them.

    A patch's token holds `drawings` drawings, so a smaller set is repeated until it has so many; the text's mean of each patch
    over the set would need a fifth of the table's first layer. The time is a token of its own."""

    def __init__(
        self, size: int = 48, patch: int = 8, width: int = 256, depth: int = 6, heads: int = 12, time: int = 128,
        drawings: int = 5,
    ) -> None:  # fmt: skip
        super().__init__()
        if size % patch:
            raise UserError(f"images of {size} px cannot be cut into patches of {patch} px: give a divisor")
        self.patch, self.drawings, n_px = patch, drawings, drawings * patch**2
        self.to_tokens = nn.Sequential(nn.LayerNorm(n_px), nn.Linear(n_px, width))
        self.to_time = nn.Linear(time, width)
        self.layers = nn.ModuleList(TransformerLayer(width, heads) for _ in range(depth))
        self.last = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width))
        positions = embed_time(torch.arange((size // patch) ** 2 + 1), width)
        self.register_buffer("positions", positions, persistent=False)
        self.positions: torch.Tensor

    def forward(self, sets: torch.Tensor, when: torch.Tensor) -> torch.Tensor:
        """sets: (b, n, h, w), ink 1; when: (b, time) the generator's embedding of the time → (b, width)."""
        full = sets[:, torch.arange(self.drawings, device=sets.device) % sets.shape[1]]
        patches = functional.unfold(full, self.patch, stride=self.patch).mT  # (b, patches, drawings · patch²)
        tokens = torch.cat([self.to_time(when)[:, None], self.to_tokens(patches)], dim=1)
        tokens = tokens + self.positions.to(tokens.dtype)
        for layer in self.layers:
            tokens = layer(tokens)
        return self.last(tokens.mean(1))


class TransformerLayer(nn.Module):
    """Attention in which no token attends to itself (Lee et al. 2021), then two linear layers; both added to what came in."""

    def __init__(self, width: int, heads: int, head: int = 64) -> None:
        super().__init__()
        self.heads, inner = heads, heads * head
        self.norm_in, self.norm_out = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * inner, bias=False), nn.Linear(inner, width)
        self.forth = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        query, key, value = self.qkv(self.norm_in(tokens)).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        others = ~torch.eye(tokens.shape[1], dtype=torch.bool, device=tokens.device)
        read = functional.scaled_dot_product_attention(query, key, value, attn_mask=others)
        tokens = tokens + self.out(read.transpose(1, 2).flatten(2))
        return tokens + self.forth(self.norm_out(tokens))
