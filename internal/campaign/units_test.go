package campaign

import (
	"math"
	"testing"
	"time"
)

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]Bytes{
		"512MiB": 512 << 20, "1GiB": 1 << 30, "1.5G": 1_500_000_000, "1.5GiB": 3 << 29,
		"1kB": 1000, "1KB": 1000, "1k": 1000, "1KiB": 1024, "2 TiB": 2 << 40, "0B": 0,
		"7B": 7, "1T": 1e12, ".5KiB": 512, "1Gi": 1 << 30, "0.001kB": 1,
	} {
		got, err := ParseBytes(text)
		if err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", text, got, err, want)
		}
		if back, err := ParseBytes(got.String()); err != nil || back != got {
			t.Errorf("%d is written %s and read %d, %v", got, got, back, err)
		}
	}
	for _, text := range []string{
		"", "B", "1", "1.5", "-1MiB", "1.5B", "1e3MiB", "1XB", "0x1MiB", "MiB", "1.2.3G",
		"8388608TiB", "99999999999999999999G", "1 000MB", "1GG", "1BB", "1MiBs", "1mb", ".B", "Inf G",
	} {
		if got, err := ParseBytes(text); err == nil {
			t.Errorf("%q is read as %d", text, got)
		}
	}
	for _, b := range []Bytes{math.MaxInt64, 1, 1023, 1024, 1e6, GiB, 3 * TiB} {
		if back, err := ParseBytes(b.String()); err != nil || back != b {
			t.Errorf("%d is written %s and read %d, %v", b, b, back, err)
		}
	}
}

func TestParsePercent(t *testing.T) {
	for text, want := range map[string]Percent{"2%": 2, "0.5%": 0.5, "100 %": 100, "33.33%": 33.33, "0%": 0} {
		got, err := ParsePercent(text)
		if err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
		if back, err := ParsePercent(got.String()); err != nil || back != got {
			t.Errorf("%v is read back as %v, %v", got, back, err)
		}
	}
	for _, text := range []string{"", "%", "2", "-2%", "NaN%", "Inf%", "1e2%", "2%%", "1/2%"} {
		if got, err := ParsePercent(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
	if got := Percent(25).Fraction(); got != 0.25 {
		t.Errorf("fraction %v", got)
	}
}

// A cap is in percent in a file and in CPUs elsewhere; neither direction adds a rounding error.
func TestCap(t *testing.T) {
	for text, want := range map[string]float64{
		"25%": 0.25, "7%": 0.07, "100%": 1, "12.5%": 0.125, "33.33%": 0.3333, "14.000001%": 0.14000001, "900%": 9, "0%": 0,
	} {
		got, err := parseCap(text)
		if err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
		if back := capText(got); back != text {
			t.Errorf("%v, from %s, is written %s", got, text, back)
		}
	}
	if got, err := parseCap("2"); err == nil {
		t.Errorf("without a sign: %v", got)
	}
}

func TestFormatDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		5 * time.Minute: "5m", 90 * time.Minute: "1h30m", 24 * time.Hour: "24h", 90 * time.Second: "1m30s",
		250 * time.Millisecond: "250ms", time.Hour + time.Second: "1h0m1s", 10 * time.Second: "10s", 1: "1ns",
	} {
		if got := FormatDuration(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
		if back, err := parseDuration(FormatDuration(d)); err != nil || back != d {
			t.Errorf("%v is read back as %v, %v", d, back, err)
		}
	}
}
