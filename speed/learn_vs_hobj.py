"""Learning rules in Gram space against the authors' library hobj, in the same run; CPU time on one thread.

Run: python speed/learn_vs_hobj.py. hobj needs Python 3.12: it is installed into a virtual environment in the cache (another
interpreter can be named with PYTHON312). Where there is none, nothing is compared and that is no pass (exit code 1).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"  # a waiting thread would count as CPU time

import numpy as np

from exemplar import seeds
from exemplar.images.sources import cache_folder
from exemplar.learn.agents import PUBLISHED_RULES, make_agent
from exemplar.learn.measures.curves import Behaviour, repeat
from exemplar.learn.measures.oneshot import generalization_of, score_generalization
from exemplar.learn.measures.reading import behaviour_of
from exemplar.learn.scores import score_learner, score_mse
from exemplar.learn.simulation import gram_matrices, simulate
from exemplar.learn.tasks import ObjectLearning, OneShot, Sessions
from record import record, timed

HOBJ = "hobj==2.0.0"
N_SUBTASKS, N_SESSIONS, D = 64, 500, 2048
N_PARITY = 64  # sessions of each of 4 subtasks that both simulate, trial for trial
N_TIMED = 300  # sessions that hobj is timed on; its time per session does not change with their number
GOALS = {"square": 250, "reinforce": 1000, "scoring": 15}
CLASSES = {
    "perceptron": "Perceptron", "hinge": "Hinge", "mae": "MAE", "square": "Square", "exponential": "Exponential",
    "cross-entropy": "CE", "reinforce": "REINFORCE",
}  # fmt: skip

# What runs in Python 3.12: hobj as its users call it, and its learners driven through our trial sequences.
PEER = """
import json, sys, time
import numpy as np
from hobj.benchmarks.binary_classification.estimator import build_learning_curve_statistics
from hobj.benchmarks.binary_classification.simulation import BinaryClassificationSubtask, BinaryClassificationSubtaskResult
from hobj.benchmarks.common import compare_msen, simulate_sessions
from hobj.benchmarks.generalization.estimator import build_generalization_statistics
from hobj.benchmarks.generalization.simulator import GeneralizationSessionResult
from hobj.benchmarks.mut_highvar_benchmark import MutatorHighVarBenchmark
from hobj.learning_models import LinearLearner, RepresentationalModel
from hobj.learning_models.linear_learning_model import update_rules

folder, n_timed, classes = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
data = dict(np.load(folder + "/given.npz"))
found, choices = {"seconds": {}}, {}
for task in ("exp1", "exp2"):
    features, image, answer, key = (data[f"{task}_{part}"] for part in ("features", "image", "answer", "key"))
    names = [[f"{s}-{i:03d}" for i in range(features.shape[1])] for s in range(len(features))]
    table = {name: x for row, xs in zip(names, features) for name, x in zip(row, xs)}
    space = RepresentationalModel.from_precomputed_features(table)
    for rule, title in classes.items():
        learner = LinearLearner(space, getattr(update_rules, title)(alpha=1))
        if task == "exp1":
            subtask = BinaryClassificationSubtask(classA=names[0][:100], classB=names[0][100:], ntrials=100, replace=False)
            start = time.process_time()
            simulate_sessions(subtask, learner, n_timed)
            found["seconds"][rule] = (time.process_time() - start) / n_timed
        made = np.empty(image.shape, np.int8)
        for s in range(made.shape[0]):
            for j in range(made.shape[1]):
                learner.reset_state(seed=None)
                counter = np.array([0, s * made.shape[1] + j, 0, 0], dtype=np.uint64)
                learner._generator = np.random.Generator(np.random.Philox(key=key, counter=counter))
                for t in range(made.shape[2]):
                    made[s, j, t] = learner.get_response(names[s][image[s, j, t]])
                    learner.give_feedback(1.0 if made[s, j, t] == answer[s, j, t] else -1.0)
        choices[f"{task} {rule}"] = made
np.savez(folder + "/choices.npz", **choices)

def results(perf):
    return {f"{s:03d}": [BinaryClassificationSubtaskResult(perf_seq=row) for row in rows] for s, rows in enumerate(perf)}

