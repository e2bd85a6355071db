#!/usr/bin/env bash
# debs.sh ARCH TO: puts the Debian packages for ARCH into TO: those in $DEBS where it is set, else preliminary ones of what is in packaging/.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
arch=$1 to=$2
if [ -n "${DEBS:-}" ]; then
  cp "$DEBS"/*_"$arch".deb "$to/"
  exit
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
p=$top/packaging
mkdir -p "$work"/{agent,testbed}/{DEBIAN,usr/bin}
cd "$work/agent"
mkdir -p lib/systemd/system usr/lib/sysusers.d usr/lib/tmpfiles.d usr/share/deviceagent/catalog usr/share/dbus-1/system.d
cp "$top/bin/$arch/deviceagentd" "$top/bin/$arch/deviceagentctl" usr/bin/
cp "$p"/systemd/* lib/systemd/system/
cp "$p"/sysusers.d/* usr/lib/sysusers.d/
cp "$p"/tmpfiles.d/* usr/lib/tmpfiles.d/
[ ! -d "$p/dbus" ] || cp "$p"/dbus/*.conf usr/share/dbus-1/system.d/
cp -r "$p"/catalog/*.json "$p"/catalog/schema usr/share/deviceagent/catalog/
cat >DEBIAN/control <<C
Package: deviceagent
Version: 0.0.0
Architecture: $arch
Maintainer: preliminary <nobody@example.com>
Description: preliminary package of the test machine
C
cat >DEBIAN/postinst <<'C'
#!/bin/sh
set -e
[ "$1" = configure ] || exit 0
systemd-sysusers deviceagent.conf
systemd-tmpfiles --create deviceagent.conf
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  busctl call org.freedesktop.DBus / org.freedesktop.DBus ReloadConfig >/dev/null
fi
systemctl enable deviceagent.service deviceagent-read.socket deviceagent-control.socket deviceagent-executor.socket
[ ! -d /run/systemd/system ] || systemctl restart deviceagent.service
C
chmod 755 DEBIAN/postinst
cd "$work/testbed"
cp "$top/bin/$arch/testbed" usr/bin/
sed 's/^Package: .*/Package: deviceagent-testbed/' ../agent/DEBIAN/control >DEBIAN/control
dpkg-deb -Znone --root-owner-group --build "$work/agent" "$to/deviceagent_0.0.0_$arch.deb" >/dev/null
dpkg-deb -Znone --root-owner-group --build "$work/testbed" "$to/deviceagent-testbed_0.0.0_$arch.deb" >/dev/null
