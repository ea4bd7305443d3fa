"""Who marks: known answers for every agent, what a diffusion model's maps must be in closed form, and the contract."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.ndimage import binary_dilation

import exemplar as ex
from exemplar import UserError, rooms, seeds
from exemplar.attend.agents import AGENTS, diffusion_agent, make_agent
from exemplar.attend.agents.denoiser import misalignment
from exemplar.attend.agents.evidence import Evidence
from exemplar.attend.agents.gradient import Gradient, IntegratedGradient
from exemplar.attend.agents.misalignment import Forward, Trajectory
from exemplar.attend.agents.occlusion import Occlusion
from exemplar.attend.agents.score_jacobian import ScoreJacobian
from exemplar.attend.tasks import make_task
from exemplar.draw.diffusion.loading import WEIGHTS
from exemplar.spaces.inputs import DrawingInput
from exemplar.spaces.space import NetworkSpace

sys.path.append(str(Path(__file__).parent))

from hand_made import ConstantModel, GaussianModel, LinearModel

HAND_MADE = Path(__file__).parent / "hand_made.py"
PLAIN = [name for name in AGENTS if name != "cfgdm-quickdraw"]


@pytest.fixture(scope="module")
def task():
    return make_task("glyphs", n_concepts=4, n_drawings=2, size=48)


def floats(task):
    return task.image.astype(np.float32) / 255, task.label, task.exemplar.astype(np.float32) / 255


class LeftHalf(torch.nn.Module):
    """Features are the pixels of the left half: nothing to the right can matter."""

    def forward(self, x):
        return x[..., : x.shape[-1] // 2].flatten(1)


def left_space(size=16):
    return NetworkSpace("left", LeftHalf(), DrawingInput((size, size)))


@pytest.mark.parametrize("name", PLAIN)
def test_the_rooms_own_agents_keep_its_contract(name):
    checked = ex.attend.check_agent(name)
    assert checked.ok and checked["passes"], checked.text


@pytest.mark.parametrize("build", [Gradient, IntegratedGradient, Occlusion])
@pytest.mark.parametrize("against", ["concepts", "exemplar"])
def test_only_what_a_network_looks_at_matters(task, build, against):
    """Nothing to the right of its half, but for squares that reach over the middle."""
    space = left_space(48)  # as large as the drawings, so that a square changes no pixel beside it
    maps = build(Evidence(space, against))(*floats(task), seeds.rng("x"))
    w = maps.shape[2]
    right = maps[:, :, w // 2 + round(0.2 * w) :]
    assert maps.max() > 0 and np.abs(right).max() <= 1e-6 * maps.max()


def test_integrated_gradients_add_up_to_the_evidence(task):
    """Completeness, with many steps."""
    images, label, exemplars = floats(task)
    agent = IntegratedGradient(Evidence(left_space()), 128)
    network = agent.evidence.network()
    found = agent.attribute(images, label, exemplars).sum(axis=(1, 2, 3))
    ends = [network.evidence(network.prepare(some), label, exemplars) for some in (images, np.zeros_like(images))]
    np.testing.assert_allclose(found, (ends[0] - ends[1]).numpy(), rtol=0.02, atol=1e-3)


def test_evidence_is_the_same_by_encode_and_by_the_network(task):
    evidence = Evidence(ex.spaces.load("protonet-glyphs-s0"))
    network = evidence.network()
    images, label, exemplars = floats(task)
    direct = network.evidence(network.prepare(images), label, exemplars)
    np.testing.assert_allclose(evidence.of_images(images, label, exemplars), direct.numpy(), rtol=1e-3, atol=1e-4)
    own = evidence.of_images(exemplars, np.arange(4), exemplars)
    assert (own > evidence.of_images(exemplars, np.arange(4)[::-1].copy(), exemplars)).all()


def test_a_space_without_a_network_has_no_gradient_but_can_be_occluded(task):
    with pytest.raises(UserError, match="use occlusion"):
        make_agent("gradient@pixels", task)[1](*floats(task), seeds.rng("x"))
    maps = make_agent("occlusion@pixels", task)[1](*floats(task), seeds.rng("x"))
    assert maps.shape == task.image.shape and maps.max() > 0


def test_squares_cover_every_pixel():
    for h, w in ((48, 48), (105, 105), (7, 30)):
        assert Occlusion(Evidence(left_space())).squares(h, w).any(axis=0).all()


# Diffusion models: Eq. 4 in closed form


def test_two_constant_scores_give_their_difference_at_every_step():
    model = ConstantModel()
    images, label, exemplars = (np.zeros((3, 8, 8), np.float32), np.array([0, 1, 0]), np.ones((2, 8, 8), np.float32))
    wanted = model.schedule.steps * misalignment(*model.patterns())[0].numpy()
    for times in (None, 7):
        forward = Forward(model, times)(images, label, exemplars, seeds.rng("x"))
        _, along = Trajectory(model, times)(images, label, exemplars, seeds.rng("x"))
        for maps in (forward, along):
            np.testing.assert_allclose(maps, np.tile(wanted, (3, 1, 1)), rtol=1e-4)


def test_no_exemplar_and_a_blank_one_that_means_none_disagree_nowhere():
    """Where the exemplar is the mean of all drawings, both scores are one."""
    model = GaussianModel(mean=0.5)
    even = np.full((2, 8, 8), 0.5, np.float32)
    images = seeds.rng("images").random((2, 8, 8)).astype(np.float32)
    assert np.abs(Forward(model, 10)(images, np.arange(2), even, seeds.rng("x"))).max() < 1e-4


def test_maps_of_a_gaussian_model_are_as_computed_by_hand():
    model = GaussianModel()
    rng = seeds.rng("gaussian")
    drawing, exemplar = rng.random((2, 1, 8, 8)).astype(np.float32)
    found = Forward(model, 1)(drawing, np.zeros(1, int), exemplar, seeds.rng("fixed"))
    root = int(seeds.rng("fixed").integers(2**63))
    noise = seeds.rng("attend noise", root, 0).standard_normal((8, 8), np.float32)
    kept = model.schedule.kept[-1]
    x = np.sqrt(kept) * drawing[0] + np.sqrt(1 - kept) * noise
    given, free = (x - np.sqrt(kept) * centre for centre in (exemplar[0], 0.2))
    wanted = model.schedule.steps * np.abs(given / np.linalg.norm(given) - free / np.linalg.norm(free))
    np.testing.assert_allclose(found[0], wanted, rtol=1e-3, atol=1e-4)


def test_the_trajectory_ends_at_the_exemplar_of_a_model_that_only_knows_it():
    """Drawings are N(exemplar, s²): with a small s the drawing is the exemplar, with guidance beyond it."""
    model = GaussianModel(spread=0.01)
    exemplar = seeds.rng("exemplar").random((1, 8, 8)).astype(np.float32) * 0.5 + 0.25
    for sampler in ("ddim", "ancestral"):
        drawn, _ = Trajectory(model, None, 0.0, sampler)(
            np.zeros((2, 8, 8)), np.zeros(2, int), exemplar, seeds.rng("x")
        )
        np.testing.assert_allclose(drawn, np.repeat(exemplar, 2, axis=0), atol=0.05)


def test_the_jacobian_of_a_linear_model_is_its_weights():
    model = LinearModel()
    images = np.zeros((2, 8, 8), np.float32)
    shown, maps = ScoreJacobian(model, 5, 1)(images, np.array([0, 0]), images[:1] + 0.3, seeds.rng("x"))
    wanted = model.schedule.steps * model.weight()[0, 0].abs().numpy()
    np.testing.assert_allclose(maps, np.tile(wanted, (2, 1, 1)), rtol=1e-4)
    np.testing.assert_allclose(shown, 0.3, atol=1e-6)


@pytest.mark.parametrize("reading", ["trajectory", "forward", "jacobian"])
def test_a_map_does_not_depend_on_what_is_marked_beside_it(reading):
    agent = diffusion_agent(GaussianModel(), f"reading={reading},times=4")
    rng = seeds.rng("beside")
    images, exemplars, label = rng.random((30, 8, 8)), rng.random((3, 8, 8)), np.arange(30) % 3
    whole = agent(images, label, exemplars, seeds.rng("x"))
    few = agent(images[:4], label[:4], exemplars, seeds.rng("x"))  # one part instead of two
    for a, b in zip(
        np.atleast_1d(whole) if isinstance(whole, tuple) else [whole],
        few if isinstance(few, tuple) else [few],
        strict=True,
    ):
        np.testing.assert_allclose(a[:4], b, rtol=1e-4, atol=1e-5)


@pytest.fixture(scope="module")
def tiny_cfgdm(few_drawings, tmp_path_factory):
    """FOLDER/NAME of a CFGDM that was trained for a step."""
    narrow = ("width=6", "batch=2", "diffusion_steps=40")
    folder = str(tmp_path_factory.mktemp("agents"))
    return ex.draw.train(
        "cfgdm-tiny", data=str(few_drawings), setting=narrow, steps=1, every=1, device="cpu", out=folder
    )["agent"]


def test_a_trained_cfgdm_of_draws_marks_by_every_reading(tiny_cfgdm, few_drawings, tmp_path):
    for reading in ("trajectory", "forward", "jacobian"):
        made = ex.attend.maps(
            f"{tiny_cfgdm}@reading={reading},times=3", data=str(few_drawings), concepts=3, drawings=2, out=tmp_path / "m.npz"
        )  # fmt: skip
        assert made["maps"] == 6 and made.maps.map.shape == (6, 48, 48) and made.maps.map.min() >= 0
        marked = made.maps.image
        if reading == "forward":
            np.testing.assert_array_equal(marked, made.task.image)
        else:  # it marks its own drawings, or the exemplars
            assert not np.array_equal(marked, made.task.image)


def test_a_model_that_cannot_do_without_an_exemplar_is_refused(tiny_cfgdm, task, monkeypatch):
    """As DDPM, which was trained without dropping it."""
    agent = ex.draw.load_agent(tiny_cfgdm)
    unguided = replace(agent, objective=replace(agent.objective, drop=0.0))
    monkeypatch.setattr(ex.draw, "load_agent", lambda name: unguided)
    with pytest.raises(UserError, match="without dropping its exemplar"):
        make_agent(tiny_cfgdm, task)


def test_the_shipped_model_marks_what_lies_near_the_exemplar(task):
    """Far from all ink, the score with the exemplar and the score without it agree more."""
    images, label, exemplars = floats(task)
    _, agent = make_agent("cfgdm-quickdraw@reading=forward,times=4", task)
    marked = agent(images[::2], label[::2], exemplars, np.random.default_rng(0))
    near = binary_dilation(exemplars[label[::2]] > 0.5, np.ones((1, 9, 9)))
    assert marked[near].mean() > marked[~near].mean()


def test_what_is_missing_says_how_to_make_it(task, monkeypatch):
    monkeypatch.setitem(WEIGHTS, "cfgdm-quickdraw", "not-trained-yet-s0")
    with pytest.raises(UserError, match=r"no weights of cfgdm-quickdraw ship .* train them \(exemplar draw train"):
        make_agent("cfgdm-quickdraw", task)
    with pytest.raises(UserError, match="did you mean gradient"):
        make_agent("gradeint", task)
    with pytest.raises(UserError, match="did you mean forward"):
        diffusion_agent(GaussianModel(), "reading=forwards")
    with pytest.raises(UserError, match="between 1 and 30 steps"):
        diffusion_agent(GaussianModel(), "times=31")
    with pytest.raises(UserError, match="no settings"):
        make_agent("ink@0.5", task)


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("changes_its_input", "changes what it is given"),
        ("looks_around", "depends on the drawings beside it"),
        ("uses_globals", "global random generators"),
        ("goes_negative", "below 0"),
        ("forgets_one", "a map for each"),
        ("marks_nothing", "is empty"),
        ("gives_other_sizes", "of one size"),
    ],
)  # fmt: skip
def test_a_broken_agent_is_told_what_is_wrong(name, word):
    checked = ex.attend.check_agent(f"{HAND_MADE}:{name}")
    assert not checked.ok and word in checked.text
    assert len(checked["broken"]) == 1, checked.text


def test_a_function_of_ones_own_is_an_agent(tmp_path):
    assert ex.attend.check_agent(f"{HAND_MADE}:prefers_the_left").ok
    made = ex.attend.maps(
        f"{HAND_MADE}:prefers_the_left", data="glyphs", concepts=2, drawings=1, out=tmp_path / "m.npz"
    )
    assert made["agent"] == "prefers_the_left"


def test_tasks_are_the_same_by_their_seed_and_leave_exemplars_out(task):
    again = make_task("glyphs", n_concepts=4, n_drawings=2, size=48)
    other = make_task("glyphs", n_concepts=4, n_drawings=2, size=48, seed=1)
    assert again.fingerprint == task.fingerprint != other.fingerprint
    for code, shown in enumerate(task.exemplar):
        assert not (task.image[task.label == code] == shown).all(axis=(1, 2)).any()


def test_a_task_of_what_draw_sampled_has_its_drawings_and_exemplars(tmp_path):
    drawn = ex.draw.sample("redraw@1", data="glyphs", exemplar="random", n=3, concepts=["Bolne/character02", "Bolne/character03"], out=tmp_path / "drawn")  # fmt: skip
    found = make_task(tmp_path / "drawn", n_drawings=2)
    assert found.concepts == tuple(dict.fromkeys(drawn.drawings.frame["concept"])) and len(found) == 4
    np.testing.assert_array_equal(found.image[:2], drawn.drawings.image[:2])
    data = ex.load("glyphs")
    row = int(drawn.drawings.frame["exemplar"].iloc[0])
    np.testing.assert_array_equal(found.exemplar[0], data.take([row])[0])


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"only": ["nowhere"]}, "no concept 'nowhere'"),
        ({"n_concepts": 500}, "needs 500 concepts"),
        ({"n_drawings": 500}, "lower --concepts or --drawings"),
    ],
)
def test_a_task_that_cannot_be_is_refused(options, word):
    with pytest.raises(UserError, match=word):
        make_task("glyphs", **options)


def test_photographs_and_empty_drawings_are_refused(tmp_path):
    images = np.zeros((6, 12, 12), np.uint8)
    images[1:, 3:6] = 255
    np.savez(tmp_path / "one.npz", images=images, concept=np.array(["a"] * 3 + ["b"] * 3))
    with pytest.raises(UserError, match="is empty"):
        make_task(tmp_path / "one.npz", n_concepts=2, n_drawings=2)
    np.savez(tmp_path / "two.npz", images=np.zeros((4, 8, 8, 3), np.uint8), concept=np.array(list("aabb")))
    with pytest.raises(UserError, match="photographs"):
        make_task(tmp_path / "two.npz", n_concepts=2, n_drawings=1)


def test_the_room_lists_its_agents():
    room = rooms.load_room("attend")
    assert set(room.agents()) == {entry["name"] for entry in ex.attend.list_agents()["agents"]}
    assert replace(AGENTS["ink"]).name == "ink"
