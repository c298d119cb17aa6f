//go:build peers

package web

import (
	"strings"
	"testing"
	"testing/fstest"

	"mcpc/internal/tests/chromium"
)

func TestMain(m *testing.M) { chromium.Main(m) }

// TestPeerLooks shows that the looks of this file see faults.
func TestPeerLooks(t *testing.T) {
	b := chromium.Share(t)
	s := start(t, Options{Assets: fstest.MapFS{
		"index.html": {Data: []byte(`<!DOCTYPE html><title>x</title><link rel="icon" href="i.svg"><p style="color:red">x</p><img src="http://127.0.0.1:1/x.png"><script src="a.js"></script>`)},
		"a.js":       {Data: []byte(`console.error("oh"); try { document.body.innerHTML = "<b>" } catch { setTimeout(() => { throw new Error("ah") }) }`)}, "i.svg": {Data: []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`)},
	}})
	p := b.Tab(t)
	p.Load(s.base + "/")
	for _, want := range []string{`console [`, "oh", "ah", `policy "style-src-attr`, `policy "img-src`, `policy "require-trusted-types-for`} {
		eventually(t, "no fault "+want, func() bool { return strings.Contains(strings.Join(p.Faults(), "\n"), want) })
	}
	if others := p.RequestedElsewhere(strings.TrimPrefix(s.base, "http://")); len(others) != 0 && len(others) != 1 {
		t.Errorf("asked for %q", others)
	}
}
