package doctor

import (
	"slices"
	"sync"

	"github.com/repertoire-skills/repertoire/skill"
)

// A Rule describes findings: what doctor looks for and what to do about it.
type Rule struct {
	ID       string         `json:"rule"`
	Severity skill.Severity `json:"severity"` // the worst that its findings have
	effect   effect
	About    string `json:"about"` // one sentence
	Fix      string `json:"fix"`
}

// An effect says whom the findings of a rule affect.
type effect int

const (
	author   effect = iota // only authors
	refuses                // the skill is refused or gives way to another one
	held                   // the skill is held back until its reader has looked at it
	hides                  // no model sees a skill, or a part of the skills
	place                  // a place cannot be searched; in the folder of a skill, the skill lacks a file
	confuses               // models
	misleads               // models; the finding warns of the author of the skill
	dubious                // only readers: the finding warns of the author of the skill
	strict                 // only authors, and only if the specification is applied to the letter
	settings               // one client or setting, but no skill
	breaks                 // all skills, because of a client or a setting
)

// effects holds what follows from an effect.
var effects = [...]struct {
	group   Cost // in which reports show the findings; of several, the most costly one
	cost    Cost // of a finding
	inSkill Cost // of a finding in the folder of an offered skill
	warns   bool // see Rule.warns
}{
	author:   {Author, Author, Author, false},
	refuses:  {Unseen, Author, Author, false},
	held:     {Unseen, Author, Author, true},
	hides:    {Unseen, Unseen, Unseen, false},
	place:    {Unseen, Unseen, Confusing, false},
	confuses: {Confusing, Confusing, Confusing, false},
	misleads: {Confusing, Confusing, Confusing, true},
	dubious:  {Author, Author, Author, true},
	strict:   {Author, Author, Author, false},
	settings: {Setup, Author, Author, false},
	breaks:   {Setup, Unseen, Unseen, false},
}

// Group returns the group in which reports show the findings of a rule; of several, the most
// costly one.
func (r Rule) Group() Cost { return effects[r.effect].group }

// warns reports whether a rule warns the reader of a skill of its author, so that no file of a
// project can silence it.
func (r Rule) warns() bool { return effects[r.effect].warns }

// Rules returns the rules of all findings, by ID.
func Rules() []Rule { return slices.Clone(rules) }

// ruleOf returns the rule with an ID. Findings of an older catalog may have a rule that
// is gone.
func ruleOf(id string) Rule {
	i, ok := ruleIndex()[id]
	if !ok {
		return Rule{ID: id, Severity: skill.Note, About: "This version has no such rule.", Fix: "Run \"skills index --full\"."}
	}
	return rules[i]
}

var ruleIndex = sync.OnceValue(func() map[string]int {
	at := make(map[string]int, len(rules))
	for i, r := range rules {
		at[r.ID] = i
	}
	return at
})

// ruleRefused is the rule that nothing else may hide: a server refuses a key or token.
const ruleRefused = "key-refused"

