package poison

import (
	"strings"
	"sync"
)

// A stems is the set of lists of which a text has a stem.
type stems uint8

const (
	instructionStems stems = 1 << iota
	askStems
	orderStems
	urlStems
)

// An automaton finds all stems in one pass over a text of ASCII, whatever the case of its
// letters (Aho and Corasick, 1975). White space, and the escapes of JSON for it, count as one
// blank, as in a text that plain returned.
type automaton struct {
	// class numbers the bytes that stand in a stem; 0 stands for all others.
	class [256]uint8
	// next is the next state for each state and class.
	next [][stemClasses]uint16
	// found is what has been found in a state.
	found []stems
}

// stemClasses bounds the bytes that stand in stems.
const stemClasses = 48

// stemAutomaton is made of the stems of all phrases.
var stemAutomaton = sync.OnceValue(func() *automaton {
	a := &automaton{}
	a.grow()
	classes := uint8(0)
	for _, p := range []*phrases{&instructions, &asks, &ordering, &urls} {
		for _, stem := range p.stems {
			state := uint16(0)
			for i := range len(stem) {
				c := stem[i]
				if a.class[c] == 0 {
					classes++
					a.class[c] = classes
					a.class[strings.ToUpper(stem[i : i+1])[0]] = classes
				}
				if a.next[state][a.class[c]] == 0 {
					a.next[state][a.class[c]] = a.grow()
				}
				state = a.next[state][a.class[c]]
			}
			a.found[state] |= p.set
		}
	}
	for _, c := range "\t\n\v\f\r" {
		a.class[c] = a.class[' ']
	}
	a.link()
	return a
})

func (a *automaton) grow() uint16 {
	a.next, a.found = append(a.next, [stemClasses]uint16{}), append(a.found, 0)
	return uint16(len(a.next) - 1)
}

// link adds the transitions of each state that are those of the longest end of it that is a
// state, too: the states nearer to the start come first.
func (a *automaton) link() {
	var queue []uint16
	fail := make([]uint16, len(a.next))
	for _, state := range a.next[0] {
		if state != 0 {
			queue = append(queue, state)
		}
	}
	for len(queue) > 0 {
		state := queue[0]
		queue = queue[1:]
		a.found[state] |= a.found[fail[state]]
		for class, next := range a.next[state] {
			other := a.next[fail[state]][class]
			if next == 0 {
				a.next[state][class] = other
			} else {
				fail[next] = other
				queue = append(queue, next)
			}
		}
	}
}

// stemsIn returns the lists of which a text has a stem: all where it is not ASCII, since some
// letters beyond are the same as one of a stem to a pattern that ignores the case.
func stemsIn(text string) (found stems) {
	a, state := stemAutomaton(), uint16(0)
	for i := range len(text) {
		c := text[i]
		if c >= 0x80 {
			return ^stems(0)
		}
		state = a.next[state][a.class[c]]
		found |= a.found[state]
	}
	return found
}

// IsClean reports a definition of which Scan reports nothing, whatever the names of the server's tools
// are. Of most it is true, and it is much quicker.
func IsClean(definition []byte) bool { return surelyClean(definition, Names{}) }

// surelyClean reports a definition in which Scan finds nothing, without taking it apart: it is
// short, has no character that may be hidden, and none of the stems. White space between words
// counts as one blank, as plain writes it.
func surelyClean(definition []byte, own Names) bool {
	if len(definition) > MaxText {
		return false
	}
	return stemGrams().clearly(definition) || withoutStems(definition, own)
}

// withoutStems is surelyClean by one pass of the automaton.
func withoutStems(definition []byte, own Names) bool {
	a, state, blank, found := stemAutomaton(), uint16(0), false, stems(0)
	for i := 0; i < len(definition); i++ {
		c := definition[i]
		switch {
		case c >= 0x7f:
			return false
		case c == '\\':
			if i++; i == len(definition) {
				return false
			}
			switch c = definition[i]; c {
			case 'n', 't', 'r':
				c = ' '
			case '"', '\\':
			default:
				return false
			}
		}
		class := a.class[c]
		if class == a.class[' '] && blank {
			continue
		}
		blank = class == a.class[' ']
		state = a.next[state][class]
		found |= a.found[state]
	}
	return found&(instructionStems|askStems) == 0 && (found&orderStems == 0 || own == nil)
}
