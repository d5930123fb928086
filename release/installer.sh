#!/bin/sh
# Installs rowtui @VERSION@ for Linux on @MACHINE@ with its own Python; --help explains how. A
# compressed archive follows the last line of this script.
set -eu
umask 022

version=@VERSION@
build=@VERSION@-@BUILD@ # the name of the folder
machine=@MACHINE@
glibc=@GLIBC@
kilobytes=@KILOBYTES@
sha256=@SHA256@
lines=@LINES@

name=${0##*/}
die() { printf '%s: %s\n' "$name" "$*" >&2; exit 1; }

usage() {
    cat <<END
Usage: sh $name [--prefix DIR] [--check | --uninstall]

Installs rowtui $version with its own Python, without network, root rights or another Python.

  --prefix DIR   install into DIR/lib/rowtui, with the link DIR/bin/rowtui [default: ~/.local]
  --check        check this file, and whether it can be installed there; change nothing
  --uninstall    remove what this file or another version of it installed there
  -h, --help     print this text

It needs Linux on $machine with glibc $glibc or newer, and $((kilobytes / 1024)) MB.
END
}

archive() { tail -n "+$((lines + 1))" "$0"; }

# Whether version $1 is older than version $2, both as MAJOR.MINOR.
is_older() {
    [ "${1%%.*}" -lt "${2%%.*}" ] ||
        { [ "${1%%.*}" -eq "${2%%.*}" ] && [ "${1#*.}" -lt "${2#*.}" ]; }
}

check_machine() {
    for tool in cat chmod df gzip ln mkdir mv readlink rm tail tar uname; do
        command -v "$tool" >/dev/null || die "the program '$tool' is missing on this machine"
    done
    here="$(uname -s) on $(uname -m)"
    [ "$here" = "Linux on $machine" ] || die "this file is for Linux on $machine, and this is $here"
    there=$(getconf GNU_LIBC_VERSION 2>/dev/null) || there=$(ldd --version 2>&1) || :
    there=${there%%
*} # the first line, whose last word is the version
    case $there in
        *musl*) die "this file needs glibc $glibc or newer, and this system has musl" ;;
    esac
    there=${there##* }
    case $there in
        *[!0-9.]* | '' | .* | *.*.*) ;; # unknown; the trial run after unpacking decides
        *.*)
            if is_older "$there" "$glibc"; then
                die "this file needs glibc $glibc or newer, and this system has glibc $there"
            fi
            ;;
    esac
}

check_file() {
    [ -f "$0" ] || die "the installer has to be run as a file: sh FILE.run"
    if command -v sha256sum >/dev/null; then
        found=$(archive | sha256sum)
        [ "${found%% *}" = "$sha256" ] || die "this file is damaged or incomplete: get it again"
    else
        archive | gzip -t 2>/dev/null || die "this file is damaged or incomplete: get it again"
    fi
}

# Only what an earlier run of such a file has made may be replaced or removed.
check_owner() {
    if [ -e "$home" ] && [ ! -f "$home/.installed-by-bundle" ]; then
        die "$home exists and is not from such a file: move it away, or choose another --prefix"
    fi
    if [ -e "$prefix/bin/rowtui" ] || [ -L "$prefix/bin/rowtui" ]; then
        is_ours "$prefix/bin/rowtui" ||
            die "$prefix/bin/rowtui is from another installation: remove that one first, or choose another --prefix"
    fi
}

