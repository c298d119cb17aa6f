package wire

import "encoding/json"

// Most of what crosses has nothing unusual about it, and comes in numbers: a hundred
// thousand notifications before one result. A tokenizer that is ready for everything
// costs several times what such a message needs.

// What is plain: not too long, not deep, without names that have escapes and without half a
// character, and right in every byte. Of all else plain says no, and why is for
// the tokenizer to say. FuzzPlain holds that the two never differ.
const (
	plainLength  = 256 << 10 // of longer parts the tokenizer is as quick
	plainMessage = 1 << 30
	plainDepth   = 32
	// mostNames is how many names of open objects are compared with the next one.
	mostNames = 32
)

// plainEnvelope is envelope for a plain message.
func plainEnvelope(raw []byte, in *noted, room Members) (members Members, ok bool) {
	if len(raw) > plainMessage {
		return nil, false
	}
	p := plain{raw: raw, bare: &bareASCII}
	asked := 0
	members = room[:0]
	p.next()
	ok = p.object(0, func(name []byte) bool {
		payload := string(name) == "params" || string(name) == "result"
		if payload {
			asked++
		}
		from, fine := p.at, false
		if payload && asked == 1 && p.is('{') {
			in.known, in.members = true, in.few[:0]
			fine = p.object(1, func(name []byte) bool { return p.note(in, name) })
		} else {
			fine = p.value(1)
		}
		members = append(members, p.member(name, from))
		return fine && len(members) <= maxParts
	})
	if !ok || !p.ended() {
		*in = noted{}
		return nil, false
	}
	in.known = in.known && asked == 1
	in.single = !p.twice
	return members, true
}

// plainMembers is eachMember for a plain object; false where it is none.
func plainMembers(raw []byte, f func(i int, name string, from, to int) bool) bool {
	if len(raw) > plainLength {
		return false
	}
	p := plain{raw: raw, bare: &bareASCII, twice: true}
	i, enough := 0, false
	p.next()
	whole := p.object(0, func(name []byte) bool {
		from := p.at
		if !p.value(1) {
			return false
		}
		enough = !f(i, nameOf(name), from, p.at)
		i++
		return !enough
	})
	return enough || whole && p.ended()
}

// plainItems is array for a plain one with at most so many items.
func plainItems(raw []byte, most int) (items []json.RawMessage, ok bool) {
	if len(raw) > plainLength {
		return nil, false
	}
	p := plain{raw: raw, bare: &bareASCII, twice: true}
	p.next()
	ok = p.array(0, func() bool {
		from := p.at
		fine := p.value(1)
		items = append(items, raw[from:p.at:p.at])
		return fine && len(items) <= most
	})
	if !ok || !p.ended() {
		return nil, false
	}
	return items, true
}

// plainValue reports one plain value.
func plainValue(raw []byte) bool {
	if len(raw) > plainLength {
		return false
	}
	p := plain{raw: raw, bare: &bareASCII, twice: true}
	p.next()
	return p.value(0) && p.ended()
}

// isBare reports text that stands for itself in a string, and has no other letters than
// those of ASCII.
func isBare(s string) bool {
	for i := range len(s) {
		if !bareASCII[s[i]] {
			return false
		}
	}
	return true
}
