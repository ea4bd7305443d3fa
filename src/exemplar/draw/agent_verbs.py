"""The verbs of the front door that are about agents: they draw, are checked, and are trained. Light, as the front door is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from exemplar.draw.arguments import Agent, Concepts, Data, Exemplar, Number, Split
from exemplar.options import Address, Device, Engine, Names, Option, Place, Seed, Workers, verb

if TYPE_CHECKING:
    from exemplar.answers import Answer
    from exemplar.draw.checking import CheckedAgent
    from exemplar.draw.sampling import SampledDrawings


@verb
def sample(
    agent: Annotated[
        Agent,
        Option(
            "Who draws: an agent of the room, FOLDER/NAME of one you trained, or a function of yours, file.py:function.",
            positional=True,
        ),
    ],
    data: Annotated[
        str | None, Option("What is drawn: a data set, a folder, or an npz; none where --exemplar is an image.")
    ] = None,
    split: Split = None,
    exemplar: Annotated[
        str, Option("Which drawing is shown: centre, centre:SPACE, drawer:NAME, random; or an image file of your own.")
    ] = "centre",
    n: Number = None,
    concepts: Concepts = (),
    out: Annotated[Place | None, Option("The folder to write; one below runs/draw unless given.")] = None,
    seed: Seed = 0,
) -> SampledDrawings:
    """Let an agent draw: a record of its drawings, and a sheet to look at. `draw score` takes the folder.

    Returns:
        An answer whose `drawings` is the record, and whose `figures` hold the sheet.

    >>> import exemplar as ex
    >>> drawn = ex.draw.sample("redraw@2", data="glyphs", exemplar="random", n=3, out="drawn")
    >>> len(drawn.drawings), drawn.drawings.image.shape
    (270, (270, 105, 105))
    """
    from exemplar.draw.choices import read_words
    from exemplar.draw.own_exemplar import is_image
    from exemplar.draw.requests import Request
    from exemplar.draw.sampling import sample_after_image, sample_into_folder
    from exemplar.errors import UserError

    if is_image(exemplar):
        if data is not None or split is not None or concepts:
            raise UserError("An image of your own is the exemplar: leave --data, --split and --concepts out.")
        return sample_after_image(agent, exemplar, n, out, seed)
    if data is None:
        raise UserError("Nothing to draw: give --data, or an image file as --exemplar.")
    only = read_words(concepts)
    request = Request(data=data, split=split, exemplar=exemplar, n=n, seed=seed, only=only, people=False)
    return sample_into_folder(agent, request, out)


@verb
def list_agents() -> Answer:
    """The agents of the room, one line each.

    >>> import exemplar as ex
    >>> [agent["name"] for agent in ex.draw.list_agents()["agents"] if agent["ready"]][:4]
    ['copies', 'others', 'noise', 'redraw']
    """
    from exemplar.draw.checking import describe_agents

    return describe_agents()


@verb
def check_agent(
    agent: Annotated[
        Agent, Option("An agent of yours, file.py:function, or one of the room.", known="draw agents", positional=True)
    ],
    data: Annotated[
        str, Option("The drawings to check it on: a data set, a folder, or an npz.", known="data")
    ] = "glyphs",
    concepts: Annotated[int, Option("How many of its concepts.", low=2)] = 8,
    seed: Seed = 0,
) -> CheckedAgent:
    """Whether an agent keeps the room's contract, sample(exemplars, n, rng); says what is wrong with it, one finding per line.

    >>> import exemplar as ex
    >>> ex.draw.check_agent("copies").ok
    True
    """
    from exemplar.draw.checking import check_drawing_agent

    return check_drawing_agent(agent, data, concepts, seed)


@verb
def train(
    agent: Annotated[
        str,
        Option(
            "An agent or preset, such as cfgdm, cfgdm-small or vae-ns; `draw agents` lists them.",
            known="draw agents",
            positional=True,
        ),
    ],
    data: Annotated[
        str,
        Option(
            "What it learns from: omniglot, quickdraw-fs, glyphs, another data set, a folder, or an npz.", known="data"
        ),
    ] = "omniglot",
    split: Annotated[str | None, Option("Which part of the data; the one to train on unless given.")] = None,
    setting: Annotated[
        Names,
        Option("A setting other than the preset's, NAME=VALUE, as width=24, beta=2 or shuffle=true; may be repeated."),
    ] = (),
    steps: Annotated[int | None, Option("Steps of training; the paper's epochs unless given.", low=1)] = None,
    hold_out: Annotated[
        str | None, Option("A split of the data whose concepts are left out and evaluated on, as weak-val.")
    ] = None,
    out: Annotated[
        Place, Option("Where weights, card, curve and sheet go; a training that was stopped resumes there.")
    ] = Path("agents"),
    every: Annotated[int, Option("Steps between two entries of the learning curve.", low=1)] = 500,
    device: Device = "auto",
    devices: Annotated[int, Option("How many devices, each with its own batches.", low=1)] = 1,
    seed: Seed = 0,
) -> Answer:
    """Train an agent: weights and card, its learning curve, and a sheet of drawings that is renewed on the way.

    >>> import exemplar as ex
    >>> trained = ex.draw.train("cfgdm-tiny", data="glyphs", steps=2, every=2, setting=["batch=4"], out="agents", device="cpu")
    >>> trained["steps"], trained["agent"]
    (2, 'agents/cfgdm-tiny-batch-4-glyphs-s0')
    """
    from exemplar.draw.training import train_agent

    return train_agent(agent, data, split, setting, steps, hold_out, out, every, device, devices, seed)


@verb
def prepare_training(
    agent: Annotated[str, Option("An agent or preset, as in `draw train`.", known="draw agents", positional=True)],
    data: Annotated[str, Option("What it learns from, as in `draw train`.", known="data")] = "omniglot",
    split: Annotated[str | None, Option("Which part of the data; the one to train on unless given.")] = None,
    setting: Annotated[Names, Option("A setting other than the preset's, NAME=VALUE; may be repeated.")] = (),
    steps: Annotated[int | None, Option("Steps of training; the paper's epochs unless given.", low=1)] = None,
    hold_out: Annotated[str | None, Option("A split whose concepts are left out and evaluated on.")] = None,
    out: Annotated[Place, Option("The .npz file to write.")] = Path("training.npz"),
    device: Device = "auto",
    seed: Seed = 0,
) -> Answer:
    """Write all that a training needs into one file, for a machine that has torch and little else."""
    from exemplar.draw.sending import prepare_training as prepare

    return prepare(agent, data, split, setting, steps, hold_out, out, device, seed)


@verb
def prepare_exemplars(
    data: Data,
    split: Split = None,
    exemplar: Exemplar = "centre",
    concepts: Concepts = (),
    out: Annotated[Place, Option("The .npz file to write.")] = Path("exemplars.npz"),
    size: Annotated[
        int, Option("px per side, those of the network: 48, and 50 for VAEs and GANs on Omniglot.", low=1)
    ] = 48,
    seed: Seed = 0,
) -> Answer:
    """Write the exemplars of a task into one file, to draw after them on a machine that has torch and little else."""
    from exemplar.draw.choices import read_words
    from exemplar.draw.sending import prepare_exemplars as prepare

    return prepare(data, split, exemplar, read_words(concepts), out, size, seed)


@verb
def finish_training(
    prepared: Annotated[Place, Option("The file that was sent.", positional=True)],
    weights: Annotated[Place, Option("The .pt that came back.", positional=True)],
    out: Annotated[Place, Option("Where weights, card and curve go.")] = Path("agents"),
) -> Answer:
    """Make an agent of what was trained on another machine."""
    from exemplar.draw.sending import finish_training as finish

    return finish(prepared, weights, out)


@verb
def record_drawings(
    drawn: Annotated[Place, Option("The .npz of drawings that came back, its .json beside it.", positional=True)],
    agent: Annotated[str, Option("Who drew, as the record will say.")],
    data: Data,
    split: Split = None,
    exemplar: Exemplar = "centre",
    concepts: Concepts = (),
    out: Annotated[Place | None, Option("The folder to write; one below runs/draw unless given.")] = None,
    seed: Seed = 0,
) -> SampledDrawings:
    """Make a record, as `draw sample` leaves it, of what was drawn on another machine, with its weights, settings and time."""
    from exemplar.draw.choices import read_words
    from exemplar.draw.sending import record_drawings as record

    return record(drawn, agent, data, split, exemplar, read_words(concepts), out, seed)


@verb
def train_grid(
    name: Annotated[
        str, Option("A grid of the paper, by its appendix (F.3, G.4, S12, S13 …), or own.", positional=True)
    ],
    vary: Annotated[Names, Option("Of a grid of your own: NAME=VALUE,VALUE…, as width=24,40; may be repeated.")] = (),
    preset: Annotated[str | None, Option("Of a grid of your own: which preset.")] = None,
    data: Annotated[str | None, Option("What they learn from; the grid's own data unless given.")] = None,
    steps: Annotated[int | None, Option("Steps of each training; the paper's epochs unless given.", low=1)] = None,
    every: Annotated[int, Option("Steps between two entries of a learning curve.", low=1)] = 500,
    out: Annotated[Place, Option("The folder of all networks; what was stopped resumes there.")] = Path("grid"),
    device: Device = "auto",
    engine: Engine = "here",
    workers: Workers = None,
    address: Address = None,
    gpus_per_job: Annotated[float, Option("GPUs that a job asks a Ray cluster for, or a share of one.", low=0)] = 0.0,
) -> Answer:
    """Train every network of a grid of settings, one job each, and resume what was stopped."""
    from exemplar.draw.grid_training import train_all
    from exemplar.engine import backend

    who = backend(engine, workers, address, gpus_per_job, retries=2)
    return train_all(name, vary, preset, data, steps, every, out, device, who)
