"""The rule of RULES.md on what came back: python decide.py BACK, a folder with new*.pt in any depth."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import torch


def gather(folder: Path) -> dict[str, dict]:
    found = {}
    for path in sorted(folder.rglob("new*.pt")):
        for result in torch.load(path, weights_only=False):
            found[result["job"]["name"]] = result
    return found


def at(result: dict, step: int, support: str) -> np.ndarray:
    """(150,) accuracies by character."""
    return np.array(next(entry for entry in result["lists"] if entry["step"] == step)[support])


def choose(title, candidates, today, seeds_sd):
    """candidates: settings → (150,); today: settings, a key. Prints the table, gives the chosen settings and why."""
    best = max(candidates, key=lambda key: candidates[key].mean())
    rows, within = [], []
    for key, values in sorted(candidates.items(), key=lambda item: -item[1].mean()):
        gap = candidates[best] - values
        se = gap.std(ddof=1) / len(gap) ** 0.5
        inside = bool(gap.mean() < 2 * se or gap.mean() < 2 * seeds_sd or key == best)
        if inside:
            within.append(key)
        rows.append({"settings": key, "accuracy": values.mean(), "below_best": gap.mean(), "se_of_gap": se, "within_noise": inside})
        print(f"{title} {key}: {values.mean():.4f}  gap {gap.mean():.4f} ± {se:.4f} {'within' if inside else ''}")
    changes = {key: sum(a != b for a, b in zip(key, today, strict=True)) for key in within}
    chosen = today if today in within else min(within, key=lambda key: (changes[key], -candidates[key].mean()))
    print(f"{title}: seeds' SD {seeds_sd:.4f}; best {best}; chosen {chosen}\n")
    return {"best": best, "chosen": chosen, "today": today, "seeds_sd": seeds_sd, "table": rows}


def seeds_sd(values: list[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def decide(found):
    verdicts = {}
    words = [(rate, net) for rate in ("3e-4", "1e-3", "3e-3") for net in ("linear", "relu")]
    ok = {name: r for name, r in found.items() if "failed" not in r}
    candidates = {
        (rate, net, steps): at(ok[f"choose-simclr-{rate}-{net}"], steps, "random")
        for rate, net in words
        for steps in (10_000, 20_000)
        if f"choose-simclr-{rate}-{net}" in ok
    }
    today = ("1e-3", "linear", 10_000)
    if today in candidates:
        others = [at(ok[name], 10_000, "random").mean() for s in (1, 2) if (name := f"choose-simclr-1e-3-linear-s{s}") in ok]
        verdicts["simclr"] = choose("simclr", candidates, today, seeds_sd([candidates[today].mean(), *others]))
    for support, asked in (("exemplar", "exemplar"), ("any", "random")):
        candidates = {
            key: at(ok[name], 23_000, asked) for key in words if (name := f"choose-protonet-{support}-{key[0]}-{key[1]}") in ok
        }
        today = ("1e-3", "linear")
        if today in candidates:
            others = [
                at(ok[name], 23_000, asked).mean() for s in (1, 2) if (name := f"choose-protonet-{support}-1e-3-linear-s{s}") in ok
            ]
            verdicts[f"protonet-{support}"] = choose(
                f"protonet-{support}", candidates, today, seeds_sd([candidates[today].mean(), *others])
            )
    table = {}
    for rate in ("0.01", "0.1", "0.4"):
        if f"choose-maml-{rate}" in ok:
            last = ok[f"choose-maml-{rate}"]["curve"][-2:]
            table[rate] = (np.mean([e["held_out_accuracy_exemplar"] for e in last]), last[-1]["held_out_accuracy_exemplar_se"])
            print("maml", rate, table[rate])
    if len(table) == 3:
        best = max(table, key=lambda rate: table[rate][0])
        noise = 2 * 2**0.5 * table[best][1]
        chosen = "0.1" if table[best][0] - table["0.1"][0] < noise else best
        print("maml best", best, "chosen", chosen)
        verdicts["maml"] = {"best": best, "chosen": chosen, "today": "0.1", "table": table}
    return verdicts


if __name__ == "__main__":
    back = gather(Path(sys.argv[1]))
    print(len(back), "results", [name for name, r in back.items() if "failed" in r])
    verdicts = decide(back)
    if len(sys.argv) > 2:
        page = {
            "rule": "RULES.md beside the scripts", "verdicts": verdicts,
            "trainings": {
                name: {**{k: r["job"][k] for k in ("kind", "settings", "exemplars", "steps", "seed")}, "seconds": round(r.get("seconds", 0), 1),
                       "curve": r["curve"], "accuracy_by_character": r["lists"], **({"failed": r["failed"]} if "failed" in r else {})}
                for name, r in sorted(back.items()) if r["job"]["data"] == "choose"
            },
        }  # fmt: skip
        Path(sys.argv[2]).write_text(json.dumps(page, indent=1))
