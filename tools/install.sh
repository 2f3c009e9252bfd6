#!/bin/sh
# Install packages into an environment: install.sh PYTHON ARGUMENTS-OF-PIP-INSTALL
#
# uv takes half as long as pip, but does not read pip's configuration: pip is used if an index is configured, or if uv
# fails.
python=$1
shift
pip() {
    "$python" -m pip --disable-pip-version-check "$@"
}

if ! pip config list | grep -q index && pip install --quiet uv &&
    "$python" -m uv pip install --python "$python" "$@"; then
    exit 0
fi
pip install "$@"
