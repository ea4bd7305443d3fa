"""The experiments on spaces, one per file, and those whose scores are kept."""

from exemplar.spaces.studies.backbones import BACKBONES
from exemplar.spaces.studies.critic_choices import CRITIC_CHOICES
from exemplar.spaces.studies.maml_vs_protonet import MAML_VS_PROTONET
from exemplar.spaces.studies.official_runs import OFFICIAL_RUNS
from exemplar.spaces.studies.protonet_accuracy import PROTONET_ACCURACY
from exemplar.spaces.studies.s17 import S17_CONTROL

RESULTS = {
    "critic-choices": CRITIC_CHOICES,
    "protonet-accuracy": PROTONET_ACCURACY,
    "official-runs-by-protonet": OFFICIAL_RUNS,
    "maml-vs-protonet": MAML_VS_PROTONET,
    "backbones": BACKBONES,
    "s17-control": S17_CONTROL,
}
