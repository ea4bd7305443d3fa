"""The set of invented objects: views, one-shot transformations, backgrounds, and what the images really show."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import gaussian_filter
from scipy.stats import kstest

from exemplar.errors import UserError
from exemplar.images.catalogue import load
from exemplar.images.objects import ObjectsConfig, backgrounds, load_objects, views
from exemplar.images.objects.pictures import GREY, Pictures
from exemplar.images.objects.poses import smallest_circle
from exemplar.images.objects.povray import scene, write_scene

FEW = ObjectsConfig(objects=3, views=6)
ONE = ObjectsConfig(objects=2)


def store(split: str, config: ObjectsConfig) -> Pictures:
    pixels = load_objects(split, config).pixels
    assert isinstance(pixels, Pictures)
    return pixels


@pytest.fixture(scope="module")
def one_shot() -> Pictures:
    return store("one-shot", ONE)


def rows(pictures: Pictures, transformation: str, level: float | None = None) -> np.ndarray:
    """Of the first object."""
    table = pictures.views
    chosen = (table.transformation == transformation) & (table.concept.code == 0)
    return np.flatnonzero(chosen if level is None else chosen & np.isclose(table.level, level, atol=1e-3))


def measured(cover: np.ndarray) -> tuple[float, float, float]:
    """x, y (px) and diameter of the circle around a silhouette, from its pixels' middles."""
    down, across = np.nonzero(cover)
    x, y, radius = smallest_circle(np.stack([across + 0.5, down + 0.5], axis=1))
    return x, y, 2 * radius


def test_the_sets_have_the_papers_numbers():
    assert repr(load_objects("high-variation")).endswith("12800 images of 256×256, 128 concepts>")
    assert repr(load_objects("one-shot")).endswith("3904 images of 256×256, 64 concepts>")
    assert repr(load_objects("warm-up")).endswith("400 images of 256×256, 8 concepts>")
    names = [set(load_objects(split).concepts) for split in ("high-variation", "one-shot", "warm-up")]
    assert len(set.union(*names)) == 200  # nobody is in two of them


def test_a_part_is_that_part_of_the_whole():
    whole = load_objects("high-variation", ObjectsConfig(objects=4, views=9))
    few = load_objects("high-variation", FEW)
    images = few.images
    assert images.shape == (18, 256, 256)
    wanted = [whole.rows(few.concept[row])[int(few.maker[row][4:])] for row in range(len(few))]
    assert np.array_equal(images, whole.take(wanted))
    assert np.array_equal(few.take([17, 2, 2]), images[[17, 2, 2]])
    assert np.array_equal(few.subset([7, 1]).images, images[[7, 1]])
    assert len({image.tobytes() for image in images}) == 18


def test_a_set_of_objects_is_the_same_on_every_processor():
    """NumPy's sines differ in the last digit where a processor has wider registers."""
    program = "import exemplar as ex; print(ex.load('objects', 'warm-up').fingerprint)"
    said = {
        subprocess.run(
            [sys.executable, "-c", program], env=os.environ | features, capture_output=True, text=True, check=True
        ).stdout
        for features in ({}, {"NPY_DISABLE_CPU_FEATURES": "X86_V4 X86_V3"})
    }
    assert len(said) == 1


def test_the_seed_decides_and_the_fingerprint_tells():
    config = ObjectsConfig(objects=1, views=2)
    one, same, other = (load_objects("warm-up", c) for c in (config, config, ObjectsConfig(1, 2, seed=1)))
    assert np.array_equal(one.images, same.images) and one.fingerprint == same.fingerprint
    assert not np.array_equal(one.images, other.images) and one.fingerprint != other.fingerprint
    assert one.subset([0]).fingerprint != one.subset([1]).fingerprint
    assert load_objects("warm-up", ObjectsConfig(1, 2, size=128)).fingerprint != one.fingerprint


def test_size_position_and_pose_are_uniform_over_the_papers_ranges():
    table = views("high-variation")
    assert kstest(table.size, "uniform", args=(0.25, 0.25)).pvalue > 1e-3
    for place in (table.x, table.y):
        assert kstest(place, "uniform", args=(-0.4, 0.8)).pvalue > 1e-3
    assert np.abs(np.corrcoef([table.size, table.x, table.y]) - np.eye(3)).max() < 0.04
    assert kstest(table.rotation[:, 2, 0], "uniform", args=(-1, 2)).pvalue > 1e-3
    assert np.abs(table.rotation.mean(axis=0)).max() < 0.03
    assert (table.background == 1).all() and not table.scored.any()


