//go:build !unix

package pgtest

import (
	"errors"
	"testing"
)

// A Server is a PostgreSQL server, of which there is none on this system.
type Server struct{ host, password string }

func missing() string { return "tests with a PostgreSQL server need Unix" }

func start(*Options) (*Server, error) { return nil, errors.New(missing()) }

func (s *Server) running() bool      { return false }
func (s *Server) close()             {}
func (s *Server) Stop(t testing.TB)  { t.Fatal(missing()) }
func (s *Server) Kill(t testing.TB)  { t.Fatal(missing()) }
func (s *Server) Start(t testing.TB) { t.Fatal(missing()) }
func (s *Server) LimitFiles(int64)   {}
func (s *Server) Log() string        { return "" }
