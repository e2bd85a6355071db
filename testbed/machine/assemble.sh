# shellcheck shell=bash
# assemble.sh: what a test machine gets. Sourced after cache.sh.
top=$(cd "$here/../.." && pwd)

# programs ARCH: builds what runs in the machine, static, with the flags of `make build`, so that the build cache serves both.
programs() {
  local ld
  ld="-s -w -X deviceagent/agent.Version=$(git -C "$top" describe --tags --always --dirty 2>/dev/null || echo dev)"
  (cd "$top" && mkdir -p "bin/$1" && CGO_ENABLED=0 GOOS=linux GOARCH=$1 GOARM=7 go build -trimpath -ldflags "$ld" -o "bin/$1/" ./cmd/...)
}

# packages ARCH: makes the packages, unless the caller has brought some in DEBS.
packages() { [ -n "${DEBS:-}" ] || make -s -C "$top" debs ARCH="$1" >&2; }

# assemble FOLDER ARCH MACHINE JOB…: fills FOLDER as jobs/lib.sh says, to run the jobs one after the other until one fails.
assemble() {
  local to=$1 arch=$2 kind=$3 job
  shift 3
  mkdir -p "$to"/{debs,bin,more,out,files}
  cp "$here/jobs/lib.sh" "$to/"
  cp -r "$here/jobs" "$to/"
  cp -r "$here/files/." "$to/files/"
  cp "$top/bin/$arch/"* "$to/bin/"
  "$here/debs.sh" "$arch" "$to/debs"
  [ -z "${MORE:-}" ] || cp -r "$MORE/." "$to/more/"
  {
    echo "export MACHINE=$kind"
    for job; do
      [ -e "$here/jobs/$job.sh" ] || { echo "there is no job $job; there are: $(cd "$here/jobs" && ls -m | sed 's/\.sh//g; s/lib, //')" >&2; return 2; }
      echo "bash /job/jobs/$job.sh || exit"
    done
  } >"$to/run"
}
