package main

import (
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/store"
)

func TestShares(t *testing.T) {
	ms := func(n int64) int64 { return n * int64(time.Millisecond) }
	trial := func(began int64) *store.Trial {
		return &store.Trial{Began: time.Unix(0, ms(began)), Steps: []store.TrialStep{
			{HostStartNS: ms(5), HostEndNS: ms(25)},
			{Timed: true, HostStartNS: ms(30), HostEndNS: ms(80)},
			{Timed: true, HostStartNS: ms(80), HostEndNS: ms(100)},
		}}
	}
	var h spentTime
	h.add(trial(0), time.Unix(0, ms(100)))
	h.add(trial(100), time.Unix(0, ms(220)))
	if got, want := h.row("dd-write"), "| dd-write | 2 | 110 | 64 % |"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
