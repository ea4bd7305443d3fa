"""The experiments of the room."""

from exemplar.recall.studies.kept import CIFAR_FS, OMNIGLOT

RESULTS = {"recall-omniglot": OMNIGLOT, "recall-cifar-fs": CIFAR_FS}