is_ours() {
    case $(readlink "$1" || :) in
        ../lib/rowtui/* | ../../../lib/rowtui/*) ;;
        *) return 1 ;;
    esac
}

check_place() {
    above=$home # the nearest folder that exists
    while [ ! -d "$above" ]; do
        [ ! -e "$above" ] || die "$above is not a folder"
        above=${above%/*}
        above=${above:-/}
    done
    trial=$above/.rowtui-trial.$$
    if ! (printf '#!/bin/sh\nexit 0\n' > "$trial" && chmod 700 "$trial") 2>/dev/null; then
        rm -f "$trial"
        die "$above cannot be written to, or its disk is full: choose another --prefix"
    fi
    "$trial" 2>/dev/null && works=yes || works=no
    rm -f "$trial"
    [ "$works" = yes ] || die "programs cannot be run from $above (noexec): choose another --prefix"
    free=$(df -Pk "$above" | {
        read -r _
        read -r _ _ _ free _
        printf '%s' "$free"
    })
    [ "${free:-0}" -ge "$kilobytes" ] ||
        die "$above has $((free / 1024)) MB free, and rowtui needs $((kilobytes / 1024)) MB: choose another --prefix"
}

# Makes or replaces the link $2, whose text is $1; another file of that name stays.
link() {
    mkdir -p "${2%/*}"
    if [ ! -e "$2" ] && [ ! -L "$2" ] || is_ours "$2"; then
        rm -f "$2.$$"
        ln -s "$1" "$2.$$"
        mv -f "$2.$$" "$2"
    fi
}

install() {
    before=$(readlink "$prefix/bin/rowtui" 2>/dev/null || :) # ../lib/rowtui/BUILD/bin/rowtui
    before=${before#../lib/rowtui/}
    before=${before%%/*}
    mkdir -p "$home"
    : > "$home/.installed-by-bundle"
    if [ ! -d "$home/$build" ]; then
        new=$home/.new.$$
        trap 'rm -rf "$new"' EXIT
        trap 'exit 130' INT TERM HUP
        mkdir "$new"
        archive | gzip -dc | (cd "$new" && tar -xof -) ||
            die "unpacking into $home failed: the disk may be full, or a quota reached"
        found=$("$new/bin/rowtui" --version 2>&1) || found="it ended with: $found"
        [ "$found" = "rowtui $version" ] || die "rowtui does not run on this machine: $found"
        mv "$new" "$home/$build"
    fi
    link "../lib/rowtui/$build/bin/rowtui" "$prefix/bin/rowtui"
    link "../../../lib/rowtui/$build/share/man/man1/rowtui.1" "$prefix/share/man/man1/rowtui.1"
    # The version before stays for dashboards and runs that still use it.
    for old in "$home"/*/; do
        old=${old%/}
        case ${old##*/} in
            "$build" | "$before") ;;
            *) [ "$before" = "$build" ] || rm -rf "$old" ;;
        esac
    done
    printf 'rowtui %s is installed: %s/bin/rowtui\n' "$version" "$prefix"
    case :$PATH: in
        *:"$prefix/bin":*) ;;
        *) printf 'Add its folder to your PATH: export PATH="%s/bin:$PATH"\n' "$prefix" ;;
    esac
}

uninstall() {
    [ -e "$home" ] || die "there is no rowtui of such a file in $prefix"
    check_owner
    for one in bin/rowtui share/man/man1/rowtui.1; do
        if [ -L "$prefix/$one" ] && is_ours "$prefix/$one"; then rm -f "$prefix/$one"; fi
    done
    rm -rf "$home"
    printf 'rowtui is removed from %s. Projects and settings stay.\n' "$prefix"
}

what=install
prefix=
while [ $# -gt 0 ]; do
    case $1 in
        --prefix=*) prefix=${1#*=} ;;
        --prefix)
            [ $# -gt 1 ] || die "--prefix needs a folder"
            prefix=$2
            shift
            ;;
        --check) what=check ;;
        --uninstall) what=uninstall ;;
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
if [ -z "$prefix" ]; then
    [ -n "${HOME:-}" ] || die "HOME is not set: choose a --prefix"
    prefix=$HOME/.local
fi
case $prefix in
    /*) ;;
    *) prefix=$PWD/$prefix ;;
esac
prefix=${prefix%/}
home=$prefix/lib/rowtui

if [ $what = uninstall ]; then
    uninstall
    exit 0
fi
check_machine
check_file
check_owner
check_place
if [ $what = check ]; then
    printf 'This file is complete, and rowtui %s can be installed in %s.\n' "$version" "$prefix"
    exit 0
fi
install
exit 0
