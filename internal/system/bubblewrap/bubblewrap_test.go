package bubblewrap

import (
	"testing"

	"github.com/tare-bench/tare/internal/system/systemtest"
)

func TestMain(m *testing.M) { systemtest.Main(m) }

// Package lxc runs the whole suite on containers that inherit the agent's stream, too.
func TestConformance(t *testing.T) { systemtest.RunBriefly(t, Driver{}) }

func TestLoop(t *testing.T) { systemtest.Loop(t, Driver{}) }

func BenchmarkSystem(b *testing.B) { systemtest.Bench(b, Driver{}) }

func TestConfined(t *testing.T) { systemtest.Confined(t, Driver{}, false) }

func TestHostile(t *testing.T) { systemtest.Hostile(t, Driver{}) }
