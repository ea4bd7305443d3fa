"""Meshes, poses and the renderer behind the invented objects."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

from exemplar import seeds
from exemplar.images.objects.fields import Field, Limb, field
from exemplar.images.objects.meshes import EDGES, Mesh, loops, mesh
from exemplar.images.objects.pictures import build, circle
from exemplar.images.objects.poses import random_rotation, smallest_circle, turned
from exemplar.images.objects.renderer import draw, illuminate
from exemplar.images.objects.shapes import shape

NAMES = ["object001", "object004", "object030", "oneshot023", "warmup001"]


def edges(triangles: np.ndarray) -> np.ndarray:
    """(3 m, 2): each triangle's edges in its own direction."""
    return np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])


def volume(body: Mesh) -> float:
    a, b, c = np.moveaxis(body.vertices[body.triangles].astype(float), 1, 0)
    return float((a * np.cross(b, c)).sum() / 6)


@pytest.fixture(scope="module")
def sphere() -> Mesh:
    """A limb that goes nowhere is a ball."""
    points = np.array([[0.0, 0, 0], [0, 0, 1e-6]])
    return mesh(field([Limb(points, np.tile([1.0, 0, 0], (2, 1)), np.ones(2))], cells=60))


def test_every_crossed_edge_of_a_cell_lies_on_one_loop_of_three_or_more():
    counts, loop_of = loops()
    assert counts[0] == counts[255] == 0
    for pattern in range(256):
        crossed = [bool(pattern >> a & 1) != bool(pattern >> b & 1) for a, b in EDGES]
        assert list(loop_of[pattern] >= 0) == crossed
        assert all((loop_of[pattern] == loop).sum() >= 3 for loop in range(counts[pattern]))


def test_opposite_corners_of_a_cell_are_cut_off_by_a_loop_each():
    counts, loop_of = loops()
    assert counts[0b10000001] == 2
    assert sorted(loop_of[0b10000001][loop_of[0b10000001] >= 0]) == [0, 0, 0, 1, 1, 1]


@given(st.integers(0, 10**6))
@settings(deadline=None, max_examples=40)
def test_a_mesh_of_any_field_is_closed_and_two_triangles_meet_at_every_edge(seed):
    values = np.ones((12, 11, 13), np.float32)
    values[2:-2, 2:-2, 2:-2] = seeds.rng("noise", seed).normal(size=(8, 7, 9))
    body = mesh(Field(values, np.zeros(3), 1.0))
    directed = {(a, b) for a, b in edges(body.triangles).tolist()}
    assert len(directed) == 3 * len(body.triangles)  # never twice the same way, so orientation is consistent
    assert all((b, a) in directed for a, b in directed)


@pytest.mark.parametrize("name", NAMES)
def test_objects_are_closed_connected_and_face_outwards(name):
    body = build(name, 0)
    _, counts = np.unique(np.sort(edges(body.triangles), axis=1), axis=0, return_counts=True)
    assert (counts == 2).all()
    assert volume(body) > 0.01
    a, b, c = np.moveaxis(body.vertices[body.triangles].astype(float), 1, 0)
    flat = np.cross(b - a, c - a)
    agreeing = (flat * body.normals[body.triangles[:, 0]]).sum(axis=1) > 0
    assert agreeing.mean() > 0.98  # a sharp tip may differ


@pytest.mark.parametrize("name", NAMES)
def test_objects_fill_the_ball_of_radius_one_whatever_is_turned(name):
    body = build(name, 0)
    assert np.linalg.norm(body.vertices, axis=1).max() == pytest.approx(1, abs=1e-5)
    assert np.abs(np.linalg.norm(body.normals, axis=1) - 1).max() < 1e-5
    assert 0 <= body.sky.min() < 0.5 < np.median(body.sky) <= body.sky.max() <= 1.0001
    rotation = random_rotation(seeds.rng("turn", name))
    around = smallest_circle(body.vertices.astype(float) @ rotation[:2].T)
    assert around == pytest.approx(circle(body, rotation), abs=1e-5)  # its hull alone decides


