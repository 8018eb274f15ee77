package vminit

import (
	"fmt"
	"os/exec"
	"strings"
)

// ip is the userland's ip program, by its path since PATH is not set yet.
const ip = "/bin/ip"

// setUpNetwork brings up the loopback interface, which workloads expect, and the machine's network
// interface, if it has one.
func setUpNetwork(parameter string) error {
	if parameter != "" {
		iface, _, _ := strings.Cut(parameter, ",")
		if err := waitFor("/sys/class/net/" + iface); err != nil {
			return err
		}
	}
	script, err := ipBatch(parameter)
	if err != nil {
		return err
	}
	cmd := exec.Command(ip, "-batch", "-")
	cmd.Stdin = strings.NewReader(script)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("setting up the network: %w: %s", err, out)
	}
	return nil
}

// ipBatch returns the ip commands for a parameter INTERFACE,ADDRESS/BITS[,GATEWAY].
func ipBatch(parameter string) (string, error) {
	script := "link set lo up\n"
	if parameter == "" {
		return script, nil
	}
	words := strings.Split(parameter, ",")
	if len(words) < 2 || len(words) > 3 {
		return "", fmt.Errorf("tare.net=%s: want an interface, an address, and perhaps a gateway", parameter)
	}
	script += fmt.Sprintf("address add %s dev %s\nlink set %[2]s up\n", words[1], words[0])
	if len(words) == 3 {
		script += "route add default via " + words[2] + "\n"
	}
	return script, nil
}
