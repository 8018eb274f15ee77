package model

import "testing"

func TestHeld(t *testing.T) {
	const mib = 1 << 20
	for _, tc := range []struct {
		attack Attack
		want   Held
	}{
		{Attack{On: AttackMemory, Limit: 512 * mib, Took: 512 * mib, Stopped: true}, HeldYes},
		{Attack{On: AttackMemory, Limit: 512 * mib, Took: 700 * mib, Stopped: true}, HeldYes}, // with its VMM
		{Attack{On: AttackMemory, Limit: 512 * mib, Took: 800 * mib, Stopped: true}, HeldNo},
		{Attack{On: AttackMemory, Limit: 512 * mib, Took: 300 * mib}, HeldUnknown}, // it was too slow
		{Attack{On: AttackMemory, Limit: 512 * mib, Took: 490 * mib}, HeldYes},
		{Attack{On: AttackMemory, Limit: 512 * mib, Stopped: true}, HeldUnknown}, // nobody counts
		{Attack{On: AttackProcesses, Limit: 4096, Took: 2800, Died: true}, HeldYes},
		{Attack{On: AttackProcesses, Limit: 4096, Took: 8000}, HeldNo},
		{Attack{On: AttackDisk, Limit: 1000 * mib, Took: 940 * mib, Stopped: true}, HeldYes},
		{Attack{On: AttackDisk, Limit: 1000 * mib, Took: 1001 * mib, Stopped: true}, HeldNo},
		{Attack{On: AttackDisk, Limit: 1000 * mib, Took: 100 * mib}, HeldUnknown},
	} {
		if got := tc.attack.Held(); got != tc.want {
			t.Errorf("%+v: %s, want %s", tc.attack, got, tc.want)
		}
	}
}
