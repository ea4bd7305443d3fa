"""Encoding: all of Omniglot by a conv4 critic next to a plain loop; and what projections add to EfficientNet-lite0.

The plain loop is what scripts do: open each drawing with Pillow, resize it, make a tensor, stack a batch, run the network
eagerly. CPU time of one thread, so that the ratio does not depend on how busy the machine is.

Run: python speed/encode.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from PIL import Image
from threadpoolctl import threadpool_limits

from exemplar import seeds
from exemplar.errors import UserError
from exemplar.images.catalogue import load
from exemplar.images.concepts import ConceptSet
from exemplar.spaces.pretrained import load_encoder
from exemplar.spaces.projection import PROJECTIONS, Projection
from exemplar.spaces.space import NetworkSpace
from exemplar.spaces.stages import encode_layers, list_stages
from exemplar.spaces.zoo import load_space
from record import Row, rated, record, timed

CRITIC, SIZE = "protonet-omniglot-s0", 50
N_PLAIN = 512  # drawings of the plain loops; the time per drawing is what is compared
N_PHOTOS = 16


def cpu_seconds(call: Callable[[], object], repeats: int = 1) -> float:
    """The least CPU time of a few calls."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def drawings() -> ConceptSet:
    """All 32,460 of Omniglot where it is available, else the glyphs."""
    try:
        return load("omniglot", "all")
    except UserError:
        return load("glyphs", "all")


def plain_loop(space: NetworkSpace, images: np.ndarray, batch: int) -> np.ndarray:
    """images: (n, 105, 105) uint8 → (n, 256)."""
    features: list[np.ndarray] = []
    for start in range(0, len(images), batch):
        tensors = []
        for image in images[start : start + batch]:
            small = np.asarray(Image.fromarray(image).resize((SIZE, SIZE), Image.Resampling.BILINEAR), np.float32)
            small = (small - small.min()) / max(small.max() - small.min(), 1)
            tensors.append(torch.tensor(small > 0.5, dtype=torch.float32)[None])
        with torch.no_grad():
            features.append(space.network.features(torch.stack(tensors)).numpy())  # type: ignore[operator]
    return np.concatenate(features)


def compare_critic() -> list[Row]:
    data, space = drawings(), load_space(CRITIC)
    sample = data.take(np.arange(N_PLAIN))
    rows: dict[str, tuple[int, float]] = {}
    for batch in (1, 128):
        plain_loop(space, sample[:batch], batch)
        seconds = cpu_seconds(partial(plain_loop, space, sample, batch), repeats=2)
        rows[f"plain loop, batches of {batch}"] = N_PLAIN, seconds
    theirs = plain_loop(space, sample, 128)
    ours = space.encode(sample, device="cpu")  # turns the weights to channels last, so the plain loops come first
    assert np.abs(ours - theirs).max() < 1e-4 * np.abs(theirs).max(), "the two do not agree"
    rows[f"exemplar, all {len(data)}"] = len(data), cpu_seconds(lambda: space.encode(data, device="cpu"))
    peer = max(n / seconds for name, (n, seconds) in rows.items() if name.startswith("plain"))  # the faster of the two
    print(f"{CRITIC}, {data.name} at 105 px to {SIZE} px, one thread")
    print(f"{'':34}{'images per CPU-second':>20}{'ratio':>8}")
    for name, (n, seconds) in rows.items():
        print(f"{name:34}{n / seconds:20.0f}{n / seconds / peer:8.2f}")
    rates = {name: n / seconds for name, (n, seconds) in rows.items()}
    ours_name, *plain = sorted(rates, key=lambda name: name.startswith("plain"))
    what, unit = f"{len(data):,} drawings of {data.name.partition('/')[0]} by conv4", "images per CPU-second"
    return [rated(what, rates[ours_name], unit, name, rates[name]) for name in plain]


def compare_projections() -> list[Row]:
    encoder = load_encoder("efficientnet-lite0")
    stages = [stage for stage in list_stages() if stage.name.startswith("efficientnet-lite0/")]
    layers = [stage.name.rpartition("/")[2] for stage in stages]
    photos = seeds.rng("speed", "photographs").integers(0, 256, (N_PHOTOS, 224, 224, 3), dtype=np.uint8)

    def encode(projection: Projection) -> Callable[[], object]:
        return lambda: encode_layers(encoder, layers, photos, projection=projection, device="cpu")

    def draw(projection: Projection) -> Callable[[], object]:
        return lambda: [projection.draw(stage.n_features) for stage in stages]

    with torch.no_grad():
        bare = cpu_seconds(lambda: encoder.network(encoder.prepare(photos)), 3)
    print(f"\nefficientnet-lite0, {N_PHOTOS} photographs of 224 px; all {len(stages)} stages to 2048 dimensions")
    print(f"{'':34}{'ms per image':>20}{'ratio':>8}")
    print(f"{'forward pass alone':34}{1000 * bare / N_PHOTOS:20.1f}{1:8.2f}")
    rows = []
    for name in ("sparse", "dense"):
        projection = PROJECTIONS[name]
        drawn = cpu_seconds(draw(projection))
        seconds = cpu_seconds(encode(projection))
        print(f"{name + ' projection, drawn again':34}{1000 * seconds / N_PHOTOS:20.1f}{seconds / bare:8.2f}")
        print(f"{'  of which drawing it':34}{1000 * drawn / N_PHOTOS:20.1f}{drawn / bare:8.2f}")
        what = f"efficientnet-lite0, all {len(stages)} stages to 2,048 dimensions, {name}"
        forward = 1000 * bare / N_PHOTOS
        rows.append(timed(what, 1000 * seconds / N_PHOTOS, "CPU ms per image", "forward pass alone", forward))
    return rows


def main() -> None:
    torch.set_num_threads(1)
    with threadpool_limits(1):
        critic, projections = compare_critic(), compare_projections()
    best = min(critic, key=lambda row: row.ratio or 0)
    sparse, dense = (row.value / (row.peer_value or 1) for row in projections)
    record(
        __file__,
        "all of Omniglot through conv4, next to a plain loop; projections next to a forward pass of EfficientNet-lite0",
        [*critic, *projections],
        seen=f"{best.value:,.0f} drawings per CPU-second, {best.ratio:.1f} × the faster of two plain loops; all 19 stages to "
        f"2,048 dimensions: {sparse:.1f} × the time of the pass alone if sparse, {dense:.0f} × if dense",
    )


if __name__ == "__main__":
    main()
