#!/usr/bin/env bash
# vm.sh JOBDIR [QEMU ARGUMENT…]: starts the arm64 machine under emulation, with a real kernel and a root disk that is thrown away, and runs
# JOBDIR/run in it with JOBDIR's contents at /job. Prints the job's steps as they end; JOBDIR/log has everything, and what the job left in
# /job/out is in JOBDIR/out. Exit 0: the job ended with 0. LIMIT: seconds for all (900). PIDFILE: where QEMU's process id goes.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cache.sh"
. "$here/follow.sh"
job=$(cd "${1:?vm.sh: a job folder}" && pwd)
shift
limit=${LIMIT:-900}
image=$("$here/image.sh")
work=$(mktemp -d)
pid=''
clean() {
  trap - EXIT
  [ -z "$pid" ] || kill -9 "$pid" 2>/dev/null || true
  rm -rf "$work"
}
trap clean EXIT
trap 'exit 130' INT TERM

rm -rf "$job/out" "$job/log" "$job/console"
mkdir "$job/out"
: >"$job/log"
mke2fs -q -t ext4 -L JOB -d "$job" "$work/job.img" 512M >/dev/null
qemu-img create -q -f qcow2 -b "$image/root.img" -F raw "$work/root.qcow2"

# A Cortex-A53 is what such a robot has, and it runs 32-bit programs too. The guest reaches nothing outside.
qemu-system-aarch64 -M virt,gic-version=3 -cpu cortex-a53 -smp 2 -m 768 -accel tcg,thread=multi -display none -monitor none -no-reboot \
  -kernel "$image/vmlinuz" -initrd "$image/initrd" -append 'console=ttyAMA0 quiet' -serial file:"$job/console" \
  -drive file="$work/root.qcow2",if=none,id=root,format=qcow2,cache=unsafe -device virtio-blk-pci,drive=root \
  -drive file="$work/job.img",if=none,id=job,format=raw,cache=unsafe -device virtio-blk-pci,drive=job \
  -device virtio-serial-pci -chardev file,id=job,path="$job/log" -device virtserialport,chardev=job,name=job \
  -device virtio-rng-pci -nic none "$@" &
pid=$!
[ -z "${PIDFILE:-}" ] || echo $pid >"$PIDFILE"
follow $pid "$limit" "$job/log" || kill -9 $pid
wait $pid 2>/dev/null || true
pid=''
debugfs -R "rdump /out $job" "$work/job.img" >/dev/null 2>&1 || true
ended "$job/log" "$job/console"
