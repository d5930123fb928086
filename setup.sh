#!/bin/sh
# Installs rowtui into .venv beside this file and runs it.
#
#   ./setup.sh demo    install, then run the demo project and open the dashboard on it
#   ./setup.sh test    install with the test tools, then run every check and test
#   ./setup.sh dev     install with the test tools; the checkout itself is what runs
#   ./setup.sh site    build the site of the documentation in build/site; --check: any warning fails
#   ./setup.sh release make all files of a release in dist/; with --check, also try the bundle
#
# Needs Python 3.11 or newer. What else is missing is installed with apt-get where that is
# possible (as root or with passwordless sudo), and named in one line where it is not.
set -eu
cd "$(dirname "$0")"

say() { printf '%s\n' "$*" >&2; }
die() { say "setup.sh: $*"; exit 1; }

usage() { sed -n '2,11s/^# \{0,1\}//p' "$0"; exit "$1"; }

find_python() {
    for name in "${PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11; do
        [ -n "$name" ] || continue
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$name"
            return
        fi
    done
    there=$(python3 --version 2>/dev/null || echo none)
    die "Python 3.11 or newer is missing, python3 here is: $there (Debian: apt-get install python3 python3-venv; or set PYTHON)"
}

# Debian packages by name; services that they bring are kept from starting.
install_packages() {
    as_root=""
    if [ "$(id -u)" != 0 ]; then
        if sudo -n true 2>/dev/null; then as_root="sudo -n"; else return 1; fi
    fi
    command -v apt-get >/dev/null || return 1
    say "installing with apt-get: $*"
    policy=/usr/sbin/policy-rc.d
    made_policy=no
    if [ ! -e $policy ]; then
        printf '#!/bin/sh\nexit 101\n' | $as_root tee $policy >/dev/null
        $as_root chmod +x $policy
        made_policy=yes
    fi
    status=0
    $as_root apt-get update -qq >&2 || status=$?
    DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -q --no-install-recommends \
        -o DPkg::Lock::Timeout=300 "$@" >&2 && status=0 || status=$?
    [ $made_policy = no ] || $as_root rm -f $policy
    return $status
}

venv=.venv
make_venv() {
    [ -x $venv/bin/python ] && $venv/bin/python -m pip --version >/dev/null 2>&1 && return
    if ! "$python" -m venv --clear $venv >/dev/null 2>&1; then
        version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        install_packages "python$version-venv" || install_packages python3-venv ||
            die "Python's venv module is missing: apt-get install python3-venv"
        "$python" -m venv --clear $venv || die "could not create $venv"
    fi
}

pip_install() {
    $venv/bin/python -m pip install -q --disable-pip-version-check "$@"
}

a_file_is() { [ -e "$1" ]; }

need_test_packages() {
    missing=""
    [ -x /usr/sbin/slurmctld ] || missing="$missing slurmctld"
    [ -x /usr/sbin/slurmd ] || missing="$missing slurmd"
    command -v sbatch >/dev/null || missing="$missing slurm-client"
    command -v munge >/dev/null || missing="$missing munge"
    [ -x /usr/sbin/sshd ] || missing="$missing openssh-server"
    command -v ssh >/dev/null || missing="$missing openssh-client"
    command -v ps >/dev/null || missing="$missing procps"
    a_file_is /lib/*/security/pam_oath.so || missing="$missing libpam-oath"
    command -v rsync >/dev/null || missing="$missing rsync"
    command -v tmux >/dev/null || missing="$missing tmux"
    command -v strace >/dev/null || missing="$missing strace"
    command -v systemd-analyze >/dev/null || missing="$missing systemd"
    [ -x /usr/sbin/slurmdbd ] || missing="$missing slurmdbd"
    [ -x /usr/sbin/mariadbd ] || missing="$missing mariadb-server-core"
    a_file_is /usr/lib/*/slurm-wlm/accounting_storage_mysql.so ||
        missing="$missing slurm-wlm-mysql-plugin"
    [ -x /usr/sbin/sge_qmaster ] || missing="$missing gridengine-master"
    [ -x /usr/sbin/sge_execd ] || missing="$missing gridengine-exec"
    command -v qsub >/dev/null || missing="$missing gridengine-client"
    command -v chromium >/dev/null || command -v google-chrome >/dev/null ||
        missing="$missing chromium"
    [ -z "$missing" ] && return
    # shellcheck disable=SC2086
    install_packages $missing ||
        die "the tests, which start a real Slurm, Grid Engine, sshd and Chromium, need: apt-get install$missing"
}

