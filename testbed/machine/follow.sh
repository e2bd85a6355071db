# follow.sh: what the host shows of a job while it runs, and how it ended. Sourced.

# follow FILE: prints the steps as they come in.
follow() { exec tail -n +1 -f "$1" 2>/dev/null | grep --line-buffered -aE '^(held|FAILED|machine:) ' | sed -u 's/^/  /; s/\r$//'; }

# ended LOG CONSOLE: 0 where the job ended with 0; else everything that is known is printed.
ended() {
  sleep 0.3 # the last lines go through follow
  if grep -qaE $'^machine: ended 0\r?$' "$1"; then return 0; fi
  echo "---- the job's log"
  cat "$1"
  grep -qa '^machine: ended' "$1" || { echo "---- the machine did not come to its end; the last of its console"; tail -40 "$2"; }
  return 1
}
