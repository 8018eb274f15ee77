package system

import (
	"net/netip"

	"github.com/tare-bench/tare/internal/network"
)

// NetworkParameter is the word of a machine's kernel command line by which the
// agent gives an interface the site's address; "" when the site has none.
func NetworkParameter(iface string, s *Site) string {
	var address netip.Prefix
	var gateway netip.Addr
	switch {
	case s.Port != nil:
		address, gateway = s.Port.Address, s.Port.Gateway
	case s.Flavor.Network == network.User:
		address, gateway = network.UserAddress, network.UserHost
	default:
		return ""
	}
	word := "tare.net=" + iface + "," + address.String()
	if gateway.IsValid() {
		word += "," + gateway.String()
	}
	return word
}
