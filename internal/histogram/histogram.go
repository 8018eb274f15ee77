// Package histogram holds the distribution of the single latencies of a trial: HDR histograms, which can be added to
// each other, and their quantiles.
package histogram

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// What a histogram can hold, in the words of HdrHistogram: nanoseconds with two significant digits. Each is known to
// within 1/128 of itself, which is finer than what fio and sysbench print.
const (
	lowest  = 1
	Highest = 3_600_000_000_000 // ns: an hour
	digits  = 2

	subBuckets = 8 // bits
)

// Resolution is the relative width of the widest bars of tools that print counts of ranges instead of single
// latencies: those of sysbench.
const Resolution = 0.02

// Bar is the number of latencies from Low ns to below High ns.
type Bar struct{ Low, High, Count int64 }

// Histogram counts latencies. Its zero value is empty.
type Histogram struct {
	bars  []Bar // by Low; none is empty
	count int64
}

// MaxCount is how many latencies a histogram can hold.
const MaxCount = 1 << 52

// Add counts n latencies of ns nanoseconds. A latency of 0 counts as one of 1 ns. An error: it is negative or longer
// than Highest, or there are too many.
func (h *Histogram) Add(ns, n int64) error {
	if ns < 0 || ns > Highest {
		return fmt.Errorf("a latency of %d ns is outside 0 … %d ns", ns, int64(Highest))
	}
	if n < 0 || n > MaxCount-h.count {
		return fmt.Errorf("a histogram cannot have %d latencies more than %d", n, h.count)
	}
	if n == 0 {
		return nil
	}
	low, high := barOf(max(ns, lowest))
	i, found := slices.BinarySearchFunc(h.bars, low, func(b Bar, low int64) int { return cmp.Compare(b.Low, low) })
	if !found {
		h.bars = slices.Insert(h.bars, i, Bar{Low: low, High: high})
	}
	h.bars[i].Count += n
	h.count += n
	return nil
}

// barOf returns the limits of HDR's bucket with a value.
func barOf(v int64) (low, high int64) {
	shift := max(0, bits.Len64(uint64(v))-subBuckets)
	low = v >> shift << shift
	return low, low + 1<<shift
}

// Count is the number of latencies.
func (h *Histogram) Count() int64 { return h.count }

// Bars are the parts of the histogram with any latencies, in rising order.
func (h *Histogram) Bars() []Bar { return h.bars }

// AtLeast is the number of latencies in the bars that begin at d or later.
func (h *Histogram) AtLeast(d time.Duration) (n int64) {
	for _, b := range h.bars {
		if b.Low >= d.Nanoseconds() {
			n += b.Count
		}
	}
	return n
}

// Step is the smallest distance between two latencies, in ns: of a tool that prints whole milliseconds, it is one of
// them. 0: there are fewer than two different ones.
func (h *Histogram) Step() int64 {
	step := int64(0)
	for i := 1; i < len(h.bars); i++ {
		if d := h.bars[i].Low - h.bars[i-1].Low; step == 0 || d < step {
			step = d
		}
	}
	return step
}

// Merge returns the sum of histograms.
func Merge(all ...*Histogram) (*Histogram, error) {
	sum := &Histogram{}
	for _, h := range all {
		for _, b := range h.bars {
			if err := sum.Add(b.Low, b.Count); err != nil {
				return nil, err
			}
		}
	}
	return sum, nil
}

// Quantile returns the latency, in ns, that a share q of all latencies does not exceed; within a bar, it assumes that
// they are spread evenly. 0: the histogram is empty.
func (h *Histogram) Quantile(q float64) float64 {
	if h.count == 0 {
		return 0
	}
	rank := q * float64(h.count)
	for _, b := range h.bars {
		if n := float64(b.Count); rank > n {
			rank -= n
		} else {
			return float64(b.Low) + rank/n*float64(b.High-b.Low)
		}
	}
	return float64(h.bars[len(h.bars)-1].High)
}

// Encode returns the histogram in HdrHistogram's compressed encoding, version 2, in base64.
func (h *Histogram) Encode() ([]byte, error) {
	p := hdr.New(lowest, Highest, digits)
	for _, b := range h.bars {
		if err := p.RecordValues(b.Low, b.Count); err != nil {
			return nil, err
		}
	}
	return p.Encode(hdr.V2CompressedEncodingCookieBase)
}

// MaxEncoded is the length of the longest encoding that Decode takes.
const MaxEncoded = 16 << 10

// Decode reads what Encode wrote. encoded may come from anybody; its histogram may have other limits than Encode's.
func Decode(encoded []byte) (*Histogram, error) {
	if len(encoded) > MaxEncoded {
		return nil, fmt.Errorf("the encoded histogram has %d bytes, more than %d", len(encoded), MaxEncoded)
	}
	p, err := hdr.DecodePacked(encoded)
	if err != nil {
		return nil, err
	}
	own := hdr.New(lowest, Highest, digits)
	if n := p.MergeInto(own); n > 0 {
		return nil, fmt.Errorf("%d latencies are longer than %d ns", n, int64(Highest))
	}
	h := &Histogram{}
	for _, b := range own.Distribution() {
		if err := h.Add(b.From, b.Count); err != nil {
			return nil, err
		}
	}
	return h, nil
}
