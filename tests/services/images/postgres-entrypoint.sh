#!/bin/sh
# The first start makes the cluster, the user and the database that the environment names.
set -eu
mkdir -p "$PGDATA"
chown -R postgres "$PGDATA"
chmod 700 "$PGDATA"
as() { runuser -u postgres -- "$@"; }
if ! [ -s "$PGDATA/PG_VERSION" ]; then
    printf '%s\n' "$POSTGRES_PASSWORD" >/tmp/password
    chmod 644 /tmp/password
    as initdb -D "$PGDATA" -U "$POSTGRES_USER" --pwfile=/tmp/password -A scram-sha-256 -E UTF8 --locale=C
    rm /tmp/password
    printf 'local all all trust\n' | cat - "$PGDATA/pg_hba.conf" >/tmp/hba
    cat /tmp/hba >"$PGDATA/pg_hba.conf"
    as pg_ctl -D "$PGDATA" -o "-c listen_addresses='' -k /tmp" -w start
    as createdb -h /tmp -U "$POSTGRES_USER" -E UTF8 -T template0 "$POSTGRES_DB"
    as pg_ctl -D "$PGDATA" -m fast -w stop
fi
exec runuser -u postgres -- postgres -D "$PGDATA" -k /tmp -c "listen_addresses=${LISTEN:-127.0.0.1}"