def test_the_objects_in_the_images_have_the_size_and_place_the_table_says():
    pictures = store("high-variation", ObjectsConfig(objects=6, views=8, size=1024))  # thin tips need small pixels
    table = pictures.views
    for row in range(len(pictures)):
        x, y, diameter = np.array(measured(pictures.layers(row)[1])) / 1024
        assert diameter == pytest.approx(table.size[row], abs=0.004)
        assert [2 * x - 1, 2 * y - 1] == pytest.approx([table.x[row], table.y[row]], abs=0.008)
        assert 0.246 < diameter < 0.504 and max(abs(2 * x - 1), abs(2 * y - 1)) < 0.408


def test_another_resolution_shows_the_same():
    large, small = (load_objects("high-variation", ObjectsConfig(2, 2, size=size)).pixels for size in (256, 64))
    for row in range(4):
        coarse = large.layers(row)[1].reshape(64, 4, 64, 4).mean(axis=(1, 3))
        assert np.abs(coarse - small.layers(row)[1]).mean() < 0.004


def test_the_one_shot_set_counts_as_in_the_paper():
    table = views("one-shot", ONE)
    first = table.concept.code == 0
    assert Counter(table.transformation[first]) == {
        "training": 1, "inplanetranslation": 8, "backgrounds": 8, "scale": 4, "outplanerotation": 13,
        "inplanerotation": 7, "contrast": 4, "delpixels": 4, "blur": 4, "noise": 4, "combinednat": 4,
    }  # fmt: skip
    assert table.scored[first].sum() == 56
    pairs = {(kind, level) for kind, level in zip(table.transformation, table.level, strict=True)}
    assert len(pairs - {("training", 0.0), ("combinednat", 0.0)}) == 36


def test_levels_are_those_of_the_public_data():
    table = views("one-shot", ONE)
    levels = {kind: sorted(set(table.level[table.transformation == kind])) for kind in set(table.transformation)}
    assert np.allclose(np.array(levels["inplanetranslation"]) * 128, [16, 32, 64, 96])
    assert np.round(levels["backgrounds"], 3).tolist() == [0.1, 0.215, 0.464, 1]
    assert levels["scale"] == [0.125, 0.25, 0.5, 1.5]
    assert levels["outplanerotation"] == levels["inplanerotation"] == [45, 90, 135, 180]
    assert levels["contrast"] == [-0.8, -0.4, 0.4, 0.8]
    assert levels["delpixels"] == [0.25, 0.5, 0.75, 0.95]
    assert np.allclose(np.array(levels["blur"]) * 256, [2, 4, 8, 16])
    assert levels["noise"] == [0.125, 0.25, 0.375, 0.5]


def test_the_training_image_is_half_the_image_wide_and_centred_on_grey(one_shot):
    cover = one_shot.layers(0)[1]
    assert measured(cover) == pytest.approx((128, 128, 128), abs=2)
    image = one_shot.take(np.array([0]))[0]
    assert (image[cover == 0] == 128).all()
    assert len(np.unique(image[cover > 0])) > 50


def test_translations_move_by_their_radius_in_any_direction(one_shot):
    chosen = rows(one_shot, "inplanetranslation")
    table = one_shot.views
    assert np.allclose(np.hypot(table.x[chosen], table.y[chosen]), table.level[chosen])
    every = views("one-shot")
    moved = every.transformation == "inplanetranslation"
    angle = np.arctan2(every.y[moved], every.x[moved])
    assert kstest(angle, "uniform", args=(-np.pi, 2 * np.pi)).pvalue > 1e-3
    x, y, diameter = measured(one_shot.layers(chosen[4])[1])  # 64 px, still within the image
    assert np.hypot(x - 128, y - 128) == pytest.approx(64, abs=1.5)
    assert diameter == pytest.approx(128, abs=2)


def test_scaling_scales_the_silhouette(one_shot):
    area = one_shot.layers(0)[1].sum()
    for row in rows(one_shot, "scale"):
        level = one_shot.views.level[row]
        assert one_shot.layers(row)[1].sum() == pytest.approx(area * level**2, rel=0.03)


