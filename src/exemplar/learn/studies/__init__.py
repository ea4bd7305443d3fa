"""The experiments of the room, one per file."""

from exemplar.learn.studies.encoder_rules import ENCODERS
from exemplar.learn.studies.people import PEOPLE

RESULTS = {"learn-people": PEOPLE, "learn-encoders": ENCODERS}
