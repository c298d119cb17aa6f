package jsonraw

import (
	"bytes"
	"slices"
	"testing"
)

// A Tape has what Object, Array and Text say of a value, and refuses what Valid refuses.
func FuzzTape(f *testing.F) {
	for _, seed := range []string{`{"a":[1,{"b":"c\n"},[]],"d":{},"a":null}`, ` [ true , "\u0061\ud800", -1.5e3 ] `, `{"\u0061":1}`, `"x"`, `{"a"`, `[1,]`, ``,
		`{"a":1}x`, "\"\xff\"", `{}`, `[]`, `{ "a" : 1 , "b" : [ ] }`} {
		f.Add([]byte(seed))
	}
	tape := &Tape{}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if ok, err := tape.Read(raw), Valid(raw); ok != (err == nil) {
			t.Fatalf("read %t, and %v", ok, err)
		} else if ok && compareTape(t, tape, 0, bytes.Trim(raw, WhiteSpace)) != len(tape.nodes) {
			t.Error("the tape has more nodes")
		}
	})
}

// compareTape compares the node i with the value that it stands for, and gives the number behind it.
func compareTape(t *testing.T, tape *Tape, i int, raw []byte) int {
	t.Helper()
	if !bytes.Equal(tape.Raw(i), raw) || tape.Kind(i) != raw[0] {
		t.Fatalf("node %d is %s, want %s", i, tape.Raw(i), raw)
	}
	next := i + 1
	switch raw[0] {
	case '{':
		members, _ := Object(raw)
		for _, m := range members {
			if !tape.Is(next, m.Name) || tape.Is(next, m.Name+"x") {
				t.Errorf("node %d is not the name %q", next, m.Name)
			}
			first := tape.Member(i, m.Name)
			if want, _ := members.Get(m.Name); !bytes.Equal(tape.Raw(first), want) {
				t.Errorf("the member %q is %s, want %s", m.Name, tape.Raw(first), want)
			}
			next = compareTape(t, tape, next+1, m.Value)
		}
		if absent := "no such member"; !slices.ContainsFunc(members, func(m Member) bool { return m.Name == absent }) && tape.Member(i, absent) != 0 {
			t.Error("a member that is not there was found")
		}
	case '[':
		items, _ := Array(raw)
		for _, item := range items {
			next = compareTape(t, tape, next, item)
		}
	case '"':
		if text, _ := Text(raw); !tape.Is(i, text) || tape.Node(i).Escaped != (bytes.IndexByte(raw, '\\') >= 0) {
			t.Errorf("node %d is not the text %q", i, text)
		}
	}
	if tape.Next(i) != next {
		t.Errorf("%d is behind node %d, want %d", tape.Next(i), i, next)
	}
	return next
}

// Reading values again and again needs no memory.
func TestTapeMemory(t *testing.T) {
	raw, tape := []byte(`{"a":[1,2,{"b":"c"}],"d":"e"}`), &Tape{}
	if n := testing.AllocsPerRun(100, func() { tape.Read(raw) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