people = build_learning_curve_statistics(results(data["people"]), 1000, False)
model = results(data["model"])
start = time.process_time()
own = build_learning_curve_statistics(model, 1000, False)
compare = MutatorHighVarBenchmark._compare_learning_curves
dims = ("subtask", "trial")
msen, lapse = compare(own.phat, own.varhat_phat, people.phat, people.varhat_phat, dims, True)
compare(own.boot_phat, own.boot_varhat_phat, people.boot_phat, people.boot_varhat_phat, dims, True)
found |= {"scoring": time.process_time() - start, "mse_n": float(msen), "lapse_rate": float(lapse)}

def one_shot(correct, shown, caught, corrected):
    units = [
        GeneralizationSessionResult(
            transformation_to_kn={f"{i:02d}": [int(k), int(n)] for i, (k, n) in enumerate(zip(ks, ns)) if n},
            kcatch=int(c), ncatch=2 if corrected else 0)
        for ks, ns, c in zip(correct, shown, caught)]
    return build_generalization_statistics(units, corrected, 2, False)

a = one_shot(data["model_k"], data["model_n"], np.zeros(len(data["model_k"])), False)
b = one_shot(data["people_k"], data["people_n"], data["people_catch"], True)
found["one_shot_mse_n"] = float(compare_msen(a.phat, a.varhat_phat, b.phat, b.varhat_phat, ("transformation",)))
print(json.dumps(found))
"""


def cpu_seconds(call: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """The least CPU time of a few calls, after one to warm up; and what it gave."""
    times, result = [], call()
    for _ in range(repeats):
        start = time.process_time()
        result = call()
        times.append(time.process_time() - start)
    return min(times), result


def interpreter() -> Path | None:
    """A Python 3.12: named by PYTHON312, on the path, or one of pyenv's."""
    candidates = [os.environ.get("PYTHON312"), shutil.which("python3.12")]
    if shutil.which("pyenv"):
        versions = subprocess.run(
            ["pyenv", "versions", "--bare"], capture_output=True, text=True, check=False
        ).stdout.split()
        for version in (v for v in versions if v.startswith("3.12")):
            prefix = subprocess.run(
                ["pyenv", "prefix", version], capture_output=True, text=True, check=False
            ).stdout.strip()
            candidates.append(str(Path(prefix) / "bin" / "python3.12"))
    asked = "import sys; print(sys.version_info >= (3, 12))"
    for candidate in filter(None, candidates):
        try:
            done = subprocess.run([candidate, "-c", asked], capture_output=True, text=True, check=False)
        except OSError:
            continue
        if done.stdout.strip() == "True":
            return Path(candidate)
    return None


def peer_python() -> Path | None:
    """The interpreter of an environment with hobj, made in the cache the first time."""
    home = cache_folder() / "speed" / "hobj-2.0.0"
    python = home / "bin" / "python"
    probe = [str(python), "-c", "import hobj"]
    if python.exists() and subprocess.run(probe, capture_output=True, check=False).returncode == 0:
        return python
    found = interpreter()
    if found is None:
        print("there is no Python 3.12 here, which hobj needs: name one with PYTHON312", file=sys.stderr)
        return None
    home.parent.mkdir(parents=True, exist_ok=True)
    for command in ([str(found), "-m", "venv", str(home)], [str(python), "-m", "pip", "install", "-q", HOBJ]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"hobj cannot be installed: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
            return None
    return python


def make_features(n_images: int, n_subtasks: int) -> np.ndarray:
    """(subtasks, 2, images, D) float32 in the ball of radius 1: two clouds a subtask, near or far from each other."""
    rng = seeds.rng("speed learn", n_images)
    apart = np.linspace(0.05, 0.5, n_subtasks)[:, None, None, None]
    x = rng.standard_normal((n_subtasks, 2, n_images, D), dtype=np.float32) * np.float32(0.8)
    x += (rng.standard_normal((n_subtasks, 2, 1, D)) * apart).astype(np.float32)
    x /= np.float32(np.sqrt(D))
    return x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1)


