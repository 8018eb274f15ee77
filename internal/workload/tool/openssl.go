package tool

import (
	"regexp"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

var (
	opensslRate  = regexp.MustCompile(`(?m)^\+F:\d+:([^:\n]+):([\d.:]+)$`)
	opensslSizes = regexp.MustCompile(`(?m)^(?:Got: )?\+H((?::\d+)+)(?: from \d+)?$`)
	opensslHuman = regexp.MustCompile(`(?m)^(\S+) +((?:[\d.]+k *){2,})$`)
	opensslCols  = regexp.MustCompile(`(?m)^type +((?:\d+ bytes *)+)$`)
)

// readOpenssl reads the output of openssl speed, with and without -mr, and of
// openssl enc, fed by dd and run under time.
func readOpenssl(text string, r *Report) error {
	if err := refused("openssl", text); err != nil {
		return err
	}
	add := func(name string, sizes, rates []string, scale float64) error {
		if len(sizes) != len(rates) {
			return fault.Guestf("openssl prints %d rates for %d sizes", len(rates), len(sizes))
		}
		for i := range rates {
			v, err := Number(rates[i])
			if err != nil {
				return err
			}
			r.add(name+" of "+sizes[i]+" bytes", v*scale, "B/s of CPU time", Higher)
		}
		return nil
	}
	sizes := opensslSizes.FindStringSubmatch(Grep(text, "+H"))
	for _, m := range opensslRate.FindAllStringSubmatch(Grep(text, "+F"), -1) {
		if sizes == nil {
			return fault.Guestf("openssl speed prints rates but no sizes: %s", Quote(m[0]))
		}
		if err := add(quoteless(m[1]), strings.Split(sizes[1][1:], ":"), strings.Split(m[2], ":"), 1); err != nil {
			return err
		}
	}
	if cols := opensslCols.FindStringSubmatch(Grep(text, "type ")); cols != nil {
		sizes := strings.Fields(strings.ReplaceAll(cols[1], "bytes", ""))
		for _, m := range opensslHuman.FindAllStringSubmatch(text, -1) {
			if err := add(quoteless(m[1]), sizes, strings.Fields(strings.ReplaceAll(m[2], "k", "")), 1000); err != nil {
				return err
			}
		}
	}
	r.expect("bytes", "bytes copied")
	r.expect("dd's time", "bytes copied")
	reports, err := parseDD(text)
	if err != nil {
		return err
	}
	for _, d := range reports {
		r.add("bytes", d.bytes, "B", "")
		r.seconds("dd's time", d.seconds)
	}
	return withTimes(r, text)
}
