package crun

import (
	"testing"

	"github.com/tare-bench/tare/internal/system/systemtest"
)

func TestMain(m *testing.M) { systemtest.Main(m) }

// Package runc runs the whole suite on containers of the same description.
func TestConformance(t *testing.T) { systemtest.RunBriefly(t, Driver) }

func TestLoop(t *testing.T) { systemtest.Loop(t, Driver) }

func BenchmarkSystem(b *testing.B) { systemtest.Bench(b, Driver) }

func TestConfined(t *testing.T) { systemtest.Confined(t, Driver, true) }

func TestHostile(t *testing.T) { systemtest.Hostile(t, Driver) }
