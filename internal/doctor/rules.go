package doctor

import (
	"slices"
	"strings"
	"sync"

	"github.com/repertoire-skills/repertoire/skill"
)

// A Rule describes findings: what doctor looks for and what to do about it.
type Rule struct {
	ID       string         `json:"rule"`
	Severity skill.Severity `json:"severity"` // the worst that its findings have
	About    string         `json:"about"`    // one sentence
	Fix      string         `json:"fix"`
}

// Group returns the group in which reports show the findings of a rule; of several, the most
// costly one.
func (r Rule) Group() Cost {
	group := costOf(skill.Problem{Rule: r.ID, Severity: r.Severity}, false)
	strict := func() bool { return slices.Contains(strictRules(), r) }
	switch {
	case aboutSetup(r.ID):
		return Setup
	case r.ID == "shadowed", r.ID == "changed", r.ID == "untrusted", r.Severity == skill.Error && group == Author && !strict():
		return Unseen // the skill is not offered
	}
	return group
}

// Rules returns the rules of all findings, by ID.
func Rules() []Rule { return slices.Clone(rules()) }

// ruleOf returns the rule with an ID. Findings of an older catalog may have a rule that
// is gone.
func ruleOf(id string) Rule {
	i, ok := slices.BinarySearchFunc(rules(), id, func(r Rule, id string) int { return strings.Compare(r.ID, id) })
	if !ok {
		return Rule{ID: id, Severity: skill.Note, About: "This version has no such rule.", Fix: "Run \"skills index --full\"."}
	}
	return rules()[i]
}

var rules = sync.OnceValue(func() []Rule {
	var list []Rule
	for _, part := range [][]Rule{textRules(), strictRules(), folderRules(), catalogRules(), trustRules(), needRules(), contentRules()} {
		list = append(list, part...)
	}
	slices.SortFunc(list, func(a, b Rule) int { return strings.Compare(a.ID, b.ID) })
	return list
})

