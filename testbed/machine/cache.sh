# shellcheck shell=bash
# cache.sh: where the root file systems and images are kept: outside the repository, since they take half a gigabyte. Sourced.
cache=${MACHINE_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/deviceagent-testbed}
PATH=$PATH:/usr/sbin:/sbin # mke2fs and debugfs are there
