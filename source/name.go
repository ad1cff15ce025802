package source

import (
	"errors"
	"fmt"

	"github.com/repertoire-skills/repertoire/skill"
)

// cleanName is skill.CleanPath with errors that wrap ErrRefused.
func cleanName(name string) (string, error) {
	clean, err := skill.CleanPath(name)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return clean, nil
}

// badName says why a file that a folder has is not served by its name; "" if it is.
func badName(name string) string {
	var bad *skill.PathError
	if _, err := skill.CleanPath(name); errors.As(err, &bad) {
		return bad.Reason
	}
	return ""
}
