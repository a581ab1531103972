#!/bin/sh
# Runs a test with a PostgreSQL server of its own, on a socket in a folder that goes away with it.
# The test finds FIRN_TEST_PG (the folder of the socket) and FIRN_TEST_PG_RESTART (a script).
# FIRN_TEST_NO_PG=1: without one; the test then says that it left half of itself out.
set -eu

if [ "${FIRN_TEST_NO_PG:-}" = 1 ]; then
    echo "with_pg.sh: FIRN_TEST_NO_PG=1, only SQLite is tested" >&2
    exec "$@"
fi

bin=$(dirname "$(command -v initdb || ls -d /usr/lib/postgresql/*/bin/initdb 2>/dev/null | tail -1)")
if [ ! -x "$bin/initdb" ] || [ ! -x "$bin/pg_ctl" ]; then
    echo "with_pg.sh: no initdb in PATH or /usr/lib/postgresql: install PostgreSQL's server," >&2
    echo "with_pg.sh: or set FIRN_TEST_NO_PG=1 to test SQLite only" >&2
    exit 1
fi

dir=$(mktemp -d "${FIRN_TEST_TMP:-/tmp}/firn-pg.XXXXXX")
user=
if [ "$(id -u)" = 0 ]; then
    user="runuser -u postgres --"
    chown postgres "$dir"
fi

as_user() {
    (cd "$dir" && $user "$@")
}

finish() {
    as_user "$bin/pg_ctl" -D "$dir/data" -m immediate -w stop >/dev/null 2>&1 || true
    rm -rf "$dir"
}
trap finish EXIT
trap 'exit 1' INT TERM

# Most of what a start costs is to make an empty cluster: that is made once a build folder, and copied.
empty=$(dirname "$1")/empty-$("$bin/initdb" --version | tr -dc 0-9.)
if ! cp -a "$empty" "$dir/data" 2>/dev/null; then
    rm -rf "$dir/data"
    as_user "$bin/initdb" -D "$dir/data" -U firn -A trust -E UTF8 --no-locale --no-sync >"$dir/log" 2>&1 ||
        { cat "$dir/log" >&2; exit 1; }
    cp -a "$dir/data" "$empty.$$"
    mv -T "$empty.$$" "$empty" 2>/dev/null || rm -rf "$empty.$$" # another test was first
fi
cat >>"$dir/data/postgresql.conf" <<END
listen_addresses = ''
unix_socket_directories = '$dir'
fsync = off
max_connections = 60
shared_buffers = 16MB
END
as_user "$bin/pg_ctl" -D "$dir/data" -l "$dir/server.log" -w start >"$dir/log" 2>&1 ||
    { cat "$dir/log" "$dir/server.log" >&2; exit 1; }

cat >"$dir/restart" <<END
#!/bin/sh
cd "$dir"
exec $user "$bin/pg_ctl" -D "$dir/data" -l "$dir/server.log" -m fast -w restart >/dev/null 2>&1
END
chmod +x "$dir/restart"
if [ -n "$user" ]; then
    chown postgres "$dir/restart"
fi
chmod 755 "$dir"

FIRN_TEST_PG=$dir FIRN_TEST_PG_RESTART=$dir/restart "$@"
