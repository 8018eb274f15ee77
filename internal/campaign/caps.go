package campaign

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/strict"
)

// Bounds of caps. Below the least ones a guest hardly gets anything done; the largest network cap is
// what Linux's token bucket takes without a second attribute.
const (
	minIORate  = 4 * KiB        // per second
	minNetRate = 100_000        // bit/s
	maxNetRate = 32_000_000_000 // bit/s
	maxOps     = 1_000_000_000
)

var (
	rateKind = strict.Scalar("a rate such as 20MiB/s",
		strict.Schema{"type": "string", "pattern": `^[0-9]*\.?[0-9]* ?([TGMK]iB?|[TGMKk]B?|B)/s$`},
		parseRate, func(rate int64) any { return rateText(rate) }, strict.Text)

	opsKind = strict.Scalar("a number of operations such as 500/s",
		strict.Schema{"type": "string", "pattern": `^[0-9]+ ?/s$`},
		parseOps, func(ops int64) any { return opsText(ops) }, strict.Text)

	bitRateKind = strict.Scalar("a rate such as 50Mbit/s",
		strict.Schema{"type": "string", "pattern": `^[0-9]*\.?[0-9]* ?[kMG]?bit/s$`},
		parseBitRate, func(rate int64) any { return bitRateText(rate) }, strict.Text)
)

var ioKeys = []strict.Key[model.IOCaps]{
	strict.Field("read", "Bytes read per second.", rateKind, func(c *model.IOCaps) *int64 { return &c.Read }),
	strict.Field("write", "Bytes written per second.", rateKind, func(c *model.IOCaps) *int64 { return &c.Write }),
	strict.Field("read_ops", "Read operations per second.", opsKind, func(c *model.IOCaps) *int64 { return &c.ReadOps }),
	strict.Field("write_ops", "Write operations per second.", opsKind,
		func(c *model.IOCaps) *int64 { return &c.WriteOps }),
}

var netKeys = []strict.Key[model.NetCap]{
	strict.Required(strict.Field("rate", "Bits per second in each direction, headers of Ethernet included.",
		bitRateKind, func(c *model.NetCap) *int64 { return &c.Rate })),
}

var (
	ioKind = strict.Shorthand(strict.Object("caps of I/O", ioKeys), rateKind,
		func(rate int64) model.IOCaps { return model.IOCaps{Read: rate, Write: rate} })
	netKind = strict.Shorthand(strict.Object("a cap of the network", netKeys), bitRateKind,
		func(rate int64) model.NetCap { return model.NetCap{Rate: rate} })
)

// parseRate reads bytes per second, such as 20MiB/s.
func parseRate(text string) (int64, error) {
	size, ok := strings.CutSuffix(text, "/s")
	if !ok {
		return 0, fmt.Errorf("%s does not end with /s", strict.Quote(text))
	}
	b, err := ParseBytes(size)
	if err == nil && b < minIORate {
		err = fmt.Errorf("%s is too little; the minimum is %s", strict.Quote(text), rateText(int64(minIORate)))
	}
	return int64(b), err
}

func rateText(rate int64) string { return Bytes(rate).String() + "/s" }

// parseOps reads operations per second, such as 500/s.
func parseOps(text string) (int64, error) {
	count, ok := strings.CutSuffix(text, "/s")
	if !ok {
		return 0, fmt.Errorf("%s does not end with /s", strict.Quote(text))
	}
	n, err := strconv.ParseInt(strings.TrimSpace(count), 10, 64)
	if err != nil || n < 1 || n > maxOps {
		return 0, fmt.Errorf("%s is not one from 1/s to %d/s", strict.Quote(text), maxOps)
	}
	return n, nil
}

func opsText(ops int64) string { return strconv.FormatInt(ops, 10) + "/s" }

// bitUnits are the prefixes of bit/s, which are decimal.
var bitUnits = []unit{{"Gbit/s", 1e9}, {"Mbit/s", 1e6}, {"kbit/s", 1e3}, {"bit/s", 1}}

// parseBitRate reads bits per second, such as 50Mbit/s.
func parseBitRate(text string) (int64, error) {
	for _, u := range bitUnits {
		digits, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		number, err := decimal(strings.TrimSpace(digits))
		if err != nil {
			return 0, fmt.Errorf("%s is not a rate", strict.Quote(text))
		}
		number.Mul(number, new(big.Rat).SetInt64(u.size))
		if !number.IsInt() {
			return 0, fmt.Errorf("%s is not a whole number of bits", strict.Quote(text))
		}
		rate := number.Num()
		if !rate.IsInt64() || rate.Int64() < minNetRate || rate.Int64() > maxNetRate {
			return 0, fmt.Errorf("%s is out of range: %s to %s", strict.Quote(text),
				bitRateText(minNetRate), bitRateText(maxNetRate))
		}
		return rate.Int64(), nil
	}
	return 0, fmt.Errorf("%s has no unit: bit/s, kbit/s, Mbit/s or Gbit/s", strict.Quote(text))
}

func bitRateText(rate int64) string { return inUnits(rate, bitUnits) }

// ioText names the caps of a data volume; "none" without any.
func ioText(c model.IOCaps) string {
	var parts []string
	add := func(value int64, name, text string) {
		if value > 0 {
			parts = append(parts, name+" "+text)
		}
	}
	add(c.Read, "read", rateText(c.Read))
	add(c.Write, "write", rateText(c.Write))
	add(c.ReadOps, "read_ops", opsText(c.ReadOps))
	add(c.WriteOps, "write_ops", opsText(c.WriteOps))
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, " ")
}

// netText names the cap of a network.
func netText(c model.NetCap) string {
	if c.Rate == 0 {
		return "none"
	}
	return bitRateText(c.Rate)
}

// CapsText words the caps of a flavor besides that of its CPUs, in the words of campaigns; "" without any.
func CapsText(f model.Flavor) string {
	var parts []string
	if f.IO != (model.IOCaps{}) {
		parts = append(parts, "I/O capped at "+ioText(f.IO))
	}
	if f.Net != (model.NetCap{}) {
		parts = append(parts, "network capped at "+netText(f.Net))
	}
	return strings.Join(parts, ", ")
}

// checkNetCap checks that a cap of the network has something to limit.
func (r *checker) checkNetCap(path string, f model.Flavor) {
	if f.Net.Rate > 0 && !f.OnBridge() {
		r.Fail(path+".net",
			"a cap of the network needs an interface of the guest on the run's bridge: network %s or %s, not %s",
			model.NetworkBridged, model.NetworkNAT, f.Network)
	}
}

// checkArmCaps checks that a system can enforce the caps of an arm's flavor.
func (r *checker) checkArmCaps(path string, a Arm, f model.Flavor, limits Limits) {
	if f.IO != (model.IOCaps{}) && !slices.Contains(limits.IOCap.Backings, f.Backing) {
		why := limits.IOCap.Why
		if len(limits.IOCap.Backings) > 0 {
			why = fmt.Sprintf("not on backing %s, only on %s", f.Backing, strings.Join(limits.IOCap.Backings, ", "))
		}
		r.Fail(path, "arm %q: %s cannot enforce caps of I/O, which flavor %q has (%s): %s",
			a.Name, a.System, f.Name, ioText(f.IO), why)
	}
	if f.Net.Rate > 0 && limits.NetCap != "" {
		r.Fail(path, "arm %q: %s cannot enforce a cap of the network, which flavor %q has (%s): %s",
			a.Name, a.System, f.Name, netText(f.Net), limits.NetCap)
	}
}
