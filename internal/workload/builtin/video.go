package builtin

import (
	"regexp"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/tool"
)

const (
	videoDir = "tare-video"
	// videoFrame is the size of a frame in bytes: 640 × 360 pixels, with the colours at half the resolution.
	videoFrame = 640 * 360 * 3 / 2
	// videoQuality is the lowest peak signal-to-noise ratio of a frame in dB that is accepted. These settings reach
	// more than 40 with FFmpeg's test picture; the picture before has about 20.
	videoQuality = 30

	videoMake = `set -e
rm -rf ` + videoDir + ` && mkdir ` + videoDir + `
ffmpeg -v error -nostdin -f lavfi -i testsrc2=size=640x360:rate=25 -frames:v "$1" -pix_fmt yuv420p -f rawvideo ` +
		videoDir + `/in.yuv
sync -f .`
	// videoVerify prints how many frames the result has, and how much they differ from those of the input.
	videoVerify = `set -e
cd ` + videoDir + `
stat -c %s in.yuv
ffprobe -v error -count_frames -show_entries stream=codec_name,width,height,nb_read_frames -of csv=p=0 out.mkv
ffmpeg -nostdin -hide_banner -i out.mkv -f rawvideo -pix_fmt yuv420p -video_size 640x360 -framerate 25 -i in.yuv ` +
		`-lavfi '[0:v]settb=1/25,setpts=N[a];[1:v]settb=1/25,setpts=N[b];[a][b]psnr' -f null - 2>&1 | grep -o 'PSNR y:.*'`
)

// ffmpeg encodes a video.
func ffmpeg() *workload.Workload {
	return workload.WithParams([]workload.Param{
		threadsParam,
		{Name: "preset", Default: "medium", Values: []string{"ultrafast", "veryfast", "medium", "slow"},
			About: "x264's preset: how much work it does for a smaller file"},
	}, func(set workload.Settings) *workload.Workload {
		w := &workload.Workload{
			Name: "ffmpeg", Title: "encode a test picture as H.264 with FFmpeg: CPU with vector instructions",
			Source: "FFmpeg (ffmpeg) with x264", Programs: []string{"ffmpeg", "ffprobe", "grep", "sh", "stat"},
			Packages: []string{"coreutils", "dash", "ffmpeg", "grep"},
			Metrics:  []workload.Metric{workload.Time("encoding a file that is in the page cache, and the start of ffmpeg")},
			SizeUnit: "frames of 640 × 360 pixels", MinSize: 10, MaxSize: 100_000, DefaultSize: 250,
			DiskBytes: func(size int64) int64 { return 16<<20 + size*videoFrame*5/4 },
			Steps: func(size int64) []workload.Step {
				return []workload.Step{
					{Name: "prepare", Argv: sh(videoMake, "sh", decimal(size))},
					{Name: "encode", Timed: true, Argv: []string{"ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "rawvideo",
						"-pix_fmt", "yuv420p", "-video_size", "640x360", "-framerate", "25", "-i", videoDir + "/in.yuv",
						"-c:v", "libx264", "-preset", set["preset"], "-crf", "23", "-threads", set["threads"],
						"-fflags", "+bitexact", "-flags:v", "+bitexact", videoDir + "/out.mkv"}},
					{Name: "verify", Argv: sh(videoVerify)},
					{Name: "clean", Argv: sh("rm -rf " + videoDir + " && sync -f .")},
				}
			},
			Parse: noOutput("ffmpeg"),
		}
		return w.EvaluatedBy(func(size int64, by map[string]workload.StepResult) (map[string]float64, error) {
			if err := encoded(size, string(by["verify"].Stdout)); err != nil {
				return nil, workload.InStep("verify", err)
			}
			return map[string]float64{"time": by["encode"].Wall.Seconds()}, nil
		})
	})
}

var videoEncoded = regexp.MustCompile(`^(\d+)\nh264,640,360,(\d+)\nPSNR y:\S+ u:\S+ v:\S+ average:\S+ min:(\d+\.\d+) `)

// encoded checks that the result has all frames of the input, and that each looks like the one in the input.
func encoded(frames int64, text string) error {
	m := videoEncoded.FindStringSubmatch(text)
	if m == nil {
		return fault.Guestf("the frames or their quality are missing: %s", tool.Quote(text))
	}
	n, err := tool.Numbers(m[1:]...)
	if err != nil {
		return err
	}
	switch {
	case n[0] != float64(frames*videoFrame):
		return fault.Guestf("the input has %.0f bytes instead of %d", n[0], frames*videoFrame)
	case n[1] != float64(frames):
		return fault.Guestf("the result has %.0f frames instead of %d", n[1], frames)
	case n[2] < videoQuality:
		return fault.Guestf("a frame of the result differs too much from the input: %v dB instead of %d or more", n[2],
			videoQuality)
	}
	return nil
}
