package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"unicode/utf8"
)

// plain reads plain JSON. Where it says no, at stands anywhere.
type plain struct {
	raw []byte
	at  int
	// bare are the bytes that stand for themselves in a string: more of them once raw
	// is known to be in UTF-8.
	bare *[256]bool
	// names are those of the objects that are open, as far as they were read.
	names [mostNames]place
	named int
	// twice is set once a member stands twice in its object, or may: then nobody looks
	// any more.
	twice bool
}

// A place is where a name stands.
type place struct{ from, to int32 }

var bareASCII, bareUTF8 = bareBelow(utf8.RuneSelf), bareBelow(256)

func bareBelow(end int) (bare [256]bool) {
	for c := ' '; int(c) < end; c++ {
		bare[c] = c != '"' && c != '\\'
	}
	return bare
}

// ended reports that nothing but white space follows.
func (p *plain) ended() bool {
	p.next()
	return p.at == len(p.raw)
}

// note reads one member under params or result.
func (p *plain) note(in *noted, name []byte) bool {
	from, fine := p.at, false
	var items []json.RawMessage
	whole := p.is('[')
	if whole {
		fine = p.array(2, func() bool {
			start := p.at
			fine := p.value(3)
			if whole = whole && len(items) < maxNoted; whole {
				items = append(items, p.raw[start:p.at:p.at])
			}
			return fine
		})
	} else {
		fine = p.value(2)
	}
	in.add(p.member(name, from), items, whole)
	return fine
}

func (p *plain) member(name []byte, from int) Member {
	return Member{Name: nameOf(name), Value: p.raw[from:p.at:p.at]}
}

// object reads an object; each reads the value of the member with that name, and
// begins at it. Where each is nil any value will do.
func (p *plain) object(depth int, each func(name []byte) bool) bool {
	if !p.is('{') {
		return false
	}
	p.at++
	outer := p.named
	for c := p.next(); c != '}'; c = p.next() {
		from := p.at + 1
		escaped, ok := p.text()
		if !ok || escaped {
			return false
		}
		to := p.at - 1
		p.name(outer, from, to)
		if p.next() != ':' {
			return false
		}
		p.at++
		p.next()
		if each != nil {
			ok = each(p.raw[from:to])
		} else {
			ok = p.value(depth + 1)
		}
		if !ok || !p.goesOn('}') {
			return false
		}
	}
	p.at++
	p.named = outer
	return true
}

// name notes a name of the innermost open object, whose names stand behind those of
// the outer ones.
func (p *plain) name(outer, from, to int) {
	if p.twice {
		return
	}
	name := p.raw[from:to]
	for _, other := range p.names[outer:p.named] {
		if int(other.to-other.from) == len(name) && string(p.raw[other.from:other.to]) == string(name) {
			p.twice = true
			return
		}
	}
	if p.twice = p.named == mostNames; !p.twice {
		p.names[p.named] = place{int32(from), int32(to)}
		p.named++
	}
}

// array reads an array; each reads one item. Where each is nil any value will do.
func (p *plain) array(depth int, each func() bool) bool {
	if !p.is('[') {
		return false
	}
	p.at++
	for c := p.next(); c != ']'; c = p.next() {
		ok := false
		if each != nil {
			ok = each()
		} else {
			ok = p.value(depth + 1)
		}
		if !ok || !p.goesOn(']') {
			return false
		}
	}
	p.at++
	return true
}

// goesOn reads the comma behind a member or an item. It stops before the bracket that
// closes them; no such bracket may follow a comma.
func (p *plain) goesOn(closes byte) bool {
	switch p.next() {
	case closes:
		return true
	case ',':
		p.at++
		return p.next() != closes
	}
	return false
}

// value reads any value; depth counts what is open around it.
func (p *plain) value(depth int) bool {
	if p.at >= len(p.raw) || depth >= plainDepth {
		return false
	}
	switch c := p.raw[p.at]; c {
	case '"':
		_, ok := p.text()
		return ok
	case '{':
		return p.object(depth, nil)
	case '[':
		return p.array(depth, nil)
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

// text reads a string. Unless it is escaped, what is between its quotes stands for
// itself.
func (p *plain) text() (escaped, ok bool) {
	if !p.is('"') {
		return false, false
	}
	raw, i := p.raw, p.at+1
	for {
		i += bareRun(raw[i:])
		for i < len(raw) && p.bare[raw[i]] {
			i++
		}
		if i == len(raw) {
			return false, false
		}
		switch c := raw[i]; {
		case c == '"':
			p.at = i + 1
			return escaped, true
		case c == '\\':
			size := 2
			switch raw[min(i+1, len(raw)-1)] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			default:
				_, size = escapedCharacter(raw[i:])
			}
			if size == 0 || i+size > len(raw) {
				return false, false
			}
			i += size
			escaped = true
		case c >= utf8.RuneSelf && utf8.Valid(raw):
			p.bare = &bareUTF8
		default:
			return false, false
		}
	}
}

// bareRun gives how many bytes of b at least stand for themselves in a string, eight
// at a time.
func bareRun(b []byte) (n int) {
	const each, high = 0x0101010101010101, 0x8080808080808080
	for ; len(b) >= n+8; n += 8 {
		x := binary.LittleEndian.Uint64(b[n:])
		quote, slash := x^('"'*each), x^('\\'*each)
		// In each line the highest bit of a byte is set if the byte is 0 after the first
		// operation, or below a blank: of the lowest one set that is so, and above it
		// bits may be set that mean nothing.
		odd := (quote-each)&^quote | (slash-each)&^slash | (x-' '*each)&^x | x
		if odd &= high; odd != 0 {
			return n + bits.TrailingZeros64(odd)/8
		}
	}
	return n
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

// next goes to the next byte that is no white space and gives it; 0 at the end.
func (p *plain) next() byte {
	for ; p.at < len(p.raw); p.at++ {
		if c := p.raw[p.at]; c > ' ' || c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c
		}
	}
	return 0
}