def test_objects_differ_and_depend_on_name_and_seed_alone():
    again = [shape("object001", 0), shape("object001", 0), shape("object002", 0), shape("object001", 1)]
    points = [np.concatenate([limb.points for limb in limbs]) for limbs in again]
    assert np.array_equal(points[0], points[1])
    assert not any(p.shape == points[0].shape and np.allclose(p, points[0]) for p in points[2:])


def test_a_ball_is_a_ball(sphere):
    assert np.abs(np.linalg.norm(sphere.vertices, axis=1) - 1).max() < 3e-3
    assert (sphere.vertices * sphere.normals).sum(axis=1).min() > 0.999
    assert volume(sphere) == pytest.approx(4 / 3 * np.pi, rel=0.01)
    assert sphere.sky.mean() > 0.98
    assert len(sphere.vertices) - len(sphere.triangles) / 2 == 2  # Euler: V − E + F = 2, E = 3 F / 2


def test_limbs_that_meet_are_blended_and_a_plain_union_is_smaller():
    def limb(x: float) -> Limb:
        return Limb(np.array([[x, 0, 0], [x, 0, 1.0]]), np.tile([1.0, 0, 0], (2, 1)), np.full(2, 0.3))

    plain, blended = (field([limb(0), limb(0.55)], blend=b) for b in (1e-6, 0.2))
    inside = [(f.values < 0).sum() * f.cell**3 for f in (plain, blended)]
    assert inside[0] < inside[1] < 1.2 * inside[0]


def test_a_balls_outline_and_shading_are_those_of_geometry(sphere):
    radius, x, y = 50.0, 70.3, 61.6
    free = replace(sphere, sky=np.ones_like(sphere.sky))
    light, cover = draw(free, np.eye(3), scale=radius, centre=(x, y), size=128)
    assert cover.sum() == pytest.approx(np.pi * radius**2, rel=0.004)
    across, down = np.meshgrid(np.arange(128) + 0.5, np.arange(128) + 0.5)
    u, v = (across - x) / radius, (y - down) / radius
    inner = u**2 + v**2 < 0.8
    normals = np.stack([u, v, np.sqrt(np.clip(1 - u**2 - v**2, 0, None))], axis=-1)[inner]
    assert (cover[inner] == 1).all()
    assert not cover[u**2 + v**2 > 1.03**2].any()
    assert np.abs(light[inner] - illuminate(normals, np.ones(len(normals)))).max() < 0.03
    assert (light <= cover + 1e-6).all()


def test_light_comes_from_above_left():
    normals = np.array([[-0.5, 0.7, 0.5], [0.5, -0.7, 0.5], [0, 0, -1]])
    level = illuminate(normals / np.linalg.norm(normals, axis=1, keepdims=True), np.ones(3))
    assert level[0] > 0.8 > 0.4 > level[1] > level[2] > 0
    assert illuminate(np.array([[0, 0, 1.0]]), np.zeros(1)) == 0  # what sees no sky is dark


@pytest.mark.parametrize("nearer", [0, 1])
def test_the_nearer_of_two_balls_hides_the_other(sphere, nearer):
    n, depth = len(sphere.vertices), np.where([nearer == 0, nearer == 1], 3.0, -3.0)
    pair = Mesh(
        np.concatenate([sphere.vertices + np.array([0, 0, z]) for z in depth]).astype(np.float32),
        np.concatenate([sphere.normals] * 2),
        np.repeat(np.float32([1.0, 0.25]), n),  # the second is darker
        np.concatenate([sphere.triangles, sphere.triangles + n]),
        np.arange(2 * n),
    )
    light, _ = draw(pair, np.eye(3), scale=20, centre=(32, 32), size=64)
    one = replace(sphere, sky=np.full(n, [1.0, 0.25][nearer], np.float32))
    alone, _ = draw(one, np.eye(3), scale=20, centre=(32, 32), size=64)
    assert np.abs(light - alone).max() < 0.02
    assert light.max() > 0.8 if nearer == 0 else light.max() < 0.3


