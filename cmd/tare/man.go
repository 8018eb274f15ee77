package main

import (
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/tare-bench/tare/internal/fault"
)

// newMan is the command that writes the manual pages of the packages, of all commands that are not hidden.
func newMan() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages to a directory that exists",
		Args:   cobra.ExactArgs(1),
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			root.DisableAutoGenTag = true
			markdown(root)
			header := &doc.GenManHeader{Source: "tare " + version, Manual: "tare"}
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return fault.Hostf("%w", err)
			}
			return nil
		},
	}
}

// markdown makes the texts of a command and those below it Markdown, which the generator expects.
func markdown(c *cobra.Command) {
	name, args, _ := strings.Cut(c.Use, " ")
	c.Use = strings.TrimSpace(name + " " + escape(args))
	c.Short, c.Long = escape(c.Short), markdownOf(c.Long)
	c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) { f.Usage = escape(f.Usage) })
	for _, sub := range c.Commands() {
		markdown(sub)
	}
}

var special = regexp.MustCompile("[\\\\`*_<>\\[\\]#|~]")

func escape(text string) string { return special.ReplaceAllString(text, `\$0`) }

// markdownOf keeps the lines of a help text that are indented as they are: they are tables and examples.
func markdownOf(help string) string {
	var b strings.Builder
	verbatim := false
	for line := range strings.Lines(help) {
		blank, indented := strings.TrimSpace(line) == "", strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
		if !blank && indented != verbatim {
			b.WriteString("\n```\n")
			verbatim = indented
		}
		if !verbatim {
			line = escape(line)
		}
		b.WriteString(line)
	}
	if verbatim {
		b.WriteString("\n```\n")
	}
	return b.String()
}
