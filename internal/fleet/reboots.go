package fleet

import "github.com/tare-bench/tare/internal/fault"

// Reboots follows a machine through the boots that its run needs, so that it is not rebooted for ever: a boot that the
// run asked for has trials to make, so a machine on which none was made is in another boot.
type Reboots struct {
	rebooted bool
	trials   int // of the run when the machine was rebooted last
}

// Into is called before the machine is rebooted in the way that a campaign calls name, with this entry of GRUB's menu,
// for a run that has so many trials. It returns an error if the last reboot led into another boot; again is the command
// that goes on when that is repaired.
func (r *Reboots) Into(name, entry string, trials int, again string) error {
	if r.rebooted && trials <= r.trials {
		return fault.WithRemedy(
			fault.Hostf("it was rebooted as %s with the entry %q of GRUB's menu, but came back in another boot", name, entry),
			"check there that the menu has this entry and that it boots %s, then %s; if the campaign's entry is wrong, "+
				"correct it and start another run with --run NAME", name, again)
	}
	r.rebooted, r.trials = true, trials
	return nil
}
