# deb, ipk: remove, or upgrade NEW. rpm: 0 when the last one goes. apk calls this on removal only.
case $format:$1 in
	deb:remove | ipk:remove | rpm:0 | apk:*) ;;
	*) exit 0 ;;
esac
if systemd_runs; then
	# The doors first: who knocks would start the service again.
	# shellcheck disable=SC2086
	systemctl stop $sockets $service || true
fi
if [ "$format" != deb ] && have systemctl; then
	# shellcheck disable=SC2086
	systemctl disable $sockets $service >/dev/null 2>&1 || true
fi
exit 0