// textRules are about the SKILL.md of one skill.
func textRules() []Rule {
	return []Rule{
		{"body-too-long", skill.Warning, "The instructions are so long that they fill a model's context.", "Move details into references/."},
		{"byte-order-mark", skill.Warning, "The SKILL.md starts with a byte order mark.", "Save it as UTF-8 without BOM."},
		{"closing-fence", skill.Error, "The line that ends the frontmatter is missing or is not a plain ---.", "End the frontmatter with a line of exactly three dashes."},
		{"code-fence", skill.Error, "The frontmatter stands inside a code fence.", "Remove the code fence."},
		{"description-too-long", skill.Error, "The description is longer than the specification allows; only its start is used.", "Move details into the body."},
		{"duplicate-key", skill.Error, "The frontmatter has a key twice.", "Keep one of them."},
		{"empty-body", skill.Note, "There are no instructions after the frontmatter.", "Write what to do."},
		{"empty-compatibility", skill.Warning, "The field compatibility is empty.", "Fill it in or leave it out."},
		{"empty-description", skill.Error, "The description is empty, so nobody can find the skill.", "Say what the skill does and when to use it."},
		{"empty-file", skill.Error, "The SKILL.md is empty.", "Write name and description between two lines of ---."},
		{"empty-frontmatter", skill.Error, "The frontmatter is empty.", "Write name and description."},
		{"field-type", skill.Error, "A field has another type than the specification wants.", "Quote the value, or write it as the message says."},
		{"file-too-large", skill.Error, "The SKILL.md is larger than 1 MiB.", "Move details into references/."},
		{"frontmatter-limits", skill.Error, "The frontmatter is nested too deeply or has too many values.", "Simplify it."},
		{"frontmatter-too-large", skill.Error, "The frontmatter is larger than 256 KiB.", "Move details into the body."},
		{"hidden-bidi", skill.Warning, "Bidirectional controls make a text look different from what models read.", "Remove them."},
		{"hidden-control", skill.Warning, "There are control characters, which readers do not see.", "Remove them."},
		{"hidden-invisible", skill.Warning, "There are invisible characters, which readers do not see and models do.", "Remove them."},
		{"hidden-tag", skill.Warning, "There are Unicode tag characters, which readers do not see and models do.", "Remove them; find out who put them there."},
		{"hidden-zero-width", skill.Warning, "There are zero-width characters, which readers do not see and models do.", "Remove them."},
		{"invalid-utf8", skill.Error, "The file is not valid UTF-8.", "Save it as UTF-8."},
		{"invalid-yaml", skill.Error, "The frontmatter is not YAML.", "Quote the value, or write it as a block (key: >-)."},
		{"key-case", skill.Warning, "A key is not written in lower case.", "Write it in lower case."},
		{"missing-description", skill.Error, "The description is missing, so nobody can find the skill.", "Say what the skill does and when to use it."},
		{"missing-name", skill.Error, "The name is missing.", "Add the name of the folder as name."},
		{"name-too-long", skill.Error, "The name is longer than 64 characters.", "Shorten it."},
		{"name-unsafe", skill.Warning, "The name looks like a path or an address.", "Use letters, digits and hyphens."},
		{"no-frontmatter", skill.Error, "The SKILL.md has no frontmatter.", "Start it with ---, name, description, ---."},
		{"no-trigger", skill.Note, "The description does not say when to use the skill.", "Add \"Use when …\"."},
		{"not-a-mapping", skill.Error, "The frontmatter is not a list of keys and values.", "Write name and description as \"key: value\" lines."},
		{"not-json", skill.Warning, "A value has no form in JSON.", "Quote it."},
		{"opening-fence", skill.Error, "The line that starts the frontmatter is missing or is not a plain ---.", "Start the file with a line of exactly three dashes."},
		{"rich-text", skill.Error, "The SKILL.md is an RTF document.", "Save it as plain text."},
		{"second-frontmatter", skill.Warning, "The body starts with another frontmatter.", "Merge the two."},
		{"symlink-placeholder", skill.Error, "The SKILL.md is a symbolic link that was checked out as text.", "Check the repository out with core.symlinks=true, or copy the file."},
		{"tar-header", skill.Error, "The SKILL.md is a header of a tar archive.", "Extract the archive with a tar that knows pax headers."},
		{"text-before-frontmatter", skill.Error, "The frontmatter does not start on the first line.", "Remove what stands before it."},
		{"unclosed-frontmatter", skill.Error, "The frontmatter is never closed.", "End it with a line ---."},
		{"yaml-repaired", skill.Warning, "The frontmatter is malformed and was read as it was meant; other clients may refuse it.", "Write it as the message shows."},
	}
}

// strictRules are the rules of the specification that only --strict applies.
func strictRules() []Rule {
	return []Rule{
		{"compatibility-too-long", skill.Error, "The field compatibility is longer than 500 characters.", "Shorten it."},
		{"empty-name", skill.Error, "The name is empty.", "Write the name of the folder."},
		{"name-case", skill.Error, "The name is not in lower case.", "Write it in lower case."},
		{"name-characters", skill.Error, "The name has other characters than letters, digits and hyphens.", "Remove them."},
		{"name-folder", skill.Error, "The name differs from the name of the folder.", "Rename one of them."},
		{"name-hyphen", skill.Error, "The name starts or ends with a hyphen, or has two in a row.", "Remove them."},
		{"name-not-ascii", skill.Note, "The name is not ASCII; some clients serve ASCII names only.", "Write it in ASCII."},
		{"unexpected-field", skill.Error, "The specification has no such field.", "Put it under metadata."},
		{"uneven-indentation", skill.Error, "Maps of one parent are not indented alike.", "Indent them alike."},
		{"yaml-alias", skill.Error, "The reference validator allows no YAML aliases.", "Write the value out."},
		{"yaml-anchor", skill.Error, "The reference validator allows no YAML anchors.", "Remove the anchor."},
		{"yaml-escape", skill.Error, "YAML has no escape \\'.", "Write ' without the backslash."},
		{"yaml-flow", skill.Error, "The reference validator allows no brackets and braces.", "Write lists and maps in lines."},
		{"yaml-tab", skill.Error, "There is a tab outside of quotes.", "Use blanks."},
		{"yaml-tag", skill.Error, "The reference validator allows no YAML tags.", "Remove the tag; every value is text."},
	}
}

