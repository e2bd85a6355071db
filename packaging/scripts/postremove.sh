# Removal keeps settings and state, so that a reinstallation goes on where it was; only Debian's purge takes them. The user and the
# groups stay: files of theirs elsewhere would belong to whoever gets their numbers next.
case $format:$1 in
	deb:remove | deb:purge | ipk:remove | rpm:0 | apk:*) ;;
	*) exit 0 ;;
esac
rm -f /run/deviceagent.installing
if [ "$format:$1" = deb:purge ]; then
	if have deb-systemd-helper; then
		for unit in $sockets $service; do deb-systemd-helper purge "$unit" >/dev/null || true; done
		for unit in $sockets $service; do deb-systemd-helper unmask "$unit" >/dev/null || true; done
	fi
	rm -rf /var/lib/deviceagent /etc/deviceagent /run/deviceagent
fi
if systemd_runs; then reread_units_and_policy; fi
exit 0
