package tool

import (
	"fmt"
	"regexp"
	"strings"
)

// lmbenchTable is a table of lmbench's summary: what its heading begins with, and its columns after host and system.
type lmbenchTable struct {
	title, unit string
	better      Better
	columns     []string
}

// lmbenchTables are those of version 3. A heading of several lines over several columns cannot be read from the text.
var lmbenchTables = []lmbenchTable{
	{"Basic system parameters", "as printed", "", []string{"description", "Mhz", "tlb pages", "cache line bytes",
		"mem par", "scal load"}},
	{"Processor, Processes", "us", Lower, []string{"Mhz", "null call", "null I/O", "stat", "open clos", "slct TCP",
		"sig inst", "sig hndl", "fork proc", "exec proc", "sh proc"}},
	{"Basic integer operations", "ns", Lower, []string{"intgr bit", "intgr add", "intgr mul", "intgr div", "intgr mod"}},
	{"Basic uint64 operations", "ns", Lower, []string{"int64 bit", "int64 add", "int64 mul", "int64 div", "int64 mod"}},
	{"Basic float operations", "ns", Lower, []string{"float add", "float mul", "float div", "float bogo"}},
	{"Basic double operations", "ns", Lower, []string{"double add", "double mul", "double div", "double bogo"}},
	{"Context switching", "us", Lower, []string{"2p/0K ctxsw", "2p/16K ctxsw", "2p/64K ctxsw", "8p/16K ctxsw",
		"8p/64K ctxsw", "16p/16K ctxsw", "16p/64K ctxsw"}},
	{"*Local* Communication latencies", "us", Lower, []string{"2p/0K ctxsw", "Pipe", "AF UNIX", "UDP", "RPC/UDP", "TCP",
		"RPC/TCP", "TCP conn"}},
	{"*Remote* Communication latencies", "us", Lower, []string{"UDP", "RPC/UDP", "TCP", "RPC/TCP", "TCP conn"}},
	{"File & VM system latencies", "us", Lower, []string{"0K File Create", "0K File Delete", "10K File Create",
		"10K File Delete", "Mmap Latency", "Prot Fault", "Page Fault", "100fd selct"}},
	{"*Local* Communication bandwidths", "MB/s", Higher, []string{"Pipe", "AF UNIX", "TCP", "File reread", "Mmap reread",
		"Bcopy (libc)", "Bcopy (hand)", "Mem read", "Mem write"}},
	{"Memory latencies", "ns", Lower, []string{"Mhz", "L1 $", "L2 $", "Main mem", "Rand mem"}},
}

var (
	lmbenchRule  = regexp.MustCompile(`^-{3,}(?: +-{3,}){2,} *$`)
	lmbenchFull  = regexp.MustCompile(` [\d.,]+K?(?: |$)`)
	lmbenchDash  = regexp.MustCompile(`-+`)
	lmbenchCell  = regexp.MustCompile(`\S+`)
	lmbenchValue = regexp.MustCompile(`^(\d+\.?\d*|\.\d+)(K?)$`)
)

// lmbenchSummary reads the tables that getsummary makes of results. Names begin with the heading of their table and,
// where a table has several rows, with "run 1: " and so on.
func lmbenchSummary(text string, r *Report) error {
	type row struct {
		table lmbenchTable
		rule  [][]int // the columns, by the dashes above them
		line  string
		n     int // in its table
	}
	var rows []row
	var table *lmbenchTable
	var rule [][]int
	n, most := 0, 0
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, " ")
		for i, t := range lmbenchTables {
			if strings.HasPrefix(line, t.title) {
				table, rule, n = &lmbenchTables[i], nil, 0
			}
		}
		switch {
		case table == nil:
		case lmbenchRule.MatchString(line):
			rule = lmbenchDash.FindAllStringIndex(line, -1)
		case line == "":
			rule = nil
		case rule != nil && lmbenchFull.MatchString(line):
			n++
			most = max(most, n)
			rows = append(rows, row{*table, rule, line, n})
		}
	}
	for _, of := range rows {
		prefix := ""
		if most > 1 {
			prefix = fmt.Sprintf("run %d: ", of.n)
		}
		from := of.rule[1][1]
		if len(of.line) <= from || len(of.rule) < 2+len(of.table.columns) {
			return damaged("lmbench's summary", of.line)
		}
		cells := lmbenchCell.FindAllStringIndex(of.line[from:], -1)
		for i, at := range cells {
			column := i
			if len(cells) != len(of.table.columns) { // some have no figure: numbers end below the end of the dashes
				for column = 0; column < len(of.table.columns) && of.rule[2+column][1] < from+at[1]; {
					column++
				}
			}
			m := lmbenchValue.FindStringSubmatch(of.line[from+at[0] : from+at[1]])
			if strings.Contains(of.line[from+at[0]:from+at[1]], ",") {
				return foreignLocale("", of.line)
			}
			if m == nil || column >= len(of.table.columns) {
				continue // a guess in words
			}
			unit, name := of.table.unit, of.table.columns[column]
			if name == "Mhz" {
				unit = "MHz"
			}
			better := of.table.better
			if unit == "MHz" {
				better = ""
			}
			r.addScaled(prefix+quoteless(of.table.title)+": "+name, m[1], m[2], map[string]float64{"": 1, "K": 1e3}[m[2]], unit,
				better)
		}
	}
	return nil
}
