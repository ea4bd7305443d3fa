"""Statistics of the house: bootstrap by weights, intervals, correlations, permutation tests, corrections, z-scores.

Arrays in, an `Estimate` out. Nothing loops over replicates, and whatever is random takes `rng`.

    stats.mean(scores)                                                        # Student's t
    stats.mean_share(shares)                                                  # between 0 and 1: covers near the ends too
    stats.bootstrap(scores, groups=alphabet, rng=rng)                         # whole alphabets drawn
    stats.bootstrap(stats.weighted.std(scores), method="bca", rng=rng)
    stats.pearson(diversity, accuracy, groups=task_classes, rng=rng)

    draws = stats.resample(len(scores), strata=subtask, rng=rng)              # one matrix for many scores
    stats.interval(my_score(draws), my_value, n=len(scores))
"""

from exemplar.stats import weighted
from exemplar.stats.bootstrapping import acceleration, bootstrap, interval
from exemplar.stats.comparisons import adjust_p
from exemplar.stats.correlation import correlation_p, pearson, spearman
from exemplar.stats.curves import quarter_means
from exemplar.stats.estimate import Estimate
from exemplar.stats.intervals import mean, proportion
from exemplar.stats.permutation import PermutationTest, correlation_test, difference_test, paired_test
from exemplar.stats.resampling import leave_one_out, resample
from exemplar.stats.scale import Scale, fit_scale, zscores
from exemplar.stats.shares import mean_share
from exemplar.stats.weighted import Statistic

__all__ = [
    "Estimate",
    "PermutationTest",
    "Scale",
    "Statistic",
    "acceleration",
    "adjust_p",
    "bootstrap",
    "correlation_p",
    "correlation_test",
    "difference_test",
    "fit_scale",
    "interval",
    "leave_one_out",
    "mean",
    "mean_share",
    "paired_test",
    "pearson",
    "proportion",
    "quarter_means",
    "resample",
    "spearman",
    "weighted",
    "zscores",
]
