"""The table for people, the JSON for machines, the charts for README."""

import json

import textwrap

import chart
import explained
import targets
from prepare import say

HEAD = ("req/s", "p50 ms", "p99 ms", "bytes", "firn", "pg", "total", "floor", "ratio")


def columns(name, *rest):
    return f"{name:<22}" + "".join(f"{x:>9}" for x in rest)


def head(peers):
    say("\nMicroseconds of CPU for a request, the server's and PostgreSQL's; ratio: total to floor\n")
    say(columns("workload (clients)", *HEAD, *(peer.name[:8] for peer in peers)))


def micro(value):
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def line(r, peers):
    ratio = f"{r['total'] / r['floor']:.2f}" if r["floor"] else "-"
    theirs = (micro(r["peers"][p.name]["total"]) if p.name in r["peers"] else "-" for p in peers)
    say(columns(f"{r['name']} ({r['clients']})", f"{r['rate']:,.0f}", f"{r['p50'] / 1000:.2f}", f"{r['p99'] / 1000:.2f}",
                f"{r['bytes']:,.0f}", micro(r["own"]), micro(r["pg"]), micro(r["total"]),
                micro(r["floor"]) if r["floor"] else "-", ratio, *theirs))


def footprint(f):
    say("")
    for name in ("sqlite", "postgresql"):
        r = f[name]
        say(f"{name:<11} ready in {r['ready_ms']:.0f} ms (best {r['ready_ms_best']:.0f}), idle {r['idle_mb']:.1f} MB, "
            f"{r['connection_kb']:.1f} KB for an idle connection")
    say(f"default settings, after loads and commits of 10 KB and 1 MB: {f['rss_after_mb']:.0f} MB")
    say(f"{f['readers']['clients']} readers of one cold table: {f['readers']['reads']:.0f} read of its file")
    say(f"32 creates of one name: {f['racers']}")
    say(f"list of 100,000: first byte after {f['list']['first_ms']:.1f} ms, all after {f['list']['whole_ms']:.1f} ms, "
        f"memory {f['list']['mb']:+.1f} MB at the most")


def keys(k):
    say(f"\n{k['tables']:,} tables, each loaded once with keys of its own ({k['asked']:,.0f} asked for): memory "
        f"{k['before_mb']:.1f} MB, after half of them {k['half_mb']:.1f}, after all {k['after_mb']:.1f}; kept "
        f"{k['kept_mb']:.1f} MB")


def judged(result):
    """The verdicts, into the result and on the screen; what is missed with the reason."""
    result["targets"] = [{"target": t.words, "limit": t.limit, "most": t.most, "figure": figure, "met": met}
                         for t, figure, met in targets.judge(result)]
    say(f"\n{'target':<62}{'limit':>9}{'figure':>9}")
    for t in result["targets"]:
        say(f"{t['target']:<62}{'<= ' if t['most'] else '>= '}{t['limit']:>6g}{t['figure']:>9.2f}"
            f"{'' if t['met'] else '   missed'}")
    for t in result["targets"]:
        if not t["met"]:
            say(textwrap.fill(f"{t['target']}: {explained.WHY.get(t['target'], 'not explained')}", 120, initial_indent="\n",
                              subsequent_indent="  "))


def save(result, out):
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(result, indent=1) + "\n")


def close(result, out):
    if "rows" in result:
        if "keys" in result:
            keys(result["keys"])
        if "footprint" in result:
            footprint(result["footprint"])
        for name, about in result["peers"].items():
            say(f"{name}: {about}")
        judged(result)
    save(result, out)
    say(f"\nnumbers: {out}")
    if "soak" in result and not result["soak"]["held"]:
        raise SystemExit("the memory may grow by 5 % at most, and no request may be refused")
    if "rows" in result:
        for path in chart.write(result, out.parent):
            say(f"chart: {path}")
