package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersionCommand(e env) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Version prints the version of the program, the revision it was built from, and
the Go version and platform it was built with. So does the flag --version.

--json prints an object with version, revision, date (of the revision), go
and platform.`,
		Example: "  skills version --json",
		Args:    args(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return printVersion(e.session(cmd).screen) },
	}
}

// printVersion prints the version, also for the flag --version.
func printVersion(ui *screen) error {
	v := versionOf()
	if ui.json {
		return ui.printJSON(v)
	}
	revision := ""
	if v.Revision != "" {
		revision = fmt.Sprintf("revision %.12s, ", v.Revision)
	}
	_, err := fmt.Fprintf(ui.stdout, "%s %s (%s%s, %s)\n", cmp.Or(ui.name, ownName), v.Version, revision, v.Go, v.Platform)
	return err
}

// versionResult is what "version --json" prints.
type versionResult struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Date     string `json:"date"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func versionOf() versionResult {
	v := versionResult{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Version = cmp.Or(info.Main.Version, v.Version)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.time":
			v.Date = s.Value
		}
	}
	return v
}
