#!/bin/bash
# Apache Iceberg's REST compatibility kit against one catalog, from published artifacts.
#
#   run.sh URI [-DNAME=VALUE ...]   runs it; an empty VALUE takes a switch away
#   run.sh --resolve                fetches and compiles everything, runs nothing
#   run.sh --class-path             prints the class path: the client, the kit, what they need
#
# The catalog must be new, with a new warehouse folder that this user may write, written
# file:/… with one slash (a test compares with Java's spelling), and it must allow locations
# below file:/tmp. Runs the catalog class, five of its bodies that it has no switch for, and the
# view class.
# Every rck.X is also the client's property X, which is how a token or a warehouse gets in.
#
# env: RCK_CACHE (class path lists, compiled classes), RCK_REPORTS (a folder that keeps JUnit's
# XML and the client's log), RCK_TIMEOUT (900 s), RCK_SELECT (JUnit selectors of one's own)
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${RCK_CACHE:-$here/../../../.cache/rck}
usage() {
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

uri='' resolve=''
given=()
for argument in "$@"; do
    case $argument in
    --resolve) resolve=1 ;;
    --class-path) resolve=print ;;
    -D?*=*) given+=("$argument") ;;
    -*) usage ;;
    *) uri=$argument ;;
    esac
done
[[ -n $uri$resolve ]] || usage

# --- class path and our own classes, once per source ---

mkdir -p "$cache"
cache=$(cd "$cache" && pwd)
key=$(cat "$here"/pom.xml "$here"/src/*.java | sha256sum | cut -c1-16)
list=$cache/$key.classpath
own=$cache/$key.classes

complete() {
    [[ -s $list && -d $own ]] || return 1
    local jar
    while IFS= read -r -d: jar; do
        [[ -f $jar ]] || return 1
    done <<<"$(<"$list"):"
}

if ! complete; then
    echo "rck: fetching the class path" >&2
    mvn -q -B -f "$here/pom.xml" -Dmdep.outputFile="$list.$$" \
        org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath >&2
    mv "$list.$$" "$list"
    rm -rf "$own" "$own.$$"
    javac -proc:none -nowarn -cp "$(<"$list")" -d "$own.$$" "$here"/src/*.java
    mv -T "$own.$$" "$own"
fi
[[ $resolve != print ]] || echo "$(<"$list")"
[[ -z $resolve ]] || exit 0

# --- switches: the kit wants each once with and once without its prefix ---

declare -A switch=(
    [rck.local]=false
    [rck.uri]=$uri
    [rck.requires-namespace-create]=true
    [rck.supports-serverside-retry]=true
    [rck.overrides-requested-location]=false
    [rck.supports-names-with-dot]=true
    [rck.supports-variant]=true
    [rck.purge-test-namespaces]=true
    [rck.unique-table-location]=true
)
for argument in "${given[@]}"; do
    pair=${argument#-D}
    if [[ -n ${pair#*=} ]]; then
        switch[${pair%%=*}]=${pair#*=}
    else
        unset "switch[${pair%%=*}]"
    fi
done
defines=()
for name in "${!switch[@]}"; do
    defines+=("-D$name=${switch[$name]}" "-D${name#rck.}=${switch[$name]}")
done

# the kit would take these for client properties
for name in "${!CATALOG_@}"; do
    unset "$name"
done

package=org.apache.iceberg.rest
select=(--select-class "$package.RESTCompatibilityKitCatalogTests"
    --select-class "$package.RESTCompatibilityKitViewCatalogTests")
for method in testListNestedNamespaces testDropNamespaceWithNestedNamespace \
    testNamespaceWithSlash testTableNameWithSlash createTableInUniqueLocation; do
    select+=(--select-method "$package.BeyondKitTests#$method")
done
[[ -z ${RCK_SELECT:-} ]] || read -ra select <<<"$RCK_SELECT"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
reports=${RCK_REPORTS:-$work/reports}
mkdir -p "$reports" "$work/tmp"

status=0
timeout -k 10 "${RCK_TIMEOUT:-900}" java \
    -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto -Djava.io.tmpdir="$work/tmp" \
    -Dorg.slf4j.simpleLogger.defaultLogLevel=warn \
    -Dorg.slf4j.simpleLogger.logFile="$reports/client.log" \
    "${defines[@]}" -cp "$own:$(<"$list")" \
    org.junit.platform.console.ConsoleLauncher execute "${select[@]}" \
    --disable-banner --disable-ansi-colors --details=none --reports-dir "$reports" \
    --config junit.jupiter.execution.timeout.testable.method.default=120s \
    --config junit.jupiter.execution.timeout.thread.mode.default=SEPARATE_THREAD \
    >"$reports/console.log" 2>&1 || status=$?

if [[ ! -s $reports/TEST-junit-jupiter.xml ]]; then
    tail -n 20 "$reports/console.log" >&2
    echo "the kit ended with status $status and no report" >&2
    exit 2
fi
exec /usr/bin/python3 "$here/verdict.py" "$reports/TEST-junit-jupiter.xml" "$status" ${RCK_SELECT:+--partial}