def test_half_a_turn_out_of_the_plane_mirrors_the_silhouette(one_shot):
    training, (row,) = one_shot.layers(0)[1], rows(one_shot, "outplanerotation", 180)
    assert np.abs(one_shot.layers(row)[1] - training[:, ::-1]).mean() < 1e-3


def test_turns_out_of_the_plane_go_both_ways_about_both_axes(one_shot):
    for level in (45, 90, 135):
        turns = one_shot.views.turn[rows(one_shot, "outplanerotation", level)]
        assert sorted(t.diagonal().argmax() for t in turns) == ([0, 0, 1, 1])
        assert np.allclose([np.trace(t) for t in turns], 1 + 2 * np.cos(np.deg2rad(level)))
        assert len({t.round(6).tobytes() for t in turns}) == 4


def test_turns_in_the_plane_turn_the_silhouette(one_shot):
    training = one_shot.layers(0)[1]
    covers = [one_shot.layers(row)[1] for row in rows(one_shot, "inplanerotation", 90)]
    covers += [one_shot.layers(row)[1] for row in rows(one_shot, "inplanerotation", 180)]
    for cover, quarters in zip(covers, (1, -1, 2), strict=True):
        assert np.abs(cover - np.rot90(training, quarters)).mean() < 1e-3


def test_backgrounds_replace_grey_by_their_share(one_shot):
    training, cover = one_shot.picture(0), one_shot.layers(0)[1]
    for row in rows(one_shot, "backgrounds"):
        share = one_shot.views.level[row]
        part = backgrounds.part(one_shot.backgrounds, one_shot.views.place[row], 256) / 255
        image = one_shot.picture(row)
        assert np.allclose(image[cover == 0], ((1 - share) * GREY + share * part)[cover == 0], atol=1e-6)
        assert np.array_equal(image[cover == 1], training[cover == 1])


def test_contrast_follows_its_equation(one_shot):
    p = one_shot.picture(0).astype(float)
    for row in rows(one_shot, "contrast"):
        gain = 10 ** one_shot.views.level[row]
        assert np.allclose(one_shot.picture(row), np.clip(gain * p + 0.5 * (1 - gain), 0, 1), atol=1e-5)


def test_deletion_turns_the_share_of_the_objects_pixels_grey(one_shot):
    training, cover = one_shot.picture(0), one_shot.layers(0)[1]
    on_object = cover > 0
    for row in rows(one_shot, "delpixels"):
        image, level = one_shot.picture(row), one_shot.views.level[row]
        kept = (image == training) & on_object & (training != GREY)
        already = (training[on_object] == GREY).mean()
        assert kept.sum() / on_object.sum() == pytest.approx(1 - level, abs=0.002 + already)
        assert (image[on_object & ~kept] == GREY).all()
        assert np.array_equal(image[~on_object], training[~on_object])


def test_blur_is_gaussian_with_the_radius_as_standard_deviation(one_shot):
    training = one_shot.picture(0).astype(float)
    for row, radius in zip(rows(one_shot, "blur"), (2, 4, 8, 16), strict=True):
        assert np.allclose(one_shot.picture(row), gaussian_filter(training, radius, mode="nearest"), atol=1e-5)


def test_noise_has_its_standard_deviation_and_is_clipped(one_shot):
    training, images = one_shot.picture(0), [one_shot.picture(row) for row in rows(one_shot, "noise")]
    assert (images[0] - training)[:64].std() == pytest.approx(0.125, abs=0.003)
    for image, level in zip(images, (0.125, 0.25, 0.375, 0.5), strict=True):
        assert image.min() >= 0 and image.max() <= 1
        hidden = np.abs(np.random.default_rng(0).normal(0, level, 200_000)) >= 0.5
        assert np.isin(image[:64], [0, 1]).mean() == pytest.approx(hidden.mean(), abs=0.02)
    assert len({image[0].tobytes() for image in images}) == 4


def test_a_faint_or_blurred_object_looks_like_itself_to_pixels_and_a_moved_one_like_anyone():
    data = load_objects("one-shot", ObjectsConfig(objects=12, size=64))
    table = data.pixels.views
    images = data.images.reshape(len(data), -1) / 255
    training = images[table.transformation == "training"]

    def accuracy(kind: str, level: float) -> float:
        chosen = (table.transformation == kind) & np.isclose(table.level, level)
        distance = ((images[chosen][:, None] - training) ** 2).sum(axis=2)
        return float((distance.argmin(axis=1) == table.concept.code[chosen]).mean())

    assert accuracy("contrast", -0.4) == accuracy("delpixels", 0.25) == accuracy("blur", 2 / 256) == 1
    assert accuracy("inplanetranslation", 0.5) < 0.3


