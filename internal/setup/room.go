package setup

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/edit"
	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/skill"
)

// checkListing reports a client whose own listing has no room for all its skills, and which
// descriptions it leaves out.
func (e *Env) checkListing(st Status, skills []Listed) []skill.Problem {
	c := st.Client
	folders := e.ownFolders(c)
	if len(folders) == 0 {
		return nil
	}
	skills = below(folders, skills)
	var found []skill.Problem
	for _, b := range budgetsOf(e, c, skills) {
		if b.over() {
			p := skill.Problem{Rule: "client-budget", Severity: skill.Warning, Path: holder(folders, skills), Message: e.shortage(c, b, skills)}
			if p.Hint = e.moreRoom(st, b, skills); p.Hint == "" {
				p.Severity, p.Message = skill.Note, p.Message+" The hook offers what fits each prompt all the same."
			}
			found = append(found, p)
		}
	}
	return found
}

// ownFolders returns the folders from which a client lists skills itself.
func (e *Env) ownFolders(c client.Client) []string {
	return slices.Concat(e.SkillDirs(c, client.User), e.SkillDirs(c, client.Project))
}

// checkUnbounded says what is known of the other clients here that have skills in their own folders: which list
// all of them, and of which it is not known.
func (e *Env) checkUnbounded(statuses []Status, skills []Listed) []skill.Problem {
	var known, unknown []string
	place := ""
	for _, st := range statuses {
		c, folders := st.Client, e.ownFolders(st.Client)
		if !st.Installed || c.Listing != nil && c.Listing.Chars > 0 {
			continue
		}
		own := below(folders, skills)
		if len(own) == 0 {
			continue
		}
		place = cmp.Or(place, holder(folders, own))
		switch n := figures.Count(len(own), "skill"); {
		case c.Listing == nil:
			unknown = append(unknown, c.Title)
		case c.Listing.Whole:
			known = append(known, fmt.Sprintf("%s lists %s in full, about %s characters in each request", c.Title, n, figures.Thousands(charsOf(*c.Listing, own))))
		default:
			known = append(known, fmt.Sprintf("%s lists the names of %s and describes some of them", c.Title, n))
		}
	}
	if len(unknown) > 0 {
		known = append(known, "it is not known how "+strings.Join(unknown, ", ")+" list theirs")
	}
	if len(known) == 0 {
		return nil
	}
	return []skill.Problem{{Rule: "client-listing", Severity: skill.Note, Path: place, Message: "Clients list the skills in their own folders: " + strings.Join(known, "; ") + "."}}
}

// holder returns the first folder that holds one of the skills, as some folders of a client
// need not exist.
func holder(folders []string, skills []Listed) string {
	i := slices.IndexFunc(folders, func(folder string) bool { return len(below([]string{folder}, skills)) > 0 })
	return folders[max(0, i)]
}

// moreRoom says what to do about a budget; "" means that nobody need do anything, because a
// hook offers what fits each prompt.
func (e *Env) moreRoom(st Status, b budget, skills []Listed) string {
	name := st.Client.Name
	has := func(is func(Registration) bool) bool { return slices.ContainsFunc(st.Registrations, is) }
	switch {
	case len(st.Registrations) == 0:
		return fmt.Sprintf("%q has the catalog offer what fits each prompt", "skills setup "+name)
	case has(func(r Registration) bool { return r.Scope == client.User }) && e.namesFit(st.Client, b, skills):
		return fmt.Sprintf("%q has it list names only; the catalog offers the rest", "skills setup "+name+" --listing name-only")
	case has(func(r Registration) bool { return r.Kind == Hook }):
		return ""
	}
	return "what is left out is still found by the catalog; move skills to a folder that is configured as a root"
}

// namesFit reports whether a client has room for names alone, and lists descriptions of skills
// in the user's folders, which can be listed by name.
func (e *Env) namesFit(c client.Client, b budget, skills []Listed) bool {
	if b.Names == 0 || b.Names > b.Lists {
		return false
	}
	_, listed := tuned(e, *c.Listing, below(e.SkillDirs(c, client.User), skills))
	return slices.ContainsFunc(listed, func(s Listed) bool { return s.Description != "" })
}

// shortage says what a client leaves out of the listing of its skills, and why. Its first
// sentence stands alone.
func (e *Env) shortage(c client.Client, b budget, skills []Listed) string {
	n := figures.Thousands
	if b.Unit == "skills" {
		return fmt.Sprintf("%s lists %s of your %s skills and drops the others.", c.Title, n(b.Lists), n(b.Skills))
	}
	l, listed := tuned(e, *c.Listing, skills)
	room := "It"
	if l.Tokens > 0 {
		room = fmt.Sprintf("With a model of %s tokens it", n(l.Tokens))
	}
	room += fmt.Sprintf(" has room for %s of their %s characters", n(b.Lists), n(b.Needs))
	switch l.Drops {
	case client.DropsUnused:
		used := e.uses(l.Settings)
		return dropped(c.Title, room, l, listed, func(s Listed) bool {
			return used[strings.ToLower(s.Name)] || used[strings.ToLower(filepath.Base(filepath.Dir(s.Location)))]
		})
	case client.DropsEvenly:
		return shortened(c.Title, room, l, listed) + longest(l, listed)
	}
	return fmt.Sprintf("%s has no room for all of your %s skills. %s; the rest is dropped.", c.Title, n(b.Skills), room) + longest(l, listed)
}

