package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Most of what crosses is short and has nothing unusual about it, and comes in
// numbers: a hundred thousand notifications before one result. A tokenizer that
// is ready for everything costs several times what such a message needs.

// What is plain: not long, not deep, without the escapes that may stand for half
// a character, and right in every byte. Of all else plain says no, and why is for
// the tokenizer to say. FuzzPlain holds that the two never differ.
const (
	// shortMessage, in bytes, holds fewer members and items than are noted, and
	// is not searched for members that stand twice.
	shortMessage = 1 << 10
	plainLength  = 64 << 10
	plainDepth   = 32
)

// plainEnvelope is envelope for a plain and short message.
func plainEnvelope(raw []byte, in *noted, room Members) (members Members, ok bool) {
	if len(raw) >= shortMessage {
		return nil, false
	}
	p := plain{raw: raw}
	asked := 0
	members = room[:0]
	ok = p.object(func(name []byte) bool {
		payload := string(name) == "params" || string(name) == "result"
		if payload {
			asked++
		}
		from, fine := p.at, false
		if payload && asked == 1 && p.is('{') {
			in.known, in.members = true, in.few[:0]
			fine = p.object(func(name []byte) bool { return p.note(in, name) })
		} else {
			fine = p.value(1)
		}
		members = append(members, p.member(name, from))
		return fine
	})
	if !ok || !p.ended() {
		*in = noted{}
		return nil, false
	}
	in.known = in.known && asked == 1
	return members, true
}

// plainMembers is eachMember for a plain object; false where it is none.
func plainMembers(raw []byte, f func(i int, name string, from, to int) bool) bool {
	if len(raw) > plainLength {
		return false
	}
	p := plain{raw: raw}
	i, enough := 0, false
	whole := p.object(func(name []byte) bool {
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
	p := plain{raw: raw}
	ok = p.list('[', ']', func() bool {
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

// plain reads plain JSON. Where it says no, at stands anywhere.
type plain struct {
	raw []byte
	at  int
	// utf8 is set once raw is known to be in it.
	utf8 bool
}

// ended reports that nothing but white space follows.
func (p *plain) ended() bool {
	p.space()
	return p.at == len(p.raw)
}

// note reads one member under params or result.
func (p *plain) note(in *noted, name []byte) bool {
	from, fine := p.at, false
	if p.is('[') {
		var items []json.RawMessage
		fine = p.list('[', ']', func() bool {
			start := p.at
			fine := p.value(3)
			items = append(items, p.raw[start:p.at:p.at])
			return fine
		})
		in.lists, in.at = append(in.lists, items), append(in.at, len(in.members))
	} else {
		fine = p.value(2)
	}
	in.members = append(in.members, p.member(name, from))
	return fine
}

func (p *plain) member(name []byte, from int) Member {
	return Member{Name: nameOf(name), Value: p.raw[from:p.at:p.at]}
}

// object reads an object; each reads the value of the member with that name, and
// begins at it.
func (p *plain) object(each func(name []byte) bool) bool {
	return p.list('{', '}', func() bool {
		name, escaped, ok := p.text()
		if !ok || escaped || !p.take(':') {
			return false
		}
		p.space()
		return each(name)
	})
}

// list reads what stands between two brackets; each reads one item.
func (p *plain) list(opens, closes byte, each func() bool) bool {
	if !p.take(opens) {
		return false
	}
	if p.take(closes) {
		return true
	}
	for {
		p.space()
		if !each() {
			return false
		}
		if p.take(closes) {
			return true
		}
		if !p.take(',') {
			return false
		}
	}
}

// value reads any value; depth counts what is open around it.
func (p *plain) value(depth int) bool {
	if p.at >= len(p.raw) || depth >= plainDepth {
		return false
	}
	switch c := p.raw[p.at]; c {
	case '"':
		_, _, ok := p.text()
		return ok
	case '{':
		return p.object(func([]byte) bool { return p.value(depth + 1) })
	case '[':
		return p.list('[', ']', func() bool { return p.value(depth + 1) })
	case 't':
		return p.word("true")
	case 'f':
		return p.word("false")
	case 'n':
		return p.word("null")
	default:
		return p.number()
	}
}

// text reads a string; inner stands between its quotes, and for itself unless it
// is escaped.
func (p *plain) text() (inner []byte, escaped, ok bool) {
	if !p.is('"') {
		return nil, false, false
	}
	from := p.at + 1
	for i := from; i < len(p.raw); i++ {
		switch c := p.raw[i]; {
		case c == '"':
			p.at = i + 1
			return p.raw[from:i], escaped, true
		case c == '\\':
			if i++; i == len(p.raw) || strings.IndexByte(`"\/bfnrt`, p.raw[i]) < 0 {
				return nil, false, false
			}
			escaped = true
		case c < ' ':
			return nil, false, false
		case c >= utf8.RuneSelf && !p.utf8:
			if p.utf8 = utf8.Valid(p.raw); !p.utf8 {
				return nil, false, false
			}
		}
	}
	return nil, false, false
}

// number reads what RFC 8259, section 6 calls one.
func (p *plain) number() bool {
	if p.is('-') {
		p.at++
	}
	if p.is('0') {
		p.at++
	} else if !p.digits() {
		return false
	}
	if p.is('.') {
		if p.at++; !p.digits() {
			return false
		}
	}
	if p.is('e') || p.is('E') {
		if p.at++; p.is('+') || p.is('-') {
			p.at++
		}
		return p.digits()
	}
	return true
}

func (p *plain) digits() bool {
	from := p.at
	for p.at < len(p.raw) && p.raw[p.at] >= '0' && p.raw[p.at] <= '9' {
		p.at++
	}
	return p.at > from
}

func (p *plain) word(w string) bool {
	if !bytes.HasPrefix(p.raw[p.at:], []byte(w)) {
		return false
	}
	p.at += len(w)
	return true
}

func (p *plain) is(c byte) bool { return p.at < len(p.raw) && p.raw[p.at] == c }

// take reads one character, and the white space before it.
func (p *plain) take(c byte) bool {
	p.space()
	if !p.is(c) {
		return false
	}
	p.at++
	return true
}

func (p *plain) space() {
	for p.at < len(p.raw) && (p.raw[p.at] == ' ' || p.raw[p.at] == '\n' || p.raw[p.at] == '\t' || p.raw[p.at] == '\r') {
		p.at++
	}
}
