package tool

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// readIperf3 reads the JSON of a TCP or UDP test, or its text.
func readIperf3(text string, r *Report) error {
	at := jsonAt(text)
	if at < 0 {
		return readIperf3Text(text, r)
	}
	type sum struct {
		Bytes       *float64 `json:"bytes"`
		Seconds     *float64 `json:"seconds"`
		Bits        *float64 `json:"bits_per_second"`
		Retransmits *float64 `json:"retransmits"`
		Lost        *float64 `json:"lost_percent"`
		Jitter      *float64 `json:"jitter_ms"`
	}
	var doc struct {
		Error string
		End   struct {
			Sent     sum                 `json:"sum_sent"`
			Received sum                 `json:"sum_received"`
			Sum      sum                 `json:"sum"`
			CPU      map[string]*float64 `json:"cpu_utilization_percent"`
		}
	}
	if err := json.NewDecoder(strings.NewReader(text[at:])).Decode(&doc); err != nil {
		return fault.Guestf("iperf3's JSON is damaged or cut off: %w", err)
	}
	if doc.Error != "" {
		return fault.Guestf("iperf3 failed: %s", Quote(doc.Error))
	}
	add := func(name string, v *float64, unit string, better Better) {
		if v != nil {
			r.add(name, *v, unit, better)
		}
	}
	end := doc.End
	add("sent throughput", end.Sent.Bits, "bit/s", Higher)
	add("received throughput", end.Received.Bits, "bit/s", Higher)
	add("retransmits", end.Sent.Retransmits, "1", Lower)
	add("throughput", end.Sum.Bits, "bit/s", Higher)
	add("jitter", end.Sum.Jitter, "ms", Lower)
	add("lost", end.Sum.Lost, "%", Lower)
	for _, name := range []string{"host_total", "host_user", "host_system", "remote_total", "remote_user",
		"remote_system"} {
		add("CPU "+name, end.CPU[name], "%", Lower)
	}
	add("received", end.Received.Bytes, "B", "")
	add("receiver's time", end.Received.Seconds, "s", Lower)
	if len(r.Figures) == 0 {
		return fault.Guestf("iperf3's JSON has no figures in its \"end\" section")
	}
	return iperf3Consistent(r, 0.001, 0)
}

var iperf3Received = line("receiver",
	`^\[(SUM| *\d+)\] +0\.00-(\d+\.\d+) +sec +(\d+(?:\.\d+)?) ([KMGT]?)Bytes +(\d+(?:\.\d+)?) ([KMGT]?)bits/sec +receiver *\r?$`)

func readIperf3Text(text string, r *Report) error {
	if err := refused("iperf3", text); err != nil {
		return err
	}
	all := iperf3Received.all(text)
	if len(all) == 0 {
		return fault.WithRemedy(fault.Guestf("the output does not contain what the receiver got"), "run iperf3 -c with -J")
	}
	m := all[len(all)-1] // with several streams, the sum
	if len(all) > 1 && m[1] != "SUM" {
		return fault.Guestf("the output contains %d reports of iperf3; save each run in its own file", len(all))
	}
	f, err := Numbers(m[2], m[3], m[5])
	if err != nil {
		return err
	}
	r.add("received throughput", f[2]*math.Pow(1000, power(m[6])), "bit/s", Higher)
	r.add("received", f[1]*math.Pow(1024, power(m[4])), "B", "")
	r.seconds("receiver's time", f[0])
	return iperf3Consistent(r, ulp(m[3])+ulp(m[5])+ulp(m[2]), 0.005)
}

// power returns the power of 1000 or 1024 of a unit's prefix: K 1, M 2.
func power(prefix string) float64 {
	return float64(strings.Index("KMGT", prefix)+1) * float64(len(prefix))
}

// iperf3Consistent checks that rate × time is the size, within a share of the size and the rounding
// of the time.
func iperf3Consistent(r *Report, share, rounding float64) error {
	bytes, seconds, rate := r.Value("received"), r.Value("receiver's time"), r.Value("received throughput")
	if bytes == 0 || rate == 0 { // not printed, or nothing arrived
		return nil
	}
	if off := math.Abs(rate/8*seconds - bytes); off > share*bytes+rounding*rate/8 {
		return fault.Guestf("rate × time is not the size: %v bit/s, %v s, %.0f bytes", rate, seconds, bytes)
	}
	return nil
}
