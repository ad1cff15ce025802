package inspect

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
	"github.com/repertoire-skills/repertoire/skill"
)

// minHidden is the least number of characters of a hidden text. Shorter runs of hidden
// characters are leftovers of editors, which package skill reports.
const minHidden = 4

// hiddenText reports the first run of hidden characters that spells a text. Each of them
// stands for a character, a byte or a bit. raw is the text as it is on disk.
func (in *inspection) hiddenText(name, raw string) {
	var run []rune
	start, before := 0, rune(0) // of the run: its position, and the character before it
	for at, r := range raw + "\n" {
		if r >= utf8.RuneSelf && isCarrier(r) {
			if run = append(run, r); len(run) == 1 {
				start = at
			}
			continue
		}
		if text := spelled(run); text != "" && !(before == blackFlag && isRegion(text)) {
			in.add(skill.Problem{Rule: "hidden-text", Severity: skill.Error, Path: name, Line: 1 + strings.Count(raw[:start], "\n"),
				Message: "characters that no reader sees spell a text for models: " + evidence(text),
				Hint:    "do not use the skill before you know who put it there"})
			return
		}
		run, before = run[:0], r
	}
}

// privateUse reports the first run of characters of private use: each font draws them
// differently, and what they mean to a model is not written anywhere. Single ones are
// symbols of fonts for terminals.
func (in *inspection) privateUse(name, raw string) {
	if !strings.Contains(raw, "\xEE") && !strings.Contains(raw, "\xEF") && !strings.Contains(raw, "\xF3") && !strings.Contains(raw, "\xF4") {
		return // their first bytes in UTF-8
	}
	if at := privateRun().FindStringIndex(raw); at != nil {
		in.add(skill.Problem{Rule: "private-use", Severity: skill.Warning, Path: name, Line: 1 + strings.Count(raw[:at[0]], "\n"),
			Message: fmt.Sprintf("%d characters of private use in a row, whose meaning nobody can look up", utf8.RuneCountInString(raw[at[0]:at[1]])),
			Hint:    "remove them, or write what they mean"})
	}
}

var privateRun = lazyregexp.New(`[\x{E000}-\x{F8FF}\x{F0000}-\x{FFFFD}\x{100000}-\x{10FFFD}]{4,}`)

// Flags of regions, such as England's, are spelled with a black flag and tag characters.
const blackFlag = '\U0001F3F4'

func isRegion(text string) bool { return len(text) <= 6 && strings.HasPrefix(text, "gb") }

func isTag(r rune) bool { return r >= 0xE0000 && r <= 0xE007F }
func isZeroWidth(r rune) bool {
	return r >= 0x200B && r <= 0x200F || r >= 0x2060 && r <= 0x2064 || r == 0xFEFF
}
func isSelector(r rune) bool { return r >= 0xFE00 && r <= 0xFE0F || r >= 0xE0100 && r <= 0xE01EF }

// isCarrier reports whether r is a hidden character with which texts are hidden.
func isCarrier(r rune) bool { return isTag(r) || isSelector(r) || isZeroWidth(r) }

// spelled returns the text that a run of hidden characters stands for, or "".
func spelled(run []rune) string {
	if len(run) < minHidden {
		return ""
	}
	var tags, bytes []byte
	var bits []rune
	for _, r := range run {
		switch {
		case isTag(r):
			tags = append(tags, byte(r-0xE0000))
		case isZeroWidth(r):
			bits = append(bits, r)
		case r <= 0xFE0F:
			bytes = append(bytes, byte(r-0xFE00))
		default:
			bytes = append(bytes, byte(r-0xE0100+16))
		}
	}
	for _, data := range [][]byte{tags, bytes, fromBits(bits, 0), fromBits(bits, 1)} {
		if text := string(data); isReadable(text) {
			return text
		}
	}
	return ""
}

// fromBits reads two different characters as bits, eight to a byte; the first
// of them stands for the bit first. It returns nil if there are other characters too.
func fromBits(bits []rune, first byte) []byte {
	kinds := slices.Compact(slices.Sorted(slices.Values(bits)))
	if len(kinds) != 2 {
		return nil
	}
	var data []byte
	for byteOf := range slices.Chunk(bits, 8) {
		var b byte
		for _, r := range byteOf {
			b <<= 1
			if (r == bits[0]) == (first == 1) {
				b |= 1
			}
		}
		data = append(data, b)
	}
	return data
}

// isReadable reports whether a text is long enough and nearly all of it can be printed.
func isReadable(text string) bool {
	printed, all := 0, 0
	for _, r := range text {
		if all++; r != utf8.RuneError && unicode.IsPrint(r) {
			printed++
		}
	}
	return printed >= minHidden && printed*10 >= all*9
}
