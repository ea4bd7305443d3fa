"""The experiments that need nothing but images, one per file."""

from exemplar.images.studies.naming import NAMING
from exemplar.images.studies.official_runs import OFFICIAL_RUNS

RESULTS = {"naming-by-pixels": NAMING, "official-runs-by-ink": OFFICIAL_RUNS}
