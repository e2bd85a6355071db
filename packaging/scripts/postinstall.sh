# deb: configure [OLD]. rpm: 1 at first, 2 on an upgrade. apk: NEW [OLD]. ipk: configure, which tells nothing.
first=
case $format:$1 in
	deb:configure) [ -n "$2" ] || first=yes ;;
	deb:*) exit 0 ;;
	rpm:1) first=yes ;;
	apk:*) [ -n "$2" ] || first=yes ;;
	ipk:*) [ -e /var/lib/deviceagent/agent.db ] || first=yes ;;
esac
start=$first
if [ -e /run/deviceagent.installing ]; then
	start=yes
	rm -f /run/deviceagent.installing
fi
make_users
make_folders
enable_units
if systemd_runs; then
	reread_units_and_policy
	if [ -n "$start" ]; then start_service; else systemctl try-restart $service || true; fi
elif [ -n "$first" ]; then
	say 'set device_id in /etc/deviceagent/agent.toml; there is no systemd here: start /usr/bin/deviceagentd as the user deviceagent'
fi
exit 0
