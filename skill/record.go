package skill

import (
	"encoding/binary"
	"errors"
)

// packed returns what Pack packs: everything that no store keeps in a column of its own. A
// new field goes to the end of its list, so that older records can still be read.
func (m *Meta) packed() (texts [packedTexts]*string, lists [packedLists]*[]string) {
	about, needs, triggers := m.About.texts(), m.Needs.Lists(), m.Triggers.Lists()
	texts[0], texts[1], lists[0] = &m.Description, &m.TextDigest, &m.Tags
	copy(texts[2:], about[:])
	copy(lists[1:], needs[:])
	copy(lists[1+len(needs):], triggers[:])
	lists[packedLists-1] = &m.Examples
	return texts, lists
}

// How many texts and lists packed returns. They are arrays, because a search unpacks records
// by the dozen.
const (
	packedTexts = 2 + aboutTexts
	packedLists = 1 + needsLists + triggerLists + 1
)

// MetaVersion returns the first byte of what Pack returns: how many texts and lists there
// are. A record with a lower version was packed before Meta had all of them.
func MetaVersion() byte { return packedTexts + packedLists }

// errRecord means that Pack did not make the bytes, or that of a newer version did.
var errRecord = errors.New("malformed record of a skill")

// Pack returns the fields of m as bytes, except for ID, Name, Source, Path, Location and
// Digest, by which stores search.
func (m *Meta) Pack() []byte {
	b := make([]byte, 0, 64+len(m.Description)+len(m.TextDigest)+len(m.Compatibility))
	texts, lists := m.packed()
	b = binary.AppendUvarint(append(b, MetaVersion()), uint64(m.Tokens))
	// The sets say which of the fields are not empty; most are.
	var textSet, listSet uint64
	for i, text := range texts {
		if *text != "" {
			textSet |= 1 << i
		}
	}
	for i, list := range lists {
		if len(*list) > 0 {
			listSet |= 1 << i
		}
	}
	b = binary.AppendUvarint(binary.AppendUvarint(b, textSet), listSet)
	for _, text := range texts {
		if *text != "" {
			b = appendText(b, *text)
		}
	}
	for _, list := range lists {
		if len(*list) > 0 {
			b = binary.AppendUvarint(b, uint64(len(*list)))
			for _, text := range *list {
				b = appendText(b, text)
			}
		}
	}
	return b
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// Unpack sets the fields that Pack packed. They share the memory of data. Fields that data
// does not have become empty.
func (m *Meta) Unpack(data string) error {
	texts, lists := m.packed()
	if data == "" || data[0] > MetaVersion() {
		return errRecord
	}
	r := recordReader{rest: data[1:]}
	tokens, textSet, listSet := r.number(), r.number(), r.number()
	for i, text := range texts {
		*text = ""
		if textSet>>i&1 == 1 {
			*text = r.text()
		}
	}
	for i, list := range lists {
		*list = nil
		if listSet>>i&1 == 1 {
			n := r.number()
			for ; n > 0 && !r.bad; n-- {
				*list = append(*list, r.text())
			}
		}
	}
	m.Tokens = int(tokens)
	if r.bad || r.rest != "" || textSet>>len(texts) != 0 || listSet>>len(lists) != 0 || m.Tokens < 0 {
		return errRecord
	}
	return nil
}

// A recordReader reads what Pack wrote. It is bad after it met other bytes.
type recordReader struct {
	rest string
	bad  bool
}

func (r *recordReader) number() uint64 {
	n, shift := uint64(0), 0
	for i := 0; i < len(r.rest) && shift < 63; i, shift = i+1, shift+7 {
		n |= uint64(r.rest[i]&0x7f) << shift
		if r.rest[i] < 0x80 {
			r.rest = r.rest[i+1:]
			return n
		}
	}
	r.bad, r.rest = true, ""
	return 0
}

func (r *recordReader) text() string {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.bad, r.rest = true, ""
		return ""
	}
	text := r.rest[:n]
	r.rest = r.rest[n:]
	return text
}
