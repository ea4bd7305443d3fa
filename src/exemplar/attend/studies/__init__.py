"""The experiments of the room, one per file."""

from exemplar.attend.studies.coverage import COVERAGE
from exemplar.attend.studies.readings import READINGS
from exemplar.attend.studies.steps import STEPS

STUDIES = {"coverage": COVERAGE, "steps": STEPS, "readings": READINGS}
DESCRIBED = {name: study.title for name, study in STUDIES.items()}
