package lxc

import (
	"testing"

	"github.com/tare-bench/tare/internal/system/systemtest"
)

func TestMain(m *testing.M) { systemtest.Main(m) }

func TestConformance(t *testing.T) { systemtest.Run(t, Driver{}) }

func TestRawDevice(t *testing.T) { systemtest.RawDevice(t, Driver{}) }

func TestLoop(t *testing.T) { systemtest.Loop(t, Driver{}) }

func BenchmarkSystem(b *testing.B) { systemtest.Bench(b, Driver{}) }

func TestCrowd(t *testing.T) { systemtest.Crowd(t, Driver{}) }

func TestConfined(t *testing.T) { systemtest.Confined(t, Driver{}, true) }

func TestHostile(t *testing.T) { systemtest.Hostile(t, Driver{}) }
