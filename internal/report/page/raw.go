package page

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"html/template"
	"path/filepath"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/report"
	"github.com/tare-bench/tare/internal/store"
)

// How much raw output a page holds.
const (
	maxStream      = 6 << 10   // bytes of each stream, its first and last ones
	maxRaw         = 400 << 10 // bytes of those shown as text
	maxPacked      = 256 << 10 // bytes of the others, compressed
	maxPackedCount = 2000      // of those others
)

// rawTrial is a trial with its raw output.
type rawTrial struct {
	Title   string       `json:"title"`
	Text    string       `json:"text"`
	Status  store.Status `json:"status"`
	Omitted bool         `json:"-"` // its output did not fit in the page
}

// raw fills in the trials that are shown one by one: those that failed and the first
// of each arm and workload as text; the others packed, as far as there is room, for
// the script to unpack.
func (v *pageView) raw(d *data, output func(int64) (stdout, stderr [][]byte, err error)) error {
	entry := func(t *store.Trial, with bool) (rt rawTrial, err error) {
		var stdout, stderr [][]byte
		if with {
			if stdout, stderr, err = output(t.Attempt); err != nil {
				return rt, err
			}
		}
		rt = rawTrial{Title: report.TrialTitle(t), Text: report.Transcript(t, stdout, stderr, maxStream), Status: t.Status,
			Omitted: output != nil && !with}
		return rt, nil
	}
	room := maxRaw
	for _, t := range append(d.failed[:len(d.failed):len(d.failed)], d.first...) {
		rt, err := entry(t, output != nil && room > 0)
		if err != nil {
			return err
		}
		room -= len(rt.Text)
		v.Raw = append(v.Raw, rt)
	}
	v.RawMore = d.attempts - len(v.Raw)
	if output == nil || v.RawMore == 0 {
		return nil
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	lines := json.NewEncoder(z)
	for _, t := range d.others {
		if packed.Len() > maxPacked {
			break
		}
		rt, err := entry(t, true)
		if err != nil {
			return err
		}
		if err := lines.Encode(rt); err != nil {
			return err
		}
		v.PackedCount++
	}
	v.RawMore -= v.PackedCount
	if err := z.Close(); err != nil {
		return err
	}
	v.Packed = base64.StdEncoding.EncodeToString(packed.Bytes())
	return nil
}

// download is the data of the run, as a link that needs no script.
type download struct {
	URL   template.URL
	Name  string
	Size  string
	Whole bool // with every trial
}

const (
	maxDownload       = 700 << 10 // bytes, compressed
	maxDownloadTrials = 30_000    // more cannot fit
)

var errFull = errors.New("the download is full")

// limited is a buffer of at most maxDownload bytes.
type limited struct {
	bytes.Buffer
}

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > maxDownload {
		return 0, errFull
	}
	return l.Buffer.Write(p)
}

// downloadOf compresses the run's export or, if that is too large for a page, the
// results of the analysis.
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
	return download{
		URL:  template.URL("data:application/gzip;base64," + base64.StdEncoding.EncodeToString(b)),
		Name: name, Size: report.InUnit("B", float64(len(b)), 3), Whole: whole,
	}
}
