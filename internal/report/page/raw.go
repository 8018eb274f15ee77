package page

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"path/filepath"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/report"
	"github.com/tare-bench/tare/internal/store"
)

// What raw output a page holds: of each stream its first and last bytes, and
// of all of them so much.
const (
	maxStream = 6 << 10
	maxRaw    = 400 << 10
)

// raw fills in the trials that are shown one by one: those that failed, and the
// first of each arm and workload.
func (v *view) raw(d *data, output func(int64) ([]Output, error)) error {
	room := maxRaw
	shown := 0
	for _, t := range append(d.failed[:len(d.failed):len(d.failed)], d.first...) {
		rt := rawTrial{Trial: t}
		var out []Output
		if output != nil && room > 0 {
			var err error
			if out, err = output(t.Attempt); err != nil {
				return err
			}
		}
		rt.Omitted = output != nil && room <= 0
		for i, s := range t.Steps {
			rs := rawStep{TrialStep: s}
			if i < len(out) {
				rs.Stdout, rs.Stderr = printable(out[i].Stdout), printable(out[i].Stderr)
				room -= len(rs.Stdout) + len(rs.Stderr)
			}
			rt.Steps = append(rt.Steps, rs)
		}
		v.Raw = append(v.Raw, rt)
		shown++
	}
	if rest := d.trials - shown; rest > 0 {
		v.RawNote = fmt.Sprintf("%d more trials are not shown here: tare export %s has all of them.", rest, v.File)
	}
	return nil
}

// printable makes of raw output what a page can show: invalid bytes and
// control characters become visible, and the middle of much output is left out.
func printable(b []byte) string {
	cut := ""
	if len(b) > maxStream {
		cut = fmt.Sprintf("\n… %d bytes left out …\n", len(b)-maxStream)
		s := visible(b[:maxStream*3/4]) + cut + visible(b[len(b)-maxStream/4:])
		return s
	}
	return visible(b)
}

// visible shows control characters as what they are called.
func visible(b []byte) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < 0x20:
			return '␀' + r
		case r == 0x7f:
			return '␡'
		}
		return r
	}, strings.ToValidUTF8(string(b), "�"))
}

// download is the data of the run, in a link that needs no script.
type download struct {
	URL   template.URL
	Name  string
	Size  string
	Whole bool // with every trial
}

const (
	maxDownload       = 700 << 10 // bytes, compressed
	maxDownloadTrials = 30_000    // more would not fit: do not try
)

var errFull = errors.New("the download is full")

// limited is a buffer of so many bytes at most.
type limited struct {
	bytes.Buffer
}

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > maxDownload {
		return 0, errFull
	}
	return l.Buffer.Write(p)
}

// downloadOf compresses the run's export or, where that is too much for a
// page, what analysis made of it.
func downloadOf(r *store.Run, res *analyze.Result, trials int) (download, error) {
	base := strings.TrimSuffix(filepath.Base(r.Path()), ".tare")
	if trials <= maxDownloadTrials {
		b, err := compressed(func(z *gzip.Writer) error { return report.JSON(z, r, res) })
		if err == nil {
			return link(b, base+".json.gz", true), nil
		}
		if !errors.Is(err, errFull) {
			return download{}, err
		}
	}
	b, err := compressed(func(z *gzip.Writer) error { return json.NewEncoder(z).Encode(res) })
	if errors.Is(err, errFull) {
		return download{}, nil
	}
	return link(b, base+"-result.json.gz", false), err
}

func compressed(write func(*gzip.Writer) error) ([]byte, error) {
	var l limited
	z, err := gzip.NewWriterLevel(&l, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if err := write(z); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return l.Bytes(), nil
}

func link(b []byte, name string, whole bool) download {
	factor, unit := report.ScaleFor("B", float64(len(b)))
	return download{
		URL:  template.URL("data:application/gzip;base64," + base64.StdEncoding.EncodeToString(b)),
		Name: name, Size: report.Digits(float64(len(b))*factor, 3) + " " + unit, Whole: whole,
	}
}

// BlockNumber counts blocks from one, as people do.
func (t rawTrial) BlockNumber() int { return t.Block + 1 }
