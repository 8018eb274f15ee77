package probe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/host/energy"
	"github.com/tare-bench/tare/internal/model"
)

// energySpan is a time over which the host's energy is measured.
type energySpan struct {
	meter *energy.Meter
	begin energy.Reading
}

// beginEnergy returns nil if the host's energy cannot be measured.
func (w *Watch) beginEnergy() *energySpan {
	if w.meter == nil {
		return nil
	}
	begin, err := w.meter.Read()
	if err != nil {
		return nil
	}
	return &energySpan{w.meter, begin}
}

// end returns the values of the probes; none if a counter could not be read any more.
func (s *energySpan) end() map[string]float64 {
	if s == nil {
		return nil
	}
	end, err := s.meter.Read()
	if err != nil {
		return nil
	}
	used := end.Since(s.begin)
	values := map[string]float64{
		model.ProbeEnergyTime:   used.Seconds,
		model.ProbeEnergyFaults: float64(len(used.Faulty[energy.Package]) + len(used.Faulty[energy.DRAM])),
	}
	for domain, name := range map[energy.Domain]string{energy.Package: model.ProbeEnergyPackage,
		energy.DRAM: model.ProbeEnergyDRAM, energy.Platform: model.ProbeEnergyPlatform} {
		if joules, there := used.Joules[domain]; there {
			values[name] = joules
		}
	}
	return values
}

// AtRest measures for d what power processors and memory take while tare does nothing, and words it:
// "12.3 W: …". It returns "" at once if energy cannot be measured. Counters of memory and of the machine
// that do not move meanwhile are not read any more: some machines have such. A package's counter that
// does not move is an error, and makes the energy of each trial doubtful.
func (w *Watch) AtRest(ctx context.Context, d time.Duration) (string, error) {
	span := w.beginEnergy()
	if span == nil {
		return "", nil
	}
	cpu, err := hostCPU()
	if err != nil {
		return "", err
	}
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case <-time.After(d):
	}
	end, err := w.meter.Read()
	if err != nil {
		return "", err
	}
	after, err := hostCPU()
	if err != nil {
		return "", err
	}
	used := end.Since(span.begin)
	if faulty := used.Faulty[energy.Package]; len(faulty) > 0 {
		return "", fmt.Errorf("the energy counters %s stand still, or were set back", strings.Join(faulty, ", "))
	}
	still := slices.Concat(used.Faulty[energy.DRAM], used.Faulty[energy.Platform])
	w.meter.Drop(still)
	text := fmt.Sprintf("%.4g W: what processors and memory took in %.3g s before the first guest, with %.2f CPUs busy",
		(used.Joules[energy.Package]+used.Joules[energy.DRAM])/used.Seconds, used.Seconds,
		after.Sub(cpu).Busy()/used.Seconds)
	if len(still) > 0 {
		text += fmt.Sprintf("; not counted, because they stand still: %s", strings.Join(still, ", "))
	}
	return text, nil
}
