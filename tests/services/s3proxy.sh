#!/bin/bash
# S3Proxy on loopback, over a folder: a clone that passes over If-None-Match (S3PROXY_MODE=ignore), or knows no header
# beyond the first ones and answers 501 to it (S3PROXY_MODE=strict).
# usage: s3proxy.sh start DIR PORT | stop DIR.   env: S3PROXY=path of the jar, BUCKET
set -u
command=${1:?start or stop} folder=${2:?a folder}
alive() { [ -r "/proc/$1/status" ] && ! grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; }
stop() {
  [ -f "$folder/pid" ] || return 0
  local pid; pid=$(cat "$folder/pid")
  kill "$pid" 2>/dev/null
  for _ in $(seq 30); do alive "$pid" || break; sleep 0.1; done
  kill -9 "$pid" 2>/dev/null
  rm -f "$folder/pid"
}
draw() { head -c 400 /dev/urandom | tr -dc "$1" | head -c "$2"; }

[ "$command" = start ] || { stop; exit 0; }
port=${3:?a port} jar=${S3PROXY:?the jar} bucket=${BUCKET:-tests}
mkdir -p "$folder"; folder=$(cd "$folder" && pwd); stop
rm -rf "${folder:?}/data"; mkdir -p "$folder/data/$bucket"
key=$(draw A-Z0-9 20) secret=$(draw A-Za-z0-9 40)
[ "${S3PROXY_MODE:-ignore}" = strict ] && ignore=false || ignore=true
# the backend's own identity must be there, though a folder has none
cat >"$folder/s3proxy.conf" <<END
s3proxy.endpoint=http://127.0.0.1:$port
s3proxy.authorization=aws-v2-or-v4
s3proxy.identity=$key
s3proxy.credential=$secret
s3proxy.ignore-unknown-headers=$ignore
jclouds.provider=filesystem-nio2
jclouds.identity=none
jclouds.credential=none
jclouds.filesystem.basedir=$folder/data
END
setsid nohup java -Xmx192m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -jar "$jar" --properties "$folder/s3proxy.conf" \
  </dev/null >"$folder/s3proxy.log" 2>&1 &
echo $! >"$folder/pid"
status=000
for _ in $(seq 300); do
  status=$(curl -s -o /dev/null -w '%{http_code}' --max-time 5 "http://127.0.0.1:$port/")
  [ "$status" != 000 ] && break
  alive "$(cat "$folder/pid")" || break
  sleep 0.2
done
[ "$status" != 000 ] || { echo "s3proxy.sh: not ready" >&2; tail -n 15 "$folder/s3proxy.log" >&2; stop; exit 1; }
printf '%s\n' "ENDPOINT=http://127.0.0.1:$port" "VHOST_ENDPOINT=http://localhost:$port" REGION=us-east-1 \
  "ACCESS_KEY=$key" "SECRET_KEY=$secret" "BUCKET=$bucket"
