package engine

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/system"
)

// guest is a container. Its group freezes it, and its engine, which is asked for
// nothing meanwhile, rests with it.
type guest struct {
	engine *Driver
	use    *system.Use
	client *client
	site   *system.Site
	name   string
	record []string
	conn   net.Conn
	exited <-chan struct{}
	log    *system.Tail
	once   sync.Once
	err    error
}

// container is how a guest is asked for, as far as the API's defaults do not fit.
type container struct {
	Image      string
	Entrypoint []string
	Env        []string
	Hostname   string
	WorkingDir string
	HostConfig hostConfig
}

type hostConfig struct {
	Binds          []string
	Tmpfs          map[string]string
	CgroupParent   string
	NetworkMode    string
	ReadonlyRootfs bool
	ShmSize        int64
	Ulimits        []ulimit
}

type ulimit struct {
	Name       string
	Soft, Hard int64
}

func (d *Driver) Create(ctx context.Context, s *system.Site) (system.Guest, error) {
	use, err := d.daemon.Acquire(ctx, s.ID)
	if err != nil {
		return nil, err
	}
	g := &guest{engine: d, use: use, client: newClient(socket(use.Dir())), site: s, name: "tare-" + s.ID, log: &system.Tail{}}
	if err := g.start(ctx); err != nil {
		g.Close() // all of the log is there when it has ended
		if text := strings.TrimSpace(g.log.String()); text != "" {
			err = fmt.Errorf("%w; it said last: %s", err, text)
		}
		return nil, err
	}
	return g, nil
}

func (g *guest) start(ctx context.Context) error {
	// Past the engine, which would carry every byte twice, on CPU time of its own.
	l, err := g.site.ListenAgent()
	if err != nil {
		return err
	}
	defer l.Close()
	tree, binds, err := skeleton(g.site.Userland.Tree)
	if err != nil {
		return err
	}
	var imported []byte
	if err := g.client.call(ctx, "POST", "/images/create?fromSrc=-", tree, &imported); err != nil {
		return err
	}
	c := g.container(append(binds, g.site.DataDir+":/data", g.site.Userland.Agent+":/tare-agent:ro", l.Path+":"+agentSocket))
	if c.Image, err = imageID(imported); err != nil {
		return err
	}
	asked, err := json.Marshal(c)
	if err != nil {
		return err
	}
	g.record = append(g.engine.daemon.CommandLine(), "POST", "/containers/create?name="+g.name, string(asked))
	if err := g.client.call(ctx, "POST", "/containers/create?name="+g.name, c, nil); err != nil {
		return err
	}
	if err := g.client.call(ctx, "POST", "/containers/"+g.name+"/start", nil, nil); err != nil {
		return err
	}
	var state struct{ State struct{ Pid int } }
	if err := g.client.call(ctx, "GET", "/containers/"+g.name+"/json", nil, &state); err != nil {
		return err
	}
	if state.State.Pid == 0 {
		return fault.Guestf("the container has ended at once")
	}
	// The engine is not asked to wait for it: Podman's API waits by asking for
	// the container's state without a pause, all the time that it runs.
	if g.exited, err = system.WatchProcess(state.State.Pid); err != nil {
		return err
	}
	if g.conn, err = l.Accept(ctx, g.exited); err != nil {
		return err
	}
	// Runtimes to which version 2 was hidden have not put it there.
	return g.site.Group.Add(state.State.Pid)
}

// agentSocket is where the agent finds its host, in a file system of the guest's own.
const agentSocket = "/run/agent.sock"

func (g *guest) container(binds []string) container {
	s := g.site
	c := container{
		Entrypoint: []string{"/tare-agent", "unix:" + agentSocket},
		Env:        system.AgentEnv, Hostname: "tare", WorkingDir: "/",
		HostConfig: hostConfig{
			Binds:        binds,
			Tmpfs:        map[string]string{"/tmp": "mode=1777,exec", "/run": "mode=755"},
			CgroupParent: "/" + s.Group.Name(), NetworkMode: "none", ReadonlyRootfs: true,
			ShmSize: s.Flavor.MemoryBytes / 2,
		},
	}
	// Podman would raise these beyond what this host may let it.
	for name, resource := range map[string]int{"nofile": unix.RLIMIT_NOFILE, "nproc": unix.RLIMIT_NPROC} {
		var have unix.Rlimit
		if unix.Getrlimit(resource, &have) == nil {
			c.HostConfig.Ulimits = append(c.HostConfig.Ulimits, ulimit{name, int64(have.Cur), int64(have.Max)})
		}
	}
	slices.SortFunc(c.HostConfig.Ulimits, func(a, b ulimit) int { return strings.Compare(a.Name, b.Name) })
	return c
}

// own are the directories of the root that are not the tree's.
var own = []string{"data", "dev", "proc", "run", "sys", "tmp"}

// skeleton is a root of the tree's directories, empty, as an engine imports it,
// and the mounts that fill it.
func skeleton(tree string) (*bytes.Buffer, []string, error) {
	entries, err := os.ReadDir(tree)
	if err != nil {
		return nil, nil, fault.Hostf("%w", err)
	}
	var file bytes.Buffer
	var binds []string
	w := tar.NewWriter(&file)
	for _, e := range entries {
		h := &tar.Header{Name: e.Name(), Mode: 0o755}
		switch {
		case e.Type()&os.ModeSymlink != 0:
			h.Typeflag = tar.TypeSymlink
			if h.Linkname, err = os.Readlink(filepath.Join(tree, e.Name())); err != nil {
				return nil, nil, fault.Hostf("%w", err)
			}
		case e.IsDir():
			h.Typeflag = tar.TypeDir
			h.Name += "/"
			if !slices.Contains(own, e.Name()) {
				binds = append(binds, filepath.Join(tree, e.Name())+":/"+e.Name()+":ro")
			}
		default:
			h.Typeflag = tar.TypeReg
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, nil, err
		}
	}
	return &file, binds, w.Close()
}

func (g *guest) Conn() net.Conn          { return g.conn }
func (g *guest) Exited() <-chan struct{} { return g.exited }
func (g *guest) Log() string             { return g.log.String() }
func (g *guest) CommandLine() []string   { return g.record }

func (g *guest) Freeze(context.Context) error {
	if err := g.site.Group.Freeze(); err != nil {
		return err
	}
	return g.use.Rest()
}

func (g *guest) Thaw(context.Context) error {
	if err := g.use.Wake(); err != nil {
		return err
	}
	return g.site.Group.Thaw()
}

// closeTimeout bounds each request of a guest's end.
const closeTimeout = 20 * time.Second

func (g *guest) Close() error {
	g.once.Do(func() {
		if g.conn != nil {
			g.conn.Close()
		}
		g.err = errors.Join(g.removed(), g.site.Group.Remove(), g.use.Release())
	})
	return g.err
}

// removed asks the engine for what the container printed, and to remove it.
func (g *guest) removed() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	g.site.Group.Thaw() // or its monitor could not see its end
	if err := g.use.Wake(); err != nil {
		return err
	}
	var said []byte
	if g.client.call(ctx, "GET", "/containers/"+g.name+"/logs?stdout=1&stderr=1&tail=100", nil, &said) == nil {
		fmt.Fprint(g.log, plain(said))
	}
	for {
		err := g.client.call(ctx, "DELETE", "/containers/"+g.name+"?force=1&v=1", nil, nil)
		if err == nil || gone(err) {
			return nil
		}
		select { // one that is just ending may be neither killed nor removed
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}
