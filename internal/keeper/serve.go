package keeper

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/instance"
	"github.com/tare-bench/tare/internal/system"
)

// listen chooses or checks the guest's name, and listens on its socket.
func (k *Keeper) listen() (net.Listener, error) {
	names, err := instance.LockGuestNames()
	if err != nil {
		return nil, err
	}
	defer names.Close()
	taken := map[string]bool{}
	for _, g := range List() {
		taken[g.Name] = true
	}
	switch name := k.status.Name; {
	case name == "":
		k.status.Name = k.status.System
		for n := 2; taken[k.status.Name]; n++ {
			k.status.Name = fmt.Sprintf("%s-%d", k.status.System, n)
		}
	case taken[name]:
		return nil, fault.WithRemedy(fault.Campaignf("there is already a guest %s", name), "tare guest list")
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: k.instance.Socket(), Net: "unix"})
	if err != nil {
		return nil, fault.Hostf("%w", err)
	}
	// The socket controls a root process, so only root may open it.
	if err := os.Chmod(k.instance.Socket(), 0o600); err != nil {
		l.Close()
		return nil, fault.Hostf("%w", err)
	}
	return l, nil
}

// serve answers requests on l until the server is closed; requests end with ctx.
func (k *Keeper) serve(ctx context.Context, l net.Listener) *http.Server {
	mux := http.NewServeMux()
	do := func(pattern string, f func(http.ResponseWriter, *http.Request) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := f(w, r); err != nil {
				refuse(w, err)
			}
		})
	}
	do("GET /status", func(w http.ResponseWriter, _ *http.Request) error {
		k.mu.Lock()
		defer k.mu.Unlock()
		return json.NewEncoder(w).Encode(k.status)
	})
	do("GET /log", func(w http.ResponseWriter, _ *http.Request) error {
		k.mu.Lock()
		log := ""
		if k.machine != nil {
			log = k.machine.Guest.Log()
		}
		k.mu.Unlock()
		fmt.Fprint(w, log)
		return nil
	})
	do("POST /freeze", func(_ http.ResponseWriter, r *http.Request) error { return k.freeze(r.Context()) })
	do("POST /thaw", func(_ http.ResponseWriter, r *http.Request) error { return k.thaw(r.Context()) })
	do("POST /save", func(_ http.ResponseWriter, r *http.Request) error { return k.save(r.Context()) })
	do("POST /restore", func(_ http.ResponseWriter, r *http.Request) error { return k.restore(r.Context()) })
	do("POST /rm", func(http.ResponseWriter, *http.Request) error {
		k.stop()
		<-k.gone
		return k.err
	})
	do("POST /run", k.run)
	do("POST /signal", k.signal)
	do("POST /hold", k.lend)
	s := &http.Server{Handler: mux, BaseContext: func(net.Listener) context.Context { return ctx }}
	go s.Serve(l)
	return s
}

// failure is an error in a form that can be sent to another tare process.
type failure struct {
	Kind    fault.Kind `json:"kind"`
	Message string     `json:"message"` // with the remedy
}

func failureOf(err error) *failure { return &failure{fault.KindOf(err), err.Error()} }

func (f *failure) err() error { return &fault.Error{Kind: f.Kind, Err: errors.New(f.Message)} }

func refuse(w http.ResponseWriter, err error) {
	w.WriteHeader(http.StatusConflict)
	_ = json.NewEncoder(w).Encode(failureOf(err)) // a client that has hung up needs no answer
}

// request is a command to run.
type request struct {
	Argv    []string      `json:"argv"`
	Env     []string      `json:"env,omitempty"` // nil: system.AgentEnv
	Dir     string        `json:"dir,omitempty"` // "": the data volume
	Stdin   []byte        `json:"stdin,omitempty"`
	Timeout time.Duration `json:"timeout_ns,omitempty"`
}

// event is an event of a running command; each is one line.
type event struct {
	Started *uint64       `json:"started,omitempty"` // its id, for signals
	Stderr  bool          `json:"stderr,omitempty"`
	Output  []byte        `json:"output,omitempty"`
	Result  *agent.Result `json:"result,omitempty"`
	Failure *failure      `json:"failure,omitempty"`
}

// outputLimit is how many bytes are passed on of stdout and of stderr.
const outputLimit = 256 << 20

// run runs a command in the guest and streams its events. If the client hangs up, the command is
// killed.
func (k *Keeper) run(w http.ResponseWriter, r *http.Request) error {
	var q request
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		return fault.Campaignf("%w", err)
	}
	m, err := k.running()
	if err != nil {
		return err
	}
	c := agent.Command{Argv: q.Argv, Env: q.Env, Dir: cmp.Or(q.Dir, m.DataDir()), Stdin: q.Stdin, Timeout: q.Timeout,
		OutputLimit: outputLimit}
	if c.Env == nil {
		c.Env = system.AgentEnv
	}
	lines, flush := json.NewEncoder(w), http.NewResponseController(w)
	tell := func(e event) {
		// Ignore errors: a client that hangs up ends the request's context, which kills the
		// command.
		if lines.Encode(e) == nil {
			_ = flush.Flush()
		}
	}
	c.OnStart = func(id uint64) { tell(event{Started: &id}) }
	c.OnOutput = func(stderr bool, data []byte) { tell(event{Stderr: stderr, Output: data}) }
	result, err := m.Agent.Run(r.Context(), c)
	if err != nil {
		tell(event{Failure: failureOf(err)})
		return nil
	}
	result.Stdout, result.Stderr = nil, nil // sent already
	tell(event{Result: result})
	return nil
}

func (k *Keeper) signal(_ http.ResponseWriter, r *http.Request) error {
	id, err := strconv.ParseUint(r.FormValue("id"), 10, 64)
	if err != nil {
		return fault.Campaignf("%w", err)
	}
	sig, err := strconv.Atoi(r.FormValue("signal"))
	if err != nil {
		return fault.Campaignf("%w", err)
	}
	m, err := k.running()
	if err != nil {
		return err
	}
	return m.Agent.Signal(r.Context(), id, unix.Signal(sig))
}

// lend holds the data volume until the client hangs up.
func (k *Keeper) lend(w http.ResponseWriter, r *http.Request) error {
	release, err := k.hold(r.Context())
	if err != nil {
		return err
	}
	k.mu.Lock()
	err = json.NewEncoder(w).Encode(k.status)
	k.mu.Unlock()
	if err == nil {
		err = http.NewResponseController(w).Flush()
	}
	if err == nil {
		<-r.Context().Done()
	}
	return release()
}
