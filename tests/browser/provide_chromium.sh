#!/bin/sh
# Finds a Chromium for the browser tests, or installs Debian's where that is allowed.
# Never fails: where there is none, the browser tests are skipped and say so.

for name in chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null; then exit 0; fi
done

skip() {
  echo "No Chromium: $1; the browser tests will be skipped"
  exit 0
}

command -v apt-get >/dev/null || skip "install Chromium or Chrome yourself"
if [ "$(id -u)" = 0 ]; then
  as_root=""
elif sudo -n true 2>/dev/null; then
  as_root="sudo -n"
else
  skip "run 'sudo apt-get install chromium'"
fi

echo "Installing Chromium for the browser tests"
export DEBIAN_FRONTEND=noninteractive
{
  $as_root apt-get update -qq &&
    $as_root apt-get install -qq -y --no-install-recommends chromium fonts-liberation fonts-dejavu-core
} </dev/null >/dev/null || skip "apt-get could not install it"
