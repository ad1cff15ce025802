package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Version prints the version of the program, the revision it was built from, and
the Go version and platform it was built with. So does the flag --version.

--json prints an object with version, revision, date (of the revision), go
and platform.`,
		Example: "  skills version --json",
		Args:    args(0, 0),
		RunE:    func(*cobra.Command, []string) error { return a.printVersion() },
	}
}

// printVersion prints the version, also for the flag --version.
func (a *app) printVersion() error {
	v := versionOf()
	if a.json {
		return a.printJSON(v)
	}
	revision := ""
	if v.Revision != "" {
		revision = fmt.Sprintf("revision %.12s, ", v.Revision)
	}
	_, err := fmt.Fprintf(a.stdout, "%s %s (%s%s, %s)\n", cmp.Or(a.name, ownName), v.Version, revision, v.Go, v.Platform)
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
