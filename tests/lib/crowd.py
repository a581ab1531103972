"""Many names at once: rows as the server makes them, made in the database."""

import secrets

from firn_client import levels_of

TABLE, VIEW = 1, 2


def name_of(i):
    return f"name_{1_000_000 + i}"


def _numbered(n):
    return f"WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {n - 1}) "


def _parent(ns):
    return "p.path = %s", "\x1f".join(levels_of(ns))


def objects(server, ns, n, kind=TABLE):
    """So many tables or views more in a namespace, which can be listed and no more; their names in order."""
    where, path = _parent(ns)
    server.sql(_numbered(n) + "INSERT INTO object "
               "(warehouse_id, id, namespace_id, name, kind, uuid, location, metadata_location) "
               f"SELECT p.warehouse_id, {secrets.randbits(40) * 2**20} + n.i, p.id, 'name_' || CAST(1000000 + n.i AS TEXT), "
               f"{kind}, '{secrets.token_hex(8)}-' || CAST(n.i AS TEXT), 'none', 'none' FROM namespace p CROSS JOIN n WHERE {where} RETURNING id", path)
    return [name_of(i) for i in range(n)]


def namespaces(server, ns, n):
    """So many namespaces below one; their names in order."""
    where, path = _parent(ns)
    server.sql(_numbered(n) + "INSERT INTO namespace (warehouse_id, id, parent_id, name, path, version, properties) "
               f"SELECT p.warehouse_id, {secrets.randbits(40) * 2**20} + n.i, p.id, 'name_' || CAST(1000000 + n.i AS TEXT), "
               "p.path || %s || 'name_' || CAST(1000000 + n.i AS TEXT), 1, '{}' "
               f"FROM namespace p CROSS JOIN n WHERE {where} RETURNING id", "\x1f", path)
    return [name_of(i) for i in range(n)]
