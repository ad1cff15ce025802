// Package serve answers HTTP requests until its context ends, and then shuts down in good order.
//
// The one rule: a request that is under way when the end comes gets its answer, unless that takes
// longer than the grace.
package serve

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Options say how a server waits and ends.
type Options struct {
	Timeout time.Duration // how long a client may take to send the header of a request
	Grace   time.Duration // how long requests under way may take after the end

	Ending func()       // is called when the end comes, to end streams; nil means that nothing is called
	Logger *slog.Logger // gets messages about connections and requests that were cut off
}

// ErrCut means that requests under way took longer than the grace, and were cut off.
var ErrCut = errors.New("requests were cut off")

// Until answers requests that arrive at l until ctx ends. Then it closes l and lets requests
// under way finish.
func Until(ctx context.Context, l net.Listener, h http.Handler, o Options) error {
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: o.Timeout, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog:    slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	if o.Ending != nil {
		o.Ending()
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.Grace)
	defer cancel()
	err := server.Shutdown(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.Join(ErrCut, server.Close())
	}
	return err
}
