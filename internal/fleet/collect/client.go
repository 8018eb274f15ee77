package collect

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/files"
)

// Client sends files to a collector, and fetches them from there.
type Client struct {
	base, token string
	http        *http.Client
}

// NewClient returns a client for the collector at an address such as https://collector:7234. Without
// TLS, which protects the token, it must be on this machine. tls may be nil.
func NewClient(address, token string, tls *tls.Config) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fault.Campaignf("the collector's address %q must look like https://collector:7234", address)
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme == "http" && (ip == nil || !ip.IsLoopback()) {
		return nil, fault.Campaignf("the collector's address %s must be https: others could read the token", address)
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig, t.ResponseHeaderTimeout = tls, 5*time.Minute
	return &Client{strings.TrimSuffix(address, "/"), token, &http.Client{Transport: t}}, nil
}

// Send brings the file at path to the collector, unless it is there already, and returns its SHA-256.
// The file must not change meanwhile.
func (c *Client) Send(ctx context.Context, n Name, path string) (sum string, err error) {
	if err := n.Check(); err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fault.Hostf("%w", err)
	}
	defer f.Close()
	m, err := manifestOf(f)
	if err != nil {
		return "", err
	}
	if len(m.Chunks) > maxChunks {
		return "", fault.Hostf("%s has more than %d GiB, too much for the collector", path, maxChunks*chunkSize>>30)
	}
	list, err := json.Marshal(m)
	if err != nil {
		return "", fault.Hostf("%w", err)
	}
	return m.SHA256, c.put(ctx, n.path(), list, m.Chunks, func(need []int) error {
		return c.sendChunks(ctx, n, f, m, need)
	})
}

// put sends a list of chunks, and with send those that the collector then needs, by their numbers.
func (c *Client) put(ctx context.Context, path string, list []byte, chunks []string,
	send func(need []int) error) error {
	// The second list makes the file of what the first one lacked.
	for range 2 {
		var missing []string
		status, err := c.do(ctx, http.MethodPut, path, list, func(body io.Reader) error {
			return json.NewDecoder(body).Decode(&missing)
		})
		if status != http.StatusConflict {
			return err
		}
		var need []int
		for _, hash := range missing {
			i := slices.Index(chunks, hash)
			if i < 0 {
				return fault.Hostf("the collector asks for a chunk that does not exist")
			}
			need = append(need, i)
		}
		if err := send(need); err != nil {
			return err
		}
	}
	return fault.Hostf("the collector loses chunks that it gets for %s: do two machines have the same name?", path)
}

func (c *Client) sendChunks(ctx context.Context, n Name, f io.ReaderAt, m manifest, need []int) error {
	chunk := make([]byte, chunkSize)
	for _, i := range need {
		size, err := f.ReadAt(chunk, int64(i)*chunkSize)
		if err != nil && !errors.Is(err, io.EOF) {
			return fault.Hostf("%w", err)
		}
		if _, err := c.do(ctx, http.MethodPut, n.path()+"/chunks/"+m.Chunks[i], chunk[:size], nil); err != nil {
			return err
		}
	}
	return nil
}

// Fetch copies a run file from the collector to path, whose folder it makes. fetched is false if the
// same file is there already. The error is an fs.ErrNotExist if the collector has no such file.
func (c *Client) Fetch(ctx context.Context, n Name, path string) (fetched bool, err error) {
	if err := n.Check(); err != nil {
		return false, err
	}
	header := http.Header{}
	if have, err := files.Sum(path); err == nil {
		header.Set("If-None-Match", `"`+have+`"`)
	}
	resp, err := c.request(ctx, http.MethodGet, n.path(), header, nil)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusNotModified:
		return false, nil
	case http.StatusNotFound:
		return false, fault.Hostf("%s of %s: %w at the collector", n.Run, n.Machine, fs.ErrNotExist)
	case http.StatusOK:
	default:
		return false, said(resp)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return false, fault.Hostf("%w", err)
	}
	return true, replace(path, resp.Body, strings.Trim(resp.Header.Get("ETag"), `"`))
}

// requestTime is how long a request for a chunk may take.
const requestTime = 10 * time.Minute

// request makes a request and returns the answer, whose body the caller closes.
func (c *Client) request(ctx context.Context, method, path string, header http.Header, body []byte) (
	*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, fault.Campaignf("%w", err)
	}
	maps.Copy(req.Header, header)
	req.Header.Set("Authorization", "Bearer "+c.token)
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fault.Hostf("%w", err)
	}
	return resp, nil
}

// do makes a request. conflict reads the answer 409, which is an error, too.
func (c *Client) do(ctx context.Context, method, path string, body []byte, conflict func(io.Reader) error) (
	status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	resp, err := c.request(ctx, method, path, nil, body)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusOK:
		return resp.StatusCode, nil
	case resp.StatusCode == http.StatusConflict && conflict != nil:
		if err := conflict(io.LimitReader(resp.Body, 100*maxChunks)); err != nil {
			return 0, fault.Hostf("the collector's answer cannot be read: %w", err)
		}
		return resp.StatusCode, fault.Hostf("chunks are missing at the collector")
	}
	return resp.StatusCode, said(resp)
}

// said is the error that the collector answered with.
func said(resp *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000)) // the status says it, too
	err := fault.Hostf("the collector says: %s", strings.TrimSpace(fmt.Sprintf("%s: %s", resp.Status, text)))
	if resp.StatusCode == http.StatusUnauthorized {
		return fault.WithRemedy(err, "tare fleet serve and the machines must have the same token_file")
	}
	return err
}
