################################################################################
#
# deviceagent
#
# State: not built. Tests hold paths, units and checksums of this file against the Debian package (packaging/pack).
# Where the source is says who builds the image: DEVICEAGENT_OVERRIDE_SRCDIR in local.mk, or DEVICEAGENT_SITE there.
#
################################################################################

DEVICEAGENT_VERSION = 0.1.0
DEVICEAGENT_SITE ?= $(TOPDIR)/../deviceagent
DEVICEAGENT_SITE_METHOD ?= local
DEVICEAGENT_LICENSE = PROPRIETARY
DEVICEAGENT_LICENSE_FILES = packaging/copyright
DEVICEAGENT_DEPENDENCIES = dbus systemd
DEVICEAGENT_GOMOD = deviceagent
DEVICEAGENT_BUILD_TARGETS = cmd/deviceagentd cmd/deviceagentctl
DEVICEAGENT_INSTALL_BINS = deviceagentd deviceagentctl
DEVICEAGENT_GO_ENV = CGO_ENABLED=0
DEVICEAGENT_LDFLAGS = -s -w -buildid= -X deviceagent/agent.Version=$(DEVICEAGENT_VERSION) -X main.version=$(DEVICEAGENT_VERSION)

define DEVICEAGENT_USERS
	deviceagent -1 deviceagent -1 * /var/lib/deviceagent - - DeviceAgent
	- -1 deviceagent-read -1 - - - - Who may look
	- -1 deviceagent-control -1 - - - - Who may operate
	- -1 deviceagent-executor -1 - - - - Services that act
endef

define DEVICEAGENT_INSTALL_FILES
	$(INSTALL) -D -m 0644 $(@D)/packaging/sysusers.d/deviceagent.conf $(TARGET_DIR)/usr/lib/sysusers.d/deviceagent.conf
	$(INSTALL) -D -m 0644 $(@D)/packaging/tmpfiles.d/deviceagent.conf $(TARGET_DIR)/usr/lib/tmpfiles.d/deviceagent.conf
	$(INSTALL) -D -m 0644 $(@D)/packaging/dbus/org.deviceagent.Agent1.conf $(TARGET_DIR)/usr/share/dbus-1/system.d/org.deviceagent.Agent1.conf
	$(INSTALL) -D -m 0644 $(@D)/packaging/dbus/org.deviceagent.Agent1.xml $(TARGET_DIR)/usr/share/dbus-1/interfaces/org.deviceagent.Agent1.xml
	$(INSTALL) -D -m 0644 $(@D)/packaging/polkit/deviceagent.rules $(TARGET_DIR)/usr/share/polkit-1/rules.d/deviceagent.rules
	$(INSTALL) -D -m 0644 $(@D)/executors/dbus/executor1.xml $(TARGET_DIR)/usr/share/dbus-1/interfaces/org.deviceagent.Executor1.xml
	$(INSTALL) -D -m 0644 $(@D)/packaging/etc/agent.toml $(TARGET_DIR)/etc/deviceagent/agent.toml
	$(INSTALL) -D -m 0644 $(@D)/packaging/lib/agent.toml $(TARGET_DIR)/usr/lib/deviceagent/agent.toml
	$(INSTALL) -d $(TARGET_DIR)/usr/share/deviceagent/catalog/schema
	$(INSTALL) -m 0644 $(@D)/packaging/catalog/*.json $(TARGET_DIR)/usr/share/deviceagent/catalog/
	$(INSTALL) -m 0644 $(@D)/packaging/catalog/schema/*.json $(TARGET_DIR)/usr/share/deviceagent/catalog/schema/
	$(INSTALL) -d -m 0755 $(TARGET_DIR)/etc/deviceagent/conf.d
endef
DEVICEAGENT_POST_INSTALL_TARGET_HOOKS += DEVICEAGENT_INSTALL_FILES

define DEVICEAGENT_INSTALL_INIT_SYSTEMD
	$(INSTALL) -D -m 0644 $(@D)/packaging/systemd/deviceagent.service $(TARGET_DIR)/usr/lib/systemd/system/deviceagent.service
	$(INSTALL) -D -m 0644 $(@D)/packaging/systemd/deviceagent-read.socket $(TARGET_DIR)/usr/lib/systemd/system/deviceagent-read.socket
	$(INSTALL) -D -m 0644 $(@D)/packaging/systemd/deviceagent-control.socket $(TARGET_DIR)/usr/lib/systemd/system/deviceagent-control.socket
	$(INSTALL) -D -m 0644 $(@D)/packaging/systemd/deviceagent-executor.socket $(TARGET_DIR)/usr/lib/systemd/system/deviceagent-executor.socket
endef

$(eval $(golang-package))
