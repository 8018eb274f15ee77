package system

import (
	"net/netip"

	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/network"
)

// NetworkParameter is the word on a machine's kernel command line that tells the agent to give an
// interface the site's address; "" when the site has none.
func NetworkParameter(iface string, s *Site) string {
	var address netip.Prefix
	var gateway netip.Addr
	switch {
	case s.Flavor.Network == model.NetworkUser:
		address, gateway = network.UserAddress, network.UserHost
	case s.Port != nil:
		address, gateway = s.Port.Address, s.Port.Gateway
	default:
		return ""
	}
	word := "tare.net=" + iface + "," + address.String()
	if gateway.IsValid() {
		word += "," + gateway.String()
	}
	return word
}
