#!/bin/sh
# Installs the sluice agent @VERSION@ below /opt/sluice, enrolls this host, and starts the agent with systemd.
#   sh install.sh https://SERVER       reads the enrollment URI from SVC_ENROLL_URI, else from standard input
#   sh install.sh --uninstall          stops the agent and removes the program; its state stays
# Without systemd, it prints the command that starts the agent. A second run upgrades the program and keeps the enrollment.
set -eu

version=@VERSION@
state=/var/lib/sluice-agent
unit=/etc/systemd/system/sluice-agent.service

fail() {
  echo "install.sh: $*" >&2
  exit 1
}

has_systemd() { [ -d /run/systemd/system ]; }

hash_of() {
  if command -v sha256sum > /dev/null; then sha256sum "$1" | cut -d ' ' -f 1
  elif command -v openssl > /dev/null; then openssl dgst -sha256 -r "$1" | cut -d ' ' -f 1
  else fail 'needs sha256sum or openssl'; fi
}

download() {
  if command -v curl > /dev/null; then curl --fail --silent --show-error --location ${SLUICE_CURL_OPTIONS:-} --output "$2" "$1"
  elif command -v wget > /dev/null; then wget -q -O "$2" "$1"
  else fail 'needs curl or wget'; fi
}

machine_of() {
  case $(uname -s) in Linux) ;; *) fail "there is no package for $(uname -s)" ;; esac
  case $(uname -m) in
    x86_64) arch=x64 ;;
    aarch64) arch=arm64 ;;
    *) fail "there is no package for $(uname -m)" ;;
  esac
  if ls /lib/ld-musl-* > /dev/null 2>&1 && ! ls /lib*/ld-linux-* > /dev/null 2>&1; then arch=$arch-musl; fi
  echo "linux-$arch"
}

uninstall() {
  if [ -f "$unit" ]; then
    if has_systemd; then systemctl disable --now sluice-agent || true; fi
    rm -f "$unit"
    if has_systemd; then systemctl daemon-reload; fi
  fi
  rm -f /usr/local/bin/sluice
  rm -rf /opt/sluice
  echo "removed /opt/sluice; kept: $state, /etc/sluice"
}

install_program() {
  target=/opt/sluice/$version
  if [ -x "$target/bin/sluice" ]; then
    echo "sluice $version is already installed"
    return
  fi
  name=sluice-$version-$machine.tar.gz
  mkdir -p /opt/sluice
  work=$(mktemp -d /opt/sluice/.install-XXXXXX)
  trap 'rm -rf "$work"' EXIT
  echo "downloading $server/install/$name"
  download "$server/install/$name" "$work/package"
  [ "$(hash_of "$work/package")" = "$hash" ] || fail "the hash of $name differs from the one in this script: nothing was installed"
  tar -xzf "$work/package" -C "$work"
  mv "$work/sluice-$version-$machine" "$target"
  mkdir -p /usr/local/bin
  ln -sfn "$target/bin/sluice" /usr/local/bin/sluice
  for old in /opt/sluice/*; do
    if [ "$old" != "$target" ]; then rm -rf "$old"; fi
  done
  echo "installed sluice $version in $target"
}

# Passes the code on standard input, because the process list shows arguments.
enroll() {
  if [ -f "$state/bundle.json" ] && [ -z "${SLUICE_REENROLL:-}" ]; then
    echo "this host is already enrolled; SLUICE_REENROLL=1 enrolls it again"
    return
  fi
  uri=${SVC_ENROLL_URI:-}
  if [ -z "$uri" ] && [ ! -t 0 ]; then IFS= read -r uri || true; fi
  if [ -z "$uri" ]; then
    echo "enroll this host: /usr/local/bin/sluice agent enroll URI --state-dir $state"
    is_enrolled=no
    return
  fi
  printf '%s\n' "$uri" | "$sluice" agent enroll - --state-dir "$state"
}

run_agent() {
  if ! has_systemd; then
    echo "systemd is not running; start the agent with: /usr/local/bin/sluice agent run --state-dir $state"
    return
  fi
  "$sluice" service install agent > /dev/null
  systemctl daemon-reload
  if [ "$is_enrolled" = yes ]; then
    systemctl enable --quiet sluice-agent
    systemctl restart sluice-agent
    echo "the agent is running: systemctl status sluice-agent"
  else
    echo "then start it: systemctl enable --now sluice-agent"
  fi
}

main() {
  [ "$(id -u)" = 0 ] || fail 'must run as root'
  if [ "${1:-}" = --uninstall ]; then
    uninstall
    exit 0
  fi
  server=${1:-}
  server=${server%/}
  case $server in http://* | https://*) ;; *) fail 'name the server: sh install.sh https://SERVER' ;; esac
  machine=$(machine_of)
  case $machine in
  # @HASHES@
    *) fail "this server has no package for $machine: put sluice-$version-$machine.tar.gz into its packages_dir" ;;
  esac
  is_enrolled=yes
  install_program
  sluice=/opt/sluice/$version/bin/sluice
  enroll
  run_agent
}

# The shell reads the whole file before it runs main, so an incomplete download runs nothing.
main "$@"
