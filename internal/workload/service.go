package workload

import (
	_ "embed"
	"fmt"
	"strings"
)

var (
	//go:embed setup/mariadb.sh
	mariadbScript string
	//go:embed setup/sbtest.sh
	sbtestScript string
	//go:embed setup/wordpress.sh
	wordpressScript string
	//go:embed setup/mediawiki.sh
	mediawikiScript string
)

// services are the workloads that have servers.
func services() []*Workload {
	return []*Workload{
		sysbenchOLTP("read_write", "rw", "L8-oltp-rw"),
		sysbenchOLTP("read_only", "ro", "L9-oltp-ro"),
		abStatic(),
		abStatus(),
		wordpress(),
		mediawiki(),
		tcpCRR(),
		netperf("TCP_CRR", "A5-net-crr"),
		netperf("TCP_STREAM", "A6-net-stream"),
		iperf3(),
		nuttcp(),
		netpipe(),
	}
}

// The databases that images have, each in /opt/tare/NAME/db.
var (
	sbtestSetup    = Setup{"sbtest", mariadbScript + sbtestScript}
	wordpressSetup = Setup{"wordpress", mariadbScript + wordpressScript}
	mediawikiSetup = Setup{"mediawiki", mariadbScript + mediawikiScript}
)

const (
	dbDir    = "tare-db"
	dbSocket = dbDir + ".sock" // setups know it as /data/tare-db.sock
	webDir   = "tare-web"
)

// mariadb are the steps that bring up MariaDB on a copy of a setup's database.
// Every trial gets a fresh one: what a trial writes must not slow the next.
func mariadb(s Setup) []Step {
	return []Step{
		{Name: "database", Argv: []string{"sh", "-c", "rm -rf " + dbDir + "* && cp -a \"$1\" " + dbDir + " && sync -f .", "sh", "/opt/tare/" + s.Name + "/db"}},
		{Name: "mariadb", Background: true,
			Argv: []string{"sh", "-c", `exec mariadbd --no-defaults --user=root --datadir="$PWD/` + dbDir + `" --socket="$PWD/` + dbSocket +
				`" --skip-networking --innodb-log-file-size=48M --innodb-fast-shutdown=2`},
			Ready: mariadbClient("mariadb-admin", "--silent", "ping")},
	}
}

// mariadbClient is a client's command line to the database of mariadb.
func mariadbClient(program string, args ...string) []string {
	return append([]string{program, "--no-defaults", "--user=root", "--socket=" + dbSocket}, args...)
}

// mariadbDisk is what a database takes on the data volume besides its tables:
// the log, the system's tables, and those of a start.
const mariadbDisk = 96 << 20

// removed is the last step of a workload with servers.
func removed(dirs ...string) Step {
	return Step{Name: "clean", ServersEnded: true, Argv: []string{"sh", "-c", "rm -rf " + strings.Join(dirs, " ") + " && sync -f ."}}
}

// listening succeeds when somebody listens on a TCP port of this guest. It does
// not connect: some servers serve once.
func listening(port int) []string {
	return []string{"grep", "-qsE", fmt.Sprintf(":%04X [0-9A-F]+:0000 0A", port), "/proc/net/tcp", "/proc/net/tcp6"}
}

// httpPort is where the web server listens, below the ports that the kernel
// hands out by itself.
const httpPort = 28080

// apacheConfig is Debian's configuration of Apache as far as it matters here:
// its numbers of processes and its log of requests. The kind of processes and
// what is served are put in.
const apacheConfig = `ServerRoot /usr/lib/apache2
ServerName tare
Listen ` + ServerAddress + `:28080
DefaultRuntimeDir ${TARE_DATA}
PidFile ${TARE_DATA}/pid
ErrorLog ${TARE_DATA}/error.log
User www-data
Group www-data
Timeout 300
KeepAlive On
MaxKeepAliveRequests 100
KeepAliveTimeout 5
LoadModule authz_core_module modules/mod_authz_core.so
LoadModule alias_module modules/mod_alias.so
LoadModule dir_module modules/mod_dir.so
LoadModule mime_module modules/mod_mime.so
LoadModule status_module modules/mod_status.so
TypesConfig /etc/mime.types
LogFormat "%h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-Agent}i\"" combined
CustomLog ${TARE_DATA}/access.log combined
<Directory /usr/share>
	Options FollowSymLinks
	Require all granted
</Directory>
`

const apacheEvent = apacheConfig + `LoadModule mpm_event_module modules/mod_mpm_event.so
StartServers 2
MinSpareThreads 25
MaxSpareThreads 75
ThreadLimit 64
ThreadsPerChild 25
MaxRequestWorkers 150
DocumentRoot /usr/share/apache2/default-site
<Location /server-status>
	SetHandler server-status
	Require all granted
</Location>
`

const apachePHP = apacheConfig + `LoadModule mpm_prefork_module modules/mod_mpm_prefork.so
StartServers 5
MinSpareServers 5
MaxSpareServers 10
MaxRequestWorkers 150
Include /etc/apache2/mods-available/php*.load
Include /etc/apache2/mods-available/php*.conf
DirectoryIndex index.php index.html
DocumentRoot /usr/share/apache2/default-site
Alias /wp/wp-content /var/lib/wordpress/wp-content
Alias /wp /usr/share/wordpress
<Directory /var/lib/wordpress>
	Options FollowSymLinks
	Require all granted
</Directory>
Alias /mediawiki /usr/share/mediawiki
`

// apache is the step of a web server with this configuration.
func apache(config string) Step {
	const start = `rm -rf ` + webDir + ` && mkdir ` + webDir + ` && printf '%s' "$1" >` + webDir + `/conf &&
TARE_DATA="$PWD/` + webDir + `" exec apache2 -f "$PWD/` + webDir + `/conf" -DFOREGROUND`
	return Step{Name: "apache", Background: true, Argv: []string{"sh", "-c", start, "sh", config}, Ready: listening(httpPort)}
}