def ask_peer(python: Path, given: dict[str, np.ndarray]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "given.npz", **given)  # type: ignore[arg-type]
        command = [str(python), "-W", "ignore", "-c", PEER, folder, str(N_TIMED), json.dumps(CLASSES)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"hobj failed: {done.stderr[-500:]}")
        with np.load(Path(folder) / "choices.npz") as file:
            return json.loads(done.stdout), dict(file)


def main() -> int:
    total = N_SUBTASKS * N_SESSIONS
    task = ObjectLearning(sequence="hobj")
    features = make_features(100, N_SUBTASKS)
    sampling, sessions = cpu_seconds(lambda: task.sample(N_SUBTASKS, N_SESSIONS, rng=seeds.rng("sessions")), 2)
    products, grams = cpu_seconds(lambda: gram_matrices(features), 2)
    ours: dict[str, float] = {}
    for rule in PUBLISHED_RULES:
        agent = make_agent(rule, variant="hobj")
        ours[rule], choice = cpu_seconds(partial(simulate, agent, grams, sessions), 5)
        if rule == "square":
            model = behaviour_of(choice, sessions)
    rng = seeds.rng("people")
    drawn = task.sample(N_SUBTASKS, 50, rng=rng)
    choice = simulate(make_agent("perceptron"), grams[::-1], drawn)  # who learn other things well, and lapse
    choice = np.where(rng.random(choice.shape) < 0.1, 1 - drawn.answer, choice)
    humans = behaviour_of(choice, drawn)
    them = repeat(humans, rng=rng)
    scoring, score = cpu_seconds(lambda: score_mse(repeat(model, rng=seeds.rng("s")), them, variant="hobj"))

    def whole() -> object:
        choices = simulate(make_agent("square"), gram_matrices(features), task.sample(N_SUBTASKS, N_SESSIONS, rng=rng))
        return score_learner(repeat(behaviour_of(choices, sessions), rng=rng), them)

    end_to_end, _ = cpu_seconds(whole, 1)

    python = peer_python()
    if python is None:
        print(f"not compared (no pass). Ours alone, CPU seconds for {total:,} sessions: {ours}")
        return 1
    parity = {"exp1": task.sample(4, N_PARITY, rng=seeds.rng("parity")), "exp2": one_shot_sessions()}
    seen = {"exp1": features[:: N_SUBTASKS // 4].astype(np.float64), "exp2": make_features(61, 4).astype(np.float64)}
    one = one_shot_counts()
    given = {
        **{f"{name}_features": x.reshape(4, -1, D) for name, x in seen.items()},
        **{f"{name}_{part}": getattr(s, part) for name, s in parity.items() for part in ("image", "answer", "key")},
        "model": by_subtask(model),
        "people": by_subtask(humans),
        "model_k": one[0].n_correct,
        "model_n": one[0].n_shown,
        "people_k": one[1].n_correct,
        "people_n": one[1].n_shown,
        "people_catch": one[1].catch_correct,
    }
    peer, choices = ask_peer(python, given)
    differ = {}
    for rule in PUBLISHED_RULES:
        agent = make_agent(rule, variant="hobj")
        made = {name: simulate(agent, gram_matrices(x), parity[name]) for name, x in seen.items()}
        differ[rule] = sum(int((made[name] != choices[f"{name} {rule}"]).sum()) for name in seen)
    n_trials = sum(s.image.size for s in parity.values())
    return report(total, sampling, products, ours, scoring, end_to_end, score, one, peer, differ, n_trials)


def one_shot_sessions() -> Sessions:
    return OneShot(sequence="hobj").sample(4, N_PARITY, rng=seeds.rng("one-shot parity"))


def by_subtask(behaviour: Behaviour) -> np.ndarray:
    return behaviour.correct.reshape(N_SUBTASKS, -1, 100)


def one_shot_counts() -> tuple[Any, Any]:
    """A model and people who lapse in Experiment 2, by 36 tests."""
    task = OneShot()
    features = make_features(61, 32)
    found = []
    for who, n_sessions, lapse in (("model", 200, 0.0), ("people", 80, 0.1)):
        rng = seeds.rng("one shot", who)
        sessions = task.sample(32, n_sessions, rng=rng)
        choice = simulate(make_agent("square"), gram_matrices(features), sessions)
        choice = np.where(rng.random(choice.shape) < lapse, rng.integers(0, 2, choice.shape), choice).astype(np.int8)
        test_of = np.tile(np.r_[-1, np.arange(60) % 36], 2)
        tests = tuple(f"{i:02d} | 0" for i in range(36))
        found.append(generalization_of(choice, sessions, test_of, tests, correct_lapses=lapse > 0))
    return found[0], found[1]


def report(
    total: int,
    sampling: float,
    products: float,
    ours: dict[str, float],
    scoring: float,
    end_to_end: float,
    score: dict[str, Any],
    one: tuple[Any, Any],
    peer: dict[str, Any],
    differ: dict[str, int],
    n_trials: int,
) -> int:
    print(f"CPU seconds for {total:,} sessions × 100 trials, d = {D} (hobj: {N_TIMED} sessions, scaled)")
    print(f"shared by all rules: trial sequences {sampling:.3f}, Gram matrices {products:.3f}\n")
    print(f"{'rule':14} {'hobj':>8} {'ours':>7} {'ratio':>7} {'alone':>7} {'choices that differ':>20}")
    passed = True
    for rule in PUBLISHED_RULES:
        theirs = peer["seconds"][rule] * total
        ratio, alone = theirs / ours[rule], theirs / (ours[rule] + sampling + products)
        print(
            f"{rule:14} {theirs:8.1f} {ours[rule]:7.3f} {ratio:6.0f}× {alone:6.0f}× {differ[rule]:9,} of {n_trials:,}"
        )
        passed &= differ[rule] == 0 and ratio >= GOALS.get(rule, 0)
    print("alone: with the sequences and Gram matrices made for this rule only; choices of Experiments 1 and 2\n")
    ratio = peer["scoring"] / scoring
    print(f"scoring, 1,000 bootstraps: hobj {peer['scoring']:.2f}, ours {scoring:.3f}, {ratio:.0f}×")
    print(f"one model end to end, all scores of Experiment 1: {end_to_end:.2f}")
    one_shot = score_generalization(*one, variant="hobj", n_replicates=2, rng=seeds.rng(0))["mse_n"].value
    equal = (("mse_n", score["mse_n"].value), ("lapse_rate", score["lapse_rate"].value), ("one_shot_mse_n", one_shot))
    for name, value in equal:
        print(f"{name}: hobj {peer[name]:.9f}, ours {value:.9f}, difference {abs(peer[name] - value):.1e}")
        passed &= abs(peer[name] - value) < 1e-6
    passed &= ratio >= GOALS["scoring"] and end_to_end < 1.5
    hobj = f"{HOBJ.replace('==', ' ')}"
    rows = [timed(rule, ours[rule], "CPU s", hobj, peer["seconds"][rule] * total) for rule in PUBLISHED_RULES]
    rows += [timed("scoring, 1,000 bootstraps", scoring, "CPU s", hobj, peer["scoring"])]
    rows += [timed("one model end to end, all scores of Experiment 1", end_to_end, "CPU s")]
    ratios = {row.what: row.ratio or 0 for row in rows[: len(PUBLISHED_RULES)]}
    slow, fast = min(ratios, key=lambda rule: ratios[rule]), max(ratios, key=lambda rule: ratios[rule])
    record(
        __file__,
        f"{total:,} sessions × 100 trials at d = {D:,}, every rule, next to the authors' library hobj 2.0",
        rows,
        seen=f"{ratios[slow]:.0f} × ({slow}) to {ratios[fast]:,.0f} × ({fast}); {sum(differ.values())} of "
        f"{n_trials * len(differ):,} choices differ; scoring {ratio:.0f} ×",
        peers={"hobj": HOBJ.partition("==")[2]},
        notes=[
            f"hobj simulated {N_TIMED} sessions, scaled to {total:,}. Shared by all rules, not counted above: trial sequences "
            f"{sampling:.3f}, Gram matrices {products:.3f} CPU s.",
        ],
    )
    print("pass" if passed else f"NO PASS: goals are {GOALS}, no choice that differs, 1e-6 and 1.5 s")
    return 0 if passed else 1


if __name__ == "__main__":
    raise SystemExit(main())
