package builtin

import (
	"strconv"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/tool"
)

const (
	zstdDir = "tare-zstd"

	// zstdFill writes source code until the file has $1 MiB.
	zstdFill = `set -e
rm -rf ` + zstdDir + ` && mkdir ` + zstdDir + `
for ((i = 0, bytes = 0; bytes < $1 << 20; i++)); do
	printf -v name '%s/%03d.tar.gz' "$2" "$((i % $3))"
	gzip -dc "$name" >>` + zstdDir + `/in
	bytes=$(stat -c %s ` + zstdDir + `/in)
done
truncate -s "$1M" ` + zstdDir + `/in
sync -f .`
	zstdVerify = `set -o pipefail
cd ` + zstdDir + ` && zstd -qdc out | cmp - in && stat -c %s out`
)

// zstd compresses the kernel source in the directory source, and decompresses it.
func zstd(source string) *workload.Workload {
	return workload.WithParams([]workload.Param{
		threadsParam,
		{Name: "level", Default: "3", Min: 1, Max: 19, About: "zstd's level of compression"},
	}, func(set workload.Settings) *workload.Workload {
		w := &workload.Workload{
			Name: "zstd", Title: "compress source code with zstd, and decompress it: CPU and memory",
			Source:   "zstd (zstd), on the source of Debian's kernel",
			Programs: []string{"bash", "cmp", "gzip", "mkdir", "rm", "stat", "sync", "truncate", "zstd"},
			Packages: []string{"bash", "coreutils", "diffutils", "gzip", "zstd"},
			Metrics: []workload.Metric{
				workload.Time("compressing a file that is in the page cache, and the start of zstd"),
				workload.HostTime("decompress-time", "decompressing the result and checking its checksum, without writing"),
			},
			SizeUnit: "MiB compressed", MinSize: 16, MaxSize: 1 << 16, DefaultSize: 512,
			DiskBytes: func(size int64) int64 { return 2*size<<20 + bigPieces },
		}
		w.Steps = func(size int64) []workload.Step {
			return []workload.Step{
				{Name: "prepare", Argv: bash(zstdFill, "bash", decimal(size), source, strconv.Itoa(kernelPieces))},
				{Name: "compress", Timed: true, Argv: []string{"zstd", "-vv", "-f", "-T" + set["threads"], "-" + set["level"],
					zstdDir + "/in", "-o", zstdDir + "/out"}},
				{Name: "decompress", Timed: true, Argv: []string{"zstd", "-t", zstdDir + "/out"}},
				{Name: "verify", Argv: bash(zstdVerify)},
				{Name: "clean", Argv: bash("rm -rf " + zstdDir + " && sync -f .")},
			}
		}
		w.MeasuredBy(workload.Measurement{Step: "compress", Tool: "zstd", Did: "size", Per: 1 << 20})
		return alsoMeasuring(w, func(size int64, by map[string]workload.StepResult, m map[string]float64) error {
			m["decompress-time"] = by["decompress"].Wall.Seconds()
			packed, err := tool.Read("zstd", by["compress"].Output(), "packed")
			if err != nil {
				return workload.InStep("compress", err)
			}
			// verify prints the length of the file only if it decompresses to the input.
			wrote := strconv.FormatFloat(packed.Value("packed"), 'f', 0, 64)
			if got := string(by["verify"].Stdout); got != wrote+"\n" {
				return fault.Guestf("step verify: the file has %s bytes, but zstd wrote %s", tool.Quote(got), wrote)
			}
			unpacked, err := tool.Read("zstd", by["decompress"].Output(), "unpacked")
			if err != nil {
				return workload.InStep("decompress", err)
			}
			if got := unpacked.Value("unpacked"); got != float64(size<<20) {
				return fault.Guestf("step decompress: %.0f bytes instead of %d", got, size<<20)
			}
			return nil
		})
	})
}
