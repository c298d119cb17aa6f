//go:build peers

package web

import (
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
