#!/bin/sh
# Installs Repertoire's program, skills, for the user who runs it:
#
#   curl -fsSL https://github.com/repertoire-skills/repertoire/raw/main/install.sh | sh
#
# It downloads the archive for this system, and installs nothing unless the archive has
# the SHA-256 that the release states. "sh install.sh --help" lists its options.
set -eu

releases=${REPERTOIRE_RELEASES:-https://github.com/repertoire-skills/repertoire/releases}

help() {
  cat <<'EOF'
Usage: install.sh [--version VERSION] [--name NAME] [--dry-run]

  --version VERSION  install this version, such as v1.2.3, instead of the latest
  --name NAME        install the program as NAME: skills (default) or repertoire
  --dry-run          only say what would be installed

The program is installed into $PREFIX/bin, or ~/.local/bin if PREFIX is not set.
EOF
}

say() { printf 'install.sh: %s\n' "$*" >&2; }

fail() {
  say "$*"
  exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# platform prints the system and the machine as the names of archives have them.
platform() {
  case $(uname -s) in
    Linux) system=linux ;;
    Darwin) system=darwin ;;
    MINGW* | MSYS* | CYGWIN*) fail "on Windows, install with Scoop, or unpack a zip archive of $releases" ;;
    *) fail "there is no archive for the system $(uname -s); with Go, \"go install github.com/repertoire-skills/repertoire/cmd/skills@latest\" builds the program" ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) machine=amd64 ;;
    aarch64 | arm64) machine=arm64 ;;
    *) fail "there is no archive for the machine $(uname -m); with Go, \"go install github.com/repertoire-skills/repertoire/cmd/skills@latest\" builds the program" ;;
  esac
  # A shell that Rosetta translates takes an Apple machine for one of Intel.
  if [ "$system" = darwin ] && [ "$(sysctl -n sysctl.proc_translated 2>/dev/null || true)" = 1 ]; then
    machine=arm64
  fi
  printf '%s_%s' "$system" "$machine"
}

# download URL FILE fetches a file. curl follows redirects from https to https only.
download() {
  if has curl; then
    case $1 in
      https://*) curl --proto '=https' -fsSL -o "$2" "$1" ;;
      *) curl -fsSL -o "$2" "$1" ;;
    esac
  elif has wget; then
    wget -q -O "$2" "$1"
  else
    fail "neither curl nor wget is installed; install one of them"
  fi || fail "cannot download $1; look at $releases"
}

# sha256 FILE prints the SHA-256 of a file.
sha256() {
  if has sha256sum; then
    sum=$(sha256sum "$1")
  elif has shasum; then
    sum=$(shasum -a 256 "$1")
  else
    fail "neither sha256sum nor shasum is installed, so the download cannot be checked; install one of them"
  fi
  printf '%s' "${sum%% *}"
}

# installed says where the program is, and what keeps a shell from finding it.
installed() {
  say "installed $1/$2: $("$1/$2" version)"
  case ":$PATH:" in
    *":$1:"*)
      found=$(command -v "$2" || true)
      if [ "$found" != "$1/$2" ]; then
        say "but $2 means another program, $found, which comes first in PATH; \"install.sh --name repertoire\" installs under another name"
      fi
      ;;
    *) say "$1 is not in PATH; add this to the profile of your shell: export PATH=\"$1:\$PATH\"" ;;
  esac
}

main() {
  version=
  name=skills
  dry=
  while [ $# -gt 0 ]; do
    case $1 in
      --version | --name)
        [ $# -ge 2 ] || fail "$1 needs a value"
        case $1 in
          --version) version=${2#v} ;;
          --name) name=$2 ;;
        esac
        shift
        ;;
      --dry-run) dry=1 ;;
      -h | --help)
        help
        exit 0
        ;;
      *) fail "unknown argument $1; \"sh install.sh --help\" lists the options" ;;
    esac
    shift
  done
  case $name in
    skills | repertoire) ;;
    *) fail "--name is skills or repertoire, not $name" ;;
  esac
  if [ -z "${PREFIX:-}" ] && [ -z "${HOME:-}" ]; then
    fail "neither PREFIX nor HOME is set, so there is no folder to install into"
  fi
  to=${PREFIX:-$HOME/.local}/bin
  from=$releases/latest/download
  if [ -n "$version" ]; then
    from=$releases/download/v$version
  fi
  target=$(platform)

  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  trap 'exit 1' HUP INT TERM
  download "$from/checksums.txt" "$work/checksums.txt"
  line=$(grep "^[0-9a-f]\{64\}  [^/ ]*_$target\.tar\.gz\$" "$work/checksums.txt") || fail "the release has no archive for $target; look at $releases"
  # The sum of one archive must not count for another.
  case $line in
    *"_$target.tar.gz"*"_$target.tar.gz"*) fail "the release has several archives for $target; look at $releases" ;;
  esac
  want=${line%% *}
  archive=${line##* }
  if [ -n "$dry" ]; then
    say "would download $from/$archive, check its SHA-256 ($want), and install $to/$name"
    exit 0
  fi

  download "$from/$archive" "$work/archive"
  got=$(sha256 "$work/archive")
  if [ "$got" != "$want" ]; then
    fail "the SHA-256 of $archive is $got, but the release states $want: nothing is installed"
  fi
  tar -xzf "$work/archive" -C "$work" "${archive%.tar.gz}/skills"
  mkdir -p "$to"
  # A program that runs is replaced, not overwritten.
  new=$to/.$name.$$
  trap 'rm -rf "$work" "$new"' EXIT
  cp "$work/${archive%.tar.gz}/skills" "$new"
  chmod 755 "$new"
  mv -f "$new" "$to/$name"
  installed "$to" "$name"
}

# A script that was downloaded in part has no last line, so it does nothing.
main "$@"
