"""Trainings from a queue on one GPU, each the project's own steps: one at a time, or several on streams of their own.

python driver.py WORK ID SLOTS [--once]: takes WORK/queue/*.json, the first by name first, and writes WORK/done/NAME.pt and
WORK/status-ID.json. Several such processes share a queue.
A job: name, kind (simclr, protonet, maml), settings of the objective, data (choose: weak-train without weak-val, looked at on
weak-val; all: weak-train, looked at by its loss alone), exemplars (whether the training has them), steps, seed, every.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
import traceback
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "src"), str(HERE)]

from exemplar import seeds  # noqa: E402
from exemplar.spaces import meta, protonet  # noqa: E402
from exemplar.spaces.calibration import calibrated_loss  # noqa: E402
from exemplar.spaces.protonet import ProtoNet, chance_of_nearest, encode, episode_logits, sample_classes, sample_drawings  # noqa: E402
from exemplar.spaces.simclr import SimClr  # noqa: E402
from exemplar.spaces.training_images import Images  # noqa: E402
from exemplar.spaces.training_steps import plain_steps  # noqa: E402

GPU = torch.cuda.is_available()
DEVICE = torch.device("cuda" if GPU else "cpu")
KINDS = {"simclr": SimClr, "protonet": ProtoNet, "maml": meta.Maml}
AHEAD = 3  # steps that may wait on a stream
meta.PART = 64


WARM_UP = 3


def replayed_steps(advance, rng):
    """As `training_steps.replayed_steps`, but recorded on the stream it was warmed up on: graphs that run side by side must
    not share the library workspaces that belong to a stream, nor lose memory to each other's recording."""
    graph, side, n_taken = torch.cuda.CUDAGraph(), torch.cuda.Stream(), 0
    recorded = {}

    def replayed(step):
        nonlocal recorded, n_taken
        n_taken += 1
        if n_taken <= WARM_UP:
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                metrics = advance(step)
            torch.cuda.current_stream().wait_stream(side)
            return metrics
        if not recorded:
            graph.register_generator_state(rng)
            empty, torch.cuda.empty_cache = torch.cuda.empty_cache, lambda: None
            try:
                with torch.cuda.graph(graph, stream=side):
                    recorded = advance(step)
            finally:
                torch.cuda.empty_cache = empty
        graph.replay()
        return recorded

    return replayed


class Plainly:
    """What `plain_steps` asks of a Fabric on one device in full precision."""

    world_size = 1

    @staticmethod
    def autocast():
        return torch.autocast(DEVICE.type, enabled=False)


def read(path: Path, held: list[str]) -> tuple[Images, Images]:
    """All of weak-train; and weak-train without weak-val, which is held out."""
    with np.load(path) as file:
        pixels = np.unpackbits(file["bits"], axis=1, count=2500).reshape(-1, 50, 50) * 255
        label, names, exemplar = file["label"], file["names"].tolist(), file["exemplar"]
    whole = Images.of(pixels, label, names, exemplar)
    out = np.isin(names, held)
    assert out.sum() == len(held) == 150
    return whole, part(whole, ~out, part(whole, out, None))


def part(images: Images, chosen: np.ndarray, held_out: Images | None) -> Images:
    """The images of the chosen classes."""
    label, place = images.label.numpy(), np.cumsum(chosen) - 1
    rows = np.flatnonzero(chosen[label])
    new_row = np.full(len(label), -1)
    new_row[rows] = np.arange(len(rows))
    names = [name for name, wanted in zip(images.names, chosen, strict=True) if wanted]
    exemplar = new_row[images.exemplar.numpy()[chosen]]
    return Images.of(images.pixels.numpy()[rows, 0], place[label[rows]], names, exemplar, held_out)


def by_character(features, data, *, exemplar_first, rounds=20):
    """(n_classes,) expected 20-way accuracy, as in `protonet.accuracies`; the same supports whoever is asked."""
    rng = seeds.torch_rng("weak-val", "support", device=features.device)
    right, asked = torch.zeros((2, data.n_classes), dtype=torch.float64, device=features.device)
    for _ in range(1 if exemplar_first else rounds):
        classes = torch.arange(data.n_classes, device=features.device)
        support = sample_drawings(data, classes, 1, rng, exemplar_first=exemplar_first)
        distance = torch.cdist(features, features[support].mean(1), compute_mode="donot_use_mm_for_euclid_dist")
        n_nearer = (distance <= distance.gather(1, data.label[:, None])).sum(1) - 1
        query = torch.ones_like(n_nearer, dtype=torch.float64).index_fill_(0, support.flatten(), 0)
        right.index_add_(0, data.label, chance_of_nearest(n_nearer, data.n_classes, 20) * query)
        asked.index_add_(0, data.label, query)
    return (right / asked).tolist()


