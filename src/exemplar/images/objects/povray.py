"""A view as a scene for POV-Ray (version 3.6 or later), for those who want a ray tracer's picture of the same object."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from exemplar.files import whole_file
from exemplar.images.objects.pictures import GREY, Pictures
from exemplar.images.objects.renderer import AMBIENT, DIFFUSE, FILL, FILLING, GLOSS, KEY


def write_scene(path: Path, pictures: Pictures, row: int) -> None:
    """Write the scene of one image; draw it with `povray +Iscene.pov +W256 +H256 +A`."""
    with whole_file(path) as part:
        part.write_text(scene(pictures, row), encoding="ascii")


def scene(pictures: Pictures, row: int) -> str:
    """The object of one image, where it lies there, lit as there, before plain grey: the image spans −1 to 1 each way."""
    body, rotation, scale, (x, y) = pictures.placed(row)
    half = pictures.size / 2
    to_scene = rotation * (scale / half)
    vertices = body.vertices @ to_scene.T + [x / half - 1, 1 - y / half, 0]
    views = pictures.views
    return "\n".join(
        [
            f"// {views.concept[row]}, view {views.index[row]}: {views.transformation[row]} {views.level[row]:g}",
            "#version 3.6;",
            "global_settings { assumed_gamma 1 }",
            "camera { orthographic location <0, 0, -10> look_at <0, 0, 0> right 2*x up 2*y }",
            f"background {{ color rgb {GREY} }}",
            f"light_source {{ {_vector(20 * KEY)}, color rgb 1 parallel point_at <0, 0, 0> }}",
            f"light_source {{ {_vector(20 * FILL)}, color rgb {FILLING / DIFFUSE:.4f} parallel point_at <0, 0, 0> }}",
            "mesh2 {",
            _block("vertex_vectors", vertices * [1, 1, -1]),
            _block("normal_vectors", (body.normals @ rotation.T) * [1, 1, -1]),
            _block("face_indices", body.triangles),
            "  pigment { color rgb 1 }",
            f"  finish {{ ambient {AMBIENT} diffuse {DIFFUSE} specular {GLOSS} roughness 0.03 }}",
            "}",
            "",
        ]
    )


def _vector(vector: np.ndarray) -> str:
    """Ours points to the viewer along z, POV-Ray's away."""
    return f"<{vector[0]:.5f}, {vector[1]:.5f}, {-vector[2]:.5f}>"


def _block(name: str, rows: np.ndarray) -> str:
    entry = "<%d, %d, %d>" if rows.dtype.kind == "i" else "<%.5f, %.5f, %.5f>"
    return f"  {name} {{ {len(rows)}, " + ",\n    ".join(entry % tuple(row) for row in rows.tolist()) + " }"
