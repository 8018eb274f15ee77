package builtin

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/tare-bench/tare/internal/workload"
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

// services returns the workloads that have servers.
func services() []*workload.Workload {
	return []*workload.Workload{
		sysbenchOLTP("read_write", "rw", "L8-oltp-rw"),
		sysbenchOLTP("read_only", "ro", "L9-oltp-ro"),
		abStatic(),
		abStatus(),
		nginx(),
		caddy(),
		httpRate(),
		wordpress(),
		wordpressRate(),
		mediawiki(),
		pgbench(),
		pgbenchRate(),
		redis(),
		memcached(),
		tcpCRR(),
		netperf("TCP_CRR", "A5-net-crr"),
		netperf("TCP_STREAM", "A6-net-stream"),
		iperf3(),
		nuttcp(),
		netpipe(),
		udpPackets(),
		udpLoss(),
		rtt("udp"),
		rtt("tcp"),
	}
}

// The databases in the images, each in /opt/tare/NAME/db.
var (
	sbtestSetup    = workload.Setup{Name: "sbtest", Script: mariadbScript + sbtestScript}
	wordpressSetup = workload.Setup{Name: "wordpress", Script: mariadbScript + wordpressScript}
	mediawikiSetup = workload.Setup{Name: "mediawiki", Script: mariadbScript + mediawikiScript}
)

const (
	dbDir    = "tare-db"
	dbSocket = dbDir + ".sock" // setups use it as /data/tare-db.sock
	webDir   = "tare-web"
)

// mariadb returns the steps that start MariaDB on a copy of a setup's database.
// Every trial gets a fresh copy, because what one trial writes must not slow down
// the next one.
func mariadb(s workload.Setup) []workload.Step {
	return []workload.Step{
		{Name: "database", Argv: sh("rm -rf "+dbDir+"* && cp -a \"$1\" "+dbDir+" && sync -f .",
			"sh", "/opt/tare/"+s.Name+"/db")},
		{Name: "mariadb", Background: true,
			Argv: sh(`exec mariadbd --no-defaults --user=root --datadir="$PWD/` + dbDir +
				`" --socket="$PWD/` + dbSocket +
				`" --skip-networking --innodb-log-file-size=48M --innodb-fast-shutdown=2`),
			Ready: mariadbClient("mariadb-admin", "--silent", "ping")},
	}
}

// mariadbClient returns the command line of a client of that database.
func mariadbClient(program string, args ...string) []string {
	return append([]string{program, "--no-defaults", "--user=root", "--socket=" + dbSocket}, args...)
}

// mariadbDisk is the space that a database needs on the data volume besides its
// tables: the log, the system tables, and the files that a start creates.
const mariadbDisk = 96 << 20

// removed returns the last step of a workload with servers.
func removed(dirs ...string) workload.Step {
	return workload.Step{Name: "clean", ServersEnded: true,
		Argv: sh("rm -rf " + strings.Join(dirs, " ") + " && sync -f .")}
}

// listening returns a command that succeeds when a process listens on a TCP port
// of the guest. It does not connect, because some servers accept one connection only.
func listening(port int) []string {
	return []string{"grep", "-qsE", fmt.Sprintf(":%04X [0-9A-F]+:0000 0A", port), "/proc/net/tcp", "/proc/net/tcp6"}
}

// httpPort is the web server's port, below the kernel's range of ephemeral ports.
const httpPort = 28080

// apacheConfig is the part of Debian's Apache configuration that matters here: the
// timeouts, the modules and the request log. apacheEvent and apachePHP add the
// processing model, its numbers of processes, and the content.
const apacheConfig = `ServerRoot /usr/lib/apache2
ServerName tare
Listen ` + workload.ServerAddress + `:28080
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

// apache returns the step of a web server with this configuration.
func apache(config string) workload.Step {
	const start = `rm -rf ` + webDir + ` && mkdir ` + webDir + ` && printf '%s' "$1" >` + webDir + `/conf &&
TARE_DATA="$PWD/` + webDir + `" exec apache2 -f "$PWD/` + webDir + `/conf" -DFOREGROUND`
	return workload.Step{Name: "apache", Background: true, Argv: sh(start, "sh", config),
		Ready: listening(httpPort)}
}
