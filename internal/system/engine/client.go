package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// version is the version of Docker's Engine API that tare uses: Docker 19.03 and Podman 3 have it.
const version = "/v1.40"

// client talks to an engine.
type client struct{ http.Client }

func newClient(socket string) *client {
	return &client{http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, // leave no connection open after a guest
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}}}
}

// maxAnswer is the maximum size of a response in bytes; the rest is cut off.
const maxAnswer = 1 << 20

// call sends in: a reader as a tar file, anything else as JSON. It stores the response in out: in
// a *[]byte unchanged, in anything else decoded from JSON.
func (c *client) call(ctx context.Context, method, path string, in, out any) error {
	body, kind := io.Reader(http.NoBody), "application/json"
	switch in := in.(type) {
	case nil:
	case io.Reader:
		body, kind = in, "application/x-tar"
	default:
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://engine"+version+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", kind)
	resp, err := c.Do(req)
	if err != nil {
		return fault.Hostf("%s %s: %w", method, path, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fault.Hostf("%s %s: %w", method, path, err)
	}
	if resp.StatusCode >= 300 {
		return &refusal{resp.StatusCode, fault.Hostf("%s %s: %s: %s", method, path, resp.Status, message(b))}
	}
	switch out := out.(type) {
	case nil:
	case *[]byte:
		*out = b
	default:
		if err := json.Unmarshal(b, out); err != nil {
			return fault.Hostf("%s %s: malformed response: %w", method, path, err)
		}
	}
	return nil
}

// refusal is a response whose status is not a success.
type refusal struct {
	status int
	error
}

func (r *refusal) Unwrap() error { return r.error }

// gone reports whether the engine answered that the object does not exist.
func gone(err error) bool {
	var r *refusal
	return errors.As(err, &r) && r.status == http.StatusNotFound
}

// message extracts the engine's error message from a response.
func message(b []byte) string {
	var m struct{ Message string }
	if json.Unmarshal(b, &m) == nil && m.Message != "" {
		return m.Message
	}
	return strings.TrimSpace(string(b[:min(len(b), 500)]))
}

// plain decodes a container's output from the engine's log format: frames, each with a header of
// eight bytes that gives the stream and the length. It keeps what there is of a truncated frame.
func plain(b []byte) string {
	var text strings.Builder
	for len(b) > 8 && b[0] <= 2 {
		n := min(int64(binary.BigEndian.Uint32(b[4:])), int64(len(b)-8))
		text.Write(b[8 : 8+n])
		b = b[8+n:]
	}
	return text.String()
}

// imageID finds the ID of an imported image: the last checksum in a stream of messages. Their
// format depends on the engine.
func imageID(b []byte) (string, error) {
	all := sum.FindAll(b, -1)
	if len(all) == 0 {
		return "", fault.Hostf("the engine does not report the ID of the image that it imported: %s", message(b))
	}
	return string(all[len(all)-1]), nil
}

var sum = regexp.MustCompile(`\bsha256:[0-9a-f]{64}\b`)
