# cancel.sh DIR: asks the run to end, and waits a minute for that.
set -eu
cd "$1" 2>/dev/null || exit 0
if flock -n lock true; then
	exit
fi
kill -TERM "$(cat pid)" 2>/dev/null || true
flock -w 60 lock true || true
