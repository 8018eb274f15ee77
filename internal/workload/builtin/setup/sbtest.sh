# The article's table: a million rows. Workloads may use the first of them only.
fill() {
	sql -e 'CREATE DATABASE sbtest'
	sysbench oltp_read_write --db-driver=mysql --mysql-socket="$socket" --mysql-user=root --table-size=1000000 --rand-seed=1 prepare
}
make_db /opt/tare/sbtest/db fill
