//go:build peers

package web

import (
	"slices"
	"strings"
	"testing"

	"mcpc/internal/live"
	"mcpc/internal/live/view"
	"mcpc/internal/tests/chromium"
)

// unrecorded is a Reader of a view in which nothing is recorded.
type unrecorded struct{ *dummy }

// Conversations returns none until an exchange is recorded.
func (u unrecorded) Conversations() []view.Conversation {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.seq == 1 {
		return nil
	}
	return []view.Conversation{{ID: "1.1", Client: "app", By: "tap", First: true}}
}

func (u unrecorded) Status() view.Status {
	u.mu.Lock()
	defer u.mu.Unlock()
	return view.Status{Status: live.Status{Seq: u.seq}, Home: true}
}

// homeServers returns servers in several states.
func homeServers() []view.Server {
	tools := 24
	seconds := 0.386
	list := view.ServerCommand{Key: "c", Name: "Copy", Line: "mcpc list -s cursor:box"}
	tap := view.ServerCommand{Key: "p", Name: "Tap", Line: "mcpc tap install cursor box"}
	login := view.ServerCommand{Key: "l", Name: "Log in", Line: "mcpc login -s github"}
	return []view.Server{
		{
			Name: "cursor:box", From: "Cursor", Commands: []view.ServerCommand{list, tap},
			Health: view.Health{State: "ok", Text: "ok", Revision: "2025-11-25", Tools: &tools, Seconds: &seconds},
		},
		{
			Name: "github", From: "session", Commands: []view.ServerCommand{list, login},
			Health: view.Health{State: "needs login", Failed: true, Text: "needs login: HTTP 401 Unauthorized", Help: "mcpc login -s github"},
		},
		{
			Name: "claude-code:old", From: "Claude Code (project)", Commands: []view.ServerCommand{list},
			Health: view.Health{State: "not trusted", Failed: true, Text: "not trusted", Help: "mcpc servers trust claude-code:old"},
		},
		{Name: "codex:slow", From: "Codex", Commands: []view.ServerCommand{list}, Health: view.Health{Asking: true}},
		{Name: "demo", From: "part of mcpc", Commands: []view.ServerCommand{list}},
	}
}

// TestPeerHome holds: a page without recordings begins with the servers, asks them if it may, and
// tries the selected server by keys.
func TestPeerHome(t *testing.T) {
	b := chromium.Share(t)
	servers := homeServers()
	servers[0].Health = view.Health{}
	a := &fakeActor{powers: allPowers, servers: slices.Concat(servers[:1], servers[4:])}
	p, _ := open(t, b, unrecorded{newDummy()}, a)
	p.Await(`document.querySelectorAll('.card').length === 2 && document.querySelector('.card.on')`)
	eventually(t, "the servers are not asked", func() bool { return slices.Contains(a.deeds(), `["check"]`) })
	p.Type("jy")
	p.Await(`document.querySelector('dialog[open]').textContent.includes('mcpc list -s cursor:box')`)
	p.Eval(`document.querySelector('dialog[open] header button').click()`, nil)
	p.Await(`!document.querySelector('dialog')`)
	p.Type("t")
	p.Await(`location.hash.includes('v=try') && location.hash.includes('server=demo')`)
	p.Type("A")
	p.Await(`document.activeElement.id === 'add'`)
	p.Type("http://127.0.0.1:1/mcp\r")
	p.Await(`location.hash.includes('127.0.0.1')`)
	if got, want := a.deeds()[1:], []string{`["catalog","demo"]`, `["catalog","http://127.0.0.1:1/mcp"]`}; !slices.Equal(got, want) {
		t.Errorf("did %q, want %q", got, want)
	}
}

// TestPeerHomeReads holds: a page that may only read shows the servers, asks none, and says why.
func TestPeerHomeReads(t *testing.T) {
	a := &fakeActor{servers: homeServers()}
	p, _ := open(t, chromium.Share(t), unrecorded{newDummy()}, a)
	p.Await(`document.querySelectorAll('.card').length === 5`)
	p.Await(`document.querySelector('.home .callout').textContent.includes('start it with mcpc inspect --web --allow call,resend,intercept')`)
	p.Type("R")
	p.Await(`document.querySelector('.toast.bad').textContent.includes('--allow call,')`)
	p.Eval(`document.querySelector('.card .main').click()`, nil)
	p.Await(`document.querySelector('.toast.bad').textContent.startsWith('Try')`)
	if did := strings.Join(a.deeds(), ""); did != "" {
		t.Errorf("the page did %s", did)
	}
}

// TestPeerHomeIsLeft holds: a page that began with Home shows the first client that begins, but not
// after the user did something.
func TestPeerHomeIsLeft(t *testing.T) {
	for key, want := range map[string]string{"": "Talk", "j": "Home"} {
		r := newDummy()
		p, _ := open(t, chromium.Share(t), unrecorded{r}, &fakeActor{servers: homeServers()})
		p.Await(`document.querySelectorAll('.card').length === 5`)
		p.Type(key)
		r.change()
		p.Await(`document.querySelectorAll('.talk-entry').length === 2`)
		p.Await(settled)
		if got := p.Text(`document.querySelector('.views [aria-current]').textContent`); !strings.Contains(got, want) {
			t.Errorf("after %q the page shows %s, want %s", key, got, want)
		}
	}
}
