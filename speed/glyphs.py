"""Glyphs per CPU-second: a full load, the drawings alone, the renderer alone, and Pillow drawing the same strokes."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from PIL import Image, ImageDraw

from exemplar.images import ink
from exemplar.images.glyphs import GlyphsConfig, Traces, load_glyphs, programs, trace
from record import rated, record

SCALE = 4  # Pillow has no anti-aliased lines: it draws this many times larger, then averages


def seconds(job: Callable[[], object]) -> float:
    """CPU time of one call."""
    start = time.process_time()
    job()
    return time.process_time() - start


def render(traces: Traces, size: int) -> np.ndarray:
    return ink.render(traces.points, traces.strokes, traces.images, size=(size, size), width=traces.width)


def render_with_pillow(traces: Traces, size: int) -> np.ndarray:
    out = np.empty((len(traces.width), size, size), np.uint8)
    for k, width in enumerate(traces.width * SCALE):
        large = Image.new("L", (size * SCALE, size * SCALE))
        pen = ImageDraw.Draw(large)
        for stroke in range(traces.images[k], traces.images[k + 1]):
            path = traces.points[traces.strokes[stroke] : traces.strokes[stroke + 1]] * SCALE
            pen.line(path.ravel().tolist(), fill=255, width=round(width), joint="curve")
        out[k] = np.asarray(large.resize((size, size), Image.Resampling.BOX))
    return out


def main() -> None:
    config = GlyphsConfig()
    load_glyphs("weak-test", GlyphsConfig(alphabets=1, drawers=1))  # compiles
    programs.characters.cache_clear()
    n = 0

    def load() -> None:
        nonlocal n
        n = len(load_glyphs("all", config))

    full = seconds(load)
    again = seconds(load)  # what the characters are is known now: hands, strokes, rendering, packing
    test = load_glyphs("weak-test", config)
    traces = trace(test.concepts, config.drawers, config=config)
    ours = seconds(lambda: render(traces, config.size))
    few = trace(test.concepts[:15], config.drawers, config=config)
    pillow = seconds(lambda: render_with_pillow(few, config.size)) / len(few.width) * len(traces.width)
    print(f"{'glyphs at ' + str(config.size) + ' px':<44}{'images':>8}{'images / CPU-s':>16}")
    for name, images, took in (
        ("full load, programs to packed bits", n, full),
        ("full load, programs known", n, again),
        ("ink.render alone", len(traces.width), ours),
        (f"Pillow, {SCALE} × supersampled", len(few.width), pillow * len(few.width) / len(traces.width)),
    ):
        print(f"{name:<44}{images:>8}{images / took:>16,.0f}")
    print(f"ink.render is {pillow / ours:.1f} times as fast as Pillow")
    unit, peer, n_peer = "images per CPU-second", f"Pillow, {SCALE} × supersampled", len(traces.width)
    record(
        __file__,
        "drawing glyphs, next to Pillow drawing the same strokes",
        [
            rated("full load, programs to packed bits", n / full, unit),
            rated("full load, programs known", n / again, unit),
            rated("ink.render alone", n_peer / ours, unit, peer, n_peer / pillow),
        ],
        seen=f"{n / full:,.0f} images per CPU-second; rendering alone {pillow / ours:.1f} × Pillow",
    )


if __name__ == "__main__":
    main()
