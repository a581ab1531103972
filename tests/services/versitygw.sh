#!/bin/bash
# versitygw on loopback: S3 over a folder, with one pair of keys and no token service. It checks what other stores pass
# over: the region of a signature, the digest of a body.
# usage: versitygw.sh start DIR PORT | stop DIR.   env: VERSITYGW=path of the program, BUCKET
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
port=${3:?a port} program=${VERSITYGW:-versitygw} bucket=${BUCKET:-tests}
mkdir -p "$folder"; folder=$(cd "$folder" && pwd); stop
rm -rf "${folder:?}"/{data,users,attributes}; mkdir -p "$folder"/{data,users,attributes}
key=$(draw A-Z0-9 20) secret=$(draw A-Za-z0-9 40)
cd "$folder" || exit 1
ROOT_ACCESS_KEY=$key ROOT_SECRET_KEY=$secret setsid nohup "$program" --port "127.0.0.1:$port" --region us-east-1 \
  --virtual-domain localhost --iam-dir "$folder/users" posix --sidecar "$folder/attributes" "$folder/data" </dev/null >"$folder/versitygw.log" 2>&1 &
echo $! >"$folder/pid"
status=
for _ in $(seq 100); do
  status=$(curl -s -o /dev/null -w '%{http_code}' --max-time 10 -X PUT --user "$key:$secret" --aws-sigv4 aws:amz:us-east-1:s3 \
    -H 'x-amz-content-sha256: UNSIGNED-PAYLOAD' "http://127.0.0.1:$port/$bucket")
  case $status in 200|409) break;; esac
  alive "$(cat "$folder/pid")" || break
  sleep 0.1
done
case $status in
200|409) ;;
*) echo "versitygw.sh: the bucket could not be made ($status)" >&2; tail -n 15 "$folder/versitygw.log" >&2; stop; exit 1;;
esac
printf '%s\n' "ENDPOINT=http://127.0.0.1:$port" "VHOST_ENDPOINT=http://localhost:$port" REGION=us-east-1 \
  "ACCESS_KEY=$key" "SECRET_KEY=$secret" "BUCKET=$bucket"
