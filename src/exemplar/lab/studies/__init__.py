"""What we looked into about the lab's scores: one study per file."""

from __future__ import annotations

from exemplar.lab.studies import turing_coverage

RESULTS = {"lab-turing-coverage": turing_coverage.KEPT}
