package session_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/catalogtest"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/session"
	"github.com/repertoire-skills/repertoire/source"
)

// conversations are a prompt, a follow-up, and the skills one of which is right for it; "-" means none. The session knows
// what it was offered, unless the line begins with "forgets": its context was compacted.
const conversations = `
The totals in this spreadsheet model are wrong | and make the tests pass | -
Deploy our service with a helm chart | fix the typo in the readme | -
Write the copy of our landing page | rename the variable | -
Merge these three PDF files into one | delete the old branch | -
Review this contract before I sign it | what time is it in Tokyo | -
This SQL query takes a minute, tune it | run the linter | -
Make a slide deck about our third quarter | book a table for Friday | -
Prepare our federal tax return documents | cook dinner for two | -
Profile the rerenders of my React list | and update the copyright year | -
Pods of our Kubernetes deployment are crash looping | then restart my laptop | -
Clean up this CSV export | sort the imports in main.py | -
Design a lesson on photosynthesis with goals and activities for my class | undo the last edit | -
Write release notes for version 2.3 | yes please, go on | -
Write release notes for version 2.3 | now for 2.4 | -
This SQL query takes a minute, tune it | and the other one | -
Review this contract before I sign it | shorter, please | -
This SQL query takes a minute, tune it | write the commit message | commit-messages
Process these invoices of our suppliers | make a slide deck of it | slide-decks
Write the copy of our landing page | and an email campaign | email-campaign
Find the commit that broke the login with git bisect | and the changelog | changelog-maintenance
Review this Vue component | do the same in React | react-components
Profile the rerenders of my React list | draft the runbook for on-call | oncall-runbook
Process these invoices of our suppliers | then a quiz | quiz-generation
Deploy our service with a helm chart | slim the docker image | docker-image-slimming
Extract the text of this PDF | then fill in the form | pdf-form-filling
Fill in the fields of this PDF form | and merge both | pdf-merge-split
Write a terraform module for the network | the state is gone, recover it | terraform-state-recovery
Design a REST API for orders | and document it | api-documentation
forgets The totals in this spreadsheet model are wrong | now do the same for the other file | spreadsheet-modeling
forgets This SQL query takes a minute, tune it | and the other one | sql-query-tuning
forgets Review this contract before I sign it | once more, for the annex | contract-review
forgets Deploy our service with a helm chart | the same for staging | helm-charts
forgets Deploy our service with a helm chart | now the same for the payment backend | helm-charts
forgets Clean up this CSV export | also the file of last month | csv-cleanup
forgets Extract the text of this PDF | do it again with the new scan | pdf-text-extraction
forgets Make a slide deck about our third quarter | and one about the fourth | slide-decks
forgets Make a slide deck about our third quarter | in the colours of the brand | slide-decks
forgets Review this contract before I sign it | also the second appendix, please | contract-review
forgets This SQL query takes a minute, tune it | it is still too slow | sql-query-tuning
forgets This SQL query takes a minute, tune it | und das gleiche für die andere Abfrage | sql-query-tuning
forgets Make a slide deck about our third quarter | ahora lo mismo para el otro equipo | slide-decks
forgets Translate this document into German and keep its layout | la même chose pour le deuxième fichier | document-translation
forgets Write the copy of our landing page | rename the variable | -
forgets This SQL query takes a minute, tune it | and make the tests pass | -
forgets Merge these three PDF files into one | delete the old branch | -
forgets Deploy our service with a helm chart | fix the typo in the readme | -
forgets Review this contract before I sign it | order pizza for the team | -
forgets Clean up this CSV export | sort the imports in main.py | -
forgets Profile the rerenders of my React list | räum den Schreibtisch auf | -
forgets Make a slide deck about our third quarter | walk the dog this evening | -
Find out why our CI pipeline fails only on main | and water the plants | -
Set up a threat model with STRIDE for the login service | close the window | -
Optimise our page load time and web vitals | also on mobile | -
forgets Optimise our page load time and web vitals | also on mobile | web-performance
forgets Write the minutes of this meeting transcript | the one of Tuesday too | meeting-notes
forgets Write the minutes of this meeting transcript | drop the unused index | -
forgets Audit our website for accessibility problems with WCAG | push to origin | -
forgets Audit our website for accessibility problems with WCAG | and the checkout page | accessibility-audit
forgets Plan an A/B test of the signup page with its sample size | with a smaller sample | ab-test-planning
forgets Plan an A/B test of the signup page with its sample size | rotate the log files | -
forgets Write a multiple choice quiz for my class | with ten questions instead | quiz-generation
forgets Write a multiple choice quiz for my class | bump the version number | -
forgets Scan this repository for leaked secrets and API keys | the other repository as well | secrets-scanning
forgets Scan this repository for leaked secrets and API keys | explain this stack trace | -
forgets Reduce our AWS bill | for the staging account as well | aws-cost-review
forgets Reduce our AWS bill | translate the menu | -
forgets Write a dbt model for the orders table | now one for customers | dbt-models
forgets Write a dbt model for the orders table | install node 22 | -
Write a dbt model for the orders table | then write release notes | release-notes
Reduce our AWS bill | set up terraform modules for it | terraform-modules
Write a multiple choice quiz for my class | and a lesson plan | lesson-planning
Scan this repository for leaked secrets and API keys | now clean the git history | git-history-surgery
Plan an A/B test of the signup page with its sample size | which statistical test fits | statistical-test-selection
forgets Set up a threat model with STRIDE for the login service | noch einmal für den Server | threat-modeling
forgets Write a multiple choice quiz for my class | una vez más para el otro grupo | quiz-generation
forgets Audit our website for accessibility problems with WCAG | kauf bitte Brot und Milch | -
`

// TestConversations: a follow-up gets what it asks for itself, and only else what the prompt before it was about.
func TestConversations(t *testing.T) {
	src, err := source.New(os.DirFS("../../testdata/skills"), &source.Options{Label: "tools"})
	must.Do(t, err)
	c := catalogtest.Open(t, repertoire.Config{Sources: []source.Source{src}, Contextual: embed.None{}})
	must.Do(t, c.Owner().Calibrate(t.Context()))
	const most = 10 // of 76; 8 when this was written, and 26 if a follow-up could get anything that the earlier prompt gets
	var wrong []string
	for line := range strings.Lines(strings.TrimSpace(conversations)) {
		line, forgets := strings.CutPrefix(strings.TrimSpace(line), "forgets ")
		part := strings.Split(line, " | ")
		k := &talk{t: t, m: session.New(t.TempDir(), session.Options{}), c: c, id: "s"}
		if first := k.say(part[0]); len(first) == 0 {
			t.Errorf("%q is offered nothing, so that no follow-up refers to it", part[0])
		}
		if forgets {
			k.m.Forget(t.Context(), k.id, false)
		}
		got, right := k.say(part[1]), false
		if part[2] == "-" {
			right = len(got) == 0
		} else {
			right = slices.Contains(got, part[2])
		}
		if !right {
			wrong = append(wrong, fmt.Sprintf("%s: offered %v", line, got))
		}
	}
	if len(wrong) > most {
		t.Errorf("%d follow-ups get something else:\n%s", len(wrong), strings.Join(wrong, "\n"))
	}
}
