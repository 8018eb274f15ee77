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

// One is a guest requested on a command line, in the words of a campaign. The setting "net.packets" is the key
// packets of the flavor's key net.
type One struct {
	System, Target  string
	Flavor, Options []model.Setting
}

var isNumber = regexp.MustCompile(`^(0|[1-9][0-9]*)$`).MatchString

// mapping is settings as a mapping of a campaign file.
func mapping(settings []model.Setting) (map[string]any, error) {
	m := map[string]any{}
	for _, s := range settings {
		in, name := m, s.Name
		if outer, inner, nested := strings.Cut(s.Name, "."); nested {
			if m[outer] == nil {
				m[outer] = map[string]any{}
			}
			keys, ok := m[outer].(map[string]any)
			if !ok {
				return nil, fault.Campaignf("%s is set twice: by itself, and by its key %s", strict.Quote(outer),
					strict.Quote(inner))
			}
			in, name = keys, inner
		}
		if _, twice := in[name]; twice {
			return nil, fault.Campaignf("%s is set twice", strict.Quote(s.Name))
		}
		if in[name] = s.Value; isNumber(s.Value) {
			in[name] = json.Number(s.Value)
		}
	}
	return m, nil
}

// ParseOne reads and checks a guest as if it were the only one of a campaign. The
// error is of the kind fault.Campaign.
func ParseOne(g One, known Known) (model.Flavor, Arm, error) {
	flavor, err1 := mapping(g.Flavor)
	options, err2 := mapping(g.Options)
	if err := errors.Join(err1, err2); err != nil {
		return model.Flavor{}, Arm{}, err
	}
	arm := map[string]any{"system": g.System, "flavor": "guest"}
	if g.Options != nil {
		arm["options"] = options
	}
	if g.Target != "" {
		arm["target"] = g.Target
	}
	text, err := json.Marshal(map[string]any{ // which is YAML, too
		"name": "guest", "flavors": map[string]any{"guest": flavor}, "arms": []any{arm}, "workloads": []string{"none"},
	})
	if err != nil {
		return model.Flavor{}, Arm{}, fault.Campaignf("%w", err)
	}
	c, reader, _ := strict.Read("guest", text, campaignKind)
	r := &checker{reader}
	if r.Err() == nil {
		r.choose(&c.Flavors[0], known.Host)
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
