package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/repertoire-skills/repertoire/internal/cli"
	"github.com/repertoire-skills/repertoire/internal/serve"
	"github.com/repertoire-skills/repertoire/internal/site"
)

// build makes the site of the repository at root, with a page for each command.
func build(root string) (map[string][]byte, error) {
	top := cli.Command("skills")
	top.DisableAutoGenTag = true // no date of today
	asMarkdown(top)
	commands, err := commandPages(top)
	if err != nil {
		return nil, err
	}
	return site.Build(os.DirFS(root), commands)
}

// commandPages returns a page for a command and each one below it, from the help that the man
// pages have.
func commandPages(cmd *cobra.Command) ([]site.Page, error) {
	var out bytes.Buffer
	err := doc.GenMarkdownCustom(cmd, &out, func(name string) string { return name })
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "_")
	// The options of all commands stand on the page of the program.
	text, also, _ := strings.Cut(out.String(), "### SEE ALSO\n")
	text, _, _ = strings.Cut(text, "### Options inherited from parent commands\n")
	if also != "" {
		text += "### See also\n" + also
	}
	// The first heading is the title of the page. Lines of help that begin with # are indented.
	text = regexp.MustCompile(`(?m)^##(#*) `).ReplaceAllString(text, "#$1 ")
	pages := []site.Page{{Name: "docs/" + name + ".md", Markdown: []byte(text)}}
	for _, c := range cmd.Commands() {
		if !c.IsAvailableCommand() {
			continue
		}
		below, belowErr := commandPages(c)
		pages, err = slices.Concat(pages, below), errors.Join(err, belowErr)
	}
	return pages, err
}

// writeSite writes the site of the repository at root into a folder.
func writeSite(root, dir string) error {
	files, err := build(root)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, data := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
	return err
}

// serveSite serves the site of the repository at root until ctx ends.
func serveSite(ctx context.Context, root, address string, out io.Writer) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("%s is no address of this machine alone; write 127.0.0.1:PORT", address)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "http://%s/ shows the site as it is now; Ctrl-C ends\n", listener.Addr())
	return serve.Until(ctx, listener, handler(root), serve.Options{Timeout: 10 * time.Second, Grace: time.Second, Logger: slog.New(slog.DiscardHandler)})
}

// handler answers each request from a site that is built for it, so that an edit shows at the
// next look. A site with a broken link says so instead.
func handler(root string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		files, err := build(root)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		name := path.Base(r.URL.Path)
		if r.URL.Path == "/" {
			name = "index.html"
		}
		data, ok := files[name]
		if !ok || path.Dir(r.URL.Path) != "/" {
			http.NotFound(w, r)
			return
		}
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
	})
}
