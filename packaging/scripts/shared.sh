# What the scripts of all formats share. $format is deb, rpm, ipk or apk. A robot need not have systemd: then users and folders are
# made by what there is, and nothing is started. Nothing here may fail for the lack of a tool: a package manager that stops half way
# leaves a robot that takes no further update.
service=deviceagent.service
sockets='deviceagent-read.socket deviceagent-control.socket deviceagent-executor.socket'

have() { command -v "$1" >/dev/null 2>&1; }
systemd_runs() { [ -d /run/systemd/system ] && have systemctl; }
say() { echo "deviceagent: $*"; }

make_group() {
	grep -q "^$1:" /etc/group 2>/dev/null && return
	if have groupadd; then groupadd --system "$1"; elif have addgroup; then addgroup -S "$1"; else say "cannot make the group $1: make it by hand"; fi
}

make_users() {
	if have systemd-sysusers; then systemd-sysusers deviceagent.conf && return; fi
	for group in deviceagent deviceagent-read deviceagent-control deviceagent-executor; do make_group "$group" || true; done
	grep -q '^deviceagent:' /etc/passwd 2>/dev/null && return
	if have useradd; then
		useradd --system --gid deviceagent --no-create-home --home-dir /var/lib/deviceagent --shell /usr/sbin/nologin deviceagent || true
	elif have adduser; then
		adduser -S -D -H -h /var/lib/deviceagent -s /sbin/nologin -G deviceagent deviceagent || true
	else
		say 'cannot make the user deviceagent: make it by hand'
	fi
}

make_folders() {
	if have systemd-tmpfiles; then systemd-tmpfiles --create deviceagent.conf || true; else mkdir -p /run/deviceagent || true; fi
	[ -d /var/lib/deviceagent ] || { mkdir -p /var/lib/deviceagent && chmod 0700 /var/lib/deviceagent; }
	chown deviceagent:deviceagent /var/lib/deviceagent 2>/dev/null || true
}

# The bus reads its policy files when it starts or is told to; the service must not come before its policy is in force.
reread_units_and_policy() {
	systemctl daemon-reload || true
	[ -S /run/dbus/system_bus_socket ] && have busctl || return 0
	busctl call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus ReloadConfig >/dev/null 2>&1 || true
}

# Debian remembers what an administrator has switched off over removal and installation; elsewhere only the first installation enables.
enable_units() {
	for unit in $sockets $service; do
		if [ "$format" = deb ] && have deb-systemd-helper; then
			deb-systemd-helper unmask "$unit" >/dev/null || true
			if deb-systemd-helper --quiet was-enabled "$unit"; then deb-systemd-helper enable "$unit" >/dev/null || true
			else deb-systemd-helper update-state "$unit" >/dev/null || true; fi
		elif [ -n "$first" ] && have systemctl; then
			systemctl enable "$unit" >/dev/null 2>&1 || true
		fi
	done
}

# With settings that cannot work it is not started: it would only end again, and the reason stands here. Image builders forbid starts.
start_service() {
	if ! faults=$(/usr/bin/deviceagentd --check 2>&1); then
		say 'installed, not started yet:'
		echo "$faults" | head -n 5
		say 'set device_id in /etc/deviceagent/agent.toml, then: systemctl start deviceagent'
		return 0
	fi
	# shellcheck disable=SC2086
	if [ "$format" = deb ] && have deb-systemd-invoke; then deb-systemd-invoke start $sockets $service || true; else systemctl start $sockets $service || true; fi
}
