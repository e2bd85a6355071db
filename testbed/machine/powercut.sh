#!/usr/bin/env bash
# powercut.sh: pulls the plug of the ARM machine in the middle of plans, and judges CUTS places in the write log of its state's disk: at each
# nothing that was acknowledged may be missing, and from RESTARTS of them the agent goes on and comes to the right end. Then the same with
# flushes ignored, which must find losses. Exit 0: all that held. Prints what it does and the seconds.
#   CUTS=40 RESTARTS=4 SEED=1   how many, where
#   ENDED=3                     plans that have ended before the plug is pulled
#   LIMIT=900                   seconds until then
#   KEEP=folder                 leave disk, log and what was seen there
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cache.sh"
. "$here/assemble.sh"
cuts=${CUTS:-40} restarts=${RESTARTS:-4} seed=${SEED:-1} want=${ENDED:-3} limit=${LIMIT:-900}
testbed=$top/bin/amd64/testbed
work=$(mktemp -d)
vm='' watch=''
clean() {
  trap - EXIT
  [ -z "$vm" ] || kill "$vm" 2>/dev/null || true # it ends its QEMU
  [ -z "$watch" ] || kill "$watch" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap clean EXIT
trap 'exit 130' INT TERM

assemble "$work/job" arm64 vm powercut
truncate -s 64M "$work/base.img"
mke2fs -q -t ext4 -L STATE "$work/base.img"
cp --sparse=always "$work/base.img" "$work/state.img"
: >"$work/writes"
"$testbed" powercut watch --log "$work/writes" --out "$work/seen" ack="$work/ack.sock" robot="$work/robot.sock" >"$work/watch" &
watch=$!
for ((i = 0; i < 600; i++)); do grep -qs ready "$work/watch" && break; sleep 0.1; done

# write-cache=on: without a cache to flush the guest would send no flush at all, and there would be nothing to lose.
PIDFILE=$work/pid LIMIT=$((limit + 60)) "$here/vm.sh" "$work/job" \
  -blockdev driver=file,node-name=state-file,filename="$work/state.img" -blockdev driver=file,node-name=log-file,filename="$work/writes" \
  -blockdev driver=blklogwrites,node-name=state,file=state-file,log=log-file,log-sector-size=512,log-super-update-interval=1 \
  -device virtio-blk-pci,drive=state,write-cache=on \
  -device virtio-serial-pci,id=ports \
  -chardev socket,id=ack,path="$work/ack.sock" -device virtserialport,bus=ports.0,chardev=ack,name=ack \
  -chardev socket,id=robot,path="$work/robot.sock" -device virtserialport,bus=ports.0,chardev=robot,name=robot >"$work/vm" 2>&1 &
vm=$!
begun=$SECONDS
ended() { grep -c '"line":"ended ' "$work/seen" 2>/dev/null || true; }
until [ "$(ended)" -ge "$want" ]; do
  if ! kill -0 $vm 2>/dev/null || [ $((SECONDS - begun)) -ge "$limit" ]; then
    cat "$work/vm"
    [ ! -e "$work/job/log" ] || tail -100 "$work/job/log"
    echo "FAILED only $(ended) plans had ended after $((SECONDS - begun)) s"
    exit 1
  fi
  sleep 0.3
done
sleep 1.3 # into the middle of the next one
kill -9 "$(cat "$work/pid")"
wait $vm 2>/dev/null || true
vm=
grep -E '^ +held' "$work/vm" || true
printf '  held   %5d s    the plug is pulled in the middle of a plan; %d lines had come out by then\n' $((SECONDS - begun)) "$(wc -l <"$work/seen")"
[ -z "${KEEP:-}" ] || { mkdir -p "$KEEP" && cp --sparse=always "$work"/{base.img,writes,seen} "$KEEP/"; }

"$testbed" robot --write-catalog "$work/catalog" # the one that the job wrote for its agent
replay() { "$testbed" powercut replay --catalog "$work/catalog" --base "$work/base.img" --log "$work/writes" --seen "$work/seen" --seed "$seed" --agent "$top/bin/amd64/deviceagentd" "$@"; }
begun=$SECONDS
replay --cuts "$cuts" --restarts "$restarts"
printf '  held   %5d s    nothing acknowledged is lost at %d places, and the agent goes on from %d of them\n' $((SECONDS - begun)) "$cuts" "$restarts"
begun=$SECONDS
replay --cuts 20 --ignore-flush
printf '  held   %5d s    the check sees what a missing flush does\n' $((SECONDS - begun))
