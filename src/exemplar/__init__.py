"""Exemplar: what can you do after seeing something once? The same tasks, records and scores for people and machines."""

import os

__version__ = "0.1.0"

# torch's threads meet after every small operation. Where they wait for each other by spinning, as is the custom, a core
# that is busy with something else costs a factor of ten. Read when torch is first imported; a value of your own wins.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
