"""A control-flow graph drawn in layers, as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

WIDTH, HEIGHT, GAP_X, GAP_Y = 168, 44, 28, 46


@dataclass(frozen=True, slots=True)
class Box:
    """A block to draw: its two lines of text, its hint and its share of the time (0 to 1)."""

    title: str
    detail: str
    hint: str
    heat: float


def colour(heat: float) -> str:
    """Return an orange, the denser the hotter: text is legible on it on light and dark grounds.

    >>> colour(0), colour(1)
    ('hsl(18 90% 55% / 0.05)', 'hsl(18 90% 55% / 0.60)')
    """
    heat = min(max(heat, 0.0), 1.0)
    return f"hsl(18 90% 55% / {0.05 + 0.55 * heat:.2f})"


def layers(count: int, edges: Sequence[tuple[int, int]], entry: int = 0) -> list[list[int]]:
    """Place blocks by their longest way from the entry, loops' backward edges left out.

    >>> layers(4, [(0, 1), (1, 2), (2, 1), (1, 3), (2, 3)])
    [[0], [1], [2], [3]]
    """
    following: dict[int, list[int]] = {}
    for source, to in edges:
        following.setdefault(source, []).append(to)
    forward = _forward(count, following, entry)
    depth = [0] * count
    for block in forward:
        for to in following.get(block, ()):
            if forward[to] > forward[block]:
                depth[to] = max(depth[to], depth[block] + 1)
    rows: list[list[int]] = [[] for _ in range(max(depth, default=0) + 1)]
    for block in forward:
        rows[depth[block]].append(block)
    return [row for row in rows if row]


def _forward(count: int, following: Mapping[int, list[int]], entry: int) -> dict[int, int]:
    """Each block's place in reverse postorder; blocks that the entry does not reach come last."""
    seen, order = set[int](), list[int]()
    for start in (entry, *range(count)):
        stack = [(start, 0)]
        if start in seen:
            continue
        seen.add(start)
        while stack:
            block, at = stack.pop()
            targets = following.get(block, [])
            if at < len(targets):
                stack.append((block, at + 1))
                if targets[at] not in seen:
                    seen.add(targets[at])
                    stack.append((targets[at], 0))
            else:
                order.append(block)
        if start == entry:
            reached = order[::-1]
    unreached = [block for block in range(count) if block not in set(reached)]
    return {block: place for place, block in enumerate([*reached, *unreached])}


def draw(boxes: Sequence[Box], edges: Mapping[tuple[int, int], int]) -> Markup:
    """Return the graph as SVG; edges carry their counts, backward ones run along the right."""
    rows = layers(len(boxes), list(edges))
    widest = max(len(row) for row in rows)
    total = widest * (WIDTH + GAP_X) + 90
    place: dict[int, tuple[float, float]] = {}
    for y, row in enumerate(rows):
        left = (widest - len(row)) * (WIDTH + GAP_X) / 2 + GAP_X
        for x, block in enumerate(row):
            place[block] = (left + x * (WIDTH + GAP_X), 12 + y * (HEIGHT + GAP_Y))
    parts = [
        _arrow(place[a], place[b], count, total, i)
        for i, ((a, b), count) in enumerate(edges.items())
    ]
    parts += [_box(box, *place[i]) for i, box in enumerate(boxes)]
    high = len(rows) * (HEIGHT + GAP_Y)
    return Markup('<svg viewBox="0 0 {} {}" width="{}" role="img">{}</svg>').format(
        f"{total:.0f}", f"{high:.0f}", f"{total:.0f}", Markup("").join(parts)
    )


def _box(box: Box, x: float, y: float) -> Markup:
    return Markup(
        "<g><title>{hint}</title>"
        '<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="5" style="fill:{fill}"/>'
        '<text x="{tx}" y="{t1}">{title}</text>'
        '<text class="detail" x="{tx}" y="{t2}">{detail}</text></g>'
    ).format(
        hint=box.hint,
        x=f"{x:.0f}",
        y=f"{y:.0f}",
        w=WIDTH,
        h=HEIGHT,
        fill=colour(box.heat),
        tx=f"{x + 8:.0f}",
        t1=f"{y + 18:.0f}",
        t2=f"{y + 35:.0f}",
        title=box.title[:22],
        detail=box.detail[:28],
    )


def _arrow(
    start: tuple[float, float], end: tuple[float, float], count: int, total: float, number: int
) -> Markup:
    x1, y1 = start[0] + WIDTH / 2, start[1] + HEIGHT
    x2, y2 = end[0] + WIDTH / 2, end[1]
    if y2 > y1 + HEIGHT + GAP_Y:  # past other layers, along their left
        side = min(x1, x2) - WIDTH / 2 - 6 - 5 * (number % 4)
        curve = f"{side:.0f} {y1 + 30:.0f} {side:.0f} {y2 - 30:.0f}"
        path = f"M{x1:.0f} {y1:.0f} C{curve} {x2:.0f} {y2:.0f}"
        at = ((side + min(x1, x2)) / 2 - 16, (y1 + y2) / 2)
    elif y2 > y1:
        bend = (y1 + y2) / 2
        path = f"M{x1:.0f} {y1:.0f} C{x1:.0f} {bend:.0f} {x2:.0f} {bend:.0f} {x2:.0f} {y2:.0f}"
        at = ((x1 + x2) / 2 + 4, bend)
    else:  # backward: out on the right and back up
        side = total - 16 - 9 * (number % 6)
        x1, x2 = start[0] + WIDTH, end[0] + WIDTH
        y1, y2 = start[1] + HEIGHT / 2, end[1] + HEIGHT / 2 + 6
        path = f"M{x1:.0f} {y1:.0f} C{side:.0f} {y1:.0f} {side:.0f} {y2:.0f} {x2:.0f} {y2:.0f}"
        at = (max(x1, x2) + 10, (y1 + y2) / 2)
    return Markup(
        '<path class="{}" d="{}" marker-end="url(#tip)"/>'
        '<text class="count" x="{}" y="{}">{}</text>'
    ).format("edge" if count else "edge never", path, f"{at[0]:.0f}", f"{at[1]:.0f}", f"{count:,}")
