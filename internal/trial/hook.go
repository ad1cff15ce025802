package trial

import (
	"fmt"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/setup"
)

// A Hook is a client with its hook for prompts.
type Hook struct {
	Client client.Client
	// Registered is the entry with the hook in the settings of the client; nil means that
	// there is none.
	Registered *setup.Registration
	// Any means that no client was named and none is set up: what any client would be told.
	Any bool
}

// Split splits the arguments of a command into the name of a client and the words of a
// prompt. The first one names a client only if others follow: a prompt in quotes, which is
// one argument, can begin with any word.
func Split(args []string) (name string, prompt []string) {
	if len(args) > 1 {
		if _, ok := client.Find(args[0]); ok {
			return args[0], args[1:]
		}
	}
	return "", args
}

// Choose returns the hook of a client; "" means the first client whose hook is set up.
func Choose(all []setup.Status, name string) (Hook, error) {
	if name != "" {
		c, _ := client.Find(name)
		if !asks(c) {
			return Hook{}, fmt.Errorf("%s asks for no skills when a prompt is sent; these do: %s", c.Title, strings.Join(Clients(), ", "))
		}
		return registered(all, c), nil
	}
	for _, c := range client.All() {
		if h := registered(all, c); asks(c) && h.Registered != nil {
			return h, nil
		}
	}
	c, _ := client.Find(Clients()[0])
	return Hook{Client: c, Any: true}, nil
}

// asks reports whether a client calls a hook with each prompt.
func asks(c client.Client) bool {
	if c.Hook == nil {
		return false
	}
	_, ok := c.Hook.Event(client.Prompt)
	return ok
}

// Clients returns the names of the clients that call a hook with each prompt.
func Clients() []string {
	var list []string
	for _, c := range client.All() {
		if asks(c) {
			list = append(list, c.Name)
		}
	}
	return list
}

// registered finds the hook in the settings of a client.
func registered(all []setup.Status, c client.Client) Hook {
	for _, st := range all {
		for _, r := range st.Registrations {
			if st.Client.Name == c.Name && r.Kind == setup.Hook {
				return Hook{Client: c, Registered: &r}
			}
		}
	}
	return Hook{Client: c}
}
