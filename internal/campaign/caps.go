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
	minPackets = 100        // per second
	maxPackets = 10_000_000 // beyond it, the whole nanoseconds in which Linux counts are too coarse
)

var (
	rateKind = strict.Scalar("a rate such as 20MiB/s",
		strict.Schema{"type": "string", "pattern": `^[0-9]*\.?[0-9]* ?([TGMK]iB?|[TGMKk]B?|B)/s$`},
		parseRate, func(rate int64) any { return rateText(rate) }, strict.Text)

	opsKind = strict.Scalar("a number of operations such as 500/s",
		strict.Schema{"type": "string", "pattern": `^[0-9]+ ?/s$`},
		parseOps, func(ops int64) any { return perSecondText(ops) }, strict.Text)

	packetsKind = strict.Scalar("a number of packets such as 2000/s",
		strict.Schema{"type": "string", "pattern": `^[0-9]+ ?/s$`},
		parsePackets, func(packets int64) any { return perSecondText(packets) }, strict.Text)

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
	strict.Field("rate", "Bits per second in each direction, headers of Ethernet included.",
		bitRateKind, func(c *model.NetCap) *int64 { return &c.Rate }),
	strict.Field("packets", "Packets per second in each direction. Those beyond it are dropped.",
		packetsKind, func(c *model.NetCap) *int64 { return &c.Packets }),
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

// parseOps reads operations per second, such as 500/s, and parsePackets packets.
func parseOps(text string) (int64, error)     { return parsePerSecond(text, 1, maxOps) }
func parsePackets(text string) (int64, error) { return parsePerSecond(text, minPackets, maxPackets) }

func parsePerSecond(text string, least, most int64) (int64, error) {
	count, ok := strings.CutSuffix(text, "/s")
	if !ok {
		return 0, fmt.Errorf("%s does not end with /s", strict.Quote(text))
	}
	n, err := strconv.ParseInt(strings.TrimSpace(count), 10, 64)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%s is not one from %s to %s", strict.Quote(text), perSecondText(least), perSecondText(most))
	}
	return n, nil
}

func perSecondText(n int64) string { return strconv.FormatInt(n, 10) + "/s" }

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
	err := fmt.Errorf("%s has no unit: bit/s, kbit/s, Mbit/s or Gbit/s", strict.Quote(text))
	if _, packets := parsePackets(text); packets == nil {
		err = fmt.Errorf("%w; packets are capped with net: {packets: %s}", err, text)
	}
	return 0, err
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
	add(c.ReadOps, "read_ops", perSecondText(c.ReadOps))
	add(c.WriteOps, "write_ops", perSecondText(c.WriteOps))
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, " ")
}

// netText names the caps of a network; "none" without any.
func netText(c model.NetCap) string {
	var parts []string
	if c.Rate > 0 {
		parts = append(parts, bitRateText(c.Rate))
	}
	if c.Packets > 0 {
		parts = append(parts, fmt.Sprintf("%d packets/s", c.Packets))
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, " and ")
}

// Extras words what few flavors have: a network, caps besides that of the CPUs, in the words of campaigns, no
// hardening, and a choice of programs.
func Extras(f model.Flavor) (parts []string) {
	if f.Network != "" && f.Network != model.NetworkNone {
		parts = append(parts, "network "+f.Network)
	}
	if f.SwapBytes > 0 {
		parts = append(parts, Bytes(f.SwapBytes).String()+" of swap")
	}
	if f.DiskFS == model.NoFS {
		parts = append(parts, "the raw device")
	}
	if f.InTurn {
		parts = append(parts, "devices used in turn")
	}
	if f.IO != (model.IOCaps{}) {
		parts = append(parts, "I/O capped at "+ioText(f.IO))
	}
	if f.Net != (model.NetCap{}) {
		parts = append(parts, "network capped at "+netText(f.Net))
	}
	if f.Hardening == model.HardeningNone {
		parts = append(parts, "no hardening")
	}
	switch f.Programs {
	case model.ProgramsHost:
		parts = append(parts, "programs of the host")
	case model.ProgramsTools:
		parts = append(parts, "programs of the tools tree")
	}
	return parts
}

// checkNetCap checks that a cap of the network limits something.
func (r *checker) checkNetCap(path string, f model.Flavor) {
	path += ".net"
	capped := f.Net != (model.NetCap{})
	if !capped && r.Has(path) && r.Sound(path) {
		r.Fail(path, "a cap of the network needs rate, packets or both")
	}
	if capped && !f.OnBridge() {
		r.Fail(path,
			"a cap of the network needs an interface of the guest on the run's bridge: network %s or %s, not %s",
			model.NetworkBridged, model.NetworkNAT, f.Network)
	}
}

// checkArmCaps checks that a system can give its guests the swap of an arm's flavor, and enforce its caps.
func (r *checker) checkArmCaps(path string, a Arm, f model.Flavor, limits Limits) {
	if f.SwapBytes > 0 && limits.NoSwap != "" {
		r.Fail(path, "arm %q: %s cannot give its guests the swap of flavor %q (%s): %s",
			a.Name, a.System, f.Name, Bytes(f.SwapBytes), limits.NoSwap)
	}
	if f.IO != (model.IOCaps{}) && !slices.Contains(limits.IOCap.Backings, f.Backing) {
		why := limits.IOCap.Why
		if len(limits.IOCap.Backings) > 0 {
			why = fmt.Sprintf("not on backing %s, only on %s", f.Backing, strings.Join(limits.IOCap.Backings, ", "))
		}
		r.Fail(path, "arm %q: %s cannot enforce caps of I/O, which flavor %q has (%s): %s",
			a.Name, a.System, f.Name, ioText(f.IO), why)
	}
	if f.Net != (model.NetCap{}) && limits.NetCap != "" {
		r.Fail(path, "arm %q: %s cannot enforce a cap of the network, which flavor %q has (%s): %s",
			a.Name, a.System, f.Name, netText(f.Net), limits.NetCap)
	}
}
