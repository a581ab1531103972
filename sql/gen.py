#!/usr/bin/env python3
"""Writes stmt.gen.h and stmt.gen.c from statements.sql and schema/*.sql.

gen.py          rewrites both
gen.py --check  ends with 1 if either is not what it would write
"""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ENGINES = ("pg", "lite")
# The database's time in milliseconds, stable within a statement; SQLite has now_ms() from lite.c.
NOW_PG = "CAST(date_part('epoch', statement_timestamp()) * 1000 AS BIGINT)"
HEAD = re.compile(r"-- name: (\w+)(?:\.(\w+))? \(([^)]*)\)(?: -> (.+))?$")


def names(text):
    return [n.strip() for n in (text or "").split(",") if n.strip()]


def fail(text):
    sys.exit(f"gen.py: {text}")


def read_statements(text):
    """name -> {params, columns, text: {engine: sql}}, in order of appearance."""
    out, block = {}, None
    for number, line in enumerate(text.splitlines(), 1):
        head = HEAD.match(line)
        if line.startswith("-- name:") and not head:
            fail(f"statements.sql:{number}: not of the form '-- name: NAME (parameters) -> columns'")
        if head:
            name, engine, params, columns = head.groups()
            if engine not in (None, *ENGINES):
                fail(f"statements.sql:{number}: no engine is called {engine}")
            entry = out.setdefault(
                name, {"params": names(params), "columns": names(columns), "text": {}})
            if (entry["params"], entry["columns"]) != (names(params), names(columns)):
                fail(f"statements.sql:{number}: the variants of {name} differ in shape")
            block = []
            for e in [engine] if engine else ENGINES:
                if e in entry["text"]:
                    fail(f"statements.sql:{number}: {name} is there twice for {e}")
                entry["text"][e] = block
        elif block is not None and line.strip() and not line.lstrip().startswith("--"):
            block.append(line.rstrip())
    for name, entry in out.items():
        for lines in entry["text"].values():
            used = {int(n) for n in re.findall(r"\$(\d+)", "\n".join(lines))}
            if used != set(range(1, len(entry["params"]) + 1)):
                fail(f"{name}: has {len(entry['params'])} parameters, its text uses {sorted(used)}")
    return out


def read_schema(path):
    """The statements of one schema file, without comments."""
    lines = [x.rstrip() for x in path.read_text().splitlines()]
    text = "\n".join(x for x in lines if x and not x.lstrip().startswith("--"))
    return [x.strip() for x in text.split(";") if x.strip()]


def literal(lines, indent):
    pad = " " * indent
    quoted = [x.replace("\\", "\\\\").replace('"', '\\"') for x in lines]
    body = [f'{pad}"{x}\\n"' for x in quoted[:-1]] + [f'{pad}"{quoted[-1]}"']
    return "\n".join(body)


def header(statements):
    out = ["/* Written by gen.py from statements.sql and schema/. */", "#pragma once", "",
           "#include <stddef.h>", "#include <stdint.h>", "", "enum stmt {"]
    out += [f"    STMT_{n.upper()}, /* {', '.join(s['params']) or '-'} */"
            for n, s in statements.items()]
    out += ["    STMT_COUNT", "};", "", "/* The columns of each statement. */"]
    for n, s in statements.items():
        if s["columns"]:
            cols = ", ".join(f"{n}_{c}".upper() for c in s["columns"])
            out.append(f"enum {{ {cols} }};")
    params = max(len(s["params"]) for s in statements.values())
    out += ["", f"enum {{ STMT_PARAMS_MAX = {params} }};", "",
            "enum engine { ENGINE_PG, ENGINE_LITE, ENGINE_COUNT };", "",
            "struct stmt_info {", "    const char *name;",
            "    const char *text[ENGINE_COUNT]; /* NULL: not on this engine */",
            "    unsigned params, columns;", "    const char *const *column_names;", "};",
            "extern const struct stmt_info stmt_info[STMT_COUNT];", "",
            "/* Migrations in order; each a list of statements that NULL ends. */",
            "struct schema_file {", "    int64_t version;", "    const char *name;",
            "    const char *const *statements;", "};",
            "extern const struct schema_file schema_files[];",
            "extern const size_t schema_files_n;"]
    return "\n".join(out) + "\n"


def source(statements, schema):
    out = ["/* Written by gen.py from statements.sql and schema/. */", '#include "stmt.gen.h"', ""]
    for n, s in statements.items():
        if s["columns"]:
            cols = ", ".join(f'"{c}"' for c in s["columns"])
            out.append(f"static const char *const {n}_columns[] = {{{cols}}};")
    out += ["", "const struct stmt_info stmt_info[STMT_COUNT] = {"]
    for n, s in statements.items():
        out += [f"    [STMT_{n.upper()}] = {{", f'        .name = "{n}",']
        for e in ENGINES:
            if e in s["text"]:
                lines = [x.replace("now_ms()", NOW_PG) if e == "pg" else x for x in s["text"][e]]
                out.append(f"        .text[ENGINE_{e.upper()}] =\n{literal(lines, 12)},")
        out.append(f"        .params = {len(s['params'])},")
        out.append(f"        .columns = {len(s['columns'])},")
        if s["columns"]:
            out.append(f"        .column_names = {n}_columns,")
        out.append("    },")
    out += ["};", ""]
    for version, _, parts in schema:
        out.append(f"static const char *const schema_{version}[] = {{")
        out += [f"{literal(p.splitlines(), 8)}," for p in parts]
        out += ["        NULL,", "};", ""]
    out.append("const struct schema_file schema_files[] = {")
    out += [f'    {{{v}, "{name}", schema_{v}}},' for v, name, _ in schema]
    out += ["};", "const size_t schema_files_n = sizeof(schema_files) / sizeof(schema_files[0]);"]
    return "\n".join(out) + "\n"


def main():
    statements = read_statements((HERE / "statements.sql").read_text())
    schema = []
    for i, path in enumerate(sorted((HERE / "schema").glob("*.sql")), 1):
        if not path.name.startswith(f"{i:04}_"):
            fail(f"schema/{path.name}: expected number {i:04}")
        schema.append((i, path.stem, read_schema(path)))
    files = {"stmt.gen.h": header(statements), "stmt.gen.c": source(statements, schema)}
    stale = [n for n, t in files.items()
             if not (HERE / n).exists() or (HERE / n).read_text() != t]
    if "--check" in sys.argv[1:]:
        if stale:
            fail(f"{', '.join(stale)}: not what statements.sql and schema/ say; run sql/gen.py")
        return
    for n in stale:
        (HERE / n).write_text(files[n])


main()
