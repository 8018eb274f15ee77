package tool

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// fioMain are the keys whose values are figures of a fioSide.
var fioMain = strings.Fields("bw_bytes io_bytes iops runtime total_ios short_ios drop_ios")

// parseFioJobs appends a run for each job or group in fio's JSON. The other figures go to details, under
// names that begin with the job's and a zero byte.
func parseFioJobs(runs []fioRun, details *Report, text string) ([]fioRun, error) {
	type latency struct {
		Mean float64 `json:"mean"`
	}
	type side struct {
		IOBytes  float64 `json:"io_bytes"`
		BW       float64 `json:"bw"` // KiB/s
		BWBytes  float64 `json:"bw_bytes"`
		IOPS     float64 `json:"iops"`
		Runtime  float64 `json:"runtime"`
		TotalIOs float64 `json:"total_ios"`
		ShortIOs float64 `json:"short_ios"`
		DropIOs  float64 `json:"drop_ios"`
		Clat     latency `json:"clat_ns"`
		Lat      latency `json:"lat_ns"`
		ClatUs   latency `json:"clat"` // of fio 2
		LatUs    latency `json:"lat"`
	}
	type job struct {
		Name    string         `json:"jobname"`
		Host    string         `json:"hostname"`
		Error   float64        `json:"error"`
		Options map[string]any `json:"job options"`
		Read    side           `json:"read"`
		Write   side           `json:"write"`
		Trim    side           `json:"trim"`
		Mixed   side           `json:"mixed"`
	}
	var doc struct {
		Version string         `json:"fio version"`
		Global  map[string]any `json:"global options"`
		Jobs    []job          `json:"jobs"`
		Clients []job          `json:"client_stats"`
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return nil, fault.Guestf("fio's JSON is damaged or cut off: %w", err)
	}
	if len(doc.Jobs) == 0 { // of fio --client: one for each job of a server, and one of all
		doc.Jobs = doc.Clients
	}
	if len(doc.Jobs) == 0 {
		return nil, fault.Guestf("fio's JSON has no jobs")
	}
	details.Version = strings.TrimPrefix(doc.Version, "fio-")
	for _, job := range doc.Jobs {
		if job.Error != 0 {
			if err := details.doubt(fault.Guestf("fio failed: \"error\" : %.0f", job.Error)); err != nil {
				return nil, err
			}
		}
		option := func(name, otherwise string) string {
			for _, from := range []map[string]any{job.Options, doc.Global} {
				if v, ok := from[name]; ok {
					return fmt.Sprint(v)
				}
			}
			return otherwise
		}
		run := fioRun{
			name: fioJobName(job.Name, job.Host), failed: job.Error,
			rw:    option("rw", option("readwrite", "")),
			depth: fioDepth(option("ioengine", "psync"), option("iodepth", "1"), option("numjobs", "1")),
		}
		for i, s := range []side{job.Read, job.Write, job.Trim, job.Mixed} {
			run.sides[i] = fioSide{
				bytes: s.IOBytes, bw: s.BWBytes, iops: s.IOPS, ops: s.TotalIOs, short: s.ShortIOs, dropped: s.DropIOs,
				runtime: s.Runtime / 1e3, clat: s.Clat.Mean / 1e9, lat: s.Lat.Mean / 1e9,
			}
			if s.BWBytes == 0 && s.BW != 0 { // fio 2
				run.sides[i].two(s.BW*1024, s.ClatUs.Mean/1e6, s.LatUs.Mean/1e6)
			}
		}
		runs = append(runs, run)
	}
	tree, err := jsonTree(text)
	if err != nil {
		return nil, fault.Guestf("fio's JSON is damaged or cut off: %w", err)
	}
	return runs, addFioDetails(details, tree)
}

// fioJobName is the name of a job, and of the server that ran it, if there is one.
func fioJobName(name, host string) string {
	if host != "" {
		name += " on " + host
	}
	return quoteless(name)
}

// two sets what fio 2 prints in other units. Its io_bytes were KiB before they were bytes.
func (s *fioSide) two(bw, clat, lat float64) {
	s.bw, s.clat, s.lat = bw, clat, lat
	s.rounded = 1024 / bw
	if math.Abs(s.bytes*1024-bw*s.runtime) < math.Abs(s.bytes-bw*s.runtime) {
		s.bytes *= 1024
		s.rounded += 1024 / s.bytes
	}
}

// addFioDetails adds what is in fio's JSON besides the figures of a fioSide.
func addFioDetails(details *Report, tree map[string]any) error {
	jobs, ok := tree["jobs"].([]any)
	if !ok {
		jobs, _ = tree["client_stats"].([]any)
	}
	for _, of := range jobs {
		job, _ := of.(map[string]any)
		host, _ := job["hostname"].(string)
		name := fioJobName(fmt.Sprint(job["jobname"]), host)
		for _, key := range []string{"job options", "port", "error", "groupid", "eta", "job_start"} {
			delete(job, key)
		}
		for key, of := range job {
			side, ok := of.(map[string]any)
			if !ok {
				continue
			}
			ran := side["total_ios"]
			if ran == nil {
				continue
			}
			if fmt.Sprint(ran) == "0" && fmt.Sprint(side["io_bytes"]) == "0" || key == "sync" && fmt.Sprint(ran) == "0" {
				delete(job, key)
				continue
			}
			if key != "sync" {
				for _, main := range fioMain {
					delete(side, main)
				}
			}
		}
		if err := addTree(details, name+"\x00", job, fioUnitOf); err != nil {
			return err
		}
	}
	disks, _ := tree["disk_util"].([]any)
	for _, of := range disks {
		disk, _ := of.(map[string]any)
		if err := addTree(details, "disk "+quoteless(fmt.Sprint(disk["name"])), disk, fioUnitOf); err != nil {
			return err
		}
	}
	return nil
}

// fioUnitOf returns the unit of a number in fio's JSON, by the keys that lead to it.
func fioUnitOf(name string) (string, bool) {
	words := strings.Fields(name)
	last := words[len(words)-1]
	switch {
	case slices.Contains([]string{"N", "samples"}, last) || slices.Contains(words, "bins"):
		return "1", true
	case last == "latency_target" || last == "latency_window": // of the job, in us or in ns
		return "as printed", true
	case last == "latency_depth":
		return "1", true
	case strings.HasSuffix(last, "_cpu") || last == "util" || last == "bw_agg" || strings.Contains(name, "latency_") ||
		strings.Contains(name, "iodepth_"):
		return "%", true
	case strings.Contains(name, "_ns "):
		return "ns", true
	case len(words) > 2 && slices.Contains([]string{"slat", "clat", "lat"}, words[len(words)-2]) ||
		slices.Contains(words, "percentile"): // of fio 2; the keys of later versions name their unit
		return "us", true
	case last == "io_kbytes":
		return "KiB", true
	case strings.HasPrefix(last, "bw") && last != "bw_samples":
		return "KiB/s", true
	case last == "job_runtime":
		return "ms", true
	case last == "elapsed":
		return "s", true
	}
	return "1", true
}
