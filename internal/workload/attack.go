package workload

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/workload/tool"
)

// The attacks are programs for perl, which is in every userland image. Each takes one resource until it gets no more of
// it, but at most twice the limit ($ARGV[0]) and for a few seconds ($ARGV[1]), prints how much it got and what stopped
// it, and gives all of it back.
const (
	// The kernel may kill what takes memory, so a child takes it, in MiB.
	attackMemory = `my ($most, $time) = @ARGV; pipe my $r, my $w or die $!; my $p = fork // die $!;
if (!$p) { close $r; my @all; alarm $time; $SIG{ALRM} = sub { exit 7 };
	for (1 .. 2 * $most) { push @all, chr(65 + $_ % 26) x 1048576; syswrite $w, "x" } exit 7 }
close $w; my $n = 0; while (my $b = sysread $r, my $x, 65536) { $n += $b } waitpid $p, 0;
my $how = $? == 7 << 8 ? "not stopped" : $? & 127 ? "stopped: killed" : "stopped: out of memory";
print "got $n, $how\n";`
	// Where processes use up the memory first, the kernel kills some of them.
	attackProcesses = `my ($most, $time) = @ARGV; my ($end, @all, $how) = (time + $time);
while (@all < 2 * $most && time < $end && !$how) { my $p = fork;
	if (!defined $p) { $how = "stopped: $!" } elsif (!$p) { sleep 60; exit } else { push @all, $p }
	$how = "stopped: one was killed" if waitpid(-1, 1) > 0 }
my $n = @all; $how ||= "not stopped"; select undef, undef, undef, 0.3; kill 9, @all; print "got $n, $how\n";`
	attackDisk = `my ($most, $time) = @ARGV; my ($end, $n, $how) = (time + $time, 0); my $x = "tare" x 262144;
open my $f, ">", "attack" or die $!;
while ($n < 2 * $most && time < $end) { my $b = syswrite $f, $x; if (!$b) { $how = "stopped: $!"; last } $n += $b }
$how ||= "not stopped"; close $f; unlink "attack"; print "got $n, $how\n";`
)

// Attack returns the command of an attack on a limit, see model.Attack. The limit of memory is in bytes.
func Attack(on string, limit int64) []string {
	program := map[string]string{
		model.AttackMemory: attackMemory, model.AttackProcesses: attackProcesses, model.AttackDisk: attackDisk,
	}[on]
	if on == model.AttackMemory {
		limit >>= 20
	}
	return []string{"perl", "-e", program, strconv.FormatInt(limit, 10), strconv.Itoa(model.AttackSeconds)}
}

var attackGot = regexp.MustCompile(`(?m)^got (\d+), (not stopped|stopped: .*)$`)

// AttackGot reads what an attack printed: how much it got, in MiB of memory, processes or bytes of its volume, and
// whether something stopped it.
func AttackGot(output string) (got float64, stopped bool, err error) {
	m := attackGot.FindStringSubmatch(output)
	if m == nil {
		return 0, false, fault.Guestf("the attack does not say what it got: %s", tool.Quote(output))
	}
	got, err = strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, false, fmt.Errorf("the attack: %w", err)
	}
	return got, m[2] != "not stopped", nil
}

// Beside is the work of the guest beside an attack: it needs the CPU, memory, new processes and the disk.
func Beside() []string {
	return []string{"sh", "-c", "head -c 16777216 /dev/zero | sha256sum >/dev/null && " +
		"dd if=/dev/zero of=beside bs=1048576 count=4 conv=fsync status=none && rm beside"}
}
