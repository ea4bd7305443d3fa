"""How each type of experiment becomes records: type → function (experiment, trials, folder) → files written."""

from __future__ import annotations

from exemplar.lab.exports.clicked import write_maps
from exemplar.lab.exports.drawn import write_drawings
from exemplar.lab.exports.learned import write_trials
from exemplar.lab.exports.told_apart import write_choices

WRITERS = {"learning": write_trials, "drawing": write_drawings, "turing": write_choices, "clickme": write_maps}
