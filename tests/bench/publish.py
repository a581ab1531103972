"""Puts the numbers of a run into README.md and into the one beside this file, and its charts with them."""

import pathlib
import re

import chart
import explained
import report

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BEGIN, END = "<!-- measured: tests/bench/run --publish -->\n", "<!-- end -->"
NAMES = {"reference": "Apache's reference server", "seaweedfs": "SeaweedFS"}
LINES = (
    ("config", "config"), ("load of 10 KB", "load-10k"), ("the same, one client", "load-10k-1"), ("load of 1 MB", "load-1m"),
    ("304 (10 KB)", "304-10k"), ("`snapshots=refs` of 1 MB", "refs-1m"), ("commit on 10 KB, one client", "commit-10k-1"),
    ("commits on 32 tables", "commit-10k"), ("commits on one table", "hot-32"), ("commit on 1 MB, one client", "commit-1m-1"),
    ("transaction of 8 tables", "transaction-8"), ("create, 8 clients", "create-few"), ("list of 1,000, 8 clients", "list-1000"),
)


def table(head, lines):
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, ["---", *["--:"] * (len(head) - 1)], *lines))


def figure(value):
    return "–" if value is None else report.micro(value)


def peers_of(result):
    return [name for name in (*NAMES, *result["peers"]) if name in result["peers"]]


def machine(result):
    """What it ran on, and what the settings were."""
    about = result["machine"]
    names = [f"{NAMES.get(name, name)}: {result['peers'][name]['version']}" for name in dict.fromkeys(peers_of(result))]
    return (f"{about['cores']} cores ({about['processor']}), {about['memory_gb']} GB, Linux {about['kernel']}, "
            f"{about['postgresql']} with its default durability, {about['date']}; each row {result['rounds']} times "
            f"{result['seconds']} s. Firn: {about['firn'].removeprefix('firn ')}, a cache of 512 MB, else default settings, "
            "local files. "
            + "".join(f"{name}. " for name in names)).rstrip()


def comparison(result):
    """Firn and its peers: what a request costs, and the memory."""
    names = list(dict.fromkeys(peers_of(result)))
    rows = {r["name"]: r for r in result["rows"]}
    lines = []
    for words, name in LINES:
        if name in rows and (not names or rows[name]["peers"]):
            theirs = (rows[name]["peers"].get(p, {}).get("total") for p in names)
            lines.append([words, figure(rows[name]["total"]), *map(figure, theirs)])
    if own := result.get("footprint"):
        for words, ours, key in (("memory, idle (MB)", own["postgresql"]["idle_mb"], "idle_mb"),
                                 ("memory after these requests (MB)", own["rss_after_mb"], "rss_mb")):
            lines.append([words, f"{ours:.0f}", *(f"{result['peers'][p][key]}" for p in names)])
    return table(["µs of CPU for a request, catalog and PostgreSQL", "Firn", *(NAMES.get(n, n) for n in names)], lines)


def everything(result):
    """All rows, and the verdicts."""
    rows = [[f"`{r['name']}` ({r['clients']})", f"{r['rate']:,.0f}", f"{r['p50'] / 1000:.2f}", f"{r['p99'] / 1000:.2f}",
             f"{r['bytes']:,.0f}", figure(r["own"]), figure(r["pg"]), figure(r["floor"] or None),
             f"{r['total'] / r['floor']:.2f}" if r["floor"] else ""] for r in result["rows"]]
    head = ["workload (clients)", "req/s", "p50 ms", "p99 ms", "bytes", "Firn µs", "PostgreSQL µs", "floor µs", "to floor"]
    verdicts = [[t["target"], f"{'≤' if t['most'] else '≥'} {t['limit']:g}", f"{t['figure']:.2f}", "" if t["met"] else "missed"]
                for t in result["targets"]]
    why = {}
    for t in result["targets"]:
        if not t["met"]:
            why.setdefault(explained.WHY.get(t["target"], "Not explained."), []).append(t["target"])
    return (table(head, rows) + "\n" + table(["target", "limit", "figure", ""], verdicts) + "\n"
            + "".join(f"- **{'; '.join(missed)}.** {text}\n" for text, missed in why.items()))


def put(path, text):
    """Between the marks."""
    whole = path.read_text()
    if BEGIN not in whole:
        raise SystemExit(f"{path} has no line {BEGIN}")
    head, rest = whole.split(BEGIN)
    path.write_text(head + BEGIN + text + END + rest.split(END, 1)[1])


def publish(result):
    for path in chart.write(result, HERE):
        report.say(f"chart: {path}")
    put(ROOT / "README.md", comparison(result) + "\n" + machine(result) + "\n")
    put(HERE / "README.md", machine(result) + "\n\n" + everything(result))
