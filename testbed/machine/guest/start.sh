#!/bin/bash
# machine-job: runs inside the test machine when it is up. In a VM the job comes on a disk with the label JOB and its output leaves by a
# virtio port; in a container both are the folder /job. The last line, "machine: ended N", is how the host knows that all of it has run.
mkdir -p /job
if ! systemd-detect-virt --quiet --container; then
  for ((i = 0; i < 600; i++)); do [ -b /dev/disk/by-label/JOB ] && [ -e /dev/virtio-ports/job ] && break; sleep 0.1; done
  mount /dev/disk/by-label/JOB /job || systemctl poweroff
  exec >/dev/virtio-ports/job 2>&1
else
  exec >/job/log 2>&1
fi
systemd-detect-virt --quiet --container || echo "machine: up after $(cut -d" " -f1 /proc/uptime) s"
cd /job && bash /job/run
echo "machine: ended $?"
sync
systemctl --no-block poweroff
