package main

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/container"
	"github.com/tare-bench/tare/internal/experiment"
	"github.com/tare-bench/tare/internal/model"
)

// appImage is an archive of docker save with nothing but a static program and the account that runs it.
func appImage(t *testing.T) string {
	t.Helper()
	app := filepath.Join(t.TempDir(), "app")
	// The same program each time, so that its image is unpacked once.
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-buildid=", "-o", app,
		"./testdata/container")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	program, err := os.ReadFile(app)
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, f := range []struct {
		name string
		text []byte
	}{{"bin/app", program}, {"etc/passwd", []byte("web:x:1234:1234::/home/web:/none\n")}} {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Mode: 0o755, Size: int64(len(f.text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(f.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.WriteHeader(&tar.Header{Name: "srv", Typeflag: tar.TypeDir, Mode: 0o755}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(buf.Bytes())), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		t.Fatal(err)
	}
	img, err = mutate.ConfigFile(img, &v1.ConfigFile{OS: "linux", Architecture: runtime.GOARCH,
		RootFS: v1.RootFS{Type: "layers", DiffIDs: []v1.Hash{diffID(t, layer)}},
		Config: v1.Config{Entrypoint: []string{"/bin/app"}, Cmd: []string{"idle"}, User: "web", WorkingDir: "/srv",
			Env: []string{"GREETING=hello"}, Volumes: map[string]struct{}{"/var/lib/app": {}}}})
	if err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag("app:1")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "app.tar")
	if err := tarball.WriteToFile(file, tag, img); err != nil {
		t.Fatal(err)
	}
	return file
}

func diffID(t *testing.T, l v1.Layer) v1.Hash {
	t.Helper()
	id, err := l.DiffID()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestCostCampaign: the campaign of tare cost is a campaign, with the image's entry point and the user's words.
func TestCostCampaign(t *testing.T) {
	argv, err := commandLine("app", container.Config{Entrypoint: []string{"/bin/app"}, Cmd: []string{"idle"}}, nil)
	if err != nil || !slices.Equal(argv, []string{"/bin/app", "idle"}) {
		t.Errorf("%q, %v", argv, err)
	}
	f := costFlags{vcpus: 2, memory: "1GiB", disk: "2GiB", on: []string{"runc", " gvisor", "native"}}
	f.budget = 90e9
	argv = []string{"/bin/app", "a: b", "#c", "- d", "it's \"so\"", "\n"}
	text := f.yaml("/images/app.tar", "sha256:"+strings.Repeat("0", 64), argv)
	c, err := campaign.Parse("cost.yaml", text, experiment.KnownAnywhere())
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var arms []string
	for _, a := range c.Arms {
		arms = append(arms, a.System)
	}
	if !slices.Equal(c.Workloads[0].Own.Command, argv) || !slices.Equal(arms, []string{"native", "runc", "gvisor"}) ||
		len(c.Workloads) != 3 || c.Budget != f.budget || c.Flavors[0].VCPUs != 2 || c.Image.OCI != "/images/app.tar" {
		t.Errorf("%+v\n%s", c, text)
	}
	f.serve, f.url, f.rate, f.p99 = 8080, "/a?b", 50, 20e6
	text = f.yaml("/images/app.tar", "sha256:"+strings.Repeat("0", 64), argv)
	if c, err = campaign.Parse("cost.yaml", text, experiment.KnownAnywhere()); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	at, limit := c.Workloads[0].Own, c.Workloads[1].Own
	if !slices.Equal(at.Server, argv) || !slices.Equal(limit.Server, argv) || len(c.Workloads) != 2 ||
		at.Requests != (campaign.Requests{Port: 8080, URL: "/a?b", Rate: 50, Connections: 32}) ||
		limit.Requests != (campaign.Requests{Port: 8080, URL: "/a?b", Within: 20e6, Connections: 32}) ||
		c.Scenarios[0].Client.On != campaign.OnHost || c.Flavors[0].Network != model.NetworkBridged {
		t.Errorf("%+v\n%s", c, text)
	}
	for _, words := range [][]string{nil, {"a{size}"}} {
		if argv, err := commandLine("app", container.Config{}, words); err == nil {
			t.Errorf("%q is a command", argv)
		}
	}
}

// TestCost: the program of an image without a shell or a C library runs as its configuration says, under a kernel that
// it shares with the host and under one that it does not, and the run goes on when the archive is gone.
func TestCost(t *testing.T) {
	live(t)
	dir, image := t.TempDir(), appImage(t)
	out := filepath.Join(dir, "cost.tare")
	r := alone(t, dir, "cost", image, "--yes", "--on", "nspawn,uml", "--budget", "4s", "--disk", "64MiB", "--out", out,
		"--", "work")
	if r.status != 0 {
		t.Fatalf("status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
	done := map[string]int{}
	for _, trial := range exported(t, out).Trials {
		switch trial.Status {
		case "done", "duet":
			done[trial.Workload+" "+trial.Arm]++
		case "failed":
			t.Errorf("%s on %s: %s", trial.Workload, trial.Arm, trial.Error)
		}
	}
	for _, want := range []string{"command native", "command nspawn", "command uml", "start[cache=warm] nspawn",
		"start[cache=cold] uml"} {
		if done[want] == 0 {
			t.Errorf("no trial of %s: %v", want, done)
		}
	}
	if !strings.Contains(r.stdout, "of duets") && !strings.Contains(r.stdout, "CPU") {
		t.Errorf("no cost in CPU time:\n%s", r.stdout)
	}
	if err := os.Remove(image); err != nil {
		t.Fatal(err)
	}
	if r := alone(t, dir, "resume", "--yes", out); r.status != 0 {
		t.Errorf("resumed without the archive: status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
	nothingLeft(t)
}

// TestCostService: the image's service answers requests from outside its guest, and what is wrong with one is said.
func TestCostService(t *testing.T) {
	live(t)
	dir, image := t.TempDir(), appImage(t)
	r := tare(t, dir, "cost", image, "--yes", "--on", "runc", "--serve", "8080", "--p99", "1s", "--campaign", "--",
		"serve")
	if r.status != 0 {
		t.Fatalf("status %d\n%s", r.status, r.stderr)
	}
	short := strings.NewReplacer("trial_time: 5s", "trial_time: 200ms", "budget: 5m", "budget: 1s").Replace(r.stdout)
	out := filepath.Join(dir, "cost.tare")
	if r = alone(t, dir, "run", "--yes", write(t, dir, "cost.yaml", short), "--out", out); r.status != 0 {
		t.Fatalf("status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
	done := map[string]int{}
	for _, trial := range exported(t, out).Trials {
		if trial.Status == "failed" {
			t.Errorf("%s on %s: %s", trial.Workload, trial.Arm, trial.Error)
		}
		if trial.Status != "done" || trial.Role != "" {
			continue
		}
		done[trial.Workload+" "+trial.Arm]++
		cpu, known := trial.Probes["guest_cgroup_cpu"]
		if at := trial.Workload == "service"; at != (known && cpu > 0) || at != (trial.Metrics["latency"] > 0) ||
			at == (trial.Metrics["largest-rate"] > 0) || trial.Probes["stated_rate"] <= 0 {
			t.Errorf("%+v", trial)
		}
	}
	for _, want := range []string{"service native@requested", "service runc@requested", "service-limit native@requested",
		"service-limit runc@requested"} {
		if done[want] == 0 {
			t.Errorf("no trial of %s: %v", want, done)
		}
	}
	for _, want := range []string{"CPU time of the guest for each request: native@requested", "largest-rate"} {
		if !strings.Contains(tare(t, dir, "show", "--all", out).stdout, want) {
			t.Errorf("no %q is shown", want)
		}
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--", "exit"}, "the service ended with exit status 3"},
		{[]string{"--url", "/broken", "--", "serve"}, "listens on port 8080, but a request for /broken fails"},
	} {
		r := alone(t, dir, append([]string{"cost", image, "--yes", "--on", "native", "--serve", "8080", "--out",
			filepath.Join(dir, "wrong.tare")}, c.args...)...)
		if r.status == 0 || !strings.Contains(r.stderr, c.says) {
			t.Errorf("%v: status %d\n%s%s", c.args, r.status, r.stdout, r.stderr)
		}
		if err := os.Remove(filepath.Join(dir, "wrong.tare")); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	nothingLeft(t)
}
