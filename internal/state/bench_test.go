package state

import (
	"fmt"
	"strings"
	"testing"
)

// benchStore returns a store with twenty sessions; the current session is "s0".
func benchStore(b *testing.B) (*Store, Session) {
	b.Helper()
	s := newStore(b)
	var sess Session
	update(b, s, func(st *State) error {
		for i := range 20 {
			put := st.Put(sample(fmt.Sprintf("s%d", i)))
			if i == 0 {
				sess = put
			}
		}
		st.SetCurrent("s0")
		return nil
	})
	return s, sess
}

func BenchmarkLoad(b *testing.B) {
	s, _ := benchStore(b)
	for b.Loop() {
		if _, err := s.Load(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoadOneSession(b *testing.B) {
	s := newStore(b)
	update(b, s, func(st *State) error { st.Put(sample("s")); return nil })
	for b.Loop() {
		if _, err := s.Load(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerdict(b *testing.B) {
	s := newStore(b)
	for i := range maxNegotiated {
		v := Verdict{Revision: "2025-11-25", Transport: "http", At: day(i)}
		if err := s.SaveVerdict(b.Context(), fmt.Sprint(i), v); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, ok := s.Verdict("7"); !ok {
			b.Fatal("no verdict")
		}
	}
}

func BenchmarkReserve(b *testing.B) {
	s, sess := benchStore(b)
	for b.Loop() {
		if _, err := s.Reserve(b.Context(), sess, 1); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWarmCall is what a warm `mcpc call` asks of the state: the session, the tool's
// definition (among 10,000), an id.
func BenchmarkWarmCall(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("tools=%d", n), func(b *testing.B) {
			s, sess := benchStore(b)
			if err := s.SaveTools(b.Context(), sess.Key, manyTools(n)); err != nil {
				b.Fatal(err)
			}
			name := fmt.Sprintf("tool-%d", n/2)
			for b.Loop() {
				st, err := s.Load()
				if err != nil {
					b.Fatal(err)
				}
				sess, _ := st.Session(st.Current())
				if tool, _, err := s.Tool(sess.Key, name); tool == nil || err != nil {
					b.Fatal(tool, err)
				}
				if _, err := s.Reserve(b.Context(), sess, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAllOf10000Tools(b *testing.B) {
	s, sess := benchStore(b)
	if err := s.SaveTools(b.Context(), sess.Key, manyTools(10_000)); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if l, err := s.Tools(sess.Key); err != nil || len(l.Tools) != 10_000 {
			b.Fatal(err)
		}
	}
}

func BenchmarkUpdate(b *testing.B) {
	s, sess := benchStore(b)
	for i := 0; b.Loop(); i++ {
		update(b, s, func(st *State) error {
			sess.Instructions = fmt.Sprint(i)
			st.Put(sess)
			return nil
		})
	}
}

// manyTools has n definitions of about a kilobyte each.
func manyTools(n int) ToolList {
	list := ToolList{FetchedAt: day(0)}
	for i := range n {
		name := fmt.Sprintf("tool-%d", i)
		raw := fmt.Sprintf(`{"name":%q, "description":%q}`, name, strings.Repeat("x", 1000))
		list.Tools = append(list.Tools, Tool{Name: name, Raw: []byte(raw)})
	}
	return list
}
