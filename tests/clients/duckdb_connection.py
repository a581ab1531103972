"""A DuckDB with what it needs for Iceberg."""

import glob
import importlib.util

import duckdb


def open_duckdb():
    """The extensions lie in wheels of their own and are loaded by path, the order matters."""
    con = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    for name in ("httpfs", "avro", "iceberg"):
        folder = importlib.util.find_spec("duckdb_extension_" + name).submodule_search_locations[0]
        con.execute(f"LOAD '{glob.glob(folder + f'/extensions/*/{name}.duckdb_extension')[0]}'")
    return con
