// Package vmware runs guests as VMware virtual machines: on ESXi, alone or under vCenter, and on
// Workstation. The machines are the user's and run the user's programs. tare clones them, powers
// them on and off, and starts the agent through VMware Tools in the guest.
package vmware
