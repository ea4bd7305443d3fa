"""The jobs of each part, as lists for driver.py's inbox. python jobs.py EXPRESSION QUEUE PREFIX"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

RATES = {"3e-4": 3e-4, "1e-3": 1e-3, "3e-3": 3e-3}
NETWORKS = {"linear": "conv4-linear", "relu": "conv4"}


def simclr(name, *, views="coded", rate=1e-3, network="conv4-linear", steps, seed=0, data, every):
    settings = {"views": views, "learning_rate": rate, "network": network}
    return dict(name=name, kind="simclr", settings=settings, data=data, exemplars=False, steps=steps, seed=seed, every=every)


def protonet(name, *, any_support, rate=1e-3, network="conv4-linear", steps=23_000, seed=0, data, every):
    settings = {"learning_rate": rate, "network": network}
    return dict(
        name=name, kind="protonet", settings=settings, data=data, exemplars=not any_support, steps=steps, seed=seed, every=every
    )


def maml(name, *, inner, network="conv4-linear", steps, seed=0, data, every):
    settings = {"inner_rate": inner, "network": network}
    return dict(
        name=name, kind="maml", settings=settings, data=data, exemplars=True, steps=steps, seed=seed, every=every
    )


def choices():
    """A, mixed so that both kinds are always under way; then today's recipes with other seeds, for the noise between seeds."""
    first, ones, others = [], [], []
    for word, rate in sorted(RATES.items(), key=lambda item: item[0] != "1e-3"):
        for net, network in NETWORKS.items():
            first.append(simclr(f"choose-simclr-{word}-{net}", rate=rate, network=network, steps=20_000, data="choose", every=2_000))
            for support in ("exemplar", "any"):
                ones.append(
                    protonet(
                        f"choose-protonet-{support}-{word}-{net}", any_support=support == "any", rate=rate, network=network,
                        data="choose", every=2_300,
                    )
                )  # fmt: skip
    for seed in (1, 2):
        others.append(simclr(f"choose-simclr-1e-3-linear-s{seed}", steps=10_000, seed=seed, data="choose", every=2_000))
        for support in ("any", "exemplar"):
            others.append(protonet(f"choose-protonet-{support}-1e-3-linear-s{seed}", any_support=support == "any", seed=seed, data="choose", every=2_300))
    mixed = []
    for k, job in enumerate(first):
        mixed += [job, ones[2 * k], ones[2 * k + 1]]
    return mixed + others


def maml_rates(steps):
    return [maml(f"choose-maml-{word}", inner=inner, steps=steps, data="choose", every=500) for word, inner in (("0.1", 0.1), ("0.4", 0.4), ("0.01", 0.01))]


def ship_simclr(steps, rate, network, seeds=(0, 1, 2)):
    return [
        simclr(f"simclr-omniglot-released{level}-s{seed}", views=views, rate=rate, network=network, steps=steps, seed=seed, data="all", every=500)
        for seed in seeds
        for level, views in (("", "coded"), ("-light", "coded-light"), ("-strong", "coded-strong"))
    ]


def ship_protonet(rate, network, support="any"):
    stem = "protonet-omniglot-any" if support == "any" else "protonet-omniglot-chosen"
    return [
        protonet(f"{stem}-s{seed}", any_support=support == "any", rate=rate, network=network, seed=seed, data="all", every=500)
        for seed in (0, 1, 2)
    ]


def ship_maml(word, inner, steps, seeds=(0, 1, 2), relu=False):
    tail = "-relu" if relu else ""
    return [
        maml(f"maml-omniglot-rate{word}{tail}-s{seed}", inner=inner, network="conv4" if relu else "conv4-linear", steps=steps, seed=seed, data="all", every=500)
        for seed in seeds
    ]


def bench(n_simclr, n_proto, n_maml=0, steps=500, weight=1, tag=""):
    """The same trainings under other names, to be timed."""
    found = [simclr(f"bench{tag}-simclr-{k}", steps=steps, seed=k, data="all", every=50) for k in range(n_simclr)]
    found += [protonet(f"bench{tag}-protonet-{k}", any_support=True, steps=steps, seed=k, data="all", every=50) for k in range(n_proto)]
    found += [maml(f"bench{tag}-maml-{k}", inner=0.1, steps=30, seed=k, data="all", every=10) for k in range(n_maml)]
    return [{**job, "weight": weight} for job in found]


def presets():
    """What other views give on weak-val, for information."""
    return [
        simclr(f"choose-simclr-views-{views}", views=views, steps=10_000, data="choose", every=2_000)
        for views in ("moderate", "coded-light", "coded-strong")
    ]


if __name__ == "__main__":
    words = argparse.ArgumentParser()
    words.add_argument("expression", help="as in: choices() + maml_rates(2000)")
    words.add_argument("queue", help="folder")
    words.add_argument("prefix", help="jobs are taken in the order of their files' names")
    given = words.parse_args()
    Path(given.queue).mkdir(parents=True, exist_ok=True)
    for k, job in enumerate(eval(given.expression)):
        part = Path(given.queue) / f"{given.prefix}{k:03}-{job['name']}.part"
        part.write_text(json.dumps(job))
        part.rename(part.with_suffix(".json") if not part.stem.count(".") else Path(str(part)[: -len(".part")] + ".json"))
