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
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/system"
)

// guest is a container. Its group freezes it. The engine, which has nothing to do meanwhile, rests
// while the guest is frozen.
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

// container is the request for a container, where the API's defaults do not fit.
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
	SecurityOpt    []string
	CapAdd         []string
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
	g := &guest{engine: d, use: use, client: newClient(socket(use.Dir())), site: s, name: "tare-" + s.ID,
		log: &system.Tail{}}
	if err := g.start(ctx); err != nil {
		g.Close() // completes the log
		if text := strings.TrimSpace(g.log.String()); text != "" {
			err = fmt.Errorf("%w; its log ends: %s", err, text)
		}
		return nil, err
	}
	return g, nil
}

func (g *guest) start(ctx context.Context) error {
	// The agent's stream bypasses the engine, which would copy every byte twice and spend CPU
	// time on it.
	l, err := g.site.ListenAgent()
	if err != nil {
		return err
	}
	defer l.Close()
	base, err := g.engine.image(ctx, g.client, source{g.use.Dir(), g.site.Userland.Tree})
	if err != nil {
		return err
	}
	binds := append(slices.Clip(base.binds), g.site.DataDir+":/data", g.site.Userland.Agent+":/tare-agent:ro",
		l.Path+":"+agentSocket)
	c, err := g.container(binds)
	if err != nil {
		return err
	}
	c.Image = base.id
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
	// Do not let the engine wait for the container: Podman's API does so by polling its state in
	// a busy loop.
	if g.exited, err = system.WatchProcess(state.State.Pid); err != nil {
		return err
	}
	if g.conn, err = l.Accept(ctx, g.exited); err != nil {
		return err
	}
	// A runtime that does not see the version 2 hierarchy has not added the container to it.
	return g.site.Group.Add(state.State.Pid)
}

// agentSocket is the path of the agent's socket in the guest, on a tmpfs of the guest's.
const agentSocket = "/run/agent.sock"

func (g *guest) container(binds []string) (container, error) {
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
	// Podman would raise these limits above what this host may allow.
	for name, resource := range map[string]int{"nofile": unix.RLIMIT_NOFILE, "nproc": unix.RLIMIT_NPROC} {
		var have unix.Rlimit
		if unix.Getrlimit(resource, &have) == nil {
			c.HostConfig.Ulimits = append(c.HostConfig.Ulimits, ulimit{name, int64(have.Cur), int64(have.Max)})
		}
	}
	slices.SortFunc(c.HostConfig.Ulimits, func(a, b ulimit) int { return strings.Compare(a.Name, b.Name) })
	if s.Flavor.Hardening == model.HardeningNone {
		c.HostConfig.SecurityOpt = []string{"seccomp=unconfined", "apparmor=unconfined"}
		harmless, err := system.HarmlessCapabilities()
		if err != nil {
			return c, err
		}
		c.HostConfig.CapAdd = system.CapabilityNames(harmless)
	}
	return c, nil
}

// source is a tree that the daemon with this directory imports.
type source struct{ daemon, tree string }

// image is what a container's root is made of.
type image struct {
	id    string
	binds []string
}

// image returns the image of a tree. A daemon imports it for its first guest, and has it for the others.
func (d *Driver) image(ctx context.Context, c *client, s source) (image, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.from == s {
		return d.base, nil
	}
	tree, binds, err := skeleton(s.tree)
	if err != nil {
		return image{}, err
	}
	var imported []byte
	if err := c.call(ctx, "POST", "/images/create?fromSrc=-", tree, &imported); err != nil {
		return image{}, err
	}
	id, err := imageID(imported)
	if err != nil {
		return image{}, err
	}
	d.from, d.base = s, image{id, binds}
	return d.base, nil
}

// own are the root's directories that are not mounted from the tree.
var own = []string{"data", "dev", "proc", "run", "sys", "tmp"}

// skeleton returns a tar file of the tree's top level, with empty directories, for an engine to
// import, and the bind mounts that fill the directories.
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

// closeTimeout bounds the removal of a container.
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

// removed fetches the container's output for the log, then removes the container.
func (g *guest) removed() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	g.site.Group.Thaw() // otherwise the container's monitor could not notice its end
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
		select { // a container that is just ending can neither be killed nor removed
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}
