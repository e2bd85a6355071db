# shellcheck shell=bash
# follow.sh: what the host shows of a job while it runs, and how it ended. Sourced. No process of its own: one that outlived its caller
# would keep the caller's output open.

_shown=0

# show LOG: prints the steps that have come in since the last time.
show() {
  local lines
  lines=$(wc -l <"$1")
  [ "$lines" -gt $_shown ] || return 0
  sed -n "$((_shown + 1)),${lines}p" "$1" | tr -d '\r' | grep -aE '^((held|FAILED) +[0-9]|machine: )' | sed 's/^/  /' || true
  _shown=$lines
}

# follow PID LIMIT LOG: shows the steps until the process has ended, or fails after LIMIT seconds.
follow() {
  local end=$((SECONDS + $2))
  while kill -0 "$1" 2>/dev/null; do
    show "$3"
    if [ $SECONDS -ge $end ]; then
      echo "  FAILED the machine had not ended after $2 s"
      return 1
    fi
    sleep 0.2
  done
  show "$3"
}

# ended LOG CONSOLE: 0 where the job ended with 0; else everything that is known is printed.
ended() {
  if grep -qaE $'^machine: ended 0\r?$' "$1"; then return 0; fi
  echo "---- the job's log"
  cat "$1"
  grep -qa '^machine: ended' "$1" || { echo "---- the machine did not come to its end; the last of its console"; tail -40 "$2"; }
  return 1
}
