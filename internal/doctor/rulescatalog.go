package doctor

import "github.com/repertoire-skills/repertoire/skill"

// needRules are about what skills need and whether they are offered.
func needRules() []Rule {
	return []Rule{
		{"changed", skill.Warning, "An installed skill is not as it was installed, so it is held back.", "Look at it with \"skills verify\"; update or install it again."},
		{"disabled", skill.Note, "A rule of the configuration disables the skill.", "Nothing, or \"skills enable\"."},
		{"needs-too-many", skill.Warning, "The skill needs more things of one kind than are read.", "Name only what it cannot work without."},
		{"needs-unclear", skill.Warning, "It is unclear what the skill requires.", "Write one name in each entry of a list."},
		{"policy", skill.Warning, "A rule that disables skills matches nothing.", "Correct or remove it."},
		{"requirement-cycle", skill.Warning, "Skills require each other.", "Let one of them stand alone."},
		{"unavailable", skill.Note, "A command or variable that the skill needs is missing, so it is not offered.", "Install or set it, or name it in requires.assume of the configuration."},
		{"untrusted", skill.Warning, "A skill of a project waits until you trust it.", "Look at it and run \"skills trust\"."},
	}
}

// contentRules are about the files of a skill and how prompts find it.
func contentRules() []Rule {
	return []Rule{
		{"broken-anchor", skill.Note, "A link leads to a heading that does not exist.", "Correct the link."},
		{"broken-link", skill.Warning, "A link leads to a file that the skill does not have.", "Correct the link or add the file."},
		{"copy", skill.Note, "Another skill has nearly the same text, and is offered instead.", "Remove one of them."},
		{"fetch-failed", skill.Warning, "A root from elsewhere could not be fetched; what it had is kept.", "Do as the message says."},
		{"fetch-refused", skill.Warning, "A fetched skill is unsafe to write, and is left out.", "Tell its author."},
		{"listing-cost", skill.Note, "Listing the skills costs a model many tokens at every prompt.", "Shorten the longest descriptions, or let the catalog list only what fits."},
		{"not-read", skill.Note, "Some files are too many or too large to be checked.", "Nothing, or make them smaller."},
		{"script-crlf", skill.Warning, "The first line of a script ends in CR LF, so that it cannot start.", "Run \"skills doctor --fix\"."},
		{"script-not-executable", skill.Note, "A script is not executable.", "Run \"skills doctor --fix\"."},
		{"script-without-shebang", skill.Note, "An executable script does not say what runs it.", "Begin it with #! and the program that runs it."},
		{"too-many-bytes", skill.Note, "The files of the skill are larger than the limit.", "Leave out what the skill does not need."},
		{"trigger-collision", skill.Warning, "Skills take each other's prompts.", "Say in each description what sets it apart."},
		{"trigger-pattern", skill.Warning, "A pattern of the triggers is ignored: it is malformed, too expensive, or fits nearly any prompt.", "Write a regular expression of RE2 that only fitting prompts match."},
		{"trigger-too-long", skill.Warning, "A trigger is too long and is ignored.", "Write the few words that prompts have."},
		{"triggers-too-many", skill.Warning, "The skill has more triggers than count.", "Keep those that people say."},
		{"triggers-unclear", skill.Warning, "It is unclear which words trigger the skill.", "Write one phrase in each entry of a list."},
		{"unreachable", skill.Warning, "The skill's own description does not find it.", "Say in the description what only this skill does."},
		{"unused-file", skill.Note, "Nothing in the skill mentions the file.", "Mention it or remove it."},
	}
}
