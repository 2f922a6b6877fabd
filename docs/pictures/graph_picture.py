"""A graph as SVG: a box for each input and call, and an arrow to each use."""

from html import escape

import tracemill as tm
from tracemill.compiler.ir import Node

WIDTH, HEIGHT, GAP, LAYER = 132, 36, 16, 66
INPUT, CALL, OUTPUT = "#808080", "#4c78d8", "#f08030"


class _Box:
    """A node of the graph, and where it is drawn; without lines, a place that an arrow passes."""

    def __init__(self, lines: tuple[str, ...], color: str, before: list["_Box"]) -> None:
        self.lines, self.color, self.before = lines, color, before
        self.layer: int = 1 + max((box.layer for box in before), default=-1)
        self.column = 0.0

    @property
    def middle(self) -> float:
        return self.column * (WIDTH + GAP) + WIDTH / 2 + 1

    @property
    def top(self) -> float:
        return self.layer * LAYER + 1.0

    @property
    def bottom(self) -> float:
        return self.top + HEIGHT


def graph_svg(graph: tm.Graph) -> str:
    """The drawing, for a page that is light or dark."""
    boxes = _boxes(graph)
    _place(boxes)
    width = max(box.middle for box in boxes) + WIDTH / 2 + 1
    height = max(box.top for box in boxes) + HEIGHT + 1
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}"'
        f' height="{height:.0f}" font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="11">',
        '<defs><marker id="head" markerWidth="7" markerHeight="6" refX="7" refY="3" orient="auto">'
        f'<path d="M0 0L7 3L0 6z" fill="{INPUT}"/></marker></defs>',
    ]
    lines += [_arrow(start, end) for end in boxes for start in end.before]
    lines += [_drawn(box) for box in boxes if box.lines]
    return "\n".join([*lines, "</svg>"]) + "\n"


def _boxes(graph: tm.Graph) -> list[_Box]:
    """Inputs, calls, and places of arrows. Constants are left out: a picture shows where arrays go."""
    made: dict[str, _Box] = {}
    nodes = graph.nodes
    for node in nodes:
        if node.op in ("placeholder", "call"):
            is_input, is_output = node.op == "placeholder", node.name in nodes[-1].args
            color = INPUT if is_input else OUTPUT if is_output else CALL
            before = list(dict.fromkeys(made[arg] for arg in node.args if arg in made))
            types = ", ".join(map(str, node.types))
            made[node.name] = _Box((_title(node), types), color, before)
    boxes = list(made.values())
    for box in boxes:
        uses = [other.layer for other in boxes if box in other.before]
        if not box.before and uses:
            box.layer = min(uses) - 1  # an input, just above its first use
    return [*boxes, *(place for box in boxes for place in _places(box))]


def _title(node: Node) -> str:
    inside = node.kwargs.get("graph")
    return (
        inside.name
        if isinstance(inside, tm.Graph)
        else node.name
        if node.op == "placeholder"
        else node.target
    )


def _places(end: _Box) -> list[_Box]:
    """One in each layer between a box and what it uses; it then uses the last of these."""
    places: list[_Box] = []
    for index, start in enumerate(end.before):
        for layer in range(start.layer + 1, end.layer):
            place = _Box((), INPUT, [end.before[index]])
            place.layer = layer
            end.before[index] = place
            places.append(place)
    return places


def _place(boxes: list[_Box]) -> None:
    """In each layer, boxes in the order of what they use, centred."""
    layers = [
        [box for box in boxes if box.layer == number] for number in range(1 + max(b.layer for b in boxes))
    ]
    widest = max(map(len, layers))
    for layer in layers:
        layer.sort(
            key=lambda box: sum(b.column for b in box.before) / len(box.before) if box.before else widest
        )
        for index, box in enumerate(layer):
            box.column = index + (widest - len(layer)) / 2


def _arrow(start: _Box, end: _Box) -> str:
    """From the lower edge of a box to the upper edge of another, and through a place without a break."""
    x, y, to, bottom = start.middle, start.bottom, end.middle, end.top
    bend = (LAYER - HEIGHT) / 2
    through = f"V{end.bottom:.0f}" if not end.lines else ""
    path = (
        f"M{x:.0f} {y:.0f}C{x:.0f} {y + bend:.0f} {to:.0f} {bottom - bend:.0f} {to:.0f} {bottom:.0f}{through}"
    )
    head = ' marker-end="url(#head)"' if end.lines else ""
    return f'<path d="{path}" fill="none" stroke="{INPUT}"{head}/>'


def _drawn(box: _Box) -> str:
    x, y = box.middle - WIDTH / 2, box.top
    radius = HEIGHT / 2 if box.color == INPUT else 4
    outline = f'<rect x="{x:.0f}" y="{y:.0f}" width="{WIDTH}" height="{HEIGHT}" rx="{radius:.0f}"'
    texts = [
        f'<text x="{box.middle:.0f}" y="{y + row:.0f}" text-anchor="middle" fill="{color}">{escape(line)}</text>'
        for row, line, color in zip((15, 29), box.lines, (box.color, INPUT), strict=True)
    ]
    return f'{outline} fill="{box.color}" fill-opacity="0.08" stroke="{box.color}"/>' + "".join(texts)