def test_moving_by_whole_pixels_moves_the_image_and_outside_nothing_is_drawn():
    body = build("object004", 0)
    here, there = (draw(body, np.eye(3), scale=25, centre=(60 + dx, 64), size=128)[0] for dx in (0, 7))
    assert np.abs(there[:, 7:] - here[:, :-7]).max() < 0.02
    beyond = draw(body, np.eye(3), scale=25, centre=(-60, 64), size=128)
    assert not beyond[0].any() and not beyond[1].any()
    cut = draw(body, np.eye(3), scale=25, centre=(0, 64), size=128)[1]
    whole = draw(body, np.eye(3), scale=25, centre=(64, 64), size=128)[1]
    assert np.array_equal(cut[:, :64], whole[:, 64:])


def test_in_the_plane_a_quarter_turn_turns_the_outline():
    body = build("object001", 0)
    straight, quarter = (draw(body, turned(2, a), scale=40, centre=(64, 64), size=128)[1] for a in (0, 90))
    assert np.abs(np.rot90(straight) - quarter).mean() < 1e-3  # counter-clockwise, as rot90


@given(st.lists(st.tuples(*[st.integers(-20, 20)] * 2), min_size=1, max_size=7))
@settings(deadline=None, max_examples=150)
def test_the_smallest_circle_is_the_smallest_of_all_through_two_or_three_points(points):
    cloud = np.array(points) / 4
    x, y, radius = smallest_circle(cloud)
    assert np.linalg.norm(cloud - [x, y], axis=1).max() <= radius + 1e-6
    assert radius == pytest.approx(brute_force(cloud), abs=1e-6)


def brute_force(cloud: np.ndarray) -> float:
    best = np.inf if len(cloud) > 1 else 0.0
    centres = [(a + b) / 2 for a, b in combinations(cloud, 2)]
    for a, b, c in combinations(cloud, 3):
        lines = 2 * np.array([b - a, c - a])
        if abs(np.linalg.det(lines)) > 1e-9:
            centres.append(np.linalg.solve(lines, [b @ b - a @ a, c @ c - a @ a]))
    for centre in centres:
        best = min(best, np.linalg.norm(cloud - centre, axis=1).max())
    return float(best)


def test_rotations_are_proper_and_uniform():
    rotations = np.stack([random_rotation(seeds.rng("rotation", k)) for k in range(4000)])
    assert np.allclose(rotations @ np.swapaxes(rotations, 1, 2), np.eye(3), atol=1e-12)
    assert np.allclose(np.linalg.det(rotations), 1)
    for i in range(3):
        for j in range(3):  # a coordinate of a uniform point on the sphere is uniform (Archimedes)
            assert kstest(rotations[:, i, j], "uniform", args=(-1, 2)).pvalue > 1e-3
    angle = np.arccos(np.clip((np.trace(rotations, axis1=1, axis2=2) - 1) / 2, -1, 1))
    assert kstest(angle, lambda a: (a - np.sin(a)) / np.pi).pvalue > 1e-3  # of the Haar measure


@pytest.mark.parametrize(("axis", "stays"), [(0, [1, 0, 0]), (1, [0, 1, 0]), (2, [0, 0, 1])])
def test_a_turn_keeps_its_axis_and_four_quarters_are_none(axis, stays):
    quarter = turned(axis, 90)
    assert np.allclose(quarter @ stays, stays)
    assert np.allclose(np.linalg.matrix_power(quarter, 4), np.eye(3))
    assert np.allclose(turned(2, 90) @ [1, 0, 0], [0, 1, 0])
