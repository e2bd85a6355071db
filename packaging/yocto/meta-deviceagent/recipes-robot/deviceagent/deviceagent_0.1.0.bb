# State: not built. Tests hold paths, units and checksums of this recipe against the Debian package (packaging/pack).
SUMMARY = "carries out on a robot what people asked for, and proves it"
SECTION = "misc"
LICENSE = "Proprietary"
LIC_FILES_CHKSUM = "file://packaging/copyright;md5=3fadf75d406868501a5fc0c6843b4250"

# Where the source is says who builds the image: DEVICEAGENT_SRC_URI = "git://…;protocol=https;branch=main", or a tree beside the
# layer with "inherit externalsrc" and EXTERNALSRC. The modules of Go are taken from a vendor folder (go mod vendor) in that tree,
# so that the build fetches nothing.
DEVICEAGENT_SRC_URI ?= "file://deviceagent-${PV}.tar.gz"
SRC_URI = "${DEVICEAGENT_SRC_URI}"
SRCREV ?= "${AUTOREV}"
S = "${WORKDIR}/deviceagent-${PV}"

inherit goarch systemd useradd
DEPENDS = "go-native"
RDEPENDS:${PN} = "dbus"
RRECOMMENDS:${PN} = "ca-certificates polkit"

USERADD_PACKAGES = "${PN}"
GROUPADD_PARAM:${PN} = "--system deviceagent; --system deviceagent-read; --system deviceagent-control; --system deviceagent-executor"
USERADD_PARAM:${PN} = "--system --gid deviceagent --no-create-home --home-dir /var/lib/deviceagent --shell /usr/sbin/nologin deviceagent"

SYSTEMD_SERVICE:${PN} = "deviceagent.service deviceagent-read.socket deviceagent-control.socket deviceagent-executor.socket"

# Static programs without C, as the packages have them: no cgo, no dynamic linker.
export CGO_ENABLED = "0"
export GOOS = "${TARGET_GOOS}"
export GOARCH = "${TARGET_GOARCH}"
export GOARM = "7"
export GOFLAGS = "-mod=vendor -trimpath -buildvcs=false"
export GOCACHE = "${B}/cache"

do_compile() {
	cd ${S}
	for program in deviceagentd deviceagentctl; do
		go build -ldflags "-s -w -buildid= -X deviceagent/agent.Version=${PV} -X main.version=${PV}" -o ${B}/$program ./cmd/$program
	done
}

do_install() {
	install -D -m 0755 ${B}/deviceagentd ${D}/usr/bin/deviceagentd
	install -D -m 0755 ${B}/deviceagentctl ${D}/usr/bin/deviceagentctl
	install -D -m 0644 ${S}/packaging/systemd/deviceagent.service ${D}/usr/lib/systemd/system/deviceagent.service
	install -D -m 0644 ${S}/packaging/systemd/deviceagent-read.socket ${D}/usr/lib/systemd/system/deviceagent-read.socket
	install -D -m 0644 ${S}/packaging/systemd/deviceagent-control.socket ${D}/usr/lib/systemd/system/deviceagent-control.socket
	install -D -m 0644 ${S}/packaging/systemd/deviceagent-executor.socket ${D}/usr/lib/systemd/system/deviceagent-executor.socket
	install -D -m 0644 ${S}/packaging/sysusers.d/deviceagent.conf ${D}/usr/lib/sysusers.d/deviceagent.conf
	install -D -m 0644 ${S}/packaging/tmpfiles.d/deviceagent.conf ${D}/usr/lib/tmpfiles.d/deviceagent.conf
	install -D -m 0644 ${S}/packaging/dbus/org.deviceagent.Agent1.conf ${D}/usr/share/dbus-1/system.d/org.deviceagent.Agent1.conf
	install -D -m 0644 ${S}/packaging/dbus/org.deviceagent.Agent1.xml ${D}/usr/share/dbus-1/interfaces/org.deviceagent.Agent1.xml
	install -D -m 0644 ${S}/packaging/polkit/deviceagent.rules ${D}/usr/share/polkit-1/rules.d/deviceagent.rules
	install -D -m 0644 ${S}/executors/dbus/executor1.xml ${D}/usr/share/dbus-1/interfaces/org.deviceagent.Executor1.xml
	install -D -m 0644 ${S}/packaging/etc/agent.toml ${D}/etc/deviceagent/agent.toml
	install -D -m 0644 ${S}/packaging/lib/agent.toml ${D}/usr/lib/deviceagent/agent.toml
	install -d ${D}/usr/share/deviceagent/catalog/schema
	install -m 0644 ${S}/packaging/catalog/*.json ${D}/usr/share/deviceagent/catalog/
	install -m 0644 ${S}/packaging/catalog/schema/*.json ${D}/usr/share/deviceagent/catalog/schema/
	install -D -m 0644 ${S}/packaging/man/deviceagentd.8 ${D}/usr/share/man/man8/deviceagentd.8
	install -D -m 0644 ${S}/packaging/man/deviceagentctl.1 ${D}/usr/share/man/man1/deviceagentctl.1
	install -D -m 0644 ${S}/packaging/man/agent.toml.5 ${D}/usr/share/man/man5/agent.toml.5
	install -d -m 0755 ${D}/etc/deviceagent/conf.d
}

CONFFILES:${PN} = "/etc/deviceagent/agent.toml"
FILES:${PN} += "/usr/lib/systemd /usr/lib/sysusers.d /usr/lib/tmpfiles.d /usr/lib/deviceagent /usr/share/deviceagent /usr/share/dbus-1 /usr/share/polkit-1"
