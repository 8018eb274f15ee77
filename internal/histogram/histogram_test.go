package histogram

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// of counts latencies.
func of(t *testing.T, values ...int64) *Histogram {
	t.Helper()
	h := &Histogram{}
	for _, v := range values {
		if err := h.Add(v, 1); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// TestBars: the bars are those of HdrHistogram.
func TestBars(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	h, theirs := &Histogram{}, hdr.New(lowest, Highest, digits)
	for range 20_000 {
		v := int64(math.Exp(r.Float64() * math.Log(Highest)))
		if err := h.Add(v, 2); err != nil {
			t.Fatal(err)
		}
		if err := theirs.RecordValues(v, 2); err != nil {
			t.Fatal(err)
		}
	}
	var want []Bar
	for _, b := range theirs.Distribution() {
		if b.Count > 0 {
			want = append(want, Bar{b.From, b.To + 1, b.Count})
		}
	}
	if !slices.Equal(h.Bars(), want) || h.Count() != 40_000 {
		t.Errorf("%d latencies in %d bars, want %d", h.Count(), len(h.Bars()), len(want))
	}
	for _, q := range []float64{0.01, 0.5, 0.9, 0.99, 0.999} {
		if got, want := h.Quantile(q), float64(theirs.ValueAtQuantile(100*q)); math.Abs(got-want) > 1+want/100 {
			t.Errorf("quantile %v: %v, want %v", q, got, want)
		}
	}
}

// TestPlanted: of requests of 100 µs, one in a hundred waits 20 ms.
func TestPlanted(t *testing.T) {
	h := &Histogram{}
	for range 990 {
		if err := h.Add(100_000, 1); err != nil {
			t.Fatal(err)
		}
	}
	for range 10 {
		if err := h.Add(20_100_000, 1); err != nil {
			t.Fatal(err)
		}
	}
	for q, want := range map[float64]float64{0.5: 100_000, 0.9: 100_000, 0.985: 100_000, 0.995: 20_100_000,
		0.999: 20_100_000} {
		if got := h.Quantile(q); math.Abs(got/want-1) > 0.01 {
			t.Errorf("quantile %v: %v, want %v", q, got, want)
		}
	}
	if got := h.AtLeast(10 * time.Millisecond); got != 10 {
		t.Errorf("%d latencies of 10 ms or more", got)
	}
	if got := (&Histogram{}).Quantile(0.5); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

func TestMergeAndEncode(t *testing.T) {
	a, b := of(t, 0, 1, 5, 1000, Highest), of(t, 5, 70_000)
	sum, err := Merge(a, b, &Histogram{})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range []*Histogram{a, b, sum, {}} {
		encoded, err := h.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode(encoded)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(h.Bars(), back.Bars()) || h.Count() != back.Count() {
			t.Errorf("%+v came back as %+v", h, back)
		}
	}
	if sum.Count() != 7 || sum.Quantile(0.5) > 6 {
		t.Errorf("%+v", sum)
	}
	// The longest encoding that comes of a trial: each bar has its own count.
	full := &Histogram{}
	for v := int64(1); v <= Highest; _, v = barOf(v) {
		if err := full.Add(v, 1+v%1_000_003); err != nil {
			t.Fatal(err)
		}
	}
	encoded, err := full.Encode()
	if err != nil || len(encoded) > MaxEncoded {
		t.Errorf("%d bytes, %v", len(encoded), err)
	}
}

// TestStep: whole milliseconds are a millisecond apart, as far as the bars show it.
func TestStep(t *testing.T) {
	for _, c := range []struct {
		h    *Histogram
		want int64
	}{{of(t), 0}, {of(t, 5, 5), 0}, {of(t, 5, 9, 12), 3}, {of(t, 20_000_000, 47_000_000, 48_000_000), 1_000_000}} {
		if got := c.h.Step(); float64(got) < 0.75*float64(c.want) || float64(got) > 1.25*float64(c.want) {
			t.Errorf("%+v: %d, want %d", c.h.Bars(), got, c.want)
		}
	}
}

func TestRefused(t *testing.T) {
	h := of(t, 1)
	for _, c := range [][2]int64{{-1, 1}, {Highest + 1, 1}, {1, -1}, {1, MaxCount}} {
		if err := h.Add(c[0], c[1]); err == nil {
			t.Errorf("%v was counted", c)
		}
	}
	wide := hdr.New(1, math.MaxInt64, 2)
	if err := wide.RecordValue(Highest * 2); err != nil {
		t.Fatal(err)
	}
	long, err := wide.Encode(hdr.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	for _, encoded := range [][]byte{nil, []byte("HISTFAAAA"), make([]byte, MaxEncoded+1), long} {
		if got, err := Decode(encoded); err == nil {
			t.Errorf("%.20q was decoded: %+v", encoded, got)
		}
	}
}

func FuzzDecode(f *testing.F) {
	h := &Histogram{}
	for v := int64(3); v < Highest; v *= 7 {
		if err := h.Add(v, v%5+1); err != nil {
			f.Fatal(err)
		}
	}
	good, err := h.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte("HISTFAAAAA=="))
	f.Fuzz(func(t *testing.T, encoded []byte) {
		h, err := Decode(encoded)
		if err != nil {
			return
		}
		last := 0.0
		for _, q := range []float64{0, 0.5, 0.9, 0.999, 1} {
			v := h.Quantile(q)
			if v < last || math.IsNaN(v) {
				t.Fatalf("quantile %v is %v, the one before %v", q, v, last)
			}
			last = v
		}
	})
}