// uses returns the lower-case names of the skills that a client has invoked, as it counts them
// itself.
func (e *Env) uses(set *client.ListingSettings) map[string]bool {
	used := make(map[string]bool)
	if set == nil || set.Used == nil {
		return used
	}
	tree, err := readTree(set.Used(&e.Machine), edit.JSON)
	if err != nil {
		return used
	}
	counts, _ := edit.Lookup(tree, edit.To(set.Uses...)).(map[string]any)
	for name, use := range counts {
		if n, ok := edit.Lookup(use, edit.Path{set.Use}).(edit.Number); ok {
			var count float64
			used[strings.ToLower(name)] = json.Unmarshal([]byte(n), &count) == nil && count > 0
		}
	}
	return used
}

// dropped says which descriptions a client drops that lists all names, and keeps the
// descriptions of the skills that it has invoked most. Which ones of the skills that it has
// never invoked come first, nobody knows.
func dropped(title, room string, l client.Listing, listed []Listed, used func(Listed) bool) string {
	left := l.Chars
	var never, often []Listed
	for _, s := range listed {
		left -= charsOf(l, []Listed{{Name: s.Name}})
		switch {
		case s.Description == "":
		case used(s):
			often = append(often, s)
		default:
			never = append(never, s)
		}
	}
	all := len(never) + len(often)
	kept := fitting(l, often, max(0, left))
	if kept == len(often) {
		taken := 0
		for _, s := range often {
			taken += describing(l, s)
		}
		kept += fitting(l, never, max(0, left-taken))
	}
	about := "about "
	if kept == 0 || kept == len(often) {
		about = ""
	}
	message := fmt.Sprintf("%s drops %s%s descriptions of your skills. %s, and drops what it invoked least", title, about, outOf(all-kept, all), room)
	switch {
	case left < 0:
		return fmt.Sprintf("%s; the names alone take %s.", message, figures.Thousands(l.Chars-left))
	case kept == 0, len(never) == 0:
		return message + "."
	case len(often) == 0:
		return message + "; it has invoked none yet, so those of " + some(never) + " may go."
	case kept > len(often):
		return fmt.Sprintf("%s: it keeps those of %s; those of %s may go.", message, some(often), some(never))
	}
	return fmt.Sprintf("%s: those of %s, which it never invoked.", message, some(never))
}

// fitting returns how many descriptions of average length fit into a number of characters.
func fitting(l client.Listing, skills []Listed, room int) int {
	total := 0
	for _, s := range skills {
		total += describing(l, s)
	}
	if total <= room {
		return len(skills)
	}
	return room * len(skills) / total
}

// describing returns how many characters the description of a skill takes.
func describing(l client.Listing, s Listed) int {
	return charsOf(l, []Listed{s}) - charsOf(l, []Listed{{Name: s.Name}})
}

// shortened says what is left of the descriptions that a client shortens alike.
func shortened(title, room string, l client.Listing, listed []Listed) string {
	left := l.Chars
	lengths := make([]int, len(listed))
	for i, s := range listed {
		left -= charsOf(l, []Listed{{Name: s.Name}})
		lengths[i] = describing(l, s)
	}
	n := figures.Thousands
	if left < 0 {
		lists := len(listed) * l.Chars / (l.Chars - left)
		return fmt.Sprintf("%s drops all %s descriptions of your skills and leaves out about %s of the skills. %s.", title, n(len(listed)), n(len(listed)-lists), room)
	}
	slices.Sort(lengths)
	share, whole := 0, 0 // what each of the others has, and how many are not shortened
	for i, length := range lengths {
		if share = left / (len(lengths) - i); length > share {
			break
		}
		left -= length
		whole++
	}
	return fmt.Sprintf("%s cuts %s descriptions of your skills to about %s characters. %s, and cuts all descriptions alike.",
		title, outOf(len(listed)-whole, len(listed)), n(share), room)
}

// outOf says how many of some things are meant.
func outOf(n, all int) string {
	if n == all {
		return "all " + figures.Thousands(all)
	}
	return figures.Thousands(n) + " of the " + figures.Thousands(all)
}

// someSkills is how many skills a message names.
const someSkills = 3

// some names the first few of skills.
func some(skills []Listed) string {
	var names []string
	for _, s := range skills[:min(someSkills, len(skills))] {
		names = append(names, s.Name)
	}
	if more := len(skills) - len(names); more > 0 {
		return fmt.Sprintf("%s and %s more", strings.Join(names, ", "), figures.Thousands(more))
	}
	return strings.Join(names, ", ")
}

// longest says which skills take most of the room in a listing; "" if there are only a few.
func longest(l client.Listing, listed []Listed) string {
	if len(listed) <= someSkills {
		return ""
	}
	chars := func(s Listed) int { return charsOf(l, []Listed{s}) }
	listed = slices.Clone(listed)
	slices.SortStableFunc(listed, func(a, b Listed) int { return cmp.Compare(chars(b), chars(a)) })
	var list []string
	for _, s := range listed[:someSkills] {
		list = append(list, fmt.Sprintf("%s (%s)", s.Name, figures.Thousands(chars(s))))
	}
	return " The longest are " + strings.Join(list, ", ") + "."
}
