package fleet

import (
	"io"

	"github.com/tare-bench/tare/internal/report"
)

// exportRow is a machine's cost, or the pooled cost of a group; docs/export.md describes the columns.
// A nil column is not known, or does not exist for this kind of row.
type exportRow struct {
	Row      string `parquet:"row,dict"` // machine, pooled or share
	Group    string `parquet:"group,dict"`
	Machine  string `parquet:"machine,dict,optional"`
	Workload string `parquet:"workload,dict"`
	Metric   string `parquet:"metric,dict"`
	Unit     string `parquet:"unit,dict"`
	Better   string `parquet:"better,dict"`
	Arm      string `parquet:"arm,dict"`
	Baseline string `parquet:"baseline,dict"`
	Family   string `parquet:"family,dict"`
	Machines int64  `parquet:"machines"`

	Ratio    *float64 `parquet:"ratio,optional"`
	CILow    *float64 `parquet:"ci_low,optional"`
	CIHigh   *float64 `parquet:"ci_high,optional"`
	StdErr   *float64 `parquet:"std_err,optional"`
	DF       *float64 `parquet:"df,optional"`
	PHolm    *float64 `parquet:"p_holm,optional"`
	Verdict  string   `parquet:"verdict,dict,optional"`
	NextLow  *float64 `parquet:"next_low,optional"`
	NextHigh *float64 `parquet:"next_high,optional"`
	Tau      *float64 `parquet:"tau,optional"`
	TauLow   *float64 `parquet:"tau_low,optional"`
	TauHigh  *float64 `parquet:"tau_high,optional"`
	I2       *float64 `parquet:"i2,optional"`

	Level     string   `parquet:"level,dict,optional"`
	Share     *float64 `parquet:"share_percent,optional"`
	ShareLow  *float64 `parquet:"share_low,optional"`
	ShareHigh *float64 `parquet:"share_high,optional"`

	Residual      *float64 `parquet:"residual,optional"`
	Odd           *bool    `parquet:"odd,optional"`
	BaselineValue *float64 `parquet:"baseline_value,optional"`
	Size          *int64   `parquet:"size,optional"`
	Runs          *int64   `parquet:"runs,optional"`
	Note          string   `parquet:"note,dict,optional"` // why a machine's figure is not pooled
}

// exportRows are a row for each machine, workload, metric and arm, one for each pooled cost, and one
// for each share of its variance.
func exportRows(r *Result) []exportRow {
	var rows []exportRow
	for _, g := range r.Groups {
		for _, c := range g.Costs {
			row := exportRow{Group: g.Name, Workload: c.Workload, Metric: c.Metric, Unit: c.Unit, Better: c.Better,
				Arm: c.Arm, Baseline: c.Baseline, Family: string(c.Family)}
			for _, m := range c.Machines {
				rows = append(rows, row.ofMachine(m))
			}
			for _, l := range c.LeftOut {
				out := row
				out.Row, out.Machine, out.Note = "machine", l.Machine, l.Why
				rows = append(rows, out)
			}
			if p := c.Pooled; p != nil {
				rows = append(rows, row.ofPooled(p, len(c.Machines)))
			}
			for _, s := range c.Shares {
				if s.Known {
					rows = append(rows, row.ofShare(s, len(c.Machines)))
				}
			}
		}
	}
	return rows
}

func (row exportRow) ofMachine(m MachineCost) exportRow {
	runs := int64(m.Runs)
	row.Row, row.Machine, row.Machines, row.Runs = "machine", m.Machine, 1, &runs
	row.Ratio, row.CILow, row.CIHigh, row.StdErr, row.DF = &m.Ratio, &m.CILow, &m.CIHigh, &m.StdErr, &m.DF
	if m.BaselineValue > 0 {
		row.BaselineValue = &m.BaselineValue
	}
	if m.Size > 0 {
		row.Size = &m.Size
	}
	if w := m.Without; w != nil {
		row.Residual, row.Odd = &w.Residual, &m.Odd
	}
	return row
}

func (row exportRow) ofPooled(p *Pooled, machines int) exportRow {
	row.Row, row.Machines = "pooled", int64(machines)
	row.Ratio, row.CILow, row.CIHigh, row.DF, row.PHolm = &p.Ratio, &p.CILow, &p.CIHigh, &p.DF, &p.PHolm
	row.Verdict = string(p.Verdict)
	row.Tau, row.TauLow, row.TauHigh, row.I2 = &p.Tau, &p.TauLow, &p.TauHigh, &p.I2
	if p.NextHigh > 0 {
		row.NextLow, row.NextHigh = &p.NextLow, &p.NextHigh
	}
	return row
}

func (row exportRow) ofShare(s Share, machines int) exportRow {
	row.Row, row.Machines, row.Level, row.Share = "share", int64(machines), s.Level, &s.Percent
	if s.High > 0 {
		row.ShareLow, row.ShareHigh = &s.Low, &s.High
	}
	return row
}

// Parquet writes the costs of machines, the pooled ones, and the shares of variance, for notebooks.
func Parquet(w io.Writer, r *Result) error {
	return report.WriteParquet(w, report.Each(exportRows(r)), "tare.fleet", r.Name)
}

// CSV writes the rows and columns of Parquet.
func CSV(w io.Writer, r *Result) error { return report.WriteCSV(w, report.Each(exportRows(r))) }
