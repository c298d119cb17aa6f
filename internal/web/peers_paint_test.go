//go:build peers

package web

import (
	"strings"
	"testing"

	"mcpc/internal/web/webtest"
)

// painted is true when every line that can be seen of the list has an exchange, and lines fill the window.
const painted = `(() => {
	const list = document.querySelector('.list'), box = list.getBoundingClientRect(), rows = [...list.querySelectorAll('.row:not(.head)')];
	const seen = rows.map(r => [r.getBoundingClientRect(), r.textContent.trim()]).filter(([r]) => r.bottom > box.top + 24 && r.top < box.bottom - 2);
	return seen.length >= Math.floor((list.clientHeight - 24) / 20) && seen.every(([, text]) => text);
})()`

// TestPeerRowsArePainted holds: another order or filter shows rows, from the first on.
func TestPeerRowsArePainted(t *testing.T) {
	r := newDummy()
	r.rows = 570
	p, _ := open(t, webtest.Start(t), r, nil)
	following := func(view string) {
		t.Helper()
		p.Keys(view + "CG")
		p.Await(`document.querySelector('.list').scrollTop > 9000 && [...document.querySelectorAll('.act')].some(b => b.textContent.startsWith('Following'))`)
		p.Await(painted)
	}
	head := func(word string) {
		t.Helper()
		p.Eval(`[...document.querySelectorAll('[role=columnheader] button')].find(b => b.textContent.startsWith('`+word+`')).click()`, nil)
		p.Await(`location.hash.includes('s=') && document.querySelector('[aria-sort]')`)
		p.Await(settled)
	}
	following("2")
	head("took")
	p.Await(painted)
	p.Await(`document.querySelector('.list').scrollTop === 0`)
	following("1")
	p.Keys("/")
	p.Await(`document.activeElement.id === 'filter'`)
	p.Keys("plain\r")
	p.Await(`location.hash.includes('f=plain')`)
	p.Await(painted)
}

// TestPeerNewAddress holds: another address that is pasted into a tab lets it in, and a page without
// its server says so.
func TestPeerNewAddress(t *testing.T) {
	b := webtest.Start(t)
	p, s := open(t, b, newDummy(), nil)
	paste := func(p *webtest.Page) {
		t.Helper()
		_, fragment, _ := strings.Cut(s.URL(), "#")
		p.Eval(`void (window.old = true, location.hash = '`+fragment+`&v=table')`, nil)
		p.Await(`!window.old && document.querySelector('#filter') && location.hash === '#v=table'`)
		p.Await(`document.querySelector('[aria-current=page]').textContent.includes('Table') && document.querySelectorAll('.row').length > 5`)
	}
	paste(p)
	second := b.Tab(t)
	second.Go(s.base + "/")
	second.Await(`document.body.innerText.includes('Enter at the terminal of mcpc prints a new one')`)
	paste(second)

	s.stop() // the second tab is in front, and is drawn
	second.Await(`document.querySelector('.lost') && document.querySelector('.counts').textContent.startsWith('● not connected') && !document.querySelector('.counts .live')`)
	second.Keys("/")
	second.Await(`document.activeElement.id === 'filter'`)
	second.Keys("nothing\r")
	second.Await(`document.querySelector('.toast.bad') && document.querySelector('.toast').textContent.startsWith('The connection to mcpc is lost.')`)
	if second.Text(`document.body.innerText.includes('Nothing fits')`) == "true" {
		t.Error("the page says that nothing fits")
	}
}
