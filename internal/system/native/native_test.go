package native

import (
	"testing"

	"github.com/tare-bench/tare/internal/system/systemtest"
)

func TestMain(m *testing.M) { systemtest.Main(m) }

func TestConformance(t *testing.T) { systemtest.Run(t, Driver{}) }

func TestConformanceDom0(t *testing.T) { systemtest.Run(t, Dom0()) }

func TestLoop(t *testing.T) { systemtest.Loop(t, Driver{}) }

func BenchmarkSystem(b *testing.B) { systemtest.Bench(b, Driver{}) }

func TestConfined(t *testing.T) { systemtest.Confined(t, Driver{}, false) }
