"""For information, after all choices: weak-test spreads' agreement, and accuracies. CPU, one thread.

PYTHONPATH=SRC_OF_COMMIT_75f6211 .venv/bin/python trainings/weak-val/scripts/info.py"""

import json
from itertools import combinations, product
from pathlib import Path

import numpy as np
import torch
from scipy.stats import pearsonr, spearmanr

from exemplar import seeds
from exemplar.draw.diversity import spread
from exemplar.images.catalogue import load
from exemplar.spaces.exemplars import central_exemplars
from exemplar.spaces.protonet import accuracies
from exemplar.spaces.training_images import Images
from exemplar.spaces.zoo import list_spaces, load_space

HERE = Path(__file__).resolve().parents[1]
torch.set_num_threads(1)
test = load("omniglot", "weak-test").resized(50, binarise=0.5)
held = set((HERE / "weak_val.txt").read_text().split())
train = load("omniglot", "weak-train")
names = np.array(train.concept.names)[train.concept.code]
val = train.subset(np.isin(names, list(held)), "omniglot/weak-val").resized(50, binarise=0.5)
SHIPPED = [f"protonet-omniglot-s{s}" for s in range(3)]
found, spreads = {}, {}


def shape(data, features):
    order = np.argsort(data.concept.code, kind="stable")
    return features[order].reshape(len(data.concepts), 20, -1)


def space(name, layer=None):
    folder = HERE if (HERE / f"{name}.json").exists() else None
    if (HERE / "without-weak-val" / f"{name}.json").exists():
        folder = HERE / "without-weak-val"
    return load_space(name, folder=folder, layer=layer)


def accuracy(name, data, layer=""):
    code = data.concept.code
    rows = central_exemplars(space("simclr-omniglot-s0").encode(data, device="cpu"), code)
    images = Images.of(data.images, code, data.concepts, rows)
    features = torch.from_numpy(space(name, layer).encode(data, device="cpu"))
    return accuracies(features, images, seeds.torch_rng("info", name), rounds=100)


ours = [n for n in list_spaces(HERE) if n.startswith("simclr")]
old = [f"simclr-omniglot{t}" for t in ("-s0", "-s1", "-s2", "-light-s0", "-strong-s0", "-coded-s0")]
anys = [f"protonet-omniglot-any-s{s}" for s in range(3)]
for name in (*ours, *old, *SHIPPED, *anys):
    spreads[name] = spread(shape(test, space(name, "feature").encode(test, device="cpu")))
levels = {level: [n for n in ours if n.rsplit("-s", 1)[0] == f"simclr-omniglot-released{level}"] for level in ("", "-light", "-strong")}


def agree(title, first, second, same=False):
    pairs = list(combinations(first, 2)) if same else list(product(first, second))
    rho = [spearmanr(spreads[a], spreads[b]).statistic for a, b in pairs]
    r2 = [pearsonr(spreads[a], spreads[b]).statistic ** 2 for a, b in pairs]
    found[title] = {"spearman": {f"{a}, {b}": round(float(v), 4) for (a, b), v in zip(pairs, rho)}, "mean": float(np.mean(rho)), "lowest": min(map(float, rho)), "highest": max(map(float, rho)), "r_squared_mean": float(np.mean(r2))}
    print(f"{title}: Spearman {np.mean(rho):.3f} ({min(rho):.3f}–{max(rho):.3f}), R² {np.mean(r2):.3f}, {len(rho)} pairs")


moderate, light, strong = levels.values()
agree("released moderate and light", moderate, light)
agree("released moderate and strong", moderate, strong)
agree("released light and strong", light, strong)
agree("released moderate and shipped ProtoNets", moderate, SHIPPED)
agree("released moderate and any-support ProtoNets", moderate, anys)
agree("released light and shipped ProtoNets", light, SHIPPED)
agree("released strong and shipped ProtoNets", strong, SHIPPED)
agree("between seeds, released moderate", moderate, moderate, same=True)
agree("between seeds, released light", light, light, same=True)
agree("between seeds, released strong", strong, strong, same=True)
agree("between seeds, any-support ProtoNets", anys, anys, same=True)
agree("released moderate and shipped simclr-omniglot (text's views)", moderate, old[:3])
agree("released moderate and shipped simclr-omniglot-coded-s0 (1e-3, 10,000 steps)", moderate, old[5:])
agree("shipped coded-s0 and new light", old[5:], light)
agree("shipped coded-s0 and new strong", old[5:], strong)
for name in (*SHIPPED, *anys):
    found[f"weak-test accuracy {name}"] = accuracy(name, test)
for name in ours:
    found[f"weak-test accuracy {name}, 256-d"] = accuracy(name, test, "feature")
for name in ("choose-protonet-any-1e-3-linear", "choose-protonet-exemplar-1e-3-linear"):
    found[f"weak-val accuracy {name}, again here on the CPU"] = accuracy(name, val)
found["weak-val accuracy choose-simclr-3e-4-linear, 256-d, again here on the CPU"] = accuracy("choose-simclr-3e-4-linear", val, "feature")
for key, value in found.items():
    if "accuracy" in key:
        print(key, {k: round(v, 4) for k, v in value.items()})
(HERE / "info_weak_test.json").write_text(json.dumps(found, indent=1))
