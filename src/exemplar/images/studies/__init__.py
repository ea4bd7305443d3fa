"""The experiments that need nothing but images, one per file."""

from exemplar.images.studies.coarse_bitmaps import COARSE_BITMAPS
from exemplar.images.studies.naming import NAMING
from exemplar.images.studies.official_runs import OFFICIAL_RUNS

RESULTS = {"naming-by-pixels": NAMING, "official-runs-by-ink": OFFICIAL_RUNS, "quickdraw-28px": COARSE_BITMAPS}
