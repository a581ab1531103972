"""Bar charts as SVG, without any library."""

import html
import math

WIDTH, LEFT, RIGHT, BAR, GAP, TOP = 760, 170, 110, 13, 12, 46
COLOURS = ("#2563a8", "#b9c3cf", "#c77d2e", "#7a4e9e", "#3b8f5a")
FONT = 'font-family="Helvetica, Arial, sans-serif" font-size="12"'


def text(x, y, words, anchor="start", weight="normal", size=12):
    return (f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" font-weight="{weight}" font-size="{size}" '
            f'fill="#1f2933">{html.escape(words)}</text>')


def figure(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def bars(title, series, rows):
    """One group for each row: (name, {series: value}). The axis is logarithmic: costs differ by thousands."""
    values = [v for _, r in rows for v in r.values() if v]
    low, high = math.log10(min(values)) - 0.3, math.log10(max(values))
    span = (WIDTH - LEFT - RIGHT) / (high - low or 1)
    out, y = [], TOP
    x = LEFT
    for i, name in enumerate(series):
        out.append(f'<rect x="{x}" y="26" width="10" height="10" fill="{COLOURS[i % len(COLOURS)]}"/>')
        out.append(text(x + 14, 35, name))
        x += 24 + 7 * len(name)
    for name, r in rows:
        shown = [(i, r[s]) for i, s in enumerate(series) if r.get(s)]
        out.append(text(LEFT - 8, y + BAR * len(shown) / 2 + 4, name, "end"))
        for i, value in shown:
            width = max(2.0, (math.log10(value) - low) * span)
            out.append(f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR - 2}" fill="{COLOURS[i % len(COLOURS)]}"/>')
            out.append(text(LEFT + width + 5, y + BAR - 3, figure(value), size=11))
            y += BAR
        y += GAP
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" viewBox="0 0 {WIDTH} {y}" {FONT}>'
            f'<rect width="{WIDTH}" height="{y}" fill="#ffffff"/>' + text(LEFT, 16, title, weight="bold", size=13)
            + "".join(out) + "</svg>\n")


def write(result, folder):
    """floors.svg, and peers.svg when there were any. Their paths."""
    paths = []
    own = [(r["name"], {"firn": r["own"] + r["pg"], "floor": r["floor"]}) for r in result["rows"] if r["floor"]]
    if own:
        paths.append(folder / "floors.svg")
        paths[-1].write_text(bars("CPU of server and PostgreSQL for a request, µs (logarithmic)", ("firn", "floor"), own))
    names = sorted({name for r in result["rows"] for name in r["peers"]})
    if names:
        rows = [(r["name"], {"firn": r["total"]} | {n: p["total"] for n, p in r["peers"].items()})
                for r in result["rows"] if r["peers"]]
        paths.append(folder / "peers.svg")
        paths[-1].write_text(bars("CPU of catalog and PostgreSQL for a request, µs (logarithmic)", ("firn", *names), rows))
    return paths
