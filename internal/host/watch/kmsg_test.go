package watch

import (
	"testing"
	"unicode/utf8"
)

func TestClassify(t *testing.T) {
	for text, want := range map[string]DistressKind{
		"watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [qemu-system-x86:1234]":                       SoftLockup,
		"watchdog: Watchdog detected hard LOCKUP on cpu 3":                                               HardLockup,
		"INFO: task jbd2/vda1-8:231 blocked for more than 120 seconds.":                                  HungTask,
		"rcu: INFO: rcu_sched self-detected stall on CPU":                                                RCUStall,
		"rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:":                                          RCUStall,
		"rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: { 1-... }":                      RCUStall,
		"Memory cgroup out of memory: Killed process 99 (stress) total-vm:1kB":                           OOMCgroup,
		"Out of memory: Killed process 4711 (qemu) total-vm:1kB":                                         OOM,
		"kswapd0: page allocation failure: order:5, mode:0x40cc0":                                        AllocFail,
		"I/O error, dev sda, sector 2048 op 0x0:(READ) flags 0x0":                                        IOError,
		"Buffer I/O error on dev loop0, logical block 0, lost async page write":                          IOError,
		"nvme nvme0: I/O tag 5 (1005) opcode 0x2 (I/O Cmd) QID 3 timeout, aborting":                      IOError,
		"EXT4-fs error (device vda1): ext4_lookup:1855: inode #2: comm ls: bad inode":                    FSError,
		"EXT4-fs (sda1): Remounting filesystem read-only":                                                FSError,
		"XFS (dm-0): Corruption detected. Unmount and run xfs_repair":                                    FSError,
		"mce: [Hardware Error]: Machine check events logged":                                             MCE,
		"mce: CPU2: Core temperature above threshold, cpu clock throttled (total events = 1)":            Throttling,
		"clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable because of x":  ClockBad,
		"BUG: unable to handle page fault for address: ffffb0":                                           Oops,
		"general protection fault, probably for non-canonical address 0xdead: 0000 [#1] SMP":             Oops,
		"WARNING: CPU: 0 PID: 1 at kernel/x.c:1 f+0x1/0x2":                                               Warning,
		"NETDEV WATCHDOG: eth0 (virtio_net): transmit queue 0 timed out":                                 NetTimeout,
		"workqueue: drain_vmap_area_work hogged CPU for >10000us 4 times, consider switching":            CPUHog,
		"x86/split lock detection: #AC: qemu/123 took a split_lock trap at address: 0x1":                 SplitLock,
		"EXT4-fs (vda): mounted filesystem 0000 r/w without journal. Quota mode: none.":                  "",
		"JBD2: I/O error when updating journal superblock for vda1-8.":                                   FSError,
		"XFS (sdb1): metadata I/O error in \"xfs_buf_ioend\" at daddr 0x1 len 1 error 5":                 FSError,
		"EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#0 (channel:0 slot:0)":          MCE,
		"EXT4-fs (loop1): re-mounted 0000 r/w. Quota mode: none. errors=remount-ro":                      "",
		"net_ratelimit: 12 callbacks suppressed":                                                         LogFlood,
		"set_capacity_and_notify: 2 callbacks suppressed":                                                "",
		"EXT4-fs unmount: 3 callbacks suppressed":                                                        "",
		"XFS (loop0): Ending clean mount":                                                                "",
		"XFS (loop0): Mounting V5 Filesystem":                                                            "",
		"mce: CPU0: Thermal monitoring enabled (TM1)":                                                    "",
		"traps: foo[12] general protection fault ip:1 sp:2 error:0 in foo":                               "",
		"foo[77]: segfault at 0 ip 1 sp 2 error 4":                                                       "",
		"nvme nvme0: pci function 0000:01:00.0":                                                          "",
		"device veth0 entered promiscuous mode":                                                          "",
		"rcu: Hierarchical RCU implementation.":                                                          "",
		"clocksource: Switched to clocksource tsc":                                                       "",
		"EDAC MC0: Giving out device to module skx_edac controller Skylake Socket#0 IMC#0: DEV 0000 (x)": "",
	} {
		if got := classify(KernelMessage{Text: text}); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	if got := classify(KernelMessage{Text: "Out of memory: says who", facility: 3}); got != "" {
		t.Errorf("what a daemon wrote counts as %s", got)
	}
}

func TestParseKmsg(t *testing.T) {
	m, err := parseKmsg("12,345,1500000,-,caller=T1;a\\x0ab; c\n SUBSYSTEM=block\n DEVICE=b8:0\n")
	if err != nil || m.seq != 345 || m.facility != 1 || m.Text != "a\nb; c" {
		t.Errorf("%+v, %v", m, err)
	}
	for _, bad := range []string{"", ";", "1,2;x", "a,2,3,-;x", "1,b,3,-;x", "-1,2,3,-;x"} {
		if _, err := parseKmsg(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func BenchmarkParseKmsg(b *testing.B) {
	for b.Loop() {
		_, _ = parseKmsg("6,339,5140900,-;docker0: port 1(veth1234567) entered blocking state and so on\n SUBSYSTEM=net\n")
	}
}

func FuzzKmsg(f *testing.F) {
	f.Add("6,339,5140900,-;NET: Registered protocol family 10\n SUBSYSTEM=x\n")
	f.Add("3,1,2,c;\\x0a\\xff I/O error")
	f.Fuzz(func(t *testing.T, s string) {
		m, err := parseKmsg(s)
		if err == nil && !utf8.ValidString(m.Text) {
			t.Errorf("%+v", m)
		}
	})
}
