// Package vmware runs guests as virtual machines of VMware: of ESXi, alone or
// under vCenter, and of Workstation. The machines are the user's, with the
// user's programs in them; tare clones and powers them, and VMware Tools in
// the guest take the agent in.
package vmware
