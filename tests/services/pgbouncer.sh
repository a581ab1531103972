#!/bin/bash
# PgBouncer on loopback, pooling by transaction, in front of a PostgreSQL.
#
#   pgbouncer.sh start DIR PORT  needs PG_HOST, PG_PORT, PG_USER, PG_PASSWORD; prints URI=postgresql://…
#   pgbouncer.sh stop|kill DIR   ends it, politely or by SIGKILL
#   pgbouncer.sh restart DIR     starts what stop or kill ended
set -eu
cmd=${1:?command}
dir=${2:?directory}

# it refuses to run as root
as_owner() {
    if [ "$(id -u)" = 0 ]; then runuser -u postgres -- env -C / "$@"; else "$@"; fi
}

up() {
    as_owner /usr/sbin/pgbouncer -d -q "$dir/pgbouncer.ini"
}

down() {
    pid=$(cat "$dir/pid" 2>/dev/null) || return 0
    kill "-$1" "$pid" 2>/dev/null || return 0
    while kill -0 "$pid" 2>/dev/null; do sleep 0.02; done
    rm -f "$dir/pid"
}

case $cmd in
start)
    port=${3:?port}
    mkdir -p "$dir"
    dir=$(cd "$dir" && pwd)
    printf '"%s" "%s"\n' "$PG_USER" "$PG_PASSWORD" >"$dir/users"
    cat >"$dir/pgbouncer.ini" <<X
[databases]
* = host=$PG_HOST port=$PG_PORT

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $port
unix_socket_dir =
auth_type = scram-sha-256
auth_file = $dir/users
pool_mode = transaction
default_pool_size = 4
max_client_conn = 500
server_login_retry = 1
logfile = $dir/log
pidfile = $dir/pid
X
    [ "$(id -u)" != 0 ] || chown -R postgres "$dir"
    up
    echo "URI=postgresql://$PG_USER:$PG_PASSWORD@127.0.0.1:$port/postgres"
    echo "PASSWORD=$PG_PASSWORD"
    ;;
restart) up ;;
stop) down TERM ;;
kill) down KILL ;;
*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
