"""Bar charts as SVG, without any library; dark where the reader's system is."""

import html
import math

WIDTH, LEFT, RIGHT, BAR, GAP, TOP, FOOT = 760, 170, 80, 13, 10, 58, 12
# of the series, on light and on dark ground
COLOURS = ("#2563a8", "#7fb0ea"), ("#a9b4c0", "#6b7786"), ("#c2701f", "#e39a52"), ("#7a4e9e", "#b48ad8"), ("#3b8f5a", "#74c492")
FONT = 'font-family="Helvetica, Arial, sans-serif" font-size="12"'


def style():
    light, dark = ("".join(f".s{i} {{ fill: {pair[k]} }} " for i, pair in enumerate(COLOURS)) for k in (0, 1))
    return ("<style>.ground { fill: #ffffff } text { fill: #1f2933 } .grid { stroke: #dfe4ea } " + light
            + "@media (prefers-color-scheme: dark) { .ground { fill: #0d1117 } text { fill: #dce3ea } "
            ".grid { stroke: #30363d } " + dark + "}</style>")


def text(x, y, words, anchor="start", weight="normal", size=12):
    return (f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" font-weight="{weight}" font-size="{size}">'
            f"{html.escape(words)}</text>")


def box(x, y, width, height, series):
    return f'<rect x="{x}" y="{y}" width="{width:.1f}" height="{height}" class="s{series % len(COLOURS)}"/>'


def figure(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def bars(title, series, rows):
    """One group for each row: (name, {series: value}). The axis is logarithmic: costs differ by thousands."""
    values = [v for _, r in rows for v in r.values() if v]
    low, high = math.floor(math.log10(min(values))), math.log10(max(values))
    span = (WIDTH - LEFT - RIGHT) / (high - low or 1)
    drawn, y = [], TOP
    x = LEFT
    for i, name in enumerate(series):
        drawn += box(x, 26, 10, 10, i), text(x + 14, 35, name)
        x += 30 + 7 * len(name)
    for name, r in rows:
        shown = [(i, r[s]) for i, s in enumerate(series) if r.get(s)]
        drawn.append(text(LEFT - 8, y + BAR * len(shown) / 2 + 4, name, "end"))
        for i, value in shown:
            width = max(2.0, (math.log10(value) - low) * span)
            drawn += box(LEFT, y, width, BAR - 2, i), text(LEFT + width + 5, y + BAR - 3, figure(value), size=11)
            y += BAR
        y += GAP
    y += FOOT - GAP
    grid = []
    for decade in range(low, math.floor(high) + 1):
        x = LEFT + (decade - low) * span
        grid += (f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 4}" y2="{y - FOOT + 4}" class="grid"/>',
                 text(x, TOP - 8, f"{10 ** decade:,g}", "middle", size=10))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" viewBox="0 0 {WIDTH} {y}" {FONT}>'
            f'{style()}<rect width="{WIDTH}" height="{y}" class="ground"/>' + text(LEFT, 16, title, weight="bold", size=13)
            + "".join((*grid, *drawn)) + "</svg>\n")


def write(result, folder):
    """floors.svg, and peers.svg when there were any. Their paths."""
    paths = []
    own = [(r["name"], {"Firn": r["total"], "floor": r["floor"]}) for r in result["rows"] if r["floor"]]
    if own:
        paths.append(folder / "floors.svg")
        paths[-1].write_text(bars("CPU of server and PostgreSQL for a request, µs (logarithmic)", ("Firn", "floor"), own))
    names = sorted({name for r in result["rows"] for name in r["peers"]})
    if names:
        rows = [(r["name"], {"Firn": r["total"]} | {n: p["total"] for n, p in r["peers"].items()})
                for r in result["rows"] if r["peers"]]
        paths.append(folder / "peers.svg")
        paths[-1].write_text(bars("CPU of catalog and PostgreSQL for a request, µs (logarithmic)", ("Firn", *names), rows))
    return paths
