-- An object whose files are being purged keeps its uuid: nobody registers its metadata while they
-- go. A mark whose uuid is in use again is none any more.

DELETE FROM object WHERE purge_ms IS NOT NULL AND EXISTS (
    SELECT 1 FROM object o
    WHERE o.warehouse_id = object.warehouse_id AND o.uuid = object.uuid AND o.id <> object.id
        AND (o.purge_ms IS NULL OR o.id > object.id));

DROP INDEX object_uuid;

CREATE UNIQUE INDEX object_uuid ON object (warehouse_id, uuid);
