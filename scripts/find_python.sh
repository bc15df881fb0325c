#!/bin/sh
# Prints a Python of 3.11 or newer, or says what to install. $PYTHON is asked first.
for name in ${PYTHON:+"$PYTHON"} python3 python3.13 python3.12 python3.11 python3.14 python; do
  # Running it is the only proof: version managers leave stubs on the path that start nothing.
  if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
    command -v "$name"
    exit 0
  fi
done
echo "toolwitness needs Python 3.11 or newer, and none was found. On Debian 12 or newer: apt-get install python3 python3-venv" >&2
echo "If it is elsewhere: PYTHON=/path/to/python3.12 make …" >&2
exit 1
