package web

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// grace is how long requests under way may take after the site was told to end.
const grace = 2 * time.Second

// Serve answers requests that arrive at l until ctx ends. Then it closes l and lets requests
// under way finish.
func (s *Site) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog:    slog.NewLogLogger(s.opts.Logger.Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if server.Shutdown(last) != nil { // a request takes longer
		return server.Close()
	}
	return nil
}
