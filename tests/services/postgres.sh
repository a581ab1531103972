#!/bin/bash
# A private PostgreSQL on loopback. Binaries: the newest of /usr/lib/postgresql.
#
#   postgres.sh start DIR PORT   new cluster in DIR; prints URI=postgresql://… of a superuser
#   postgres.sh stop DIR         ends it
#   postgres.sh kill DIR         ends it without a checkpoint, sessions are cut
#   postgres.sh restart DIR      starts what stop or kill ended
#   postgres.sh freeze|thaw DIR  SIGSTOP and SIGCONT for the server and its sessions
#   postgres.sh standby DIR PORT a synchronous copy of the cluster at PG_PRIMARY (its URI), read-only
#   postgres.sh promote DIR      makes the copy the primary
#
# env: PG_FSYNC=on for tests of durability (off by default, the cluster is thrown away)
set -eu
cmd=${1:?command}
dir=${2:?directory}
bin=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)
[ -x "$bin/initdb" ] || { echo "postgres.sh: no server below /usr/lib/postgresql" >&2; exit 1; }

# the server refuses to run as root
as_owner() {
    if [ "$(id -u)" = 0 ]; then runuser -u postgres -- env -C / "$@"; else "$@"; fi
}

up() {
    as_owner "$bin/pg_ctl" -D "$dir/data" -l "$dir/log" -w -t 60 -s start || {
        tail -n 15 "$dir/log" >&2
        exit 1
    }
}

pids() {
    leader=$(head -n 1 "$dir/data/postmaster.pid" 2>/dev/null) || return 0
    echo "$leader" $(cat /proc/"$leader"/task/*/children 2>/dev/null)
}

print_values() {
    echo "URI=postgresql://firn:$1@127.0.0.1:$2/postgres"
    echo "PASSWORD=$1"
}

case $cmd in
start)
    port=${3:?port}
    mkdir -p "$dir"
    dir=$(cd "$dir" && pwd)
    rm -rf "$dir/data"
    password=$(head -c 300 /dev/urandom | tr -dc A-Za-z0-9 | head -c 24)
    printf '%s\n' "$password" >"$dir/password"
    [ "$(id -u)" != 0 ] || chown -R postgres "$dir"
    as_owner "$bin/initdb" -D "$dir/data" -U firn --pwfile="$dir/password" -A scram-sha-256 \
        -E UTF8 --locale=C --no-sync >"$dir/initdb.log" 2>&1 || { cat "$dir/initdb.log" >&2; exit 1; }
    fsync=${PG_FSYNC:-off}
    cat >>"$dir/data/postgresql.conf" <<X
listen_addresses = '127.0.0.1'
port = $port
unix_socket_directories = '$dir'
max_connections = 400
shared_buffers = 64MB
fsync = $fsync
full_page_writes = $fsync
synchronous_commit = $fsync
log_min_messages = warning
X
    up
    print_values "$password" "$port"
    ;;
standby)
    port=${3:?port}
    mkdir -p "$dir"
    dir=$(cd "$dir" && pwd)
    rm -rf "$dir/data"
    password=${PG_PRIMARY#*//firn:}
    password=${password%%@*}
    [ "$(id -u)" != 0 ] || chown -R postgres "$dir"
    as_owner "$bin/pg_basebackup" -D "$dir/data" -d "$PG_PRIMARY" -X stream -R -c fast --no-sync
    cat >>"$dir/data/postgresql.conf" <<X
port = $port
unix_socket_directories = '$dir'
X
    up
    as_owner "$bin/psql" -q -d "$PG_PRIMARY" -c "ALTER SYSTEM SET synchronous_standby_names = '*'" \
        -c "SELECT pg_reload_conf()" >/dev/null
    print_values "$password" "$port"
    ;;
promote)
    # nobody is left to wait for
    as_owner sed -i '/synchronous_standby_names/d' "$dir/data/postgresql.auto.conf"
    as_owner "$bin/pg_ctl" -D "$dir/data" -w -t 60 -s promote
    ;;
restart) up ;;
stop) as_owner "$bin/pg_ctl" -D "$dir/data" -m fast -w -t 60 -s stop || true ;;
kill) as_owner "$bin/pg_ctl" -D "$dir/data" -m immediate -w -t 60 -s stop || true ;;
freeze) kill -STOP $(pids) ;;
thaw) kill -CONT $(pids) ;;
*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
