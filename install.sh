#!/bin/sh
# Installs rowtui for the user who runs this script, with what the machine has; --help explains how.
set -eu

address=https://example.org/rowtui
python_at_least=3.11

die() { printf 'install.sh: %s\n' "$*" >&2; exit 1; }

usage() {
    cat <<END
Usage: sh install.sh [--with TOOL] [--from SOURCE] [--extras NAMES] [--dry-run] [--as-root]

Installs rowtui into your home with the first of these that is here: uv, pipx, Python $python_at_least
or newer, or an offline bundle (rowtui-*.run) in the current folder.

  --with TOOL     uv, pipx, venv or bundle
  --from SOURCE   a wheel, a folder or a requirement [default: this checkout, else rowtui from PyPI]
  --extras NAMES  optional parts, with commas: exact, fast, images, keyring, serve
  --dry-run       print the commands, and run none
  --as-root       install for root, if root runs this script
  -h, --help      print this text
END
}

# Prints a command, and runs it unless this is a dry run.
run() {
    printf '$ %s\n' "$*"
    [ $dry = yes ] || "$@"
}

has() { command -v "$1" >/dev/null 2>&1; }

find_python() {
    for name in "${PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11; do
        if [ -n "$name" ] && "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$name"
            return
        fi
    done
}

find_bundle() {
    newest=
    for file in ./rowtui-*-linux-"$(uname -m)".run; do
        [ ! -f "$file" ] || newest=$file
    done
    printf '%s' "$newest"
}

choose() {
    if [ -n "$source_given" ]; then tools="uv pipx venv"; else tools="uv pipx venv bundle"; fi
    for tool in $tools; do
        if why_not "$tool" >/dev/null; then
            printf '%s' "$tool"
            return
        fi
    done
}

# Prints what is missing for a tool, in words that follow "is missing: "; fails if something is.
why_not() {
    case $1 in
        uv) has uv || { printf 'uv'; return 1; } ;;
        pipx)
            has pipx || { printf 'pipx'; return 1; }
            [ -n "$python" ] || { printf 'Python %s or newer, which pipx needs' $python_at_least; return 1; }
            ;;
        venv)
            [ -n "$python" ] || { printf 'Python %s or newer' $python_at_least; return 1; }
            "$python" -c 'import ensurepip, venv' 2>/dev/null ||
                { printf 'the module venv of %s (Debian: apt-get install python3-venv)' "$python"; return 1; }
            ;;
        bundle) [ -n "$bundle" ] || { printf 'a file rowtui-*-linux-%s.run in this folder' "$(uname -m)"; return 1; } ;;
    esac
}

with_venv() {
    folder=$HOME/.local/share/rowtui-venv
    link=$HOME/.local/bin/rowtui
    if [ -e "$link" ] || [ -L "$link" ]; then
        [ "$(readlink "$link" || :)" = "$folder/bin/rowtui" ] ||
            die "$link is from another installation: remove that one first"
    fi
    run "$python" -m venv --clear "$folder"
    run "$folder/bin/python" -m pip install -q --disable-pip-version-check "$what"
    run mkdir -p "$HOME/.local/bin"
    run ln -sf "$folder/bin/rowtui" "$link"
}

dry=no
root=no
tool=
source_given=
extras=
while [ $# -gt 0 ]; do
    case $1 in
        --with | --from | --extras)
            [ $# -gt 1 ] || die "$1 needs a value"
            case $1 in
                --with) tool=$2 ;;
                --from) source_given=$2 ;;
                --extras) extras=$2 ;;
            esac
            shift
            ;;
        --dry-run) dry=yes ;;
        --as-root) root=yes ;;
        -h | --help)
            usage
            exit 0
            ;;
        *)
            usage >&2
            exit 2
            ;;
    esac
    shift
done

[ "$(uname -s)" = Linux ] || die "rowtui runs on Linux, and this is $(uname -s)"
[ "$(id -u)" != 0 ] || [ $root = yes ] ||
    die "this is root: run the script as the user who will use rowtui, or add --as-root"
[ -n "${HOME:-}" ] || die "HOME is not set"
python=$(find_python)
bundle=$(find_bundle)
if [ -z "$tool" ]; then
    tool=$(choose)
    [ -n "$tool" ] ||
        die "neither uv, pipx, nor Python $python_at_least or newer with venv is here (python3: $(python3 --version 2>/dev/null || echo none)): get rowtui-*-linux-$(uname -m).run from $address/releases, and run this script again beside it"
else
    case $tool in
        uv | pipx | venv | bundle) ;;
        *) die "there is no tool '$tool': use uv, pipx, venv or bundle" ;;
    esac
    missing=$(why_not "$tool") || die "--with $tool is not possible, because this is missing: $missing"
fi

what=${source_given:-rowtui}
here=$(dirname "$0")
if [ -z "$source_given" ] && [ "${0##*/}" = install.sh ] && [ -f "$here/release/build_backend.py" ]; then
    what=$here
fi
if [ -d "$what" ]; then
    what=$(cd "$what" && pwd)
elif [ -e "$what" ]; then
    what=$(cd "$(dirname "$what")" && pwd)/${what##*/}
fi
[ -z "$extras" ] || what="${what}[$extras]"
case $tool in
    uv) run uv tool install --upgrade --python ">=$python_at_least" "$what" ;;
    pipx) run pipx install --force --python "$python" "$what" ;;
    venv) with_venv ;;
    bundle)
        [ -z "$extras" ] || die "the bundle has all extras: leave out --extras"
        run sh "$bundle"
        ;;
esac
[ $dry = no ] || exit 0
for place in "$HOME/.local/bin" "${XDG_BIN_HOME:-}" "${PIPX_BIN_DIR:-}"; do
    if [ -n "$place" ] && [ -x "$place/rowtui" ]; then
        printf '%s is installed: %s/rowtui\n' "$("$place/rowtui" --version)" "$place"
        case :$PATH: in
            *:"$place":*) ;;
            *) printf 'Add its folder to your PATH: export PATH="%s:$PATH"\n' "$place" ;;
        esac
        exit 0
    fi
done
printf 'rowtui is installed. Open a new shell, and type: rowtui\n'
