// Command tare-fleet-dev is a Temporal server for trying tare fleet and for its tests: one process,
// SQLite, loopback only, no encryption and no authentication. It is not for production.
//
// It is Temporal's own server, and a module of its own, since it is several times as large as tare.
package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
	schema "go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:7233", "address and port, on loopback")
	db := flag.String("db", "", "SQLite file to keep workflows in (default: they are forgotten)")
	namespace := flag.String("namespace", "default", "namespace to create")
	flag.Parse()
	if err := serve(*listen, *db, *namespace); err != nil {
		fmt.Fprintln(os.Stderr, "tare-fleet-dev:", err)
		os.Exit(1)
	}
}

func serve(listen, db, namespace string) error {
	host, text, err := net.SplitHostPort(listen)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("%s is not on loopback, and this server lets everybody in", listen)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return err
	}
	c, store, err := configuration(host, port, db)
	if err != nil {
		return err
	}
	if _, err := os.Stat(db); db != "" && errors.Is(err, os.ErrNotExist) {
		if err := schema.SetupSchema(store); err != nil {
			return fmt.Errorf("creating %s: %w", db, err)
		}
	}
	ns, err := schema.NewNamespaceConfig(c.ClusterMetadata.CurrentClusterName, namespace, false, nil)
	if err != nil {
		return err
	}
	if err := schema.CreateNamespaces(store, ns); err != nil {
		return err
	}
	hosts := map[primitives.ServiceName]static.Hosts{}
	for name, s := range c.Services {
		hosts[primitives.ServiceName(name)] = static.SingleLocalHost(net.JoinHostPort(host, strconv.Itoa(s.RPC.GRPCPort)))
	}
	server, err := temporal.NewServer(temporal.WithConfig(c), temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(hosts), temporal.WithLogger(log.NewNoopLogger()),
		temporal.WithDynamicConfigClient(dynamicconfig.StaticClient{
			// A fleet has a task queue for each machine: with one partition, they cost a fourth.
			dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():  1,
			dynamicconfig.MatchingNumTaskqueueWritePartitions.Key(): 1,
		}))
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	fmt.Println("serving", listen)
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	<-interrupted
	return server.Stop()
}

// configuration is the least that Temporal's server needs.
func configuration(host string, port int, db string) (*config.Config, *config.SQL, error) {
	store := &config.SQL{PluginName: sqlite.PluginName, DatabaseName: db,
		ConnectAttributes: map[string]string{"mode": "rwc"}}
	if db == "" {
		store.DatabaseName = fmt.Sprint(rand.Uint64())
		store.ConnectAttributes = map[string]string{"mode": "memory", "cache": "shared"}
	}
	c := &config.Config{}
	c.Global.Membership = config.Membership{MaxJoinDuration: 30 * time.Second, BroadcastAddress: host}
	c.Persistence = config.Persistence{
		DefaultStore: sqlite.PluginName, VisibilityStore: sqlite.PluginName, NumHistoryShards: 1,
		DataStores: map[string]config.DataStore{sqlite.PluginName: {SQL: store}},
	}
	frontend := net.JoinHostPort(host, strconv.Itoa(port))
	c.ClusterMetadata = &cluster.Config{
		FailoverVersionIncrement: 10, MasterClusterName: "active", CurrentClusterName: "active",
		ClusterInformation: map[string]cluster.ClusterInformation{
			"active": {Enabled: true, InitialFailoverVersion: 1, RPCAddress: frontend, ClusterID: "tare-fleet-dev"},
		},
	}
	c.DCRedirectionPolicy.Policy = "noop"
	c.Archival.History.State, c.Archival.Visibility.State = "disabled", "disabled"
	c.NamespaceDefaults.Archival.History.State, c.NamespaceDefaults.Archival.Visibility.State = "disabled", "disabled"
	c.PublicClient.HostPort = frontend
	c.Services = map[string]config.Service{}
	for _, name := range []string{"frontend", "history", "matching", "worker"} {
		p := port
		if name != "frontend" {
			l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
			if err != nil {
				return nil, nil, err
			}
			p = l.Addr().(*net.TCPAddr).Port
			l.Close()
		}
		c.Services[name] = config.Service{RPC: config.RPC{GRPCPort: p, BindOnIP: host}}
	}
	return c, store, nil
}
