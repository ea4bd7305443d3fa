"""The experiments of the room, one per file."""

from exemplar.learn.studies import group_tests, interval_coverage, null_tests, phase_tests
from exemplar.learn.studies.encoder_rules import ENCODERS
from exemplar.learn.studies.people import PEOPLE

RESULTS = {
    "learn-people": PEOPLE,
    "learn-encoders": ENCODERS,
    "learn-null": null_tests.KEPT,
    "learn-coverage": interval_coverage.KEPT,
    "learn-phases": phase_tests.KEPT,
    "learn-groups": group_tests.KEPT,
}
