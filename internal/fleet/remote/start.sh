# start.sh DIR run|resume PROGRAM HASH ARG…: starts a run, whose campaign is on standard input and has this hash.
set -eu
umask 077
dir=$1 mode=$2 program=$3 hash=$4
shift 4
if [ "$mode" = resume ] && [ ! -e "$dir/started" ]; then
	echo absent
	exit
fi
mkdir -p "$dir"
cd "$dir"
exec 9>>lock
if [ -e started ] && [ "$(cat started)" != "$hash" ]; then
	# A run that has measured nothing may begin again, with a campaign that was put right.
	if [ "$mode" = resume ] || [ -e run.tare ] || ! flock -n 9; then
		echo other
		exit
	fi
	rm started
fi
if ! flock -n 9; then # all processes of a run hold it
	echo running
	exit
fi
if [ "$mode" = run ]; then
	if [ -e started ]; then
		echo there
		exit
	fi
	cat >campaign.part
	if [ "$(sha256sum <campaign.part | cut -d ' ' -f 1)" != "$hash" ]; then
		echo "the campaign arrived damaged: start the run again" >&2
		exit 1
	fi
	mv campaign.part campaign.yaml
	echo "$program" >binary
	echo "$hash" >started.part
	mv started.part started
fi
program=$(cat binary)
rm -f status
if [ "$mode" = resume ]; then
	echo resumed >>log # until tare says more; its last words were about its end
	set -- --resume "$@"
fi
set -- run campaign.yaml --out run.tare --yes "$@"
# shellcheck disable=SC2016 # the inner shell expands it
setsid sh -c '"$@" & echo $! >pid; wait $!; echo $? >status.part; mv status.part status' tare "$program" "$@" \
	</dev/null >>log 2>&1 &
echo started
