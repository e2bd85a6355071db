# A first installation, or one after a removal, starts the service; an upgrade leaves alone what an administrator has stopped.
# /run is gone with the next boot, and so is a mark that a broken installation has left.
case $format:$1 in
	deb:install | ipk:install) mkdir -p /run && : >/run/deviceagent.installing ;;
esac
exit 0
