package campaign

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/strict"
)

// One is a guest requested on a command line, in the words of a campaign.
type One struct {
	System, Target  string
	Flavor, Options []model.Setting
}

var isNumber = regexp.MustCompile(`^[0-9]+$`).MatchString

// ParseOne reads and checks a guest as if it were the only one of a campaign. The
// error is of the kind fault.Campaign.
func ParseOne(g One, known Known) (model.Flavor, Arm, error) {
	quote := func(s string) string {
		b, _ := json.Marshal(s) // YAML reads it, too; strings cannot fail
		return string(b)
	}
	settings := func(all []model.Setting) string {
		var b strings.Builder
		for _, s := range all {
			v := s.Value
			if !isNumber(v) {
				v = quote(v)
			}
			fmt.Fprintf(&b, "%s: %s, ", quote(s.Name), v)
		}
		return "{" + b.String() + "}"
	}
	arm := "system: " + quote(g.System) + ", flavor: guest"
	if g.Target != "" {
		arm += ", target: " + quote(g.Target)
	}
	if g.Options != nil {
		arm += ", options: " + settings(g.Options)
	}
	text := fmt.Sprintf("name: guest\nflavors: {guest: %s}\narms: [{%s}]\nworkloads: [none]\n", settings(g.Flavor), arm)

	c, reader, _ := strict.Read("guest", []byte(text), campaignKind)
	r := &checker{reader}
	if r.Err() == nil {
		r.checkFlavor(c.Flavors[0], known.Host)
		r.checkArm(&c, 0, known.Systems)
	}
	var all strict.Errors
	if !errors.As(r.Err(), &all) {
		return c.Flavors[0], c.Arms[0], nil
	}
	var said []string
	for _, p := range all {
		msg := p.Msg
		if p.Hint != "" {
			msg += fmt.Sprintf(" (did you mean %q?)", p.Hint)
		}
		said = append(said, msg)
	}
	return model.Flavor{}, Arm{}, fault.Campaignf("%s", strings.Join(said, "\n"))
}

// ParseSettings reads "key=value,key=value"; a part without "=" belongs to the
// value before it.
func ParseSettings(text string) ([]model.Setting, error) {
	var all []model.Setting
	for part := range strings.SplitSeq(text, ",") {
		k, v, ok := strings.Cut(part, "=")
		switch {
		case ok && k != "":
			all = append(all, model.Setting{Name: strings.TrimSpace(k), Value: v})
		case !ok && len(all) > 0:
			all[len(all)-1].Value += "," + part
		default:
			return nil, fault.Campaignf("%q: must be key=value,key=value", text)
		}
	}
	return all, nil
}
