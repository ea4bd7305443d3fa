"""What was chosen on which data, recipe by recipe: a sentence each, which goes on the card.

How the choices came out is printed by `exemplar results run critic-choices`.
"""

from __future__ import annotations

BEFORE = (
    "Nothing was chosen on validation data: rate, length and the network without the ReLU were set with the test "
    "split and the published numbers in view; its curve is of the test split."
)
SIMCLR = (
    "Rate and length were chosen on omniglot/weak-val among rates 3e-4, 1e-3, 3e-3, with and without the ReLU, 10,000 "
    "and 20,000 steps, by networks trained without it with the released moderate views; that the views are the "
    "released ones was not chosen by accuracy: the published controls were made with them."
)
SIMCLR_OTHER_VIEWS = (
    "Rate and length are those chosen on omniglot/weak-val for the released moderate views; nothing was chosen for "
    "these views."
)
PROTONET = (
    "Rate 1e-3 and no ReLU, as before, stayed on omniglot/weak-val: within noise of the best of rates 3e-4, 1e-3, "
    "3e-3 with and without the ReLU, all trained without it; the length was not chosen."
)
MAML = (
    "The inner rate .1 was chosen on omniglot/weak-val among .01, .1 and .4, one training of 1,000 steps each without "
    "it; nothing else was chosen."
)
BACKGROUND = (
    "Rate 1e-3, no ReLU and 16,000 steps, as before, stayed on omniglot/background-val: within noise of the best of "
    "rates 3e-4, 1e-3, 3e-3 with and without the ReLU at 8,000 and 16,000 steps, all trained without it."
)
QUICKDRAW_CLUSTERS = (
    "Views, rate and length are Omniglot's, chosen on its weak-val; on quickdraw/val, by networks trained without it on the "
    "drawings set aside, they were better than the one other recipe whose training was finished (the text's views, 1e-3, "
    "8,000 steps). Chosen to cluster by, not to score with."
)
QUICKDRAW_SIMCLR = (
    "Views, rate and network were chosen on quickdraw-fs/critics-val among the released moderate, light and strong views, "
    "rates 3e-4 and 1e-3, and a conv4, by networks trained without its categories; the length was not chosen."
)
QUICKDRAW_PROTONET = (
    "What the classes are was chosen on quickdraw-fs/critics-val, by networks trained without its categories: clusters divided "
    "into smaller ones, rather than concepts, and any drawing as support; poses per class, as published, were worse there. "
    "Length and rate were not chosen."
)
QUICKDRAW_RESNET = "Nothing was chosen: the published network by the recipe that was chosen for the small one."
