//go:build peers

package web

import (
	"errors"
	"slices"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"mcpc/internal/tests/chromium"
)

// openAsking opens the page of a view that asks at its terminal.
func openAsking(t *testing.T, c *consenting) *chromium.Page {
	t.Helper()
	s := start(t, Options{Reader: unrecorded{newDummy()}, Actor: c, Assets: assets(), Ask: c.ask})
	p := chromium.Share(t).Tab(t)
	p.Load(s.URL())
	p.Await(`document.querySelector('#filter')`)
	p.Await(`!location.hash.includes('t=')`)
	return p
}

// TestPeerConsent holds: an action that is not allowed asks at the terminal, goes on once it is allowed
// there, and shows a refusal. Nothing is asked before the user acts.
func TestPeerConsent(t *testing.T) {
	c := newConsenting()
	c.servers = homeServers()
	p := openAsking(t, c)
	p.Await(`document.querySelectorAll('.card').length === 5`)
	p.Await(`document.querySelector('.home .callout').textContent.includes('Check and Try ask there')`)
	if c.asks() != 0 {
		t.Errorf("the page asks by itself for %q", c.asked)
	}
	const dialog = `(document.querySelector('dialog[open]') || {}).textContent`
	p.Eval(`document.querySelectorAll('.card .main')[4].click()`, nil)
	p.Await(`String(` + dialog + `).includes('connect to servers, log in to them and call their tools')`)
	eventually(t, "the terminal is not asked", func() bool { return c.asks() == 1 })
	c.answer <- errors.New("refused at the terminal")
	p.Await(`document.querySelector('.offers [role=alert]').textContent.includes('refused at the terminal') && !document.querySelector('dialog')`)
	// Cancel leaves the dialog.
	p.Eval(`document.querySelector('.server button').click()`, nil)
	p.Await(dialog)
	p.Eval(`document.querySelector('dialog .end button').click()`, nil)
	p.Await(`!document.querySelector('dialog')`)
	p.Eval(`document.querySelector('.server button').click()`, nil)
	p.Await(dialog)
	eventually(t, "the terminal is not asked again", func() bool { return c.asks() == 3 })
	c.answer <- nil
	p.Await(`location.hash.includes('server=demo') && document.querySelector('.offers p.dim') && !document.querySelector('dialog')`)
	if !slices.Contains(c.deeds(), `["catalog","demo"]`) {
		t.Errorf("did %q", c.deeds())
	}
	p.Type("i") // another power; its dialog stays below the question
	p.Await(`document.querySelector('#hold')`)
	p.Eval(`document.querySelector('#hold').click()`, nil)
	p.Await(`document.querySelectorAll('dialog[open]').length === 2`)
	eventually(t, "holding does not ask", func() bool { return c.asks() == 4 && c.asked[3] == "intercept" })
	p.Type(kb.Escape)
	p.Await(`document.querySelectorAll('dialog[open]').length === 1 && document.querySelector('#hold')`)
}
