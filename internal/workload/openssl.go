package workload

import (
	"strconv"

	"github.com/tare-bench/tare/internal/fault"
)

// encrypt is the article's command line, corrected. As printed, it has a bare word
// after -salt, at which openssl fails within milliseconds. With pipefail, bash
// reports a failure of either program.
const encrypt = `set -o pipefail
dd if=/dev/zero bs=1048576 count="$1" |
openssl enc -aes-256-cbc -salt -pbkdf2 -pass pass:opravduhloupeheslo >/dev/null`

func opensslEnc() *Workload {
	steps := func(size int64) []Step {
		return []Step{{
			Name:  "encrypt",
			Argv:  []string{"bash", "-c", encrypt, "openssl-enc", strconv.FormatInt(size, 10)},
			Timed: true,
		}}
	}
	return &Workload{
		Name:       "openssl-enc",
		Title:      "encrypt zeros with AES-256-CBC: user CPU",
		ArticleIDs: []string{"A1-cpu"},
		Source:     "openssl enc (openssl), fed by dd (coreutils)",
		Tools:      []string{"bash", "dd", "openssl"},
		Packages:   []string{"bash", "coreutils", "openssl"},
		Metrics: []Metric{
			{Name: "time", Unit: "s", Better: Lower, Clock: HostClock, About: "the whole pipeline, from start to end"},
			{Name: "time-guest", Unit: "s", Better: Lower, Clock: GuestClock, About: "the time of dd, which feeds openssl, as dd prints it"},
		},
		SizeUnit:    "MiB encrypted",
		MinSize:     32,
		MaxSize:     1 << 20,
		DefaultSize: 5120,
		Steps:       steps,
		Parse: parsing("time", func(text string) (map[string]float64, error) {
			if err := refused("openssl", text); err != nil {
				return nil, err
			}
			reports, err := parseDD(text)
			if err != nil {
				return nil, err
			}
			if len(reports) != 1 {
				return nil, fault.Guestf("the output contains %d reports of dd instead of one, so nothing confirms that the work was done", len(reports))
			}
			return map[string]float64{"time-guest": reports[0].seconds}, nil
		}),
		Evaluate: func(size int64, results []StepResult) (map[string]float64, error) {
			by, err := ran(steps(size), results)
			if err != nil {
				return nil, err
			}
			r := by["encrypt"]
			d, err := ddOf(r, size<<20)
			if err != nil {
				return nil, err
			}
			return sane(map[string]float64{"time": r.Wall.Seconds(), "time-guest": d.seconds})
		},
	}
}
