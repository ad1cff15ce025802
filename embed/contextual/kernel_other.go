//go:build !amd64 && !arm64

package contextual

// processors returns what this machine has, the fastest first.
func processors() []processor { return []processor{portable} }
