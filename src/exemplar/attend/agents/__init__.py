"""Who marks: the agents of the room by name, what may follow an @, and how one is made for a task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from exemplar.answers import Answer, format_table
from exemplar.attend.agents.entry import Agent, Entry, read_settings
from exemplar.attend.agents.ink import mark_ink, mark_noise
from exemplar.attend.tasks import AttendTask
from exemplar.errors import UserError, unknown
from exemplar.user_code import is_named, load_named, name_of

DEFAULT_SPACE = {"glyphs": "protonet-glyphs-s0", "omniglot": "protonet-omniglot-s0"}
OTHER_SPACE = "protonet-quickdraw-parts-s0"  # quickdraw's, and of drawings that are anyone's own
SPACE_SETTING = "SPACE, or SPACE,against=exemplar"
DIFFUSION = "cfgdm-quickdraw"
DIFFUSION_SETTING = "reading=trajectory|forward|jacobian,times=50|all,guidance=1,sampler=ddim|ancestral"
READINGS = ("trajectory", "forward", "jacobian")


def space_of(task: AttendTask, setting: str) -> tuple[str, str]:
    """Which space an agent looks through, and what its evidence is against."""
    settings, rest = read_settings(setting, {"against": "concepts"})
    if settings["against"] not in ("concepts", "exemplar"):
        raise unknown("thing that evidence is against", settings["against"], ("concepts", "exemplar"))
    return ",".join(rest) or DEFAULT_SPACE.get(task.family, OTHER_SPACE), settings["against"]


def _in_space(build: Callable[[Any], Agent]) -> Callable[[AttendTask, str], Agent]:
    def make(task: AttendTask, setting: str) -> Agent:
        from exemplar.attend.agents.evidence import Evidence
        from exemplar.spaces.loading import find_space

        name, against = space_of(task, setting)
        return build(Evidence(find_space(name), against))

    return make


def _gradient(evidence: Any) -> Agent:
    from exemplar.attend.agents.gradient import Gradient

    return Gradient(evidence)


def _integrated(evidence: Any) -> Agent:
    from exemplar.attend.agents.gradient import IntegratedGradient

    return IntegratedGradient(evidence)


def _occlusion(evidence: Any) -> Agent:
    from exemplar.attend.agents.occlusion import Occlusion

    return Occlusion(evidence)


def _plain(agent: Agent) -> Callable[[AttendTask, str], Agent]:
    def make(task: AttendTask, setting: str) -> Agent:
        if setting:
            raise UserError(f"This agent has no settings: leave @{setting} out.")
        return agent

    return make


def diffusion_agent(model: Any, setting: str = "") -> Agent:
    """Importance maps of a diffusion model (`ex.draw.load_agent`, or an object that answers alike), by a reading of Eq. 4."""
    from exemplar.attend.agents.misalignment import Forward, Trajectory
    from exemplar.attend.agents.score_jacobian import ScoreJacobian

    known = {"reading": READINGS[0], "times": "", "guidance": "1", "sampler": "ddim"}
    settings, rest = read_settings(setting, known)
    if rest:
        raise unknown("setting of a diffusion model's maps", rest[0], known)
    if settings["reading"] not in READINGS:
        raise unknown("reading of Eq. 4", settings["reading"], READINGS)
    wanted = settings["times"] or ("10" if settings["reading"] == "jacobian" else "50")
    try:
        times = None if wanted == "all" else int(wanted)
        guidance = float(settings["guidance"])
    except ValueError as problem:
        raise UserError(f"times and guidance must be numbers ({problem}): write {DIFFUSION_SETTING}.") from problem
    if times is not None and not settings["times"]:
        times = min(times, model.schedule.steps)
    if times is not None:
        model.schedule.times(times)  # more than T are refused now
    if settings["reading"] == "trajectory":
        return Trajectory(model, times, guidance, settings["sampler"])
    return Forward(model, times) if settings["reading"] == "forward" else ScoreJacobian(model, times)


def _diffusion(name: str) -> Callable[[AttendTask, str], Agent]:
    def make(task: AttendTask, setting: str) -> Agent:
        from exemplar.attend.agents.denoiser import load_denoiser

        return diffusion_agent(load_denoiser(name), setting)

    return make


AGENTS = {
    entry.name: entry
    for entry in (
        Entry(
            "gradient",
            "how fast the evidence for the concept changes with a pixel",
            _in_space(_gradient),
            SPACE_SETTING,
        ),
        Entry("integrated-gradient", "the same, along the way from empty paper", _in_space(_integrated), SPACE_SETTING),
        Entry("occlusion", "how much evidence is lost when a square is covered", _in_space(_occlusion), SPACE_SETTING),
        Entry("ink", "a control: every pixel matters as much as it is ink", _plain(mark_ink)),
        Entry("random", "a control: importance at random, as coarse as people's maps", _plain(mark_noise)),
        Entry(
            DIFFUSION,
            "where a guided diffusion model's scores with and without the exemplar disagree (Eq. 4)",
            _diffusion(DIFFUSION),
            DIFFUSION_SETTING,
        ),
    )
}


def make_agent(given: Any, task: AttendTask) -> tuple[str, Agent]:
    """An agent of the room by name, with a setting after an @; any trained CFGDM of the room `draw`, by its name there or as
    FOLDER/NAME; a function of the user's own, or its name, `file.py:function`. Returns what it is called, and the agent."""
    if not isinstance(given, str):
        if not callable(given):
            raise UserError(
                f"An agent is a function (images, label, exemplars, rng) -> maps, not a {type(given).__name__}."
            )
        return name_of(given), given
    if is_named(given):
        return given.rpartition(":")[2], load_named(given)
    stem, _, setting = _split(given)
    if stem in AGENTS:
        return given, AGENTS[stem].make(task, setting)
    if "/" not in stem:
        from exemplar import rooms

        known = rooms.load_room("draw").agents()
        if stem not in known:
            raise unknown("agent", stem, AGENTS)
    return given, _diffusion(stem)(task, setting)


def _split(name: str) -> tuple[str, str, str]:
    """`path/name@times=5` → path/name, @ and the setting; an @ in a folder's name is no setting."""
    head, slash, last = name.rpartition("/")
    if "@" in head and head.partition("@")[0] in AGENTS:  # gradient@FOLDER/SPACE
        stem, at, setting = name.partition("@")
        return stem, at, setting
    stem, at, setting = last.partition("@")
    return f"{head}{slash}{stem}", at, setting


def describe_agents() -> dict[str, str]:
    return {name: entry.what for name, entry in AGENTS.items()}


def answer_list() -> Answer:
    rows = [{"name": entry.name, "what": entry.what, "setting": entry.setting} for entry in AGENTS.values()]
    table = format_table(("agent", "what", "after an @"), [(r["name"], r["what"], r["setting"]) for r in rows])
    note = f"{DIFFUSION} needs trained weights; any CFGDM that you trained does as well, as FOLDER/NAME (exemplar draw train)."
    return Answer(values={"agents": rows}, text=f"{table}\n\n{note}")