// folderRules are about the files of skills and the folders of sources.
func folderRules() []Rule {
	return []Rule{
		{"away", skill.Warning, "A source cannot be reached; what it had is kept.", "Mount or restore the folder, or remove it from the configuration."},
		{"case-collision", skill.Warning, "The names of two files differ by case only.", "Rename one of them."},
		{"dangling-link", skill.Warning, "A link leads to something that does not exist.", "Remove the link or restore what it leads to."},
		{"duplicate-folder", skill.Note, "Two paths lead to the same folder; one is searched.", "Nothing, or remove the link."},
		{"file-not-hashed", skill.Note, "A file is too large to be hashed, so changes of it are not noticed.", "Make it smaller, or keep it elsewhere."},
		{"interrupted", skill.Note, "The search for skills was interrupted.", "Run the command again."},
		{"link-loop", skill.Note, "A link leads to itself or to a folder above it.", "Remove the link."},
		{"link-not-followed", skill.Note, "A link is not followed.", "Copy what it leads to, or add that folder as a root."},
		{"link-outside", skill.Warning, "A link leads out of the skill's folder.", "Replace the link by a file, or remove it."},
		{"missing-resource", skill.Warning, "The instructions name a file that the skill does not have.", "Add the file or correct the path."},
		{"not-a-file", skill.Error, "The SKILL.md is not a file that may be read.", "Link the whole folder instead of its files."},
		{"not-a-regular-file", skill.Warning, "The skill has something that is neither a file nor a folder.", "Remove it."},
		{"outside-resource", skill.Warning, "The instructions name a file outside of the skill's folder.", "Copy the file into the skill."},
		{"skill-at-top", skill.Note, "A skill lies at the top of a folder of skills.", "Move it into a folder of its own."},
		{"skill-md-case", skill.Note, "A file is nearly named SKILL.md; it is no skill.", "Rename it to SKILL.md."},
		{"too-deep", skill.Note, "There are folders too deep to be searched for skills.", "Move the skills up, or add their folder as a root."},
		{"too-many-files", skill.Note, "A skill has more than 512 files or folders; the rest is ignored.", "Ship fewer files."},
		{"too-many-folders", skill.Note, "A source has too many folders; the search ended early.", "Name a folder nearer to the skills as a root."},
		{"two-skill-files", skill.Warning, "A skill has SKILL.md and skill.md; SKILL.md is used.", "Remove one of the two."},
		{"unportable-name", skill.Warning, "A file has a name that not every system accepts; it is not served.", "Rename it."},
		{"unreadable", skill.Error, "A skill or a source cannot be read.", "Make it readable, or remove it."},
		{"unreadable-file", skill.Warning, "A file of a skill cannot be read.", "Make it readable."},
		{"unreadable-folder", skill.Warning, "A folder cannot be read; it may hold skills.", "Make it readable."},
	}
}

