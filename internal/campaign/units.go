package campaign

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/strict"
)

// Bytes is a size in bytes.
type Bytes int64

// Sizes of IEC 80000-13.
const (
	KiB Bytes = 1 << 10
	MiB Bytes = 1 << 20
	GiB Bytes = 1 << 30
	TiB Bytes = 1 << 40
)

// unit is a multiple of the smallest unit of a quantity.
type unit struct {
	name string
	size int64
}

// inUnits writes n in the first unit, of those from the largest to one of size 1, in which it is a whole number.
func inUnits(n int64, units []unit) string {
	i := slices.IndexFunc(units, func(u unit) bool { return n%u.size == 0 })
	return strconv.FormatInt(n/units[i].size, 10) + units[i].name
}

// sizeUnits are the units that ParseBytes knows. A unit with an i is binary (1024),
// one without is decimal (1000), as in the standard: 1G is 1 000 000 000 bytes, and
// 1GiB is 1 073 741 824.
var sizeUnits = []unit{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"KB", 1e3},
	{"Ti", 1 << 40}, {"Gi", 1 << 30}, {"Mi", 1 << 20}, {"Ki", 1 << 10},
	{"T", 1e12}, {"G", 1e9}, {"M", 1e6}, {"k", 1e3}, {"K", 1e3},
	{"B", 1},
}

// ParseBytes reads a size with its unit, such as 512MiB (binary) or 1.5GB
// (decimal; 1.5G is the same). The size must be a whole number of bytes.
func ParseBytes(text string) (Bytes, error) {
	digits := strings.TrimRight(text, "TGMKkiB ")
	unit := strings.TrimSpace(text[len(digits):])
	number, err := decimal(digits)
	if err != nil {
		return 0, fmt.Errorf("%s is not a size", strict.Quote(text))
	}
	if unit == "" {
		return 0, fmt.Errorf("%s has no unit: %sMiB is binary, %sMB decimal, %sB plain bytes", strict.Quote(text), digits,
			digits, digits)
	}
	for _, u := range sizeUnits {
		if u.name != unit {
			continue
		}
		number.Mul(number, new(big.Rat).SetInt64(u.size))
		if !number.IsInt() {
			return 0, fmt.Errorf("%s is not a whole number of bytes", strict.Quote(text))
		}
		if !number.Num().IsInt64() {
			return 0, fmt.Errorf("%s is more than %s", strict.Quote(text), Bytes(math.MaxInt64/int64(TiB))*TiB)
		}
		return Bytes(number.Num().Int64()), nil
	}
	return 0, fmt.Errorf("%s has an unknown unit %s", strict.Quote(text), strict.Quote(unit))
}

// String writes b in the largest unit that leaves a whole number; ParseBytes
// reads it back.
func (b Bytes) String() string {
	if b == 0 {
		return "0B"
	}
	return inUnits(int64(b), sizeUnits)
}

// decimal reads an unsigned decimal number such as 1.5, exactly.
func decimal(text string) (*big.Rat, error) {
	whole, fraction, _ := strings.Cut(text, ".")
	if len(text) > 20 || whole+fraction == "" || strings.Trim(whole+fraction, "0123456789") != "" {
		return nil, errors.New("not a decimal number")
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, errors.New("not a decimal number")
	}
	return r, nil
}

// Percent is a share in percent: 2 means 2 %.
type Percent float64

// ParsePercent reads a percentage with its sign, such as 2% or 0.5%.
func ParsePercent(text string) (Percent, error) {
	number, err := percentage(text)
	if err != nil {
		return 0, err
	}
	value, _ := number.Float64()
	return Percent(value), nil
}

// percentage reads a percentage with its sign, exactly.
func percentage(text string) (*big.Rat, error) {
	digits, signed := strings.CutSuffix(text, "%")
	number, err := decimal(strings.TrimSpace(digits))
	if err != nil {
		return nil, fmt.Errorf("%s is not a percentage", strict.Quote(text))
	}
	if !signed {
		return nil, fmt.Errorf("%s has no percent sign", strict.Quote(text))
	}
	return number, nil
}

// parseCap reads a CPU cap in percent of one CPU, and returns it in CPUs' worth of time.
func parseCap(text string) (float64, error) {
	number, err := percentage(text)
	if err != nil {
		return 0, err
	}
	cpus, _ := number.Quo(number, big.NewRat(100, 1)).Float64()
	return cpus, nil
}

// capText writes a CPU cap in percent of one CPU, exactly; parseCap reads it back.
func capText(cpus float64) string {
	number, _ := new(big.Rat).SetString(strconv.FormatFloat(cpus, 'f', -1, 64))
	text := number.Mul(number, big.NewRat(100, 1)).FloatString(20)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + "%"
}

func (p Percent) String() string {
	return strconv.FormatFloat(float64(p), 'f', -1, 64) + "%"
}

// Fraction returns p as a share of one: 0.02 for 2 %.
func (p Percent) Fraction() float64 { return float64(p) / 100 }

// parseDuration reads a positive duration with its unit.
func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		if _, bad := decimal(text); bad == nil {
			return 0, fmt.Errorf("%s has no unit: write %ss for seconds", strict.Quote(text), text)
		}
		return 0, fmt.Errorf("%s is not a duration", strict.Quote(text))
	}
	if d <= 0 {
		return 0, fmt.Errorf("%s is not positive", strict.Quote(text))
	}
	return d, nil
}

// FormatDuration writes d without the zero parts that time.Duration writes: 5m
// instead of 5m0s.
func FormatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
