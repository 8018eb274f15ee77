# shellcheck shell=bash
# The beginning of every setup with a database. make_db DIR COMMAND... makes the
# files of a new MariaDB in DIR and has COMMAND fill them while it runs. The
# socket is where the workload's server has it, for configurations to name it.
socket=/data/tare-db.sock

make_db() {
	local dir=$1 pid
	shift
	mkdir -p "$dir" /data
	mariadb-install-db --no-defaults --user=root --auth-root-authentication-method=normal --skip-test-db --datadir="$dir" >/dev/null
	mariadbd --no-defaults --user=root --datadir="$dir" --socket="$socket" --skip-networking --innodb-log-file-size=48M \
		--innodb-autoextend-increment=8 --innodb-flush-log-at-trx-commit=0 &
	pid=$!
	until mariadb-admin --no-defaults --user=root --socket="$socket" --silent ping; do
		kill -0 "$pid"
		sleep 0.2
	done
	"$@"
	mariadb-admin --no-defaults --user=root --socket="$socket" shutdown
	wait "$pid"
	# The package's own data and files of this start serve nobody.
	rm -rf /var/lib/mysql/* "$dir"/*.err "$dir"/*-bin.* "$dir"/ib_buffer_pool
}

sql() {
	mariadb --no-defaults --user=root --socket="$socket" "$@"
}
