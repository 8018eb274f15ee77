package keeper

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/instance"
)

// Client talks to the keeper of one guest.
type Client struct {
	Status // as of when List found the guest
	http   http.Client
}

// statusTimeout bounds how long a keeper may take to report the status of its guest.
const statusTimeout = 20 * time.Second

// List returns the guests that are kept on this host, in the order of their start. It omits guests
// whose keeper does not answer.
func List() []*Client {
	var all []*Client
	for _, socket := range instance.Sockets() {
		c := &Client{http: http.Client{Transport: &http.Transport{
			DisableKeepAlives: true,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "unix", socket)
			},
		}}}
		ctx, cancel := context.WithTimeout(context.Background(), statusTimeout)
		err := c.get(ctx, "status", func(body io.Reader) error { return json.NewDecoder(body).Decode(&c.Status) })
		cancel()
		if err == nil { // otherwise the keeper is dead or about to end
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b *Client) int { return a.Started.Compare(b.Started) })
	return all
}

// Find returns the guest with this name.
func Find(name string) (*Client, error) {
	all := List()
	for _, c := range all {
		if c.Name == name {
			return c, nil
		}
	}
	err := fault.Campaignf("there is no guest %q", name)
	if len(all) == 0 {
		return nil, fault.WithRemedy(err, "tare guest start SYSTEM")
	}
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	return nil, fault.WithRemedy(err, "the guests are: %s", strings.Join(names, ", "))
}

func (c *Client) get(ctx context.Context, path string, read func(io.Reader) error) error {
	return c.ask(ctx, "GET", path, nil, read)
}

func (c *Client) post(ctx context.Context, path string) error {
	return c.ask(ctx, "POST", path, nil, nil)
}

// ask makes a request and passes the response to read, unless that is nil.
func (c *Client) ask(ctx context.Context, method, path string, body []byte, read func(io.Reader) error) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://keeper/"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	answer, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fault.Hostf("the keeper of guest %s does not answer: %w", c.Name, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		var f failure
		if err := json.NewDecoder(answer.Body).Decode(&f); err != nil {
			return fault.Hostf("the keeper of guest %s answers with status %d", c.Name, answer.StatusCode)
		}
		return f.err()
	}
	if read == nil {
		return nil
	}
	return read(answer.Body)
}

// Freeze freezes the guest; Thaw resumes it.
func (c *Client) Freeze(ctx context.Context) error { return c.post(ctx, "freeze") }
func (c *Client) Thaw(ctx context.Context) error   { return c.post(ctx, "thaw") }

// Save saves the guest to files and ends its processes; Restore restores it.
func (c *Client) Save(ctx context.Context) error    { return c.post(ctx, "save") }
func (c *Client) Restore(ctx context.Context) error { return c.post(ctx, "restore") }

// Log is the end of the output of the guest's runtime, VMM or console.
func (c *Client) Log(ctx context.Context) (string, error) {
	var text []byte
	err := c.get(ctx, "log", func(body io.Reader) (err error) {
		text, err = io.ReadAll(body)
		return err
	})
	return string(text), err
}

// Run runs a command in the guest as agent.Client does. Of cmd it uses the argv, environment,
// directory, input, timeout and functions; output is passed only to OnOutput.
func (c *Client) Run(ctx context.Context, cmd agent.Command) (*agent.Result, error) {
	body, err := json.Marshal(request{cmd.Argv, cmd.Env, cmd.Dir, cmd.Stdin, cmd.Timeout})
	if err != nil {
		return nil, err
	}
	var result *agent.Result
	err = c.ask(ctx, "POST", "run", body, func(answer io.Reader) error {
		for lines := json.NewDecoder(answer); ; {
			var e event
			if err := lines.Decode(&e); err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				return fault.Guestf("the connection to guest %s was lost: %w", c.Name, err)
			}
			switch {
			case e.Failure != nil:
				return e.Failure.err()
			case e.Result != nil:
				result = e.Result
				return nil
			case e.Started != nil && cmd.OnStart != nil:
				cmd.OnStart(*e.Started)
			case e.Output != nil && cmd.OnOutput != nil:
				cmd.OnOutput(e.Stderr, e.Output)
			}
		}
	})
	return result, err
}

// Signal sends a signal to the process group of a running command.
func (c *Client) Signal(ctx context.Context, id uint64, sig unix.Signal) error {
	return c.post(ctx, "signal?"+url.Values{"id": {fmt.Sprint(id)}, "signal": {fmt.Sprint(int(sig))}}.Encode())
}

// Hold stops all changes to the guest's data volume, and freezes the guest, until release is called
// or this process ends. The status says where the data is.
func (c *Client) Hold(ctx context.Context) (s Status, release func(), err error) {
	ctx, hangUp := context.WithCancel(ctx)
	held := make(chan error, 1)
	go func() {
		held <- c.ask(ctx, "POST", "hold", nil, func(body io.Reader) error {
			err := json.NewDecoder(body).Decode(&s)
			if err == nil {
				held <- nil
				<-ctx.Done()
			}
			return err
		})
	}()
	if err := <-held; err != nil {
		hangUp()
		return s, nil, err
	}
	return s, func() {
		hangUp()
		c.awaitRelease()
	}, nil
}

// awaitRelease waits until the keeper has noticed that the data volume is released.
func (c *Client) awaitRelease() {
	for range 250 {
		var now Status
		err := c.get(context.Background(), "status", func(body io.Reader) error { return json.NewDecoder(body).Decode(&now) })
		if err != nil || now.State != Copied {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// endTimeout bounds how long a keeper may take to end its guest.
const endTimeout = 2 * time.Minute

// Remove ends the guest and returns when the guest and its keeper are gone.
func (c *Client) Remove(ctx context.Context) error {
	fd, err := unix.PidfdOpen(c.Keeper, 0)
	if err != nil {
		return fault.Hostf("the keeper of guest %s (pid %d): %w", c.Name, c.Keeper, err)
	}
	defer unix.Close(fd)
	if err := c.post(ctx, "rm"); err != nil {
		return err
	}
	for begin := time.Now(); time.Since(begin) < endTimeout && ctx.Err() == nil; {
		// The descriptor is readable when the process has ended.
		if n, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 200); n > 0 {
			return nil
		}
	}
	return fault.Hostf("the keeper of guest %s (pid %d) does not end", c.Name, c.Keeper)
}
