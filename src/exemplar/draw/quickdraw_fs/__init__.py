"""QuickDraw-FS: Quick, Draw! parted into visual concepts, one exemplar each (Diffusion models as artists, App. A.2).

    clusters = cluster_folder("runs/clusters", folder)   # long: steps 1 to 4, one category at a time; killed, it resumes
    built = build_data("runs/fs", clusters)              # short: steps 5 to 8; again with other thresholds
    load("runs/fs/quickdraw-fs-test.npz")                # a data set like any other
    load_task("runs/fs/quickdraw-fs-test.npz")           # with its exemplars

The eight steps, and what we chose where the paper leaves it open:

1. 15,000 drawings per category are set aside for training, 5,000 are divided into concepts: here the first ones of the file and
   those that follow; fewer where a category has fewer. Whether the game recognized a drawing does not matter.
2. A SimCLR space, trained elsewhere: any space of the zoo.
3. Features of the drawings as they will be kept: 48 px, binarised at 0.3, ℓ2 distances on the raw features.
4. k-means with 6 clusters, in each category: the best of 10 runs from k-means++ beginnings. Clusters are numbered by their size
   from 1, the largest: `cat-1`. A centre is the mean of its drawings.
5. Clusters of fewer than 500 drawings are removed.
6. Clusters whose drawings lie further than 1,800 from the centre on average are removed.
7. Of clusters of one category whose centres lie nearer than 700 to each other the largest is kept: they are gone through by
   size, among those that passed 5 and 6.
8. The exemplar is the drawing nearest to the centre, of all drawings of the cluster. 500 drawings per concept are kept: the
   exemplar, which comes first, and others at random (so people made 499 besides it; the paper counts both ways).

Last come the clusters a person removes by name after looking at the sheet (the paper removed 2), and a random split of the
concepts, 550 : 115; two concepts of one category may fall on two sides, as in the paper.

The thresholds 1,800 and 700 belong to the paper's network: distances in another space have another scale. Left out (None, the
command line's default) they are fitted to what the paper reports of their effect (`filters.fit_filters`).
"""

from exemplar.draw.quickdraw_fs.build import BuildConfig, Built, build_data
from exemplar.draw.quickdraw_fs.clusters import ClusterConfig, Clusters, cluster_folder, load_clusters
from exemplar.draw.quickdraw_fs.filters import Filters, apply_filters, fit_filters

__all__ = [
    "BuildConfig",
    "Built",
    "ClusterConfig",
    "Clusters",
    "Filters",
    "apply_filters",
    "build_data",
    "cluster_folder",
    "fit_filters",
    "load_clusters",
]
