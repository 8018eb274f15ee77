package campaign

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/strict"
)

// Boot is a way to boot the host that the campaign needs.
type Boot struct {
	Name string
	// Of is what the host is then: model.BootLinux or model.BootXen; "": Name, which is one of them.
	Of string
	// Entry is its entry in GRUB's menu, in the form that grub-reboot takes; "": tare
	// cannot boot into it by itself.
	Entry string
}

// minRounds is how often each boot is repeated at least: boots are the outermost
// level, and fewer of them give no interval.
const minRounds = 4

// Kind is what the host is in this boot: model.BootLinux or model.BootXen.
func (b Boot) Kind() string { return cmp.Or(b.Of, b.Name) }

var bootKeys = []strict.Key[Boot]{
	strict.Field("of", "What the host is then, for a boot with a name of yours: linux or xen. Its kernel's parameters "+
		"must contain tare.boot=NAME, by which tare knows it.",
		strict.OneOf(model.BootLinux, model.BootXen), func(b *Boot) *string { return &b.Of }),
	strict.Field("entry", "Entry of GRUB's menu that boots it, in the form that grub-reboot takes. Absent: boot the "+
		"host by hand, then continue with tare resume.",
		textKind, func(b *Boot) *string { return &b.Entry }),
}

// Boot returns the boot of that name.
func (c *Campaign) Boot(name string) (Boot, bool) {
	return find(c.Boots, func(b Boot) bool { return b.Name == name })
}

// checkBoots fills in which boot each arm belongs to.
func (r *checker) checkBoots(c *Campaign, known Known) {
	if !r.Sound("boots", "arms") {
		return
	}
	for _, b := range c.Boots {
		switch own := b.Name != model.BootLinux && b.Name != model.BootXen; {
		case own && b.Of == "":
			r.FailWord("boots."+b.Name, b.Name, []string{model.BootLinux, model.BootXen},
				"what is the host in boot %q? give it of: %s or of: %s", b.Name, model.BootLinux, model.BootXen)
			return
		case !own && b.Of != "" && b.Of != b.Name:
			r.Fail("boots."+b.Name+".of", "boot %q is of %s; give a boot of %s another name", b.Name, b.Name, b.Of)
			return
		}
	}
	used := map[string]bool{}
	for i := range c.Arms {
		a := &c.Arms[i]
		at := fmt.Sprintf("arms[%d]", i)
		switch {
		case len(c.Boots) == 0 && a.Boot != "":
			r.Fail(at+".boot", "arm %q names a boot, but the campaign has no boots", a.Name)
			return
		case len(c.Boots) == 0:
			continue
		case a.Boot == "":
			a.Boot = cmp.Or(known.Systems[a.System].Boot, model.BootLinux)
			if b, ok := find(c.Boots, func(b Boot) bool { return b.Kind() == a.Boot }); ok {
				a.Boot = b.Name
			}
		}
		b, ok := c.Boot(a.Boot)
		needs := known.Systems[a.System].Boot
		switch {
		case !ok:
			names := make([]string, len(c.Boots))
			for i, b := range c.Boots {
				names[i] = b.Name
			}
			r.FailWord(r.at(at, "boot"), a.Boot, names, "arm %q needs boot %q, which is not one of the campaign's boots", a.Name,
				a.Boot)
		case needs != "" && b.Kind() != needs:
			r.Fail(r.at(at, "boot"), "arm %q: %s needs a boot of %s, and %q is of %s", a.Name, a.System, needs, b.Name, b.Kind())
		}
		used[a.Boot] = true
	}
	if len(c.Boots) == 0 {
		return
	}
	for _, b := range c.Boots {
		if !used[b.Name] {
			r.Fail("boots."+b.Name, "no arm runs in boot %q", b.Name)
		}
	}
}

// bootBlocks is how many blocks a boot lasts if the campaign does not say.
const bootBlocks = 5

// checkRounds checks that there are enough boots for an interval over them.
func (r *checker) checkRounds(c *Campaign) {
	if len(c.Boots) == 0 || !r.Sound("boots", "arms", "blocks", "recreate_every", "precision") {
		return
	}
	if c.RecreateEvery == Auto {
		c.RecreateEvery = bootBlocks
	}
	switch {
	case c.Precision > 0 || !c.Blocks.Fixed():
		r.Fail("blocks", "blocks: a campaign with boots needs a fixed number of blocks: a precision counts blocks, but the "+
			"boots are what varies")
	case c.RecreateEvery == 0:
		r.Fail("recreate_every", "recreate_every: in a campaign with boots it is the number of blocks in each boot, at "+
			"least 1")
	case (c.Blocks.Max+c.RecreateEvery-1)/c.RecreateEvery < minRounds:
		r.Fail("blocks", "blocks %d with recreate_every %d make %d rounds of boots; an interval over boots needs at least %d",
			c.Blocks.Max, c.RecreateEvery,
			(c.Blocks.Max+c.RecreateEvery-1)/c.RecreateEvery, minRounds)
	}
}

// InBoot returns the active arms that run in that boot of the host; in a campaign
// without boots, all active arms.
func (c *Campaign) InBoot(boot string) []Arm {
	return slices.DeleteFunc(c.Active(), func(a Arm) bool { return len(c.Boots) > 0 && a.Boot != boot })
}
