#!/usr/bin/env bash
# prepare.sh ROOT: makes a fresh root file system a test machine: nothing that runs by the clock, a broker on its own port, and a unit that
# runs the job once the system is up and then switches off. Needs root.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=${1:?prepare.sh: a root file system}
units=$root/etc/systemd/system

echo machine >"$root/etc/hostname"
echo '127.0.0.1 localhost machine' >"$root/etc/hosts" # minbase has none, and mosquitto_sub wants the name
sed -i 's/^root:[^:]*:/root::/' "$root/etc/shadow"
mkdir -p "$root/etc/mosquitto/conf.d"
printf 'listener 1883 127.0.0.1\nallow_anonymous true\n' >"$root/etc/mosquitto/conf.d/machine.conf"

# What would only take time of a machine that lives for a minute.
for unit in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer \
  console-getty.service getty@tty1.service systemd-networkd-wait-online.service systemd-pstore.service systemd-timesyncd.service \
  systemd-update-utmp-runlevel.service; do
  ln -sfn /dev/null "$units/$unit"
done

install -m 0755 "$here/start.sh" "$root/usr/local/sbin/machine-job"
install -m 0644 "$here/machine-job.service" "$here/machine.target" "$units/"
ln -sfn machine.target "$units/default.target"
