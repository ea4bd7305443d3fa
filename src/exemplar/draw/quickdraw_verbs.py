"""The verbs of the front door that make QuickDraw-FS of Quick, Draw!'s drawings. Light, as the front door is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from exemplar.draw.arguments import FIT, Folder, Form, Variations
from exemplar.options import Address, Device, Engine, Names, Option, Place, Seed, Workers, make_backend, verb

if TYPE_CHECKING:
    from exemplar.answers import Answer


@verb
def train_quickdraw(
    out: Annotated[Place, Option("Where weights and card go; a training that was stopped resumes there.")] = Path(
        "quickdraw-spaces"
    ),
    folder: Folder = None,
    form: Form = "bitmaps",
    most: Annotated[
        int, Option("Drawings of each category to train on, of those that are set aside, at most.", low=1)
    ] = 1_000,
    steps: Annotated[int | None, Option("Other than the recipe's, for a try.", low=1)] = None,
    every: Annotated[int, Option("Steps between two entries of the learning curve.", low=1)] = 500,
    device: Device = "auto",
    seed: Seed = 0,
) -> Answer:
    """Step 2 of QuickDraw-FS: train the space for clustering on the drawings that are set aside; one ships with the package."""
    from exemplar.draw.quickdraw_fs.training import train_clustering

    return train_clustering(out, folder, form, most, steps, every, device, seed)


@verb
def cluster_quickdraw(
    out: Annotated[Place, Option("The run's folder; one that was stopped resumes there.")] = Path("quickdraw-clusters"),
    folder: Folder = None,
    form: Form = "bitmaps",
    space: Annotated[
        str, Option("Where distances are measured; FOLDER/NAME for your own.")
    ] = "simclr-quickdraw-clusters-s0",
    set_aside: Annotated[
        int, Option("Drawings of each category that come first and are left out, at most.", low=0)
    ] = 15_000,
    drawings: Annotated[int, Option("Drawings of each category that are clustered, at most.", low=1)] = 5_000,
    clusters: Annotated[
        int,
        Option("Clusters of a category that has so many drawings; in proportion fewer of one that has fewer.", low=2),
    ] = 6,
    device: Annotated[str, Option("A GPU wants --engine here.", choices=("cpu", "cuda", "cuda:N"))] = "cpu",
    engine: Engine = "pool",
    workers: Workers = None,
    address: Address = None,
    seed: Seed = 0,
) -> Answer:
    """Steps 1, 3 and 4 of QuickDraw-FS: encode each category's drawings and cluster them, one category at a time."""
    from exemplar.draw.quickdraw_fs.building import cluster_data

    backend = make_backend(engine, workers, address)
    return cluster_data(out, folder, form, space, set_aside, drawings, clusters, device, backend, seed)


@verb
def build_quickdraw(
    clusters: Annotated[Place, Option("The folder that `cluster` wrote.", positional=True)],
    out: Annotated[Place, Option("The run's folder: the data, the sheet, the verdicts.")] = Path("quickdraw-fs"),
    smallest: Annotated[int, Option("Drawings a cluster must have.", low=1)] = 501,
    max_spread: Annotated[str, Option(f"Mean distance to the centre, at most; {FIT}.")] = "fit",
    min_distance: Annotated[str, Option(f"Between two centres, at least; {FIT}.")] = "fit",
    variations: Annotated[int, Option("Drawings kept of a concept besides its exemplar.", low=1)] = 500,
    keep: Variations = "nearest",
    split: Annotated[
        str,
        Option("At random, or by category.", choices=("published", "category"), kind="way to split concepts"),
    ] = "published",
    train_share: Annotated[float, Option("Of the concepts, of the published split.", low=0, high=1)] = 550 / 665,
    drop: Annotated[Names, Option("A cluster to remove by hand, such as cat-3; may be repeated.")] = (),
    picture: Annotated[Names, Option("A category to show on a plane, as in Fig. A.2; may be repeated.")] = (),
    seed: Seed = 0,
) -> Answer:
    """Steps 5 to 8 of QuickDraw-FS: remove small, spread and close clusters, keep an exemplar and drawings of the others, and
    split them."""
    from exemplar.draw.quickdraw_fs.building import build_from_clusters

    return build_from_clusters(
        clusters, out, smallest, max_spread, min_distance, variations, keep, split, train_share, drop, picture, seed
    )


@verb
def divide_quickdraw(
    clusters: Annotated[Place, Option("The folder that `cluster` wrote.", positional=True)],
    built: Annotated[Place, Option("The folder that `build` wrote: its test sets are left out.", positional=True)],
    out: Annotated[Place, Option("The run's folder; one that was stopped resumes there.")] = Path("quickdraw-parts"),
    each: Annotated[int, Option("Drawings of a part, before the outermost are left out.", low=1)] = 200,
    smallest: Annotated[int, Option("A part of fewer drawings is left out.", low=1)] = 60,
    share: Annotated[float, Option("Of a part's drawings, the nearest to its centre are kept.", low=0, high=1)] = 0.7,
    device: Annotated[str, Option("A GPU wants --engine here.", choices=("cpu", "cuda", "cuda:N"))] = "cpu",
    engine: Engine = "pool",
    workers: Workers = None,
    address: Address = None,
    seed: Seed = 0,
) -> Answer:
    """Divide the clusters that are in no test set into smaller ones: classes to train a critic of QuickDraw-FS on."""
    from exemplar.draw.quickdraw_fs import load_clusters
    from exemplar.draw.quickdraw_fs.dividing import DivideConfig, divide_clusters

    backend, place = make_backend(engine, workers, address), Path(clusters).expanduser()
    config = DivideConfig(each, smallest, share, device=device)
    return divide_clusters(
        Path(out).expanduser(), load_clusters(place), Path(built).expanduser(), config, seed=seed, backend=backend
    )
