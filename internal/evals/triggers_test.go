package evals_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/evals"
)

// TestTriggers: what is proposed comes from prompts that fail, says what the skill lacks, and
// is in no near miss.
func TestTriggers(t *testing.T) {
	fails := func(prompt string, missing ...string) evals.Outcome {
		return evals.Outcome{Prompt: prompt, Trigger: true, Result: evals.Below, Missing: missing}
	}
	list := []evals.Outcome{
		fails("my export has semicolons instead of commas", "export", "semicolons", "instead", "commas"),
		fails("Semicolons instead of commas!", "semicolons", "instead", "commas"),
		fails("the accountant cannot open it", "accountant", "open"),
		fails("repair the garden fence", "repair", "garden", "fence"),
		fails("badly", "badly"),
		fails("mend an old boat", "mend", "boat"),
		fails("fence", "fence"),
		{Prompt: "sort the socks", Trigger: true, Result: evals.Kind, Missing: []string{"sort", "socks"}},
		{Prompt: "water the tall plants", Trigger: true, Right: true, Result: evals.Offered},
		{Prompt: "who may repair a garden fence here?", Right: true, Result: evals.Below},
	}
	want := []string{"semicolons instead of commas", "accountant cannot open"}
	if diff := cmp.Diff(want, evals.Triggers(list, []string{"Old boat"})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for range 4 {
		list = append(list, fails(fmt.Sprintf("paint boat%d red", len(list)), "paint", "red"))
	}
	if got := evals.Triggers(list, nil); len(got) != 5 {
		t.Errorf("%d triggers: %q", len(got), got)
	}
}
