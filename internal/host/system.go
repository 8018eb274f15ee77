package host

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/tare-bench/tare/internal/host/energy"
)

// readHostID hashes the host's name with the machine's own id as key.
func readHostID(r *reader) string {
	name := r.text("host_id", "/proc/sys/kernel/hostname")
	key := r.optional("host_id", "/etc/machine-id")
	if key == "" || key == "uninitialized" {
		key = r.optional("host_id", "/sys/class/dmi/id/product_uuid")
	}
	if name == "" || key == "" {
		r.fail("host_id", "/etc/machine-id", errors.New("no machine id to hash the host's name with"))
		return ""
	}
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte("tare host " + name))
	return hex.EncodeToString(mac.Sum(nil)[:8])
}

func readUptime(r *reader) *float64 {
	first, _, _ := strings.Cut(r.text("uptime_s", "/proc/uptime"), " ")
	if first == "" {
		return nil
	}
	s, err := parseFloat(first)
	if err != nil {
		r.fail("uptime_s", "/proc/uptime", errors.New("not a number"))
		return nil
	}
	return &s
}

func readOS(r *reader) OS {
	text := r.optional("os", "/etc/os-release")
	if text == "" {
		text = r.text("os", "/usr/lib/os-release")
	}
	var o OS
	fields := map[string]*string{"ID": &o.ID, "VERSION_ID": &o.Version, "PRETTY_NAME": &o.Pretty}
	for line := range strings.Lines(text) {
		if key, v, ok := strings.Cut(strings.TrimSpace(line), "="); ok && fields[key] != nil {
			*fields[key] = strings.Trim(v, `"'`)
		}
	}
	return o
}

func readLoad(r *reader) Load {
	var l Load
	if f := strings.Fields(r.text("load", "/proc/loadavg")); len(f) >= 4 {
		for i, dst := range []**float64{&l.Avg1, &l.Avg5, &l.Avg15} {
			if v, err := parseFloat(f[i]); err == nil {
				*dst = &v
			}
		}
		if _, total, ok := strings.Cut(f[3], "/"); ok {
			l.Tasks = r.parseInt("load.tasks", "/proc/loadavg", total)
		}
	}
	l.CPU = readPressure(r, "load.psi_cpu", "cpu")
	l.IO = readPressure(r, "load.psi_io", "io")
	l.MemWait = readPressure(r, "load.psi_memory", "memory")
	return l
}

// readPressure reads /proc/pressure, which some kernels do not have or switch off.
func readPressure(r *reader, field, name string) *Pressure {
	text := r.text(field, "/proc/pressure/"+name)
	var p Pressure
	fields := map[string]*float64{
		"someavg10": &p.Some10, "someavg60": &p.Some60, "fullavg10": &p.Full10, "fullavg60": &p.Full60,
	}
	found := false
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		for _, kv := range f[min(1, len(f)):] {
			key, v, _ := strings.Cut(kv, "=")
			into := fields[f[0]+key]
			if x, err := parseFloat(v); err == nil && into != nil {
				*into = x
				found = found || into == &p.Some10
			}
		}
	}
	if !found {
		return nil
	}
	return &p
}

func readPower(r *reader) Power {
	p := Power{Profile: r.optional("power.profile", "/sys/firmware/acpi/platform_profile")}
	const dir = "/sys/class/power_supply"
	for _, name := range r.Names(dir) {
		if r.optional("power", dir+"/"+name+"/type") != "Mains" {
			continue
		}
		if n := r.optionalNumber("power.on_battery", dir+"/"+name+"/online"); n != nil {
			if p.OnBattery == nil {
				p.OnBattery = new(true)
			}
			*p.OnBattery = *p.OnBattery && *n == 0
		}
	}
	var err error
	if p.Energy, err = energy.Find(r.FS); err != nil {
		r.missing = append(r.missing, Unreadable{Field: EnergyField, Reason: err.Error()})
	}
	return p
}
