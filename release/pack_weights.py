"""Pack the weights that ship, without loss: two thirds of the size, and no name changes a number.

Run: python release/pack_weights.py, after new weights were written to src/exemplar/weights.
"""

from __future__ import annotations

from pathlib import Path

from exemplar.spaces.weight_files import PACKED, PLAIN, pack, read_weights

WEIGHTS = Path(__file__).parents[1] / "src/exemplar/weights"


def main() -> None:
    for path in sorted(WEIGHTS.rglob(f"*{PLAIN}")):
        packed = path.with_name(path.name.removesuffix(PLAIN) + PACKED)
        packed.write_bytes(pack(path.read_bytes()))
        assert read_weights(packed) == path.read_bytes(), path
        path.unlink()
    sizes = [path.stat().st_size for path in WEIGHTS.rglob(f"*{PACKED}")]
    print(f"{len(sizes)} networks, {sum(sizes) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