def episodes(embedded, data, ways, *, exemplar_first, n=200):
    rng = seeds.torch_rng("weak-val", "episodes", ways, device=embedded.device)
    classes = sample_classes(data.n_classes, n, ways, rng)
    rows = sample_drawings(data, classes.flatten(), 2, rng, exemplar_first=exemplar_first)
    return episode_logits(embedded[rows].unflatten(0, (n, ways)), 1)


def look(objective, network, data: Images) -> tuple[dict[str, float], dict[str, list[float]]]:
    """What is seen on data.held_out: numbers, and accuracies by character."""
    held = data.held_out
    numbers, lists = {}, {}
    if isinstance(objective, meta.Maml):
        judge = replace(objective, test_tasks=256 if GPU else 2)
        return judge.validate(network, data, seeds.torch_rng("weak-val", "tasks", device=DEVICE)), {}
    if isinstance(objective, SimClr):
        features = encode(network.features, held)
        rng = seeds.torch_rng("weak-val", "views", device=DEVICE)
        numbers["loss"] = float(torch.stack([objective.loss(network, held, rng, 0)[0] for _ in range(8)]).mean())
    else:
        features = encode(network, held)
        for support, first in (("exemplar", True), ("random", False)):
            logits, target = episodes(features, held, 60, exemplar_first=first)
            numbers[f"loss_{support}"] = float(functional.cross_entropy(logits, target))
            numbers[f"calibrated_loss_{support}"] = calibrated_loss(logits, target)
            numbers[f"loss_20_way_{support}"] = float(
                functional.cross_entropy(*episodes(features, held, 20, exemplar_first=first))
            )
    for support, first in (("exemplar", True), ("random", False)):
        found = by_character(features, held, exemplar_first=first)
        lists[support] = [round(v, 6) for v in found]
        numbers[f"accuracy_{support}"] = float(np.mean(found))
        numbers[f"accuracy_{support}_se"] = float(np.std(found) / len(found) ** 0.5)
    return numbers, lists


class Live:
    """A training that is under way: `exemplar.spaces.training._Run.run`, one step at a time."""

    def __init__(self, job, data: Images) -> None:
        self.job, self.data, self.begun = job, data, time.monotonic()
        self.objective = KINDS[job["kind"]](**job["settings"])
        self.stream = torch.cuda.Stream() if GPU else None
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seeds.seed("weights", job["seed"]))
            self.network = self.objective.build(data)
        self.network.to(DEVICE, memory_format=torch.channels_last)
        self.optimizer = self.objective.optimizer(self.network)
        self.rates = [group["lr"] for group in self.optimizer.param_groups]
        for group in self.optimizer.param_groups:
            if GPU:
                group.update(capturable=True, lr=torch.zeros((), device=DEVICE))
                if "fused" in group:
                    group["fused"] = True
        self.rng = torch.Generator(DEVICE)
        self.advance = plain_steps(Plainly, self.objective, self.network, self.optimizer, data, self.rng)
        if GPU:
            self.advance = replayed_steps(self.advance, self.rng)
        self.done, self.since, self.totals = 0, 0, {}
        self.curve, self.lists, self.marks, self.clock = [], [], [], []
        self.network.train()
        if GPU:
            torch.cuda.synchronize()

    def ready(self) -> bool:
        return not GPU or len(self.marks) < AHEAD or self.marks[0].query()

    def step(self) -> None:
        if GPU:
            with torch.cuda.stream(self.stream):
                self._step()
                mark = torch.cuda.Event()
                mark.record()
            self.marks = [*self.marks[-(AHEAD - 1) :], mark]
        else:
            self._step()

    def _step(self) -> None:
        step, job = self.done, self.job
        for group, rate in zip(self.optimizer.param_groups, self.rates, strict=True):
            rate *= self.objective.rate(step)
            if isinstance(group["lr"], torch.Tensor):
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate
        self.rng.manual_seed(seeds.seed("training", job["seed"], 0, step))
        for name, value in self.advance(step).items():
            self.totals[name] = self.totals[name] + value if name in self.totals else value.clone()
        self.done += 1
        if self.done % job["every"] == 0 or self.done == job["steps"]:
            self._look()

    def _look(self) -> None:
        n = self.done - self.since
        entry = {"step": self.done, **{name: float(total) / n for name, total in self.totals.items()}}
        self.totals, self.since = {}, self.done
        if self.data.held_out is not None:
            self.network.eval()
            with torch.no_grad():
                numbers, lists = look(self.objective, self.network, self.data)
            self.network.train()
            entry |= {f"held_out_{name}": value for name, value in numbers.items()}
            self.lists.append({"step": self.done, **lists})
        self.curve.append(entry)
        self.clock.append((self.done, time.monotonic() - self.begun))
        if not all(math.isfinite(value) for value in entry.values()):
            raise ArithmeticError(f"diverged: {entry}")

    @property
    def finished(self) -> bool:
        return self.done >= self.job["steps"]

    def result(self) -> dict:
        if GPU:
            torch.cuda.synchronize()
        state = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in self.network.state_dict().items()}
        machine = torch.cuda.get_device_name() if GPU else "CPU"
        versions = {"torch": torch.__version__, "numpy": np.__version__}
        return {
            "job": self.job, "state": state, "curve": self.curve, "lists": self.lists, "machine": machine,
            "seconds": time.monotonic() - self.begun, "versions": versions, "clock": self.clock,
        }  # fmt: skip


