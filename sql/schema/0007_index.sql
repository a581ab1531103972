-- Where PostgreSQL has not counted the rows, an index that leads with warehouse and namespace and has the
-- name further back looks as good for one name as the unique one does, and is read from end to end.

DROP INDEX object_kind;

CREATE INDEX object_kind ON object (warehouse_id, kind, namespace_id, name);

-- With the id, so that marks come in their order.

DROP INDEX object_purge;

CREATE INDEX object_purge ON object (warehouse_id, purge_ms, id) WHERE purge_ms IS NOT NULL;
