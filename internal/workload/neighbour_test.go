package workload

import (
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/model"
)

// TestAnswer: the host's side sends back the packets that it receives, and the
// neighbour sends packets to its port.
func TestAnswer(t *testing.T) {
	step := Answer("127.0.0.1")
	c := exec.Command(step.Argv[0], step.Argv[1:]...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { c.Process.Kill(); c.Wait() }()
	for exec.Command(step.Ready[0], step.Ready[1:]...).Run() != nil {
		time.Sleep(10 * time.Millisecond) // the test's own timeout bounds it
	}
	conn, err := net.Dial("udp4", "127.0.0.1:"+strconv.Itoa(answerPort))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("back again")); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 100)
	if n, err := conn.Read(got); err != nil || string(got[:n]) != "back again" {
		t.Errorf("%q, %v", got[:n], err)
	}
	n, err := NeighbourOf(model.ResourceNetwork)
	if err != nil {
		t.Fatal(err)
	}
	if words := n.Argv(Room{Host: "192.0.2.7"}); !strings.HasSuffix(strings.Join(words, " "),
		" 192.0.2.7 "+strconv.Itoa(answerPort)) {
		t.Errorf("%q", words)
	}
}
