package tui

import (
	"fmt"
	"testing"

	tea "charm.land/bubbletea/v2"
)

// BenchmarkKey measures a key, and the screen that follows it, with 100,000 rows.
func BenchmarkKey(b *testing.B) {
	for n := range viewTime {
		b.Run(viewNames[n], func(b *testing.B) {
			r := newReader()
			r.many = 100_000
			m := newModel(b.Context(), Options{Reader: r, Now: testNow})
			m.Update(tea.WindowSizeMsg{Width: 200, Height: 60})
			m.view = n
			answerAll := func(cmd tea.Cmd) {
				if cmd != nil {
					if a, ok := cmd().(readResult); ok {
						m.applyResult(a)
					}
				}
			}
			answerAll(m.loadList(true))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				m.Update(keyOf("k"))
				answerAll(m.loadList(true))
				if m.frame() == "" {
					b.Fatal(fmt.Sprint("nothing at ", i))
				}
			}
		})
	}
}
