#!/bin/sh
# Writes requirements/*.txt: exact versions with hashes, for every Python and system we support, naming no registry.
# usage: scripts/lock.sh PYTHON
set -eu
python=$1
uv=$(dirname "$python")/uv
[ -x "$uv" ] || "$python" -m pip --disable-pip-version-check install --quiet uv

compile() {
  "$uv" pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes \
    --no-emit-index-url --no-emit-find-links --no-annotate --custom-compile-command "make lock" "$@"
}
compile --output-file requirements/run.txt
compile --output-file requirements/dev.txt --extra pydantic-ai --extra langgraph --extra openai-agents --extra mcp --extra a2a --extra seal --extra fast --group dev
