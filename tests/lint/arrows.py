"""Checks every #include against the rule of arrows: who may know whom.

A folder's row names the folders whose headers it may include, or single headers of them.
Third-party headers belong to the files that wrap them and to nobody else."""

import re
import sys

from sources import FOLDERS, ROOT, c_sources, close, folder_of

ALL = object()

# folder: {folder: ALL, or {header: files that may include it (ALL: every file)}}
ARROWS = {
    "server/base": {},
    "openapi": {"server/base": ALL},
    "sql": {"server/base": ALL},
    "storage": {"server/base": ALL},
    "catalog": {"server/base": ALL, "sql": {"sql.h": ALL, "sql_keep.h": ALL, "sql_purge.h": ALL, "sql_survey.h": ALL, "sql_sweep.h": ALL},
                "storage": {"store.h": ALL}},
    "server": {"server/base": ALL, "openapi": ALL, "catalog": ALL,
               "sql": {"sql.h": {"main.c", "serve.c", "lookup.c", "worker.c", "admin.c", "secrets.c",
                                 "warehouses.c"},
                       "sql_secret.h": {"secrets.c"},
                       "sql_lookup.h": {"call.h"}, "sql_warehouse.h": {"secrets.c", "manage.c", "manage_command.c", "profile.h", "warehouses.c"}},
               "storage": {"store.h": {"main.c", "serve.c", "secrets.c", "manage.c", "identity.h", "profile.h", "reach.h", "warehouses.c"}, "fetch.h": {"main.c"},
                           "sign.h": {"main.c", "manage.c", "op_sign.c", "vending.c"},
                           "vend.h": {"main.c", "manage.c", "vending.c"}}},
}

# header prefix: {folder: files that may include it}
THIRD_PARTY = {
    "openssl/": {"server/base": {"digest.c", "rsa.c", "secret.c"}},
    "jansson.h": {"openapi": ALL, "storage": ALL, "catalog": ALL, "server": ALL},
    "libpq-fe.h": {"sql": {"pg.c"}},
    "sqlite3.h": {"sql": {"lite.c"}},
    "curl/": {"storage": {"fetch.c"}},
    "zstd.h": {"catalog": {"avro_unpack.c"}},
    "zlib.h": {"catalog": {"avro_unpack.c", "gzip.c", "metadata.c", "metadata_document.c"}, "server": {"pack.c"}},
    "microhttpd.h": {"server": {"http_priv.h", "refusal.h"}},
}

# operation handlers are declared in a generated header of openapi, defined in server
COMPILED_IN = {"openapi/handlers.gen.c": "server"}


def allowed(rule, name):
    return rule is ALL or (rule is not None and name in rule)


def main():
    sources = c_sources()
    homes, problems = {}, []
    for path in sources:
        if path.suffix == ".h":
            if path.name in homes:
                problems.append(f"{path}: a header of this name is in {homes[path.name]} too")
            homes[path.name] = folder_of(path)
    for path in sources:
        folder = COMPILED_IN.get(path.as_posix(), folder_of(path))
        text = (ROOT / path).read_text()
        for number, line in enumerate(text.splitlines(), 1):
            found = re.match(r'\s*#\s*include\s+([<"])([^>"]+)[>"]', line)
            if not found:
                continue
            bracket, header = found.groups()
            place = f"{path}:{number}"
            home = homes.get(header)
            foreign = next((rows for prefix, rows in THIRD_PARTY.items()
                            if header.startswith(prefix)), None)
            if foreign is not None:
                if not allowed(foreign.get(folder), path.name):
                    problems.append(f"{place}: {header} is not for {path.name}")
                continue
            if bracket == "<":
                continue
            if home is None:
                problems.append(f'{place}: no header "{header}" in {", ".join(FOLDERS)}')
            elif header.endswith("_priv.h") and home != folder:
                problems.append(f"{place}: {header} is private to {home}")
            elif home != folder:
                rule = ARROWS[folder].get(home)
                if isinstance(rule, dict):
                    rule = rule.get(header)
                if not allowed(rule, path.name):
                    problems.append(f"{place}: {folder} must not include {header} of {home}")
    if len(sources) < 20:
        problems.append(f"only {len(sources)} sources found")
    return close("arrows", problems)


if __name__ == "__main__":
    sys.exit(main())