// catalogRules are about the skills of a catalog together, its settings and its clients.
func catalogRules() []Rule {
	return []Rule{
		{"agent", skill.Error, "A rule of an agent matches nothing.", "Correct or remove it."},
		{"catalog", skill.Error, "The catalog cannot be used, or was damaged and rebuilt.", "Do as the message says."},
		{"client", skill.Note, "A client is set up.", "Nothing."},
		{"client-broken", skill.Error, "What is set up in a client does not work.", "Run \"skills setup\" again."},
		{"client-budget", skill.Warning, "A client has no room to list its skills and drops descriptions.", "Let \"skills setup\" turn its listing off."},
		{"client-commands", skill.Note, "Files of a client's commands are not skills.", "Make a skill of each that models should find."},
		{"client-settings", skill.Warning, "The settings of a client cannot be read.", "Correct the file."},
		{"client-silent", skill.Error, "What a client runs does not answer.", "Do as the message says."},
		{"client-trust", skill.Warning, "A client does not trust the hook yet, or it is switched off there.", "Confirm the hook in the client."},
		{"client-twice", skill.Warning, "A client is set up twice and offers skills twice.", "Remove one of the two."},
		{"client-unused", skill.Note, "A client on this machine is not set up.", "Run \"skills setup\" for it."},
		{"configuration", skill.Error, "The configuration has a mistake.", "Correct the line."},
		{"folder-left-out", skill.Warning, "A folder of the configuration is left out.", "Do as the message says."},
		{"ignore", skill.Error, "An entry of the key ignore has an unknown rule, or matches nothing.", "Correct or remove it."},
		{"near-duplicate", skill.Warning, "The descriptions of two skills are nearly the same, so models cannot tell them apart.", "Say in each description what sets it apart, or keep one."},
		{"shadowed", skill.Warning, "Another skill of the same name comes first.", "Remove or rename one of them."},
		{"stale", skill.Warning, "The catalog cannot be brought up to date.", "Make room, or make its folder writable."},
		{"state", skill.Warning, "Nothing can be remembered between prompts.", "Make the folder writable, or set REPERTOIRE_STATE."},
		{"unmet-requirement", skill.Warning, "A skill requires a skill that is not in the catalog.", "Add it, or correct the name."},
	}
}

// trustRules are signs that a skill misleads its reader. None of them is a proof.
func trustRules() []Rule {
	return []Rule{
		{"address-url", skill.Warning, "The text names a server by a bare IP address.", "Ask whose server it is."},
		{"credential-access", skill.Warning, "The text reads credentials and sends something away.", "Make sure that no key, password or cookie leaves the machine."},
		{"disguised-program", skill.Warning, "A file is a program, but has the name of a document.", "Remove it, or name it as what it is."},
		{"dotfile", skill.Warning, "The skill ships a hidden file that repositories do not usually have.", "Look at it; remove it if the skill does not need it."},
		{"encoded-command", skill.Warning, "The text runs a command that is encoded.", "Decode it and read it before you trust the skill."},
		{"fetch-and-run", skill.Warning, "The text fetches a program and runs it unseen.", "Read what the address serves; better ship the script."},
		{"hidden-text", skill.Error, "Characters that no reader sees spell a text for models.", "Do not use the skill before you know who put it there."},
		{"hide-from-user", skill.Warning, "The text asks to hide something from the user.", "Ask what the user must not know, and why."},
		{"ignore-instructions", skill.Warning, "The text asks to ignore other instructions.", "A skill has no reason to do so; remove it."},
		{"keyword-stuffed", skill.Warning, "The description is stuffed with keywords.", "Say in sentences what the skill does."},
		{"locked-archive", skill.Warning, "The text wants an archive with a password unpacked.", "Do not unpack it; ask where it comes from."},
		{"lookalike-name", skill.Error, "A name looks like another one, but has letters of another alphabet.", "Do not use it before you know why; rename or remove it."},
		{"mixed-scripts", skill.Warning, "A word of a name mixes alphabets.", "Write the name in one script."},
		{"not-analysed", skill.Note, "The trust checks did not look at some files: archives, other files that are not text, and too large ones.", "Look at them yourself before you trust the skill."},
		{"over-broad", skill.Warning, "The description wants every prompt.", "Say which tasks the skill is for."},
		{"package-from-address", skill.Warning, "The text installs a package from an address instead of a registry.", "Name a version or a commit."},
		{"paste-host", skill.Warning, "The text names a host where anybody can leave or collect data without a name.", "Look at what is fetched from there, or sent to it."},
		{"private-use", skill.Warning, "The text has characters of private use, whose meaning nobody can look up.", "Remove them, or write what they mean."},
		{"shipped-binary", skill.Warning, "The skill ships a compiled program, which nobody can read.", "Ship its source, or name where it comes from."},
		{"similar-name", skill.Warning, "A name may be a misspelling of the name of a skill from another source.", "Make sure that you mean this one."},
	}
}
