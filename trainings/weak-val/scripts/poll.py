"""Wait, say where things stand, and hand over what is done: python poll.py WORK OUT SECONDS [until queue and workers are empty]"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import torch

work, out, seconds = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])
wanted = sys.argv[4:]  # names, or their beginnings followed by *: until all jobs claimed or queued so named are done


def names(folder):
    return {path.name.split(".json")[0].partition("-")[2] for path in (work / folder).glob("*.json*")}


def open_jobs():
    done = {path.stem for path in (work / "done").glob("*.pt")}
    left = (names("queue") | names("claimed")) - done
    return {n for n in left if not wanted or any(n == w or w.endswith("*") and n.startswith(w[:-1]) for w in wanted)}


end = time.monotonic() + seconds
while time.monotonic() < end and open_jobs():
    time.sleep(0.5)
sent_file = work / "sent.json"
sent = set(json.loads(sent_file.read_text())) if sent_file.exists() else set()
new = []
for path in sorted((work / "done").glob("*.pt")):
    if path.stem in sent:
        continue
    result = torch.load(path, weights_only=False)
    sent.add(path.stem)
    if path.stem.startswith("bench"):
        clock = [c for c in result["clock"] if c[0] >= (150 if result["job"]["steps"] > 100 else 10)]
        clock = clock if len(clock) > 1 else [(0, 0.0), (1, 1.0)]
        pace = (clock[-1][1] - clock[0][1]) / (clock[-1][0] - clock[0][0]) * 1000
        print(path.stem, f"{pace:.2f} ms a step", [round(e["loss"], 4) for e in result["curve"][:4]], round(result["curve"][-1]["loss"], 4))
        continue
    if result["job"]["data"] == "choose" and "state" in result:
        result["state"] = {k: v.to(torch.bfloat16) if v.is_floating_point() else v for k, v in result["state"].items()}
    new.append(result)
    shown = [look for look in result["curve"] if look["step"] == 10_000][:1] + result["curve"][-1:]
    for entry in shown:
        print(path.stem, {k.replace("held_out_", "").replace("accuracy", "acc"): round(v, 4) for k, v in entry.items() if "_se" not in k and "calib" not in k and "20_way" not in k})
for start in range(0, len(new), 12):
    torch.save(new[start : start + 12], out / f"new{start // 12}.pt")
sent_file.write_text(json.dumps(sorted(sent)))
for path in sorted(work.glob("log*")):
    print(path.name, path.read_text()[-700:])
everything = []
for path in sorted(work.glob("status-*.json")):
    status = json.loads(path.read_text())
    everything.append(status)
    last = {name: {k.replace("held_out_", ""): round(v, 4) for k, v in curve[-1].items() if k == "loss" or "accuracy_" in k and "_se" not in k} for name, curve in status["curves"].items() if curve}
    print(status["worker"], status["seconds"], status["steps"], status["memory"], status["live"], last)
(out / "status.json").write_text(json.dumps(everything))
print("queue", sorted(names("queue")))
