# status.sh DIR: what became of the run, and the last line of its output, or its last error if it failed.
set -eu
if ! cd "$1" 2>/dev/null || [ ! -e started ]; then
	echo absent
elif ! flock -n lock true; then
	echo running
elif [ -e status ]; then
	echo "ended $(cat status)"
else
	echo interrupted
fi
if [ "$(cat status 2>/dev/null || echo 0)" != 0 ]; then
	error=$(grep -n '^tare: ' log 2>/dev/null | tail -n 1 | cut -d : -f 1)
fi
if [ "${error:-}" ]; then # without the output of other programs, which is indented
	tail -n "+$error" log | grep -e '^[^ ]' -e '^  to fix: ' | head -n 20
else
	tail -n 1 log 2>/dev/null || true
fi
