"""The drawings of the report as SVG: the network as it was chosen, and distances over θ."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from fedbn.results.page.states import BACKWARD, FORWARD, NONE, OPEN
from fedbn.results.page.words import number
from fedbn.results.palette import shade_of
from fedbn.wording import count_of

WIDTH, HEIGHT = 720, 300
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 14, 46
MAX_TICKS = 9
FAR = 50
"""How many times farther than the nearest state the farthest is on a logarithmic scale."""


def codes_at(content: Mapping[str, Any], reading: int, state: int) -> list[int]:
    """The code of every pair in a state: all changes up to it."""
    codes = [NONE] * len(content["pairs"])
    for each in content["readings"][reading]["states"][: state + 1]:
        listed = each["changes"]
        for k, code in zip(listed[::2], listed[1::2], strict=True):
            codes[k] = code
    return codes


def legend(keys: Iterable[tuple[str, str]]) -> str:
    """A list of lines, each drawn by its classes, and what they mean."""
    listed = "".join(
        f'<li><svg width="34" height="10" aria-hidden="true"><path d="M1,5H33" class="{kind}"/>'
        f"</svg> {escape(words)}</li>"
        for kind, words in keys
    )
    return f'<ul class="legend">{listed}</ul>'


# --- the network --------------------------------------------------------------------------------


def network_svg(content: Mapping[str, Any]) -> str:
    """The chosen network; the script draws other states in its place."""
    width, height = content["size"]
    codes = codes_at(content, *content["chosen"])
    edges = "".join(
        _edge(content, k, code)
        for k, code in sorted(enumerate(codes), key=lambda pair: content["pairs"][pair[0]][2] or 1)
        if code != NONE
    )
    edges = f"{_unknown(content)}{edges}"
    nodes = "".join(_node(content, k) for k in range(len(content["names"])))
    return (
        f'<svg id="drawing" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="group" aria-label="The network: {len(content["names"])} variables">'
        f'<defs>{"".join(_heads())}</defs><g id="edges">{edges}</g><g id="nodes">{nodes}</g></svg>'
    )


def _unknown(content: Mapping[str, Any]) -> str:
    """Pairs that no site has both variables of."""
    names = content["names"]
    return "".join(
        f'<path class="unknown" d="{path}"><title>{escape(names[i])} and {escape(names[j])}: not '
        "known, no site has both</title></path>"
        for i, j, path in (content.get("variables") or {}).get("unknown", ())
    )


def _heads() -> Iterator[str]:
    """Arrowheads; they take the colour of their line where the browser can do that."""
    for level in range(5):
        yield _head(f"h{level}", f"w{level}")
    for name in ("true", "reversed", "extra", "beyond", "lacks", "picked"):
        yield _head(f"h-{name}", f"f-{name}")


def _head(name: str, kind: str) -> str:
    return (
        f'<marker id="{name}" class="{kind}" viewBox="0 0 10 10" refX="9" refY="5" '
        'markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse" '
        'orient="auto-start-reverse"><path d="M0,1L10,5L0,9z"/></marker>'
    )


def _edge(content: Mapping[str, Any], k: int, code: int) -> str:
    i, j, support = content["pairs"][k][:3]
    if code == BACKWARD:
        i, j = j, i
    names = content["names"]
    joint = "—" if code == OPEN else "→"
    share = "" if support is None else f", support {number(support)}"
    label = escape(f"{names[i]} {joint} {names[j]}{share}")
    level = shade_of(support)
    head = {FORWARD: f' marker-end="url(#h{level})"', BACKWARD: f' marker-start="url(#h{level})"'}
    return (
        f'<path class="edge e{level}" d="{content["paths"][k]}"{head.get(code, "")} '
        f'data-k="{k}"><title>{label}</title></path>'
    )


def _node(content: Mapping[str, Any], k: int) -> str:
    x, y, width = content["boxes"][k]
    height = content["box_height"]
    label, name = escape(content["labels"][k]), escape(content["names"][k])
    return (
        f'<g class="node" data-v="{k}"><title>{name}</title>'
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6"/>'
        f'<text x="{x + width / 2:g}" y="{y + height / 2 + 4:g}">{label}</text></g>'
    )


# --- the curve ----------------------------------------------------------------------------------


def curve_svg(content: Mapping[str, Any]) -> str:
    """Mean SMHD over θ for every reading, the lower bound, and the gold network where known."""
    thetas = _places(content)
    known = [s["gold"] for r in content["readings"] for s in r["states"] if s["gold"] is not None]
    scale = _scale_of(content, known)
    parts = [*_axes(thetas, scale), _level(content["bound"], scale)]
    points: list[tuple[bool, str]] = []
    for r, reading in enumerate(content["readings"]):
        parts.append(_line(content, r, thetas, scale, "gold"))
        parts.append(_line(content, r, thetas, scale, "smhd"))
        for s, state in enumerate(reading["states"]):
            chosen = [r, s] == list(content["chosen"])
            drawn = _point(r, s, reading["reading"], state, thetas, scale, chosen)
            points.append((chosen, drawn))
    parts += [drawn for _, drawn in sorted(points, key=lambda point: point[0])]
    keys = [(f"line r{r}", f"to the sites, reading {reading['reading']}")
            for r, reading in enumerate(content["readings"])]  # fmt: skip
    if known:
        keys.append(("line gold", "to the gold network"))
    keys.append(("bound", "no network is below"))
    return (
        f'<div class="scroll"><svg id="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="group" '
        f'aria-label="Mean SMHD over θ">{"".join(parts)}</svg></div>'
        f"{legend(keys)}"
    )


def _places(content: Mapping[str, Any]) -> list[tuple[str | None, float | None]]:
    """The distinct θ of all states, ascending; None, for G+, first. They are drawn equally far."""
    found = {(s["theta"], s["decimal"]) for r in content["readings"] for s in r["states"]}
    return sorted(found, key=lambda place: -1.0 if place[1] is None else place[1])


def _x(place: int, places: Sequence[Any]) -> float:
    step = (WIDTH - LEFT - RIGHT - 24) / max(len(places) - 1, 1)
    return round(LEFT + 12 + place * step, 1)


@dataclass(frozen=True)
class _Scale:
    """From distances to heights: in proportion, or to their logarithms where they differ much."""

    top: float
    logarithmic: bool

    def y(self, value: float) -> float:
        share = value / self.top
        if self.logarithmic:
            share = math.log1p(value) / math.log1p(self.top)
        return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share, 1)

    def ticks(self) -> list[float]:
        if not self.logarithmic:
            return _rounded_ticks(self.top)
        return [0, *(10.0**power for power in range(int(math.log10(self.top)) + 1))]


def _scale_of(content: Mapping[str, Any], known: Sequence[float]) -> _Scale:
    """Logarithmic where the farthest state would leave the others on one line."""
    found = [state["smhd"] for reading in content["readings"] for state in reading["states"]]
    top = max([*found, content["bound"], *known, 1])
    return _Scale(top, logarithmic=top > FAR * (1 + min(found)))


def _axes(places: Sequence[tuple[str | None, float | None]], scale: _Scale) -> Iterator[str]:
    base = HEIGHT - BOTTOM
    yield f'<path class="axis" d="M{LEFT},{TOP}V{base}H{WIDTH - RIGHT}"/>'
    for value in scale.ticks():
        y = scale.y(value)
        yield f'<path class="grid" d="M{LEFT},{y:g}H{WIDTH - RIGHT}"/>'
        yield f'<text class="tick left" x="{LEFT - 6}" y="{y + 4:g}">{value:g}</text>'
    for k in _label_places(places):
        theta, decimal = places[k]
        text = "G+" if theta is None else f"{decimal:.3g}"
        yield f'<text class="tick" x="{_x(k, places):g}" y="{base + 17}">{text}</text>'
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield f'<text class="tick" x="{middle:g}" y="{HEIGHT - 8}">threshold θ</text>'


def _rounded_ticks(top: float) -> list[float]:
    """About five round numbers from 0 to `top`."""
    step = next(
        base * 10.0**power
        for power in range(-2, 8)
        for base in (1, 2, 5)
        if top / (base * 10.0**power) <= 6
    )
    return [round(k * step, 6) for k in range(int(top / step) + 1)]


def _label_places(places: Sequence[Any]) -> list[int]:
    """Which θ are labelled: all, or so many that no two labels meet."""
    every = -(-len(places) // MAX_TICKS)
    return list(range(0, len(places), every))


def _level(bound: float, scale: _Scale) -> str:
    y = scale.y(bound)
    return f'<path class="bound" d="M{LEFT},{y:g}H{WIDTH - RIGHT}"/>'


def _line(
    content: Mapping[str, Any], r: int, places: Sequence[Any], scale: _Scale, key: str
) -> str:
    states = [s for s in content["readings"][r]["states"] if s[key] is not None]
    if len(states) < 2:
        return ""
    at = {place: k for k, place in enumerate(places)}
    points = [f"{_x(at[s['theta'], s['decimal']], places):g},{scale.y(s[key]):g}" for s in states]
    return f'<path class="line r{r} {key}" d="M{"L".join(points)}"/>'


def _point(
    r: int, s: int, reading: str, state: Mapping[str, Any], places: Sequence[Any], scale: _Scale,
    chosen: bool,
) -> str:  # fmt: skip
    x = _x([place[0] for place in places].index(state["theta"]), places)
    name = "G+" if state["theta"] is None else f"θ = {state['theta']}"
    edges = count_of(state["edges"], "edge")
    label = f"{reading}, {name}: {edges}, mean SMHD {number(state['smhd'])}"
    return (
        f'<circle class="point r{r}{" chosen" if chosen else ""}" data-r="{r}" data-s="{s}" '
        f'cx="{x:g}" cy="{scale.y(state["smhd"]):g}" r="{6 if chosen else 4}">'
        f"<title>{escape(label)}</title></circle>"
    )
