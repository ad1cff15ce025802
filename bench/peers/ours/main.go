// Command ours makes the skills that all are measured on, and asks a catalog that "skills index"
// has made, by the library.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path"
	"strconv"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/bench"
	"github.com/repertoire-skills/repertoire/bench/peers/ask"
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/source"
)

const usage = "usage: ours write CORPUS N DIR | ours ask DB ROOT on|off PROMPTS THREADS SECONDS"

func main() {
	log.SetFlags(0)
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 4 && args[0] == "write":
		err = write(context.Background(), args[1:])
	case len(args) == 7 && args[0] == "ask":
		err = answer(context.Background(), args[1:])
	default:
		log.Fatal(usage)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func write(ctx context.Context, args []string) error {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	o := &bench.SpeedOptions{Dir: args[2]}
	if err := o.Open(ctx, args[0]); err != nil {
		return err
	}
	origin, err := o.Write(ctx, n)
	if err == nil {
		_, err = fmt.Println(origin)
	}
	return err
}

func answer(ctx context.Context, args []string) error {
	places, err := source.Discover(source.Search{Roots: []string{args[1]}, NoBundled: true})
	if err != nil {
		return err
	}
	src, err := places[0].Open(nil)
	if err != nil {
		return err
	}
	cfg := repertoire.Config{
		Sources: []source.Source{src}, DB: args[0], Schedule: repertoire.Never,
		Deadline: 10 * time.Second, // a busy machine must not change what is measured
	}
	if args[2] == "off" {
		cfg.Contextual = embed.None{}
	}
	c, err := repertoire.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer c.Close()
	return ask.Run(os.Stdout, args[3:], func(prompt string) (string, error) {
		a, err := c.Search(ctx, repertoire.Query{Text: prompt, Limit: 5})
		if err != nil || len(a.Hits) == 0 {
			return "", err
		}
		return path.Base(path.Dir(a.Hits[0].Location)), nil
	})
}
