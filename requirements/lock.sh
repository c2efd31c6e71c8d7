#!/usr/bin/env bash
# Writes requirements/*.txt: exact versions for Python 3.11 to 3.13, from pyproject.toml.
#
# Versions stay as they are where they can; `make lock UPGRADE=1` takes the newest ones.
# The files hold no hashes: a CPU and a CUDA build of torch carry the same version, and either must do.
set -euo pipefail
cd "$(dirname "$0")/.."
uv=${UV:-uv}

compile() {
    local out=requirements/$1.txt
    shift
    # Pins that are still allowed stay: uv reads them from the file that it writes.
    if [ -z "${UPGRADE:-}" ] && [ -f "$out" ]; then cp "$out" "$out.new"; fi
    "$uv" pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate \
        --no-emit-index-url --no-emit-find-links --output-file "$out.new" "$@"
    {
        echo "# Written by \`make lock\`; change pyproject.toml or requirements/*.in instead."
        # CPU builds of torch do not want these, CUDA builds pin them themselves.
        grep -vE '^(nvidia-|cuda-)' "$out.new"
    } >"$out"
    rm "$out.new"
}

compile build requirements/build.in
# The service has all of the others in it, but for torch; they take its versions.
compile service pyproject.toml --extra service --constraint requirements/build.txt
compile base pyproject.toml --constraint requirements/service.txt
compile action pyproject.toml --extra github --constraint requirements/service.txt
compile dev pyproject.toml --extra dev --constraint requirements/service.txt --constraint requirements/build.txt
compile device pyproject.toml --extra github --extra device --constraint requirements/dev.txt
compile kernels requirements/kernels.in pyproject.toml --extra kernels --extra device \
    --constraint requirements/dev.txt --constraint requirements/build.txt

if grep -nE '://|file:|index-url|find-links|^/' requirements/*.txt; then
    echo "requirements/*.txt name a host or a path" >&2
    exit 1
fi