def claim(work: Path, name: str, room: float, anything: bool):
    """The first job that fits, taken from the queue; None where there is none."""
    for path in sorted((work / "queue").glob("*.json")):
        try:
            job = json.loads(path.read_text())
            if not anything and job.get("weight", 1) > room:
                return None
            os.rename(path, work / "claimed" / f"{path.name}.{name}")
        except (OSError, ValueError):  # another was faster
            continue
        return job
    return None


def main(work: Path, name: str, slots: int, *, once: bool = False) -> None:
    torch.backends.cudnn.benchmark = True
    torch.set_num_threads(2 if GPU else 1)
    for folder in ("queue", "claimed", "done"):
        (work / folder).mkdir(parents=True, exist_ok=True)
    held = (HERE / "weak_val.txt").read_text().split()
    whole, choose = (images.to(DEVICE) for images in read(HERE / "weak_train.npz", held))
    sets = {}
    for title, images in (("all", whole), ("choose", choose)):
        for exemplars in (True, False):
            sets[title, exemplars] = images if exemplars else replace(images, exemplar=None)
            _ = sets[title, exemplars].rows, sets[title, exemplars].held_out and sets[title, exemplars].held_out.rows
    if GPU:
        torch.cuda.synchronize()
    begun, last, checked = time.monotonic(), 0.0, 0.0
    n_steps, live = 0, []

    def say(words: str) -> None:
        print(f"{time.strftime('%H:%M:%S')} worker {name}: {words}", flush=True)

    say(f"ready, {torch.cuda.get_device_name() if GPU else 'CPU'}")
    while True:
        now = time.monotonic()
        if now - last > 2:
            status = {"worker": name, "seconds": round(now - begun, 1), "steps": n_steps, "live": {one.job["name"]: [one.done, one.job["steps"]] for one in live},
                      "memory": round(torch.cuda.max_memory_allocated() / 2**30, 1) if GPU else 0, "curves": {one.job["name"]: one.curve for one in live}}  # fmt: skip
            part_path = work / f"status-{name}.part"
            part_path.write_text(json.dumps(status))
            part_path.rename(work / f"status-{name}.json")
            last = now
        if now - checked > 0.5 or not live:
            checked = now
            while (room := slots - sum(one.job.get("weight", 1) for one in live)) > 0:
                job = claim(work, name, room, not live)
                if job is None:
                    break
                try:
                    started = Live(job, sets[job["data"], job["exemplars"]])
                    for _ in range(5):  # warm up and record while nothing else is launched here
                        started.step()
                    live.append(started)
                    say(f"begins {job['name']}")
                except Exception:
                    say(f"FAILED {job['name']}\n{traceback.format_exc()[-1500:]}")
            if not live and once:
                return
        moved = False
        for one in list(live):
            if not one.ready():
                continue
            moved = True
            try:
                one.step()
                n_steps += 1
                if one.finished:
                    result = one.result()
                    torch.save(result, work / f"part-{name}.pt")
                    (work / f"part-{name}.pt").rename(work / "done" / f"{one.job['name']}.pt")
                    live.remove(one)
                    say(f"ends {one.job['name']} after {result['seconds']:.1f} s")
            except ArithmeticError as problem:
                say(f"FAILED {one.job['name']}: {str(problem)[:500]}")
                torch.save({"job": one.job, "curve": one.curve, "lists": one.lists, "failed": str(problem)}, work / "done" / f"{one.job['name']}.pt")
                live.remove(one)
        if not moved:
            time.sleep(0.00002 if live else 0.2)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), once="--once" in sys.argv)
