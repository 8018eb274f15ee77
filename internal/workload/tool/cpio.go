package tool

import (
	"github.com/tare-bench/tare/internal/fault"
)

var (
	cpioBlocks = line(" block", `^(\d+) blocks?\r?$`)
	shellTimes = line("", `^(real|user|sys)\s+(?:(\d+)m)?(\d+(?:\.\d+)?)s?\r?$`)
)

// readCpio reads the report of cpio and the times that the shell's time printed.
func readCpio(text string, r *Report) error {
	if err := refused("cpio", text); err != nil {
		return err
	}
	var blocks float64
	if err := takeOnce("cpio", text, pick{cpioBlocks, []*float64{&blocks}}); err != nil {
		return err
	}
	if blocks == 0 {
		return fault.Guestf("cpio archived nothing")
	}
	r.add("archive blocks", blocks, "512 B", "")
	times := map[string]float64{}
	for _, m := range shellTimes.all(Grep(text, "real", "user", "sys")) {
		f, err := Numbers("0"+m[2], m[3])
		if err != nil {
			return err
		}
		times[m[1]] = max(f[0]*60+f[1], 0.001) // 0.000 means less than the shell's resolution
	}
	for _, name := range []string{"real", "user", "sys"} {
		if times[name] > 0 {
			r.seconds(name, times[name])
		}
	}
	return nil
}