# The optional part in Rust. Where it is missing, its tests compare rowtui with itself.
install_fast() {
    if ! command -v cargo >/dev/null; then
        say "cargo is missing: rowtui-fast is not built"
    elif ! pip_install ./fast; then
        say "rowtui-fast could not be built (it needs Rust 1.75 or newer)"
    fi
}

# The checkout in place of a copy: site-packages/rowtui has links to core, cli, tui, themes, and to
# what is in api.
link_checkout() {
    .venv/bin/python -m pip uninstall -q -y rowtui >/dev/null 2>&1 || true
    site=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    rm -rf "$site/rowtui" "$site"/rowtui-*.dist-info build rowtui.egg-info
    mkdir -p "$site/rowtui"
    for folder in core cli tui themes; do ln -s "$PWD/$folder" "$site/rowtui/$folder"; done
    for file in api/*.py api/py.typed; do ln -s "$PWD/$file" "$site/rowtui/${file#api/}"; done
    .venv/bin/python .ci/entry_points "$site"
    printf '#!%s\nimport sys\n\nfrom rowtui.cli.main import start\n\nsys.exit(start())\n' \
        "$PWD/.venv/bin/python" > .venv/bin/rowtui
    chmod +x .venv/bin/rowtui
}

command=${1:-}
[ $# -gt 0 ] && shift
case $command in
    demo)
        python=$(find_python)
        say "installing rowtui into .venv, which takes about half a minute"
        make_venv
        rm -rf build
        pip_install .
        exec .venv/bin/rowtui demo "$@"
        ;;
    test)
        python=$(find_python)
        make_venv
        need_test_packages
        rm -rf build
        pip_install -c tests/constraints.txt ".[test]"
        install_fast &
        .venv/bin/ruff check .
        .venv/bin/ruff format --check -q .
        .venv/bin/lint-imports --no-cache | tail -n 6
        # Meanwhile the other core compiles the tests, which each worker would do for itself.
        PYTHONDONTWRITEBYTECODE="" .venv/bin/python -m pytest --collect-only -q >/dev/null 2>&1 &
        .venv/bin/mypy --cache-dir=.mypy_cache -p rowtui -p release
        wait || : # what is wrong with them is told by the run
        # A good part of the time goes by in waits for daemons: two workers more than the usual cores.
        exec .venv/bin/python -m pytest -n 4 --dist loadfile "$@"
        ;;
    dev)
        python=$(find_python)
        make_venv
        need_test_packages
        rm -rf build
        pip_install -c tests/constraints.txt ".[test]"
        install_fast
        link_checkout
        say "ready: .venv/bin/rowtui and .venv/bin/pytest run this checkout"
        ;;
    site)
        python=$(find_python)
        make_venv
        # Only the tools: in .venv there may be links to the checkout, which stay.
        # shellcheck disable=SC2046
        pip_install $(.venv/bin/python -c 'import tomllib
project = tomllib.load(open("pyproject.toml", "rb"))["project"]
print(*project["optional-dependencies"]["docs"])')
        strict=""
        [ "${1:-}" != --check ] || strict="-W --keep-going -n"
        # shellcheck disable=SC2086
        .venv/bin/python -m sphinx -q -E $strict -c docs/site -d build/doctrees docs build/site
        say "built: build/site/index.html"
        ;;
    release)
        python=$(find_python)
        venv=.venv-release
        make_venv
        pip_install -r release/requirements.txt
        exec $venv/bin/python -m release "$@"
        ;;
    -h | --help | help) usage 0 ;;
    *) usage 2 ;;
esac
