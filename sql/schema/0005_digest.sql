-- A commit that is sent again is recognised also when its table has another name by now.

CREATE INDEX change_request ON change (warehouse_id, digest, at_ms) WHERE digest IS NOT NULL;
