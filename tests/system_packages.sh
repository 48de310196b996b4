#!/bin/sh
# Installs what the tests use of the system and it does not have yet: quietly, as root on Debian; else says what is missing.
missing=""
for browser in chromium-headless-shell chromium chromium-browser google-chrome none; do
    command -v $browser >/dev/null && break
done
[ $browser != none ] || missing="$missing chromium-headless-shell"
command -v redis-server >/dev/null || missing="$missing redis-server"
command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] || missing="$missing nginx-light"
command -v docker-compose >/dev/null || missing="$missing docker-compose"
[ -z "$missing" ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "Installing$missing ..."
    export DEBIAN_FRONTEND=noninteractive
    # The server is for tests to start by themselves; no service is started on this machine.
    policy=/usr/sbin/policy-rc.d
    [ -e $policy ] || { printf '#!/bin/sh\nexit 101\n' > $policy && chmod +x $policy && trap 'rm -f /usr/sbin/policy-rc.d' EXIT; }
    if apt-get update -qq && apt-get install -qq --no-install-recommends $missing >/dev/null 2>&1; then
        exit 0
    fi
fi
echo "Not installed:$missing. Tests that need them are skipped and say so." >&2
