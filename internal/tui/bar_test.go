package tui

import (
	"slices"
	"testing"

	tea "charm.land/bubbletea/v2"

	"mcpc/internal/capture"
	"mcpc/internal/live/view"
)

// begin adds a conversation to those of the reader.
func (r *reader) begin(id, by string) {
	r.mu.Lock()
	r.talks = append(slices.Clone(r.talks), view.Conversation{ID: id, Client: "vscode", Server: "tea", By: by, Rows: 1, Live: true})
	r.mu.Unlock()
	r.announce()
}

// The bar counts the conversations that began since the user looked, and w goes through them.
func TestBarShowsNewConversations(t *testing.T) {
	r := newReader()
	play(t, 100, 20, r, newActor(), func(p *player) {
		p.hides("new conversation")
		p.keys("w")
		p.shows("no conversation has begun since you looked")
		r.begin("43.1", "tap")
		p.send(recordingsChanged(r.seq))
		p.shows("● 1 new conversation: w goes there")
		r.begin("44.1", capture.ByCommand) // the user's own commands are no news
		r.begin("45.1", "proxy")
		p.send(recordingsChanged(r.seq))
		p.shows("● 2 new conversations: w goes there")
		p.keys("4", "w")
		p.shows("● 1 new conversation: w goes there", "1 Talk")
		if p.m.conversations.chosen != "43.1" || p.m.view != viewTalk {
			t.Errorf("w shows %q", p.m.conversations.chosen)
		}
		p.keys("w")
		p.hides("new conversation")
		if p.m.conversations.chosen != "45.1" {
			t.Errorf("w shows %q", p.m.conversations.chosen)
		}
		r.begin("46.1", "tap")
		p.send(recordingsChanged(r.seq))
		p.shows("1 new conversation")
		p.keys("C", "G") // all conversations, the newest exchanges
		p.hides("new conversation")
	})
}

// Conversations that appear while the recordings are read are old.
func TestBarLeavesOutOldConversations(t *testing.T) {
	list := conversationList{known: map[string]bool{}}
	add := func(id string, isLoading bool) {
		list.all = slices.Insert(slices.Clone(list.all), 0, view.Conversation{ID: id, By: "tap"})
		list.noteNew(isLoading)
	}
	const isLoading = true
	add("1.1", isLoading)
	add("2.1", isLoading)
	add("3.1", !isLoading) // the last ones that were read
	add("4.1", !isLoading)
	if !slices.Equal(list.unseen, []string{"4.1"}) {
		t.Errorf("new are %q", list.unseen)
	}
}

// The bar lists the faults of the view, and B removes one or all.
func TestBarListsFaults(t *testing.T) {
	a := newActor()
	a.faults = []view.ArmedFault{
		{ID: "7:1", Kind: "delay", Name: "delay the response by 5 s", Request: "tools/call get-sum"},
		{ID: "7:2", Kind: "cut", Name: "cut the response after 20 bytes", Request: "tools/call \x1b[31mevil"},
	}
	play(t, 120, 24, nil, a, func(p *player) {
		p.shows("! 2 faults set: B lists  fault: delay tools/call get-sum · fault: cut tools/call ␛[31mevil")
		p.keys("B")
		p.shows("1  delay the response by 5 s", "next tools/call get-sum", "o  remove all")
		p.keys("2")
		p.did(a, "fault     7:2")
		p.send(tea.MouseClickMsg{X: 5, Y: 1, Button: tea.MouseLeft})
		p.keys("o")
		p.did(a, "fault     7:2\nfault     ")
		a.mu.Lock()
		a.faults = nil
		a.mu.Unlock()
		p.send(secondPassed{})
		p.hides("fault")
		p.keys("B")
		p.shows("this view has set no fault; b sets one")
	})
}

// A narrow screen has the counts and keys of all that waits.
func TestBarFitsNarrowScreens(t *testing.T) {
	a := newActor()
	a.faults = []view.ArmedFault{{ID: "7:1", Kind: "delay", Request: "ping"}}
	a.questions = []view.Question{asks()}
	a.held = []view.Held{heldMessage("h1")}
	r := newReader()
	play(t, 40, 12, r, a, func(p *player) {
		r.begin("43.1", "tap")
		p.send(recordingsChanged(r.seq))
		p.shows(" ? 1 a   ‖ 1 e 10:00   ! 1 B   ● 1 w")
	})
}
