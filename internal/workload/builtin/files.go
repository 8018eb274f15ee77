package builtin

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/tool"
)

const (
	filesDir = webDir + "/files"
	// filesLog is the server's log, in which each request has a line.
	filesLog = webDir + "/access.log"

	// filesMake makes the directory of the server, with a file of $1 bytes in lines like pageLine.
	filesMake = `set -e
rm -rf ` + webDir + ` && mkdir -p ` + filesDir + `
seq -f 'line %09.0f' $(($1 / 15 + 1)) | head -c "$1" >` + filesDir + `/page.txt
sync -f .`
	pageLine = "line %09d\n"

	nginxConfig = `daemon off;
user www-data;
worker_processes auto;
pid ` + webDir + `/pid;
error_log stderr;
events { worker_connections 1024; }
http {
	include /etc/nginx/mime.types;
	log_format counted '$status $body_bytes_sent $http_user_agent';
	access_log ` + filesLog + ` counted;
	client_body_temp_path ` + webDir + `/body;
	proxy_temp_path ` + webDir + `/proxy;
	fastcgi_temp_path ` + webDir + `/fastcgi;
	uwsgi_temp_path ` + webDir + `/uwsgi;
	scgi_temp_path ` + webDir + `/scgi;
	sendfile on;
	server {
		listen ` + workload.ServerAddress + `:28080;
		root ` + filesDir + `;
	}
}
`
	caddyConfig = `{
	admin off
	auto_https off
}
http://:28080 {
	bind ` + workload.ServerAddress + `
	root * ` + filesDir + `
	file_server
	log {
		output file ` + filesLog + ` {
			roll_disabled
		}
	}
}
`
)

var fileParams = []workload.Param{clientsParam,
	{Name: "kib", Default: "16", Min: 1, Max: 65536, About: "size of the file in KiB"}}

// nginx serves a file to ab.
func nginx() *workload.Workload {
	const start = `printf '%s' "$1" >` + webDir + `/conf && exec nginx -p "$PWD/" -e stderr -c ` + webDir + `/conf`
	return filesWorkload("nginx", workload.Workload{
		Name: "nginx", Title: "nginx serves a file to ab",
		Source: "nginx (nginx) and ab (apache2-utils)", Packages: []string{"nginx"},
	}, `^200 %d ApacheBench`, "sh", "-c", start, "sh", nginxConfig)
}

// caddy serves a file to ab; the server is written in Go.
func caddy() *workload.Workload {
	const start = `printf '%s' "$1" >` + webDir + `/conf
export XDG_CONFIG_HOME="$PWD/` + webDir + `" XDG_DATA_HOME="$PWD/` + webDir + `"
exec caddy run --adapter caddyfile --config ` + webDir + `/conf`
	return filesWorkload("caddy", workload.Workload{
		Name: "caddy", Title: "Caddy, a server in Go, serves a file to ab",
		Source: "Caddy (caddy) and ab (apache2-utils)", Packages: []string{"caddy"},
	}, `ApacheBench.*"size":%d,"status":200[,}]`, "sh", "-c", start, "sh", caddyConfig)
}

// filesWorkload returns a workload in which a server sends one file again and again. served is the expression for a
// line of its log: %d stands for the bytes that ab got.
func filesWorkload(program string, common workload.Workload, served string, server ...string) *workload.Workload {
	return workload.WithParams(fileParams, func(set workload.Settings) *workload.Workload {
		w, bytes := common, int64(set.Int("kib"))<<10
		w.Programs = []string{program, "sha256sum"}
		w.Packages = append([]string{"coreutils", "dash", "grep"}, common.Packages...)
		w.MinSize, w.DefaultSize = 300, 5000
		url := "http://" + workload.ServerAddress + ":" + strconv.Itoa(httpPort) + "/page.txt"
		first := strings.TrimSpace(fmt.Sprintf(pageLine, 1))
		abWorkload(&w, set, page{path: "/page.txt", marker: first}, bytes,
			workload.Step{Name: "file", Argv: sh(filesMake, "sh", strconv.FormatInt(bytes, 10))},
			workload.Step{Name: program, Background: true, Argv: server, Ready: listening(httpPort)})
		// Caddy writes 500 bytes for a request.
		w.DiskBytes = func(size int64) int64 { return bytes + 16<<20 + 1024*size }
		serve, steps := w.Serve, w.Steps
		w.Serve = func(size int64) []workload.Step {
			all := serve(size)
			count := "grep -cE '" + fmt.Sprintf(served, bytes) + "' " + filesLog
			return slices.Insert(all, len(all)-1,
				workload.Step{Name: "served", ServersEnded: true, Argv: sh(count)})
		}
		w.Steps = func(size int64) []workload.Step {
			return append(steps(size), workload.Step{Name: "hash", Argv: sh(`curl -fsS "$1" | sha256sum`,
				"sh", url)})
		}
		return alsoChecking(&w, func(size int64, by map[string]workload.StepResult) error {
			return filesServed(size, bytes, string(by["hash"].Stdout), string(by["served"].Stdout))
		})
	})
}

var sha256Line = regexp.MustCompile(`^([0-9a-f]{64}) .*\n$`)

// filesServed checks that the server sent the right file, and as often as the size says by its own log.
func filesServed(size, bytes int64, hash, served string) error {
	var page []byte
	for i := 1; int64(len(page)) < bytes; i++ {
		page = fmt.Appendf(page, pageLine, i)
	}
	if want := fmt.Sprintf("%x", sha256.Sum256(page[:bytes])); !hashIs(hash, want) {
		return fault.Guestf("step hash: the file that was sent has the SHA-256 %s instead of %s", tool.Quote(hash), want)
	}
	if want := fmt.Sprintf("%d\n", size); served != want {
		return fault.Guestf("step served: the server's log has %s whole files sent to ab instead of %d", tool.Quote(served),
			size)
	}
	return nil
}

// hashIs reports whether the output of sha256sum on one file has this hash.
func hashIs(output, want string) bool {
	m := sha256Line.FindStringSubmatch(output)
	return m != nil && m[1] == want
}
