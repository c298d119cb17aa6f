//go:build peers

package web

import (
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"mcpc/internal/live/view"
	"mcpc/internal/tests/chromium"
)

// waiting is an Actor with a question, two held messages and a fault.
type waiting struct{ *fakeActor }

func (waiting) Questions() []view.Question {
	return []view.Question{{ID: "q1", Server: "tea <b>", Method: "elicitation/create", Message: "Which tea?", Schema: []byte(
		`{"type":"object","properties":{"tea":{"type":"string"}}}`,
	)}}
}

func (waiting) Held() []view.Held {
	until := time.Now().Add(9*time.Minute + 30*time.Second)
	held := view.Held{ID: "h1", Client: "app", Server: "tea", Dir: "sent", Method: "tools/call", Name: "brew", Text: "{}", Until: until}
	later := held
	later.ID = "h2"
	later.Until = until.Add(time.Minute)
	return []view.Held{later, held}
}

// expecting is a Reader of a view in which something waits, with the conversations of growing.
type expecting struct{ growing }

func (e expecting) Status() view.Status {
	s := e.growing.Status()
	s.Intercept, s.Held, s.Questions, s.Faults, s.Wanted, s.Title = true, 2, 1, 1, "", "tea"
	return s
}

// TestPeerBar holds: the bar counts what waits and opens it by keys, a question of the view's own call
// opens by itself, what was typed is kept, and the title of the page has the count.
func TestPeerBar(t *testing.T) {
	r := newDummy()
	r.waits = 1
	talks := 1
	g := expecting{newGrowing(r, &talks)}
	a := waiting{&fakeActor{powers: allPowers, faults: []view.ArmedFault{
		{ID: "7:1", Kind: "delay", Name: "delay the response by 5 s", Request: "tools/call brew"},
		{ID: "7:2", Kind: "cut", Name: "cut the response", Request: "ping"},
	}}}
	p, _ := open(t, chromium.Share(t), g, a)
	bar := func(text string) string {
		return `document.querySelector('.bar.waits').textContent.includes(` + string(quoted(text)) + `)`
	}
	p.Await(bar("? 1 question: tea <b> asks"))
	p.Await(bar("Holding every message: 2 messages held"))
	p.Await(bar("first: 9:2"))
	p.Await(bar("2 faults set: delay tools/call brew, cut ping"))
	p.Await(`document.title.startsWith('(3) tea')`)
	const shown = `[...document.querySelectorAll('.waiting .ask')].filter(e => e.checkVisibility()).map(e => e.querySelector('h2').textContent.slice(0, 6)).join()`
	// The question is of a call of this view, so its form opens by itself.
	p.Await(`document.activeElement.matches('#questions .field input') && ` + shown + ` === '? tea '`)
	p.Type("green" + kb.Escape + kb.Escape)
	p.Await(shown + ` === ''`)
	p.Type("e")
	p.Await(`document.activeElement.id === 'held-text' && ` + shown + ` === '‖ Held,‖ Held'`)
	p.Type(kb.Escape + "a")
	p.Await(`document.querySelector('.waiting .field input').value === 'green' && ` + shown + ` === '? tea '`)
	p.Type(kb.Escape + "B")
	p.Await(`(document.querySelector('dialog[open]') || {}).textContent?.includes('delay the response by 5 s, for the next tools/call brew')`)
	p.Type("2")
	eventually(t, "the fault is not removed", func() bool {
		return slices.Contains(a.deeds(), `["fault",{"kind":"","method":"","name":"","target":"","key":"","id":"7:2"}]`)
	})
	p.Await(`!document.querySelector('dialog')`)
	p.Type("g") // an older row: new conversations are not shown by themselves
	p.Await(`!document.querySelector('.buttons').textContent.includes('Following')`)
	g.begin()
	g.begin()
	p.Await(bar("● 2 new conversations"))
	p.Type("w")
	p.Await(`location.hash.includes('c=1.2') && ` + bar("● 1 new conversation"))
	p.Type("w")
	p.Await(`location.hash.includes('c=1.3') && !` + bar("new conversation"))
}
