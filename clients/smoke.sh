#!/bin/sh
# Installs a package of `clients/pack.sh` in an empty project, and uses it: clients/smoke.sh python|node FOLDER
# It takes the python3, or the node and npm, of the PATH.
set -eu
[ $# = 2 ] || { sed -n 2,3p "$0" >&2; exit 2; }
packages=$(cd "$2" && pwd)
project=$(mktemp -d)
trap 'rm -rf "$project"' EXIT
cd "$project"

case $1 in
python)
  python3 -m venv .venv
  .venv/bin/python -m pip install --quiet --disable-pip-version-check "$(echo "$packages"/headrace_client-*.whl)[cli]" mypy
  .venv/bin/headrace --version
  printf '%s\n' 'from typing import assert_type' 'from headrace_client import Headrace' \
    'from headrace_client.types import RoomDetails' 'with Headrace("http://localhost:1", "a.b.c") as headrace:' \
    '    print(type(headrace).__name__)' '    if not headrace:' \
    '        assert_type(headrace.get_room("lobby"), RoomDetails)' >program.py
  .venv/bin/python -W error program.py
  .venv/bin/mypy --strict program.py
  ls .venv/lib/python3*/site-packages/headrace_client-*.dist-info/licenses/LICENSE
  ;;
node)
  echo '{"type": "module", "private": true}' >package.json
  npm install --silent --no-audit --no-fund "$packages"/headrace-client-*.tgz typescript@5
  printf '%s\n' 'import { Headrace, type Message } from "headrace-client";' \
    'const headrace = new Headrace({ httpUrl: "http://localhost:1", wsUrl: "ws://localhost:1/local", token: "a.b.c" });' \
    'const first = async (): Promise<Message | undefined> =>' \
    '  (await headrace.request("GET /rooms/{roomId}/messages", { roomId: "lobby", limit: 1 })).items[0];' \
    'console.log(headrace.state, first.name, headrace.newId().length);' >program.ts
  node_modules/.bin/tsc --strict --target es2022 --module nodenext program.ts
  node program.js
  ls node_modules/headrace-client/LICENSE node_modules/headrace-client/README.md
  ;;
*) echo "$1: the allowed values are python and node" >&2; exit 2 ;;
esac
