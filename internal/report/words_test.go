package report

import (
	"testing"

	"github.com/tare-bench/tare/internal/store"
)

func TestSize(t *testing.T) {
	for unit, want := range map[string]string{
		"pieces of a kernel source tree (256 are all of it)": "1 piece of a kernel source tree (256 are all of it)",
		"copies of 32 MiB in each way":                       "1 copy of 32 MiB in each way",
		"processes":                                          "1 process",
		"s of round trips":                                   "1 s of round trips",
		"MiB":                                                "1 MiB",
		"start":                                              "1 start",
		"glass":                                              "1 glass",
		"wake-ups (one each millisecond)":                    "1 wake-up (one each millisecond)",
	} {
		if got := Size(store.Size{Size: 1, Unit: unit}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := Size(store.Size{Size: 2, Unit: "pieces"}); got != "2 pieces" {
		t.Error(got)
	}
}
