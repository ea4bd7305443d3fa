"""The GANs that can be trained."""

from __future__ import annotations

from dataclasses import replace

from exemplar.draw.gan.objective import Adversarial
from exemplar.draw.trainable import Preset

PAIRS = "An exemplar is shown, and another drawing of its class is what is real"
REVERSED = "As released, a drawing is shown and its class's exemplar is what is real"
TRAINED = (
    "Counts are the generator's. WGAN-GP with λ = 10, as coded, in neither paper; epochs count the critic's batches. Ours: no "
    "dropout, drawings between 0 and 1, and a critic like the generator's way down, each drawing normalised by itself"
)
UN, RN = Adversarial(), Adversarial(skips=False)
PRESETS = {
    "dagan-un": Preset(
        "dagan-un", "6.81 M, the paper's on Omniglot", UN, f"{PAIRS}. {TRAINED}.", epochs=30, size=50
    ),
    "dagan-un-reversed": Preset(
        "dagan-un", "the same, pairs reversed as released", replace(UN, reversed_pairs=True), f"{REVERSED}. {TRAINED}.",
        epochs=30, size=50,
    ),
    "dagan-un-quickdraw": Preset(
        "dagan-un", "10.6 M, the paper's on QuickDraw-FS", replace(UN, latent=120, inner=3), f"{PAIRS}. {TRAINED}.", epochs=30
    ),
    "dagan-rn": Preset(
        "dagan-rn", "6.15 M, the paper's on Omniglot: no skip connections", RN,
        f"The paper says as many parameters as DA-GAN-UN; without skips there are 6,149,153. {PAIRS}. {TRAINED}.",
        epochs=30, size=50,
    ),
    "dagan-rn-reversed": Preset(
        "dagan-rn", "the same, pairs reversed as released", replace(RN, reversed_pairs=True), f"{REVERSED}. {TRAINED}.",
        epochs=30, size=50,
    ),
    "dagan-rn-quickdraw": Preset(
        "dagan-rn", "9.68 M, the paper's on QuickDraw-FS: no skip connections", replace(RN, latent=120, inner=3),
        f"The paper says as many parameters as DA-GAN-UN; without skips there are 9,681,347. {PAIRS}. {TRAINED}.", epochs=30,
    ),
    "dagan-tiny": Preset(
        "dagan-un", "21 K, to try things out", epochs=4, note="Ours: for tests and first tries.",
        objective=Adversarial(latent=8, inner=1, width=4, critic_steps=2, batch=4, learning_rate=1e-3),
    ),
}  # fmt: skip