def test_fields_fall_about_as_one_over_f():
    fields = backgrounds.Fields(128, 0)
    frequency = np.hypot(*np.meshgrid(np.fft.fftfreq(256), np.fft.fftfreq(256)))
    band = (frequency > 0.02) & (frequency < 0.25)
    slopes = []
    for number in range(len(fields)):
        picture = fields.picture(number)
        assert picture.shape == (256, 256) and 10 < picture.std() < 60 and 80 < picture.mean() < 170
        amplitude = np.abs(np.fft.fft2(picture - picture.mean()))
        slopes.append(np.polyfit(np.log(frequency[band]), np.log(amplitude[band]), 1)[0])
    assert min(slopes) > -1.7 and max(slopes) < -0.7 and len(set(slopes)) == len(fields)


def test_photographs_are_seen_behind_the_objects(tmp_path: Path):
    ramp = np.tile(np.linspace(0, 255, 400).astype(np.uint8), (300, 1))
    (tmp_path / "deeper").mkdir()
    Image.fromarray(ramp).save(tmp_path / "deeper" / "ramp.png")
    Image.fromarray(np.full((40, 50, 3), 200, np.uint8)).save(tmp_path / "small.jpg")
    data = load_objects("high-variation", ObjectsConfig(objects=1, views=12, size=64, backgrounds=tmp_path))
    plain = 0
    for row, image in enumerate(data.images):
        behind = image[data.pixels.layers(row)[1] == 0].astype(float)
        if np.abs(behind - 200).max() <= 1:
            plain += 1
        else:
            assert behind.std() > 30
    assert 0 < plain < 12
    before = data.fingerprint
    Image.fromarray(255 - ramp).save(tmp_path / "deeper" / "ramp.png")
    assert load_objects("high-variation", ObjectsConfig(1, 12, size=64, backgrounds=tmp_path)).fingerprint != before


def test_a_scene_for_povray_holds_the_mesh_as_the_camera_sees_it(tmp_path: Path, one_shot):
    write_scene(tmp_path / "scene.pov", one_shot, 1)
    text = (tmp_path / "scene.pov").read_text(encoding="ascii")
    assert text == scene(one_shot, 1)
    body = one_shot.placed(1)[0]
    assert f"vertex_vectors {{ {len(body.vertices)}," in text and f"face_indices {{ {len(body.triangles)}," in text
    block = text.split("vertex_vectors {")[1].split("}")[0].split(",", 1)[1]
    x, y = np.array([line.strip(" <>,").split(",")[:2] for line in block.strip().split("\n")], float).T
    seen = smallest_circle(np.stack([x, y], axis=1))
    table = one_shot.views
    assert seen == pytest.approx((table.x[1], -table.y[1], 0.5), abs=1e-3)  # POV-Ray's y points up


def test_the_catalogue_has_them():
    data = load("objects", "warm-up", size=64)
    assert data.shape == (64, 64) and data.n_concepts == 8
    assert data.take([0]).std() > 5


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"objects": 0}, "objects=0"),
        ({"views": -1}, "views=-1"),
        ({"views": 2.5}, "views=2.5"),
        ({"size": 8}, "size=8"),
        ({"size": None}, "size=None"),
    ],
)
def test_a_wrong_configuration_is_refused_in_a_sentence(change, says):
    with pytest.raises(UserError, match=says):
        ObjectsConfig(**change)


def test_wrong_splits_and_folders_are_refused_in_a_sentence(tmp_path: Path):
    with pytest.raises(UserError, match="did you mean one-shot"):
        load_objects("oneshot")
    with pytest.raises(UserError, match="always has 61 views"):
        load_objects("one-shot", ObjectsConfig(views=10))
    with pytest.raises(UserError, match="not a folder"):
        load_objects("warm-up", ObjectsConfig(backgrounds=tmp_path / "nowhere"))
    with pytest.raises(UserError, match="holds no photographs"):
        load_objects("warm-up", ObjectsConfig(backgrounds=tmp_path))
    (tmp_path / "broken.png").write_bytes(b"no image")
    with pytest.raises(UserError, match=r"broken\.png is not an image"):
        load_objects("warm-up", ObjectsConfig(backgrounds=tmp_path)).take([0])
