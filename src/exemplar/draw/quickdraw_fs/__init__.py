"""QuickDraw-FS: Quick, Draw! divided into visual concepts, one exemplar each (Diffusion models as artists, App. A.2).

    clusters = cluster_folder("runs/clusters", folder)   # long: steps 1, 3 and 4, one category at a time; killed, it resumes
    built = build_data("runs/fs", clusters)              # short: steps 5 to 8; again with other thresholds
    load("runs/fs/quickdraw-fs-test.npz")                # a data set like any other, with its exemplars
    divide_clusters("runs/parts", clusters, "runs/fs")   # what is in no test set, divided again: to train critics on

What the package ships of its own is the list `concepts.npz` that `build_data` writes (`images/quickdraw_fs.npz`).

The eight steps, and what we chose where the paper leaves it open:

1. 15,000 drawings per category are set aside for training, 5,000 are divided into concepts: here the first ones of the file and
   those that follow; where a category has fewer, at least a fifth is set aside (`images.quickdraw_fs.count_aside`). Whether the
   game recognized a drawing does not matter; one that is there twice is taken once.
2. A SimCLR space, trained on what is set aside (`training.py`); one ships.
3. Features of the drawings as they will be kept: 48 px, binarised at 0.3, ℓ2 distances on the raw features.
4. k-means with 6 clusters for 5,000 drawings, in proportion for fewer: the best of 10 runs from k-means++ beginnings. Clusters
   are numbered by their size from 1, the largest: `cat-1`. A centre is the mean of its drawings.
5. Clusters of fewer than 501 drawings are removed, drawings that another category has, too, not counted.
6. Clusters whose drawings lie further than 1,800 from the centre on average are removed.
7. Of clusters of one category whose centres lie nearer than 700 to each other the largest is kept: they are gone through by
   size, among those that passed 5 and 6.
8. The exemplar is the drawing nearest to the centre, of all drawings of the cluster. It comes first; of the others
   the 500 nearest to the centre are kept (or some at random), in random order.

Last come the clusters a person removes by name after looking at the sheet (the paper removed 2; we none), and two splits
(`splits.py`): of the concepts at random, 550 : 115, where two concepts of one category may fall on two sides, as in the paper;
and by category.

The thresholds 1,800 and 700 belong to the paper's network: distances in another space have another scale. Left out (None, the
command line's default) they are fitted (`filters.fit_filters`).
"""

from exemplar.draw.quickdraw_fs.build import BuildConfig, Built, build_data
from exemplar.draw.quickdraw_fs.clusters import ClusterConfig, Clusters, cluster_folder, load_clusters
from exemplar.draw.quickdraw_fs.dividing import DivideConfig, divide_clusters
from exemplar.draw.quickdraw_fs.filters import Filters, apply_filters, fit_filters

__all__ = [
    "BuildConfig",
    "Built",
    "ClusterConfig",
    "Clusters",
    "DivideConfig",
    "Filters",
    "apply_filters",
    "build_data",
    "cluster_folder",
    "divide_clusters",
    "fit_filters",
    "load_clusters",
]
