package tui

import (
	"strings"
	"testing"
	"time"
)

// unrecorded returns a reader without exchanges.
func unrecorded() *reader {
	r := newReader()
	r.blocks = nil
	r.talks = nil
	return r
}

func TestViewWithoutRowsBeginsWithHome(t *testing.T) {
	a := newActor()
	play(t, 120, 24, unrecorded(), a, func(p *player) {
		p.shows("cursor:files", "needs login", "asking…", "mcpc tap install cursor files")
		if got := a.done(); got != "check" {
			t.Errorf("did %q, want one check", got)
		}
		p.keys("j")
		p.shows("needs login: HTTP 401", "helps: mcpc login -s github")
		p.keys("y")
		p.shows("l  Log in", "h  What helps")
		p.keys("l")
		p.shows("copied")
	})
	play(t, 120, 24, nil, newActor(), func(p *player) { p.hides("cursor:files") })
}

func TestTryShowsWhatServerOffers(t *testing.T) {
	a := newActor()
	play(t, 120, 24, nil, a, func(p *player) {
		p.keys("H", "j", "t")
		p.shows("connection refused", "needs login")
		p.keys("k", "enter")
		p.shows("Git Hub 2.1", "2026-07-28", "create_issue", "Prompts")
		p.keys("H", "A").types("demo").keys("enter")
		p.shows("Git Hub 2.1")
		p.keys("H", "R")
		p.shows("needs login")
		want := "check\ncatalog github\ncatalog cursor:files\ncatalog demo\ncheck"
		if got := a.done(); got != want {
			t.Errorf("did %q, want %q", got, want)
		}
	})
}

func TestViewWithoutActorHasNoHome(t *testing.T) {
	play(t, 120, 24, unrecorded(), nil, func(p *player) {
		p.keys("H")
		p.shows("mcpc inspect without a FILE has Home")
		p.keys("R")
		if strings.Contains(p.screen(), "configured in") {
			t.Error("Home is shown")
		}
	})
}

func TestHomeIsLeftForFirstClient(t *testing.T) {
	for _, key := range []string{"", "j"} {
		r := unrecorded()
		play(t, 120, 24, r, newActor(), func(p *player) {
			p.shows("configured in")
			if key != "" {
				p.keys(key)
			}
			r.mu.Lock()
			r.blocks, r.talks = newReader().blocks, newReader().talks
			r.mu.Unlock()
			r.announce()
			time.Sleep(time.Second) // of the bubble
			p.settle()
			if key == "" {
				p.shows("call get_file")
			} else {
				p.shows("configured in")
			}
		})
	}
}
