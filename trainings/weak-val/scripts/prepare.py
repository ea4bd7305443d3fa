"""weak-val by its rule, and the images of weak-train for the device machine: bits, labels, names, exemplars.

Run: OMP_NUM_THREADS=1 PYTHONPATH=SRC_OF_COMMIT_75f6211 .venv/bin/python trainings/weak-val/scripts/prepare.py
Nothing of weak-test is loaded here, nor travels.
"""

from pathlib import Path

import numpy as np

from exemplar import seeds
from exemplar.images.catalogue import load
from exemplar.spaces.exemplars import central_exemplars
from exemplar.spaces.zoo import load_space

HERE = Path(__file__).resolve().parents[2]
N_EACH, EXEMPLARS = 3, "simclr-omniglot-s0"


def weak_val(names):
    """names: weak-train's characters → 3 of each alphabet, in the order of names.

    Of each alphabet the characters of weak-train are sorted by name; seeds.rng("weak-val", alphabet) chooses 3 without
    replacement."""
    alphabets = sorted({name.partition("/")[0] for name in names})
    chosen = set()
    for alphabet in alphabets:
        own = sorted(name for name in names if name.partition("/")[0] == alphabet)
        chosen |= set(seeds.rng("weak-val", alphabet).choice(own, N_EACH, replace=False).tolist())
    return [name for name in names if name in chosen]


def main():
    data = load("omniglot", "weak-train").resized(50, binarise=0.5)
    names = list(data.concept.names)
    held = weak_val(names)
    assert len(names) == 1473 and len(held) == 150, (len(names), len(held))
    text = "\n".join(held) + "\n"
    for place in (HERE / "weak_val.txt", HERE / "trained/weak_val.txt", HERE / "dev/weak_val.txt"):
        place.write_text(text)
    images = data.images
    assert images.shape == (29460, 50, 50) and set(np.unique(images)) == {0, 255}
    rows = central_exemplars(load_space(EXEMPLARS).encode(data, device="cpu"), data.concept.code)
    np.savez_compressed(
        HERE / "dev/weak_train.npz",
        bits=np.packbits(images.reshape(len(images), -1) > 127, axis=1),
        label=data.concept.code.astype(np.int64),
        names=np.array(names),
        exemplar=rows.astype(np.int64),
    )


if __name__ == "__main__":
    main()
