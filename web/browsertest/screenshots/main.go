// Command screenshots makes the pictures of the page for the documents.
//
//	go -C web/browsertest run ./screenshots FOLDER
//
// It needs chromium, and builds the program itself.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/repertoire-skills/repertoire/web/browsertest"
)

// A shot is one picture.
type shot struct {
	name, page string
	view       browsertest.View
	steps      []chromedp.Action[chromedp.Void] // before the picture; nil means none
	ready      string                           // an expression that is true then; "" means once the page has settled
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "screenshots:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	if len(args) != 1 {
		return errors.New("FOLDER is missing. Usage: go -C web/browsertest run ./screenshots FOLDER")
	}
	if err := os.MkdirAll(args[0], 0o755); err != nil {
		return err
	}
	dir := filepath.Join(os.TempDir(), "demo") // pictures show it
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of the skills that the pictures show: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program, err := browsertest.Build(ctx, dir)
	if err != nil {
		return err
	}
	home, err := browsertest.NewHome(ctx, filepath.Join(dir, "ann"), program, time.Now())
	if err != nil {
		return err
	}
	server, err := home.Serve(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	browser, err := browsertest.Start(ctx)
	if err != nil {
		return err
	}
	defer browser.Close()
	first, err := browser.Open(server.URL, browsertest.View{Width: 1000, Height: 700})
	if err != nil {
		return err
	}
	for _, s := range shots() {
		if err := s.take(first, server, filepath.Join(args[0], s.name+".png")); err != nil {
			return fmt.Errorf("picture %s: %w", s.name, err)
		}
	}
	return nil
}

// shots are the pictures.
func shots() []shot {
	wide, narrow := browsertest.View{Width: 1000, Height: 720, Scale: 1.5}, browsertest.View{Width: 360, Height: 720, Scale: 1.5}
	dark := wide
	dark.Dark = true
	prompt := []chromedp.Action[chromedp.Void]{chromedp.SendKeys(chromedp.CSS("textarea"), "fill in the fields of this PDF")}
	offered := "document.querySelector('#results').innerText.includes('pdf-forms')"
	return []shot{
		{"prompt", "", wide, prompt, offered},
		{"prompt-dark", "", dark, prompt, offered},
		{"prompt-narrow", "", narrow, prompt, offered},
		{"doctor", "doctor", wide, nil, ""},
		{"proposals", "proposals", wide, nil, ""},
		{"proposal", "proposals", wide, []chromedp.Action[chromedp.Void]{follow("article a")}, "document.querySelector('.diff')"},
		{"usage", "usage", wide, nil, ""},
		{"state", "state", wide, nil, ""},
		{"catalog", "catalog", wide, nil, ""},
		{"skill", "skill?id=pdf-forms", wide, append([]chromedp.Action[chromedp.Void]{chromedp.Click(chromedp.CSS("summary"))}, prompt...), "document.querySelector('#results').innerText.includes('likely')"},
	}
}

// follow clicks on a link and waits for the next page.
func follow(selector string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.RunResponse(ctx, chromedp.Click(chromedp.CSS(selector)))
		return err
	})
}

// take writes a picture.
func (s *shot) take(first *browsertest.Page, server *browsertest.Server, name string) error {
	p, err := first.Open(server.Page(s.page), s.view)
	if err != nil {
		return err
	}
	defer p.Close()
	if err := p.Do(s.steps...); err != nil {
		return err
	}
	if s.ready != "" {
		if err := p.Wait(s.ready); err != nil {
			return err
		}
	}
	if err := p.Settle(); err != nil {
		return err
	}
	data, err := p.Picture()
	if err != nil {
		return err
	}
	data, err = small(data)
	if err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}

// small returns a PNG with at most 256 colours, which a page without photographs hardly has
// more of: it takes a third of the bytes.
func small(data []byte) ([]byte, error) {
	from, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	to := image.NewPaletted(from.Bounds(), palette(from))
	draw.Draw(to, to.Bounds(), from, from.Bounds().Min, draw.Src)
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	err = encoder.Encode(&b, to)
	return b.Bytes(), err
}

// palette returns the most frequent colours of a picture.
func palette(m image.Image) color.Palette {
	count := make(map[color.RGBA]int)
	for y := m.Bounds().Min.Y; y < m.Bounds().Max.Y; y++ {
		for x := m.Bounds().Min.X; x < m.Bounds().Max.X; x++ {
			count[color.RGBAModel.Convert(m.At(x, y)).(color.RGBA)]++
		}
	}
	all := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int { return count[b] - count[a] })
	var p color.Palette
	for _, c := range all[:min(len(all), 256)] {
		p = append(p, c)
	}
	return p
}
