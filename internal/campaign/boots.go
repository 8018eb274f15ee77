package campaign

import (
	"fmt"
	"slices"
)

// Boots of a host: ways to boot one machine, of which it is in one at a time.
const (
	BootLinux = "linux" // on the bare machine, or on whatever it is a guest of
	BootXen   = "xen"   // as Xen's dom0
)

// Boot is a way to boot the host that the campaign needs.
type Boot struct {
	Name string // BootLinux or BootXen
	// Entry is its entry in GRUB's menu, as grub-reboot takes it; "": tare
	// cannot boot into it by itself.
	Entry string
}

// minRounds is how often each boot is made at least: boots are the outermost
// level, and fewer of them make no interval.
const minRounds = 4

var bootKeys = []key[Boot]{
	field("entry", "Entry of GRUB's menu that boots it, as grub-reboot takes it. Absent: somebody else boots the host, then tare resume goes on.",
		textKind, func(b *Boot) *string { return &b.Entry }),
}

// Boot returns the boot of that name.
func (c *Campaign) Boot(name string) (Boot, bool) {
	for _, b := range c.Boots {
		if b.Name == name {
			return b, true
		}
	}
	return Boot{}, false
}

// checkBoots fills in which boot each arm belongs to.
func (r *reader) checkBoots(c *Campaign, known Known) {
	if !r.sound("boots", "arms") {
		return
	}
	for _, b := range c.Boots {
		if b.Name != BootLinux && b.Name != BootXen {
			r.failWord("boots."+b.Name, b.Name, []string{BootLinux, BootXen}, "unknown boot %q; the boots are %s and %s", b.Name, BootLinux, BootXen)
			return
		}
	}
	used := map[string]bool{}
	for i := range c.Arms {
		a := &c.Arms[i]
		at := fmt.Sprintf("arms[%d]", i)
		switch {
		case len(c.Boots) == 0 && a.Boot != "":
			r.fail(at+".boot", "arm %q names a boot, and the campaign has no boots", a.Name)
			return
		case len(c.Boots) == 0:
			continue
		case a.Boot == "":
			a.Boot = BootLinux
			if b := known.Systems[a.System].Boot; b != "" {
				a.Boot = b
			}
		}
		if _, ok := c.Boot(a.Boot); !ok {
			r.fail(at, "arm %q needs the boot %q, which is none of the campaign's boots", a.Name, a.Boot)
		}
		used[a.Boot] = true
	}
	if len(c.Boots) == 0 {
		return
	}
	for _, b := range c.Boots {
		if !used[b.Name] {
			r.fail("boots."+b.Name, "no arm runs in the boot %q", b.Name)
		}
	}
}

// bootBlocks is how many blocks a boot lasts where the campaign does not say.
const bootBlocks = 5

// checkRounds checks that there are enough boots for an interval over them.
func (r *reader) checkRounds(c *Campaign) {
	if len(c.Boots) == 0 || !r.sound("boots", "arms", "blocks", "recreate_every", "precision") {
		return
	}
	if c.RecreateEvery == Auto {
		c.RecreateEvery = bootBlocks
	}
	switch {
	case c.Precision > 0 || !c.Blocks.Fixed():
		r.fail("blocks", "blocks: with boots their number must be fixed: a precision counts blocks, and boots are what varies")
	case c.RecreateEvery == 0:
		r.fail("recreate_every", "recreate_every: with boots it is the number of blocks that each boot lasts, 1 at least")
	case (c.Blocks.Max+c.RecreateEvery-1)/c.RecreateEvery < minRounds:
		r.fail("blocks", "blocks %d, with recreate_every %d, make %d rounds of boots; an interval over boots needs %d", c.Blocks.Max, c.RecreateEvery,
			(c.Blocks.Max+c.RecreateEvery-1)/c.RecreateEvery, minRounds)
	}
}

// InBoot returns the arms that take part and run in that boot of the host; in
// a campaign without boots those are all that take part.
func (c *Campaign) InBoot(boot string) []Arm {
	return slices.DeleteFunc(c.Active(), func(a Arm) bool { return len(c.Boots) > 0 && a.Boot != boot })
}
