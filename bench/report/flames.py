"""The flame graph as SVG: each frame is as wide as its share of samples, with its callees above it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bench.profiling.sampler import CALL
from bench.profiling.stages import part_of
from bench.report.chart import framed
from bench.report.markup import Markup, joined, tag

WIDTH, ROW = 1100, 17
LETTER = 6.2
LEAST_SHARE = 0.003  # narrower frames are too small for a pointer
DEEPEST = 40


@dataclass
class Frame:
    """A frame with its callees. `samples` counts all its samples, and `parts` the samples of each part of
    the CPU split."""

    name: str
    samples: int = 0
    parts: dict[str, int] = field(default_factory=dict)
    callees: dict[str, "Frame"] = field(default_factory=dict)

    def add(self, samples: int, part: str) -> None:
        """Count samples."""
        self.samples += samples
        self.parts[part] = self.parts.get(part, 0) + samples

    @property
    def part(self) -> str:
        return max(self.parts, key=self.parts.__getitem__)


def tree(stacks: Mapping[str, int]) -> Frame:
    """Return the frame at the bottom of all stacks."""
    root = Frame("all")
    for stack, count in stacks.items():
        frames = stack.split(";")
        part, here = part_of(frames), root
        here.add(count, part)
        for name in frames[:DEEPEST]:
            here = here.callees.setdefault(name, Frame(name))
            here.add(count, part)
    return root


def flames(title: str, stacks: Mapping[str, int], colours: Mapping[str, str]) -> Markup:
    """Return the flame graph of `stacks`, which has the number of samples of each stack. `colours` has
    the CSS class of each part of the CPU split."""
    root = tree(stacks)
    rows: list[Markup] = []
    depth = _draw(root, 0.0, 0, root.samples, colours, rows)
    height = (depth + 1) * ROW
    upright = tag("g", joined(*rows), transform=f"translate(0 {height})")
    return framed(
        title,
        tag("svg", upright, viewBox=f"0 0 {WIDTH} {height}", role="img", aria_label=title,
            class_="flames"),
        Markup(""),
    )  # fmt: skip


def _fitting(name: str, letters: int) -> str | None:
    function = name.partition(":")[2] or name
    for each in (name, function):
        if len(each) <= letters:
            return each
    return function[: letters - 1] + "…" if letters > 3 else None


def _draw(
    frame: Frame,
    left: float,
    depth: int,
    whole: int,
    colours: Mapping[str, str],
    rows: list[Markup],
) -> int:
    share = frame.samples / whole
    width = share * WIDTH
    y = -(depth + 1) * ROW
    name = frame.name.removeprefix(CALL)
    shown = _fitting(name, int((width - 6) / LETTER))
    rows.append(
        tag(
            "g",
            tag("title", f"{name}: {share:.1%}, {frame.samples} samples, {frame.part}"),
            tag(
                "rect", x=round(left, 1), y=y, width=round(max(width - 0.6, 0.4), 1), height=ROW - 1
            ),
            None if shown is None else tag("text", shown, x=round(left + 3, 1), y=y + 12),
            class_=colours.get(frame.part, "c-rest"),
        )
    )
    deepest = depth
    for callee in sorted(frame.callees.values(), key=lambda each: each.name):
        if callee.samples >= whole * LEAST_SHARE:
            deepest = max(deepest, _draw(callee, left, depth + 1, whole, colours, rows))
        left += callee.samples / whole * WIDTH
    return deepest