// rules are the rules by ID.
var rules = []Rule{
	{"absent-skill", skill.Note, confuses, "A description sends to a skill that is not in the catalog.", "Correct the name, install that skill, or leave it out."},
	{"address-url", skill.Warning, misleads, "The text names a server by a bare IP address.", "Ask whose server it is."},
	{"agent", skill.Error, breaks, "A rule of an agent matches nothing.", "Correct or remove it."},
	{"away", skill.Warning, place, "A source cannot be reached; what it had is kept.", "Mount or restore the folder, or remove it from the configuration."},
	{"body-too-long", skill.Warning, author, "The instructions are so long that they fill a model's context.", "Move details into references/."},
	{"broken-anchor", skill.Note, author, "A link leads to a heading that does not exist.", "Correct the link."},
	{"broken-link", skill.Warning, confuses, "A link leads to a file that the skill does not have.", "Correct the link or add the file."},
	{"byte-order-mark", skill.Warning, author, "The SKILL.md starts with a byte order mark.", "Save it as UTF-8 without BOM."},
	{"case-collision", skill.Warning, author, "The names of two files differ by case only.", "Rename one of them."},
	{"catalog", skill.Error, breaks, "The catalog cannot be used, or was damaged and rebuilt.", "Do as the message says."},
	{"changed", skill.Warning, held, "An installed skill is not as it was installed, so it is held back.", "Look at it with \"skills update --verify\"; update or install it again."},
	{"client", skill.Note, settings, "A client is set up.", "Nothing."},
	{"client-broken", skill.Error, breaks, "What is set up in a client does not work.", "Run \"skills setup\" again."},
	{"client-budget", skill.Warning, hides, "A client has no room to list its skills and drops descriptions.", "Let \"skills setup\" have it list names only, or move skills to a root that it does not list."},
	{"client-commands", skill.Note, settings, "Files of a client's commands are not skills.", "Make a skill of each that models should find."},
	{"client-hooks-off", skill.Warning, breaks, "A client is told to run no hooks.", "Change the setting, or ask whoever manages the machine."},
	{"client-listing", skill.Note, settings, "A client lists the skills in its own folders, and no bound of that is known.", "Nothing, or move skills to a root that it does not list."},
	{"client-lost", skill.Warning, breaks, "An entry of ours has vanished from the settings of a client.", "Run \"skills setup\" again."},
	{"client-settings", skill.Warning, settings, "The settings of a client cannot be read.", "Correct the file."},
	{"client-silent", skill.Error, settings, "What a client runs does not answer.", "Do as the message says."},
	{"client-trust", skill.Warning, breaks, "A client does not trust the hook yet, or it is switched off there.", "Confirm the hook in the client."},
	{"client-twice", skill.Warning, settings, "A client is set up twice and offers skills twice.", "Remove one of the two."},
	{"client-unused", skill.Note, settings, "A client on this machine is not set up.", "Run \"skills setup\" for it."},
	{"closing-fence", skill.Error, refuses, "The line that ends the frontmatter is missing or is not a plain ---.", "End the frontmatter with a line of exactly three dashes."},
	{"code-fence", skill.Error, refuses, "The frontmatter stands inside a code fence.", "Remove the code fence."},
	{"compatibility-too-long", skill.Error, strict, "The field compatibility is longer than 500 characters.", "Shorten it."},
	{"configuration", skill.Error, breaks, "The configuration has a mistake.", "Correct the line."},
	{"copy", skill.Note, author, "Another skill has nearly the same text, and is offered instead.", "Remove one of them."},
	{"credential-access", skill.Warning, misleads, "The text reads credentials and sends something away.", "Make sure that no key, password or cookie leaves the machine."},
	{"dangling-link", skill.Warning, place, "A link leads to something that does not exist.", "Remove the link or restore what it leads to."},
	{"description-too-long", skill.Error, confuses, "The description is longer than the specification allows; only its start is used.", "Move details into the body."},
	{"disabled", skill.Note, author, "A rule of the configuration disables the skill.", "Nothing, or \"skills enable\"."},
	{"disguised-program", skill.Warning, misleads, "A file is a program, but has the name of a document.", "Remove it, or name it as what it is."},
	{"dotfile", skill.Warning, dubious, "The skill ships a hidden file that repositories do not usually have.", "Look at it; remove it if the skill does not need it."},
	{"duplicate-folder", skill.Note, author, "Two paths lead to the same folder; one is searched.", "Nothing, or remove the link."},
	{"duplicate-key", skill.Error, confuses, "The frontmatter has a key twice, so one value is lost.", "Keep one of them."},
	{"empty-body", skill.Note, confuses, "There are no instructions after the frontmatter.", "Write what to do."},
	{"empty-compatibility", skill.Warning, author, "The field compatibility is empty.", "Fill it in or leave it out."},
	{"empty-description", skill.Error, refuses, "The description is empty, so nobody can find the skill.", "Say what the skill does and when to use it."},
	{"empty-file", skill.Error, refuses, "The SKILL.md is empty.", "Write name and description between two lines of ---."},
	{"empty-frontmatter", skill.Error, refuses, "The frontmatter is empty.", "Write name and description."},
	{"empty-name", skill.Error, strict, "The name is empty.", "Write the name of the folder."},
	{"encoded-command", skill.Warning, misleads, "The text runs a command that is encoded.", "Decode it and read it before you trust the skill."},
	{"evals-fail", skill.Note, author, "Prompts of a skill's evals do not get what their author wants.", "Say in the description what these prompts say."},
	{"evals-unusable", skill.Warning, author, "A file of evals is malformed, or has no prompts.", "Correct it; \"skills help evals\" shows the forms."},
	{"example-too-long", skill.Warning, author, "An example of a prompt is too long; only its beginning counts.", "Write what people say first."},
	{"examples-too-many", skill.Warning, author, "The frontmatter has more examples of prompts than count.", "Keep those that differ most, and put the others into evals."},
	{"examples-unclear", skill.Warning, author, "metadata.examples is no list of prompts.", "Write prompts as a list."},
	{"fetch-and-run", skill.Warning, misleads, "The text fetches a program and runs it unseen.", "Read what the address serves; better ship the script."},
	{"fetch-failed", skill.Warning, author, "A root from elsewhere could not be fetched; what it had is kept.", "Do as the message says."},
	{"fetch-refused", skill.Warning, author, "A fetched skill is unsafe to write, and is left out.", "Tell its author."},
	{"field-type", skill.Error, refuses, "A field has another type than the specification wants.", "Quote the value, or write it as the message says."},
	{"file-not-hashed", skill.Note, author, "A file is too large to be hashed, so changes of it are not noticed.", "Make it smaller, or keep it elsewhere."},
	{"file-too-large", skill.Error, refuses, "The SKILL.md is larger than 1 MiB.", "Move details into references/."},
	{"folder-left-out", skill.Warning, hides, "A folder of the configuration is left out.", "Do as the message says."},
	{"frontmatter-limits", skill.Error, refuses, "The frontmatter is nested too deeply or has too many values.", "Simplify it."},
	{"frontmatter-too-large", skill.Error, refuses, "The frontmatter is larger than 256 KiB.", "Move details into the body."},
	{"hidden-bidi", skill.Warning, misleads, "Bidirectional controls make a text look different from what models read.", "Remove them."},
	{"hidden-control", skill.Warning, misleads, "There are control characters, which readers do not see.", "Remove them."},
	{"hidden-invisible", skill.Warning, misleads, "There are invisible characters, which readers do not see and models do.", "Remove them."},
	{"hidden-tag", skill.Warning, misleads, "There are Unicode tag characters, which readers do not see and models do.", "Remove them; find out who put them there."},
	{"hidden-text", skill.Error, misleads, "Characters that no reader sees spell a text for models.", "Do not use the skill before you know who put it there."},
	{"hidden-zero-width", skill.Warning, misleads, "There are zero-width characters, which readers do not see and models do.", "Remove them."},
	{"hide-from-user", skill.Warning, misleads, "The text asks to hide something from the user.", "Ask what the user must not know, and why."},
	{"ignore", skill.Error, settings, "An entry of the key ignore has an unknown rule, or matches nothing.", "Correct or remove it."},
	{"ignore-instructions", skill.Warning, misleads, "The text asks to ignore other instructions.", "A skill has no reason to do so; remove it."},
	{"interface-unreadable", skill.Warning, confuses, "The file in which Codex reads who starts a skill is malformed, so that only the user starts it.", "Correct the YAML in agents/openai.yaml."},
	{"interrupted", skill.Note, place, "The search for skills was interrupted.", "Run the command again."},
	{"invalid-utf8", skill.Error, refuses, "The file is not valid UTF-8.", "Save it as UTF-8."},
	{"invalid-yaml", skill.Error, refuses, "The frontmatter is not YAML.", "Quote the value, or write it as a block (key: >-)."},
	{"key-case", skill.Warning, author, "A key is not written in lower case.", "Write it in lower case."},
	{ruleRefused, skill.Error, settings, "A server refuses a key or a token.", "Ask whoever runs the server for one, and set it where the client or this program starts."},
	{"keyword-stuffed", skill.Warning, misleads, "The description is stuffed with keywords.", "Say in sentences what the skill does."},
	{"lfs-pointer", skill.Error, refuses, "A file is a pointer of Git LFS instead of the file.", "Run \"git lfs pull\" where it was checked out."},
	{"link-loop", skill.Note, place, "A link leads to itself or to a folder above it.", "Remove the link."},
	{"link-not-followed", skill.Note, place, "A link is not followed.", "Copy what it leads to, or add that folder as a root."},
	{"link-outside", skill.Warning, confuses, "A link leads out of the skill's folder.", "Replace the link by a file, or remove it."},
	{"listing-cost", skill.Note, settings, "Listing the skills costs a model many tokens at every prompt.", "Shorten the longest descriptions, or let the catalog list only what fits."},
	{"locked-archive", skill.Warning, misleads, "The text wants an archive with a password unpacked.", "Do not unpack it; ask where it comes from."},
	{"lookalike-name", skill.Error, misleads, "A name looks like another one, but has letters of another alphabet.", "Do not use it before you know why; rename or remove it."},
	{"missing-description", skill.Error, refuses, "The description is missing, so nobody can find the skill.", "Say what the skill does and when to use it."},
	{"missing-name", skill.Error, refuses, "The name is missing.", "Add the name of the folder as name."},
	{"missing-resource", skill.Warning, confuses, "The instructions name a file that the skill does not have.", "Add the file or correct the path."},
	{"mixed-scripts", skill.Warning, misleads, "A word of a name mixes alphabets.", "Write the name in one script."},
	{"name-case", skill.Error, strict, "The name is not in lower case.", "Write it in lower case."},
	{"name-characters", skill.Error, strict, "The name has other characters than letters, digits and hyphens.", "Remove them."},
	{"name-folder", skill.Error, strict, "The name differs from the name of the folder.", "Rename one of them."},
	{"name-hyphen", skill.Error, strict, "The name starts or ends with a hyphen, or has two in a row.", "Remove them."},
	{"name-not-ascii", skill.Note, strict, "The name is not ASCII; some clients serve ASCII names only.", "Write it in ASCII."},
	{"name-too-long", skill.Error, refuses, "The name is longer than 64 characters.", "Shorten it."},
	{"name-unsafe", skill.Warning, author, "The name looks like a path or an address.", "Use letters, digits and hyphens."},
	{"near-duplicate", skill.Warning, confuses, "The descriptions or the instructions of skills are nearly the same, so models cannot tell them apart; of copies a prompt is offered one.", "Say in each description what sets it apart, or keep one."},
	{"needs-too-many", skill.Warning, author, "The skill needs more things of one kind than are read.", "Name only what it cannot work without."},
	{"needs-unclear", skill.Warning, author, "It is unclear what the skill requires.", "Write one name in each entry of a list."},
	{"no-frontmatter", skill.Error, refuses, "The SKILL.md has no frontmatter.", "Start it with ---, name, description, ---."},
	{"no-skill-file", skill.Note, place, "A folder in a folder of skills has no SKILL.md.", "Call its instructions SKILL.md, or move it elsewhere."},
	{"no-trigger", skill.Note, confuses, "The description does not say when to use the skill.", "Add \"Use when …\"."},
	{"not-a-file", skill.Error, refuses, "The SKILL.md is not a file that may be read.", "Link the whole folder instead of its files."},
	{"not-a-mapping", skill.Error, refuses, "The frontmatter is not a list of keys and values.", "Write name and description as \"key: value\" lines."},
	{"not-a-regular-file", skill.Warning, confuses, "The skill has something that is neither a file nor a folder.", "Remove it."},
	{"not-analysed", skill.Note, dubious, "The trust checks did not look at some files: archives, other files that are not text, and too large ones.", "Look at them yourself before you trust the skill."},
	{"not-json", skill.Warning, author, "A value has no form in JSON.", "Quote it."},
	{"not-read", skill.Note, author, "Some files are too many or too large to be checked.", "Nothing, or make them smaller."},
	{"opening-fence", skill.Error, refuses, "The line that starts the frontmatter is missing or is not a plain ---.", "Start the file with a line of exactly three dashes."},
	{"other-gone", skill.Note, settings, "Skills in the lock of another installer are not there.", "Install them again with that program."},
	{"other-lock", skill.Warning, settings, "The lock of another installer cannot be read.", "Let that program write it again."},
	{"outside-resource", skill.Warning, confuses, "The instructions name a file outside of the skill's folder.", "Copy the file into the skill."},
	{"over-broad", skill.Warning, misleads, "The description wants every prompt.", "Say which tasks the skill is for."},
	{"package-from-address", skill.Warning, misleads, "The text installs a package from an address instead of a registry.", "Name a version or a commit."},
	{"paste-host", skill.Warning, misleads, "The text names a host where anybody can leave or collect data without a name.", "Look at what is fetched from there, or sent to it."},
	{"policy", skill.Warning, settings, "A rule that disables skills matches nothing.", "Correct or remove it."},
	{"private-use", skill.Warning, misleads, "The text has characters of private use, whose meaning nobody can look up.", "Remove them, or write what they mean."},
	{"rich-text", skill.Error, refuses, "The SKILL.md is an RTF document.", "Save it as plain text."},
	{"script-crlf", skill.Warning, confuses, "The first line of a script ends in CR LF, so that it cannot start.", "Run \"skills doctor --fix\"."},
	{"script-not-executable", skill.Note, author, "A script is not executable.", "Run \"skills doctor --fix\"."},
	{"script-without-shebang", skill.Note, confuses, "An executable script does not say what runs it.", "Begin it with #! and the program that runs it."},
	{"second-frontmatter", skill.Error, confuses, "The body starts with another frontmatter, whose keys no client reads.", "Merge the two."},
	{"server-silent", skill.Warning, settings, "A server that the configuration names does not answer.", "Look whether it runs, and at its address."},
	{"shadowed", skill.Warning, refuses, "Another skill of the same name comes first.", "Remove or rename one of them."},
	{"shipped-binary", skill.Warning, dubious, "The skill ships a compiled program, which nobody can read.", "Ship its source, or name where it comes from."},
	{"signature-unchecked", skill.Note, author, "The skill has a signature of a kind that is not checked.", "Check it with the tool that it was made with."},
	{"similar-name", skill.Warning, misleads, "A name may be a misspelling of the name of a skill from another source.", "Make sure that you mean this one."},
	{"skill-at-top", skill.Note, confuses, "A skill lies at the top of a folder of skills.", "Move it into a folder of its own."},
	{"skill-file", skill.Note, place, "A file in a folder of skills has the frontmatter of a skill, but a skill is a folder.", "Move it to NAME/SKILL.md."},
	{"skill-in-skill", skill.Note, place, "A SKILL.md lies in the folder of another skill, so it is a part of that.", "Move its folder out, if it should be a skill of its own."},
	{"skill-md-case", skill.Note, place, "A file is nearly named SKILL.md; it is no skill.", "Rename it to SKILL.md."},
	{"stale", skill.Warning, breaks, "The catalog cannot be brought up to date.", "Make room, or make its folder writable."},
	{"state", skill.Warning, settings, "Nothing can be remembered between prompts.", "Make the folder writable, or set REPERTOIRE_STATE."},
	{"submodule", skill.Warning, confuses, "A submodule in the skill was not fetched, so its files are missing.", "Install the skill from the repository of the submodule too, or put the files into the skill."},
	{"symlink-placeholder", skill.Error, refuses, "The SKILL.md is a symbolic link that was checked out as text.", "Check the repository out with core.symlinks=true, or copy the file."},
	{"tar-header", skill.Error, refuses, "The SKILL.md is a header of a tar archive.", "Extract the archive with a tar that knows pax headers."},
	{"text-before-frontmatter", skill.Error, refuses, "The frontmatter does not start on the first line.", "Remove what stands before it."},
	{"too-deep", skill.Note, place, "There are folders too deep to be searched for skills.", "Move the skills up, or add their folder as a root."},
	{"too-many-bytes", skill.Note, author, "The files of the skill are larger than the limit.", "Leave out what the skill does not need."},
	{"too-many-files", skill.Note, confuses, "A skill has more than 512 files or folders; the rest is ignored.", "Ship fewer files."},
	{"too-many-folders", skill.Note, place, "A source has too many folders; the search ended early.", "Name a folder nearer to the skills as a root."},
	{"trigger-collision", skill.Warning, confuses, "Skills take each other's prompts.", "Say in each description what sets it apart."},
	{"trigger-pattern", skill.Warning, author, "A pattern of the triggers is ignored: it is malformed, too expensive, or fits nearly any prompt.", "Write a regular expression of RE2 that only fitting prompts match."},
	{"trigger-too-long", skill.Warning, author, "A trigger is too long and is ignored.", "Write the few words that prompts have."},
	{"triggers-too-many", skill.Warning, author, "The skill has more triggers than count.", "Keep those that people say."},
	{"triggers-unclear", skill.Warning, author, "It is unclear which words trigger the skill.", "Write one phrase in each entry of a list."},
	{"two-skill-files", skill.Warning, confuses, "A skill has SKILL.md and skill.md; SKILL.md is used.", "Remove one of the two."},
	{"unavailable", skill.Note, author, "A command or variable that the skill needs is missing, so it is not offered.", "Install or set it, or name it in requires.assume of the configuration."},
	{"unclosed-frontmatter", skill.Error, refuses, "The frontmatter is never closed.", "End it with a line ---."},
	{"uneven-indentation", skill.Error, strict, "Maps of one parent are not indented alike.", "Indent them alike."},
	{"unexpected-field", skill.Error, strict, "The specification has no such field.", "Put it under metadata."},
	{"unmet-requirement", skill.Warning, confuses, "A skill requires a skill that is not in the catalog.", "Add it, or correct the name."},
	{"unportable-name", skill.Warning, confuses, "A file has a name that not every system accepts; it is not served.", "Rename it."},
	{"unpublishable", skill.Note, author, "\"skills publish\" leaves the skill out: other programs could not read it, or would read it differently.", "Do as the message says, if you publish it."},
	{"unreachable", skill.Warning, hides, "The skill's own description does not find it.", "Say in the description what only this skill does."},
	{"unreadable", skill.Error, place, "A skill or a source cannot be read.", "Make it readable, or remove it."},
	{"unreadable-file", skill.Warning, confuses, "A file of a skill cannot be read.", "Make it readable."},
	{"unreadable-folder", skill.Warning, place, "A folder cannot be read; it may hold skills.", "Make it readable."},
	{"untrusted", skill.Warning, held, "A skill of a project waits until you trust it.", "Look at it and run \"skills trust\"."},
	{"unused-file", skill.Note, author, "Nothing in the skill mentions the file.", "Mention it or remove it."},
	{"utf-16", skill.Error, refuses, "A file is text in UTF-16, which clients and models cannot read.", "Save it as UTF-8."},
	{"yaml-alias", skill.Error, strict, "The reference validator allows no YAML aliases.", "Write the value out."},
	{"yaml-anchor", skill.Error, strict, "The reference validator allows no YAML anchors.", "Remove the anchor."},
	{"yaml-cut", skill.Error, confuses, "YAML leaves out a part of a text, such as the rest of a line after \" #\".", "Run \"skills doctor --fix\", which puts the text in quotes."},
	{"yaml-escape", skill.Error, strict, "YAML has no escape \\'.", "Write ' without the backslash."},
	{"yaml-flow", skill.Error, strict, "The reference validator allows no brackets and braces.", "Write lists and maps in lines."},
	{"yaml-repaired", skill.Error, confuses, "The frontmatter is malformed and was read as it was meant; other clients may refuse it.", "Write it as the message shows."},
	{"yaml-tab", skill.Error, strict, "There is a tab outside of quotes.", "Use blanks."},
	{"yaml-tag", skill.Error, strict, "The reference validator allows no YAML tags.", "Remove the tag; every value is text."},
}
