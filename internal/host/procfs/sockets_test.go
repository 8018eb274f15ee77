package procfs

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestParseListeners(t *testing.T) {
	const columns = " 00000000:0000 %s 00000000:00000000 00:00000000 00000000   0        0 %d 1 0\n"
	line := func(local, state string, inode int) string {
		return "   1: " + local + fmt.Sprintf(columns, state, inode)
	}
	text := "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n" +
		line("00000000:0016", "0A", 1) + line("0100007F:1F90", "0A", 2) + line("0100007F:1F90", "01", 3) +
		line("00000000000000000000000000000000:01BB", "0A", 4) + line("00000000000000000000000001000000:0050", "0A", 5) +
		line("0000000000000000FFFF00000100007F:0051", "0A", 6) + line("0100:0051", "0A", 7) + line("zz:1", "0A", 8)
	var got []string
	for _, l := range ParseListeners(text) {
		got = append(got, fmt.Sprint(l.Inode, " ", l.Address, " ", l.Address.Addr().IsLoopback()))
	}
	want := []string{"1 0.0.0.0:22 false", "2 127.0.0.1:8080 true", "4 [::]:443 false", "5 [::1]:80 true",
		"6 127.0.0.1:81 true"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestParseMDStat(t *testing.T) {
	got := ParseMDStat(`Personalities : [raid1] [raid6]
md1 : active raid1 sdb2[1] sda2[0]
      976630464 blocks super 1.2 [2/2] [UU]
      bitmap: 0/8 pages [0KB], 65536KB chunk

md0 : active raid1 sdb1[1] sda1[0]
      1046528 blocks super 1.2 [2/1] [U_]
      [==>..................]  recovery = 12.6% (132352/1046528) finish=0.9min speed=66176K/sec

md2 : active raid6 sdc[0] sdd[1]
      	resync=DELAYED
unused devices: <none>
`)
	want := []Array{{"md0", "recovery 12.6%"}, {"md2", "resync DELAYED"}}
	if !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

func TestParseControlGroups(t *testing.T) {
	got := ParseControlGroups("9:name=systemd:/a\n8:cpu,cpuacct:/a:b\n0::/\nodd\n1:x:/a\n")
	if !slices.Equal(got, []string{"/a", "/a:b", "/"}) {
		t.Errorf("%q", got)
	}
}

func FuzzListeners(f *testing.F) {
	f.Add("   1: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 22 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, l := range ParseListeners(text) {
			if !l.Address.IsValid() {
				t.Errorf("%+v", l)
			}
		}
	})
}

func FuzzMDStat(f *testing.F) {
	f.Add("md0 : active raid1 sda[0]\n [>...] resync = 1.0% (1/100)\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, a := range ParseMDStat(text) {
			if !strings.HasPrefix(a.Name, "md") || a.Doing == "" || strings.ContainsAny(a.Name, " \t\n") {
				t.Errorf("%+v", a)
			}
		}
	})
}
