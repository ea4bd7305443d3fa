"""Studies and the partner: they run on any agent, say what was found, resume; the bound holds whatever is shown."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import exemplar as ex
from exemplar.attend.partner.network import GroupSort2, build_classifier, conv_norm, find_lipschitz_bound
from exemplar.attend.partner.objective import LipschitzClassifier, constrained, plain_copy

sys.path.append(str(Path(__file__).parent))

from hand_made import UnevenModel

FEW = {"data": "glyphs", "concepts": 3, "drawings": 2, "engine": "here"}


def test_steps_and_readings_run_on_any_model_that_answers_alike(one_place):
    model = UnevenModel(size=(24, 24))
    steps = ex.attend.study("steps", agent=model, **FEW)
    found = {(s.space, s.variant): s for s in steps.scores if s.name == "spearman_with_all_steps"}
    assert found["forward", "30 of 30 steps"].value == 1
    few, many = (found["forward", f"{n} of 30 steps"].value for n in (2, 20))
    assert few < many <= 1 and "fewest of those tried" in steps["verdict"]
    readings = ex.attend.study("readings", agent=model, **FEW)
    assert {s.agent for s in readings.scores if s.name == "spearman"} == {
        "forward, on the model's own drawings",
        "forward, on the drawings of the task",
        "score Jacobian",
    }
    for study in (steps, readings):
        assert study.page.is_file() and all(path.is_file() for path in study.figures.values())
    again = ex.attend.study("steps", agent=model, **FEW)  # finished: nothing is computed again
    assert again.scores == steps.scores


def test_coverage_runs_and_is_the_same_in_a_pool(one_place, monkeypatch):
    from exemplar.attend.studies import coverage

    monkeypatch.setattr(coverage, "RELIABILITIES", (0.5,))
    monkeypatch.setattr(coverage, "SIZES", ((5, 3),))
    done, pooled = (ex.attend.study("coverage", repeats=4, engine=engine, out=engine) for engine in ("here", "pool"))
    assert list(pooled.scores) == list(done.scores)
    assert {s.name for s in done.scores} == {"bias", "coverage", "rejected_at_05"}
    assert "95 % intervals hold the truth" in done["verdict"]


# The partner


def test_group_sort_sorts_pairs_of_channels():
    x = torch.tensor([[3.0, 1.0, 2.0, 5.0]])
    assert GroupSort2()(x).tolist() == [[1.0, 3.0, 2.0, 5.0]]
    assert GroupSort2()(x[..., None, None])[..., 0, 0].tolist() == [[1.0, 3.0, 2.0, 5.0]]


def test_the_bound_of_a_convolution_is_at_least_its_norm_as_a_matrix():
    kernel = np.random.default_rng(0).standard_normal((3, 2, 3, 3))
    side = 6
    basis = torch.eye(2 * side * side, dtype=torch.float64).view(-1, 2, side, side)
    matrix = torch.nn.functional.conv2d(basis, torch.as_tensor(kernel), padding=1).flatten(1)
    exact, bound = float(torch.linalg.matrix_norm(matrix, 2)), conv_norm(kernel, side)
    assert exact <= bound <= 1.15 * exact


def test_no_change_of_a_drawing_moves_the_outputs_by_more_than_the_bound():
    with torch.random.fork_rng():
        network = build_classifier(5, 12, (4, 4, 4), 8)
        kept = plain_copy(constrained(build_classifier(5, 12, (4, 4, 4), 8)))
    rng = torch.Generator().manual_seed(0)
    x, step = torch.rand((64, 1, 12, 12), generator=rng), 1e-2 * torch.randn((64, 1, 12, 12), generator=rng)
    for one in (network, kept):
        one.requires_grad_(False)
        moved = (one(x + step) - one(x)).norm(dim=1) / step.flatten(1).norm(dim=1)
        assert float(moved.max()) <= find_lipschitz_bound(one, 12) * (1 + 1e-5)
    assert find_lipschitz_bound(kept, 12) <= 1.01
    scaled = build_classifier(5, 12, (4, 4, 4), 8)
    scaled.load_state_dict({name: 2 * weight for name, weight in network.state_dict().items()})
    assert find_lipschitz_bound(scaled, 12) == pytest.approx(2**5 * find_lipschitz_bound(network, 12))


def test_a_layer_that_is_not_known_has_no_bound():
    with pytest.raises(TypeError, match="no bound is known for ReLU"):
        find_lipschitz_bound(torch.nn.Sequential(torch.nn.ReLU()))


def test_a_partner_is_trained_kept_and_guesses(one_place):
    trained = ex.attend.train_partner("glyphs", concepts=4, steps=30, every=30, most=20, device="cpu")
    assert trained["lipschitz_bound"] <= 1.02  # kept at 8 bits of precision
    assert trained["accuracy"]["n"] == 8 and trained["bytes"] < 1_500_000
    assert trained["drawings"] == {"train": 64, "validate": 8, "test": 8}
    partner = ex.attend.load_partner(trained["partner"])
    assert list(partner.concepts) == trained["concepts"]
    canvases = ex.load("glyphs").only(concepts=partner.concepts).images[:6]
    log_p = partner.log_p(canvases)
    np.testing.assert_allclose(np.exp(log_p).sum(axis=1), 1)
    assert ex.attend.guess(partner, canvases[0]).name in partner.concepts
    played = ex.attend.play("ink", data="glyphs", only=list(partner.concepts[:2]), drawings=2, participants=2, partner=trained["partner"], reliability=1.0, out="p.npz")  # fmt: skip
    assert played["rounds"] == 8
    assert LipschitzClassifier().rate(0) == 1.0


def test_the_partner_is_checked_on_other_drawings(one_place, tmp_path):
    trained = ex.attend.train_partner("glyphs", concepts=4, steps=30, every=30, most=20, device="cpu")
    data = ex.load("glyphs").only(concepts=trained["concepts"])
    np.savez(tmp_path / "other.npz", images=data.images, concept=np.array(data.concepts)[data.concept.code])
    checked = ex.attend.check_partner(trained["partner"], tmp_path / "other.npz")
    assert (
        checked["accuracy"]["n"] == 80 and checked["accuracy"]["value"] > 0.5
    )  # the outputs are in the order of the names
    np.savez(tmp_path / "alien.npz", images=data.images[:3], concept=np.array(["alien"] * 3))
    with pytest.raises(ex.UserError, match="no concept 'alien'"):
        ex.attend.check_partner(trained["partner"], tmp_path / "alien.npz")
