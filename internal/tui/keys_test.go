package tui

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"mcpc/internal/capture/filter"
	"mcpc/internal/live/view"
)

func (p *player) did(a *actor, want string) {
	p.t.Helper()
	if got := a.done(); got != want {
		p.t.Errorf("the actor did %q, want %q", got, want)
	}
}

// The effects of the action keys, from the list or from a detail.
func TestKeysPerformActions(t *testing.T) {
	for _, c := range []struct {
		name string
		keys []string
		text string
		then []string
		want string
	}{
		{"mark", []string{"g", "m"}, "", nil, "mark 42.1 "},
		{"unmark", []string{"g", "j", "j", "j", "m"}, "", nil, "unmark 42.4 look at this"},
		{"note", []string{"g", "n"}, "why", []string{"enter"}, "mark 42.1 why"},
		{"note left", []string{"g", "n"}, "why", []string{"esc"}, ""},
		{"resend", []string{"g", "r"}, "", nil, "resend 42.1 "},
		{"resend by its name", []string{"g", ":"}, "resend", []string{"enter"}, "resend 42.1 "},
		{"edit and resend", []string{"g", "E", "end"}, ",", []string{"ctrl+s", "ctrl+s"}, "resend 42.1 {,\n  \"q\": 1\n}"},
		{"resend unedited", []string{"g", "E"}, "x", []string{"backspace", "ctrl+s"}, "resend 42.1 "},
		{"invalid once", []string{"g", "E"}, "x", []string{"ctrl+s"}, ""},
		{"intercept", []string{"i"}, "name:x", []string{"enter", "down", "enter"}, "intercept is:request (name:x)"},
		{"intercept responses too", []string{"i"}, "name:x", []string{"enter", "down", "down", "enter"}, "intercept name:x"},
		{"intercept responses only", []string{"i"}, "is:response", []string{"enter", "down", "enter"}, "intercept is:response"},
		{"a filter that was typed without /", []string{}, "is:error", []string{"enter", "enter"}, ""},
		{"intercept off", []string{"I"}, "", nil, "intercept off"},
		{"export", []string{"x", "enter"}, "", nil, "export bundle "},
		{"export har", []string{"x", "h"}, "", nil, "export har "},
		{"export only this", []string{"g", "enter", "x", "o", "h"}, "", nil, "export har 42.1"},
		{"export all after all", []string{"g", "x", "o", "o", "enter"}, "", nil, "export bundle "},
		{"export left", []string{"x", "esc"}, "", nil, ""},
		{"try", []string{"4", "t"}, "broken", []string{"ctrl+s"}, `request github tool create_issue {"title":"broken","urgent":false}`},
		{"try without what is required", []string{"4", "t", "ctrl+s"}, "", nil, ""},
		{"a command with two meanings", []string{":"}, "co", []string{"enter"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newActor()
			play(t, 100, 30, nil, a, func(p *player) {
				p.keys(c.keys...).types(c.text).keys(c.then...)
				p.did(a, c.want)
			})
		})
	}
}

// A tool that may change something is sent only after the second entry was chosen: keys from before
// the question have no effect.
func TestConfirm(t *testing.T) {
	a := newActor()
	a.confirm = "delete_repo may delete"
	play(t, 80, 24, nil, a, func(p *player) {
		p.keys("g", "j", "j", "r")
		p.shows("delete_repo may delete", "send call search_issues (42.3) again?", "Esc close  ↑↓ select")
		p.hides("sending…")
		p.keys("y", "s", "d", "enter")
		p.did(a, "")
		p.keys("r", "down", "enter")
		p.did(a, "resend 42.3 ")
	})
}

// "Send it" is selected for a request that changes nothing.
func TestConfirmOfReadingRequestSelectsSending(t *testing.T) {
	a := newActor()
	a.confirm = "Send requests to http://127.0.0.1/mcp?"
	play(t, 80, 24, nil, a, func(p *player) {
		p.keys("g", "r", "enter")
		p.did(a, "resend 42.1 ")
	})
}

// A recorded call of a tool that no recorded list has gets its form from the server's list, with the
// recorded arguments; without that list the form has no fields and keeps the arguments.
func TestTryOfRecordedCallListsTools(t *testing.T) {
	for target, want := range map[string]string{
		"demo":   "catalog demo\nrequest demo tool create_issue {\"title\":\"old\",\"q\":\"crash on start\",\"limit\":10}",
		"github": "catalog github\nrequest github tool create_issue {\"q\":\"crash on start\",\"limit\":10}",
	} {
		r := newReader()
		r.noSchema = true
		row := &r.blocks[2].Row
		row.Name, row.Target = "create_issue", target
		a := newActor()
		play(t, 120, 40, r, a, func(p *player) {
			p.keys("g", "j", "j", "t")
			p.shows("try create_issue at")
			if target == "github" {
				p.shows("connection refused")
			} else {
				p.types("old")
			}
			p.keys("ctrl+s")
			p.did(a, want)
		})
	}
}

// Held messages are released, edited and dropped only if one is selected.
func TestHeldMessageKeysNeedSelection(t *testing.T) {
	a := newActor()
	a.held = []view.Held{heldMessage("h1"), heldMessage("h2")}
	play(t, 80, 24, nil, a, func(p *player) {
		p.shows("‖ holding 2 messages: Tab selects, e edits, I stops, first let go in 10:00")
		p.hides("10:00 left")
		p.m.status.Wanted = "name:delete_repo"
		p.shows("holding 2 messages: Tab selects, e edits, I stops, first let go in 10:00  ho…")
		p.m.w = 120
		p.shows("first let go in 10:00  holding only name:delete_repo")
		p.m.w = 40
		p.shows(" ‖ 2 e 10:00")
		p.m.w = 80
		p.keys("i")
		p.shows("hold messages that match", "name:delete_repo")
		p.keys("esc")
		p.keys("g", "d")
		p.shows("select a held message first: Tab")
		p.keys("e")
		p.shows("held message: tools/call delete_repo")
		p.keys("esc", "j", "j", "d")
		p.did(a, "")
		p.m.focus = paneMain
		p.keys("tab")
		p.shows("10:00 left")
		p.keys("j", "d")
		p.did(a, "drop h2")
		p.keys("enter")
		p.did(a, "drop h2\nrelease h2 ")
		p.keys("e")
		p.shows("held message: tools/call delete_repo", `   "token": "s3cret"`, "Ctrl-S send  Esc leave  Enter new line")
		p.keys("x", "backspace", "ctrl+s")
		p.did(a, "drop h2\nrelease h2 \nrelease h2 ")
		p.keys("e", "down", "space", "ctrl+s")
		if got := a.done(); !strings.HasSuffix(got, "release h2 {\n   \"method\": \"tools/call\",\n  \"token\": \"s3cret\"\n}") {
			t.Errorf("edit: %q", got)
		}
		p.m.focus = paneHeld
		p.keys("v")
		p.shows("s3cret")
		p.keys("esc")
		a.mu.Lock()
		a.held = a.held[:1] // the selected one is let go by itself
		a.mu.Unlock()
		p.send(secondPassed{})
		p.keys("d")
		if got := a.done(); strings.Contains(got, "drop h1") {
			t.Error("a key dropped a message that the user did not select")
		}
	})
}

// A fault is for the next request like the selected exchange, or for a call of the selected tool.
func TestSetFault(t *testing.T) {
	a := newActor()
	play(t, 120, 40, nil, a, func(p *player) {
		p.keys("g", "j", "j", "b")
		p.shows("fault for the next tools/call search_issues", "respond with HTTP 503", "cut the response after 20 bytes")
		p.keys("5")
		p.shows("the next search_issues fails")
		p.did(a, "fault 503 tools/call search_issues github 42.3")
		p.keys("b", "o")
		p.did(a, "fault 503 tools/call search_issues github 42.3\nfault  tools/call search_issues github 42.3")
	})
	a = newActor()
	play(t, 120, 40, nil, a, func(p *player) { // Time has only the key of an exchange
		p.keys("3", "g", "b").shows("fault for the next initialize")
		p.keys("d")
		p.did(a, "fault delay initialize  github 42.1")
	})
	a = newActor()
	play(t, 120, 40, nil, a, func(p *player) {
		p.keys("4", "b")
		p.shows("fault for the next tools/call ")
		p.keys("w")
		if got := a.done(); !strings.HasPrefix(got, "fault wrong tools/call ") {
			t.Errorf("a fault for a tool: %q", got)
		}
	})
}

// A wide table shows milliseconds and arguments.
func TestWideTable(t *testing.T) {
	for width, has := range map[int]bool{80: false, 200: true} {
		play(t, width, 24, nil, nil, func(p *player) {
			p.keys("2")
			p.shows("10:02:01")
			if has {
				p.shows("10:02:01.200", "search_issues", `{"q":"crash on s`)
			} else {
				p.hides("10:02:01.200", `{"q":"crash`)
			}
		})
	}
}

// The screen is drawn while the message is read.
func TestRevealChangesThePageInTheDrawingLoop(t *testing.T) {
	for _, isClosed := range []bool{false, true} {
		a := newActor()
		a.held = []view.Held{heldMessage("h1")}
		play(t, 120, 40, nil, a, func(p *player) {
			_, read := p.m.Update(keyOf("v"))
			result := make(chan tea.Msg)
			go func() { result <- read() }()
			_ = p.m.frame()
			msg := <-result
			p.shows("reading…")
			p.hides("s3cret")
			if isClosed {
				p.keys("esc")
			}
			p.send(msg)
			if isClosed {
				p.hides("s3cret")
			} else {
				p.shows("s3cret")
			}
		})
	}
}

// A question is answered by its form; the talk stays on the screen.
func TestAnswer(t *testing.T) {
	a := newActor()
	a.questions = []view.Question{asks()}
	play(t, 100, 40, nil, a, func(p *player) {
		p.shows("? 1 question: a answers  github asks: Which repository?")
		p.keys("a")
		p.shows("Repository *", "initialize", "5:00 left")
		p.keys("ctrl+s")
		p.shows("! is required")
		p.keys("x", "ctrl+s")
		p.did(a, "")
		p.types("yz").keys("tab", "left", "tab", "right", "tab", "space", "tab", "0", "ctrl+s")
		p.did(a, "")
		p.keys("backspace", "2", "ctrl+s")
		p.did(a, `answer q1 accept {"repo":"xyz","private":false,"kind":"bug","labels":["a"],"count":2}`)
	})
	for button, want := range map[int]string{1: "decline", 2: "cancel"} {
		a = newActor()
		a.questions = []view.Question{asks()}
		play(t, 80, 24, nil, a, func(p *player) {
			p.keys("a", "up")
			for range 2 - button {
				p.keys("left")
			}
			p.keys("enter")
			p.did(a, "answer q1 "+want+" ")
		})
	}
	a = newActor()
	a.questions = []view.Question{asks()}
	play(t, 80, 24, nil, a, func(p *player) {
		p.keys("a")
		p.shows("Ctrl-X decline")
		p.keys("ctrl+x")
		p.did(a, "answer q1 decline ")
	})
}

// The form of a withdrawn question accepts keys without effect: they must not become commands of
// the list.
func TestWithdrawnQuestionIgnoresKeys(t *testing.T) {
	a := newActor()
	a.questions = []view.Question{asks()}
	play(t, 80, 24, nil, a, func(p *player) {
		p.keys("a", "m", "y")
		a.mu.Lock()
		a.questions = nil
		a.mu.Unlock()
		p.send(secondPassed{})
		p.shows("not asked any more")
		p.keys("q", "r", "m", "ctrl+s")
		p.did(a, "")
		if p.quit {
			t.Error("q ended the view")
		}
		p.keys("esc")
		p.hides("not asked any more")
	})
}

// Keys that have nothing to act on say what they need.
func TestKeysWithoutSelectionSayWhatTheyNeed(t *testing.T) {
	play(t, 80, 24, nil, newActor(), func(p *player) {
		for key, want := range map[string]string{"e": "no message is held", "v": "no message is held", "N": "search in a detail first: /", "a": "no server requests input now"} {
			p.keys("g", key)
			p.shows(want)
		}
	})
}

// The form of a tool names the server by its target where its name was not recorded.
func TestFormNamesTheServer(t *testing.T) {
	play(t, 80, 24, nil, newActor(), func(p *player) {
		p.run((*model).toolForm(p.m, &view.Tool{Name: "nap", Target: "http://127.0.0.1:1/mcp"}, nil))
		p.shows("try nap at http://127.0.0.1:1/mcp")
	})
}

// A form that was left for the list shows how to return.
func TestHiddenFormNamesKeyToReturn(t *testing.T) {
	a := newActor()
	a.questions = []view.Question{asks()}
	play(t, 80, 24, nil, a, func(p *player) {
		p.keys("a")
		p.hides("a back to the form")
		p.keys("esc")
		p.shows("a back to the form")
		p.keys("a")
		if p.m.focus != paneForm {
			t.Errorf("a leads to pane %d", p.m.focus)
		}
	})
}

// The line above the form of a tool has no gap: there is no time to show in it.
func TestRuleAboveAForm(t *testing.T) {
	play(t, 80, 24, nil, newActor(), func(p *player) {
		p.keys("4", "t")
		p.shows("\n"+strings.Repeat("─", 80)+"\n try create_issue", "Ctrl-S call  Esc close")
	})
}

// A page is never opened: its host is shown.
func TestURLQuestionShowsHostAndOpensNothing(t *testing.T) {
	a := newActor()
	a.questions = []view.Question{{ID: "q2", Server: "github", Method: "elicitation/create", Message: "Sign in", URL: "https://evil.example/login?x=1"}}
	play(t, 100, 30, nil, a, func(p *player) {
		p.keys("a")
		p.shows("a page of evil.example", "https://evil.example/login?x=1", "[ Accept ]")
		p.keys("enter")
		p.did(a, "answer q2 accept ")
	})
}

// Filters: a wrong one is underlined while the last result stays; values become terms.
func TestFilter(t *testing.T) {
	play(t, 120, 30, nil, newActor(), func(p *player) {
		p.keys("/").types("name:search_issues")
		p.shows("/ name:search_issues", "1 exchange")
		p.types(" (")
		p.shows("search_issues {")
		if p.m.query.err == nil {
			t.Fatal("the error is not shown")
		}
		p.keys("esc")
		p.shows("/ name:search_issues ")
		p.keys("g", "f", "s")
		p.shows("/ name:search_issues server:github")
		p.keys("/", "ctrl+u").keys("enter")
		p.shows("7 exchanges")
		p.keys("/", "o", "n", "e", "enter", "/", "t", "w", "o", "enter")
		p.shows("/ one two")
		p.keys("/", "ctrl+u", "enter")
		p.keys("g", "F", "m")
		p.shows("/ -method:initialize")
		p.keys("/", "ctrl+u", "down", "tab")
		p.shows("/ name:search_issues")
		p.keys("enter", "c")
		p.shows("since:10:02:50")
	})
	r := newReader()
	r.pending = 1200
	play(t, 120, 30, r, nil, func(p *player) { p.shows("searching, 1,200 exchanges left") })
}

// The initial conversation applies to the Talk without a filter; the user's choice applies to all
// views.
func TestInitialConversationAppliesWithoutFilter(t *testing.T) {
	r := newReader()
	last := func() string {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.asked[len(r.asked)-1].Talk
	}
	play(t, 120, 30, r, newActor(), func(p *player) {
		for _, c := range []struct {
			keys []string
			text string
			want string
		}{
			{nil, "", "42.1"},
			{[]string{"/"}, "is:error", ""},
			{[]string{"enter", "2"}, "", ""},
			{[]string{"/", "ctrl+u", "enter"}, "", ""},
			{[]string{"1"}, "", "42.1"},
			{[]string{"C"}, "", ""},
			{[]string{"shift+tab", "g", "j", "j", "j", "enter"}, "", "42.1"},
			{[]string{"/"}, "name:nothing", "42.1"},
		} {
			p.keys(c.keys...).types(c.text)
			if got := last(); got != c.want {
				t.Errorf("after %v %s the conversation is %q, want %q", c.keys, c.text, got, c.want)
			}
		}
		p.shows("nothing matches name:nothing in this conversation", "C shows everything")
		p.keys("enter", "C")
		p.shows("7 exchanges")
	})
}

// While the Talk follows the newest, it moves to a conversation that begins. It stays with an older
// row, a pause, another view or a chosen conversation.
func TestFollowingMovesToNewConversation(t *testing.T) {
	for name, c := range map[string]struct {
		keys []string
		want string
	}{
		"following":    {nil, "43.1"},
		"an older row": {[]string{"k"}, "42.1"},
		"paused":       {[]string{"p"}, "42.1"},
		"chosen":       {[]string{"shift+tab", "g", "j", "enter"}, "42.1"},
		"in a list":    {[]string{"2"}, "42.1"},
	} {
		r := newReader()
		r.talks = r.talks[:1]
		play(t, 120, 30, r, newActor(), func(p *player) {
			p.keys(c.keys...)
			r.mu.Lock()
			begun := r.talks[0]
			begun.ID = "43.1"
			r.talks = []view.Conversation{r.talks[0], begun}
			r.talks[0].First = false
			r.mu.Unlock()
			r.announce()
			time.Sleep(time.Minute) // of the bubble: all pending reads finish
			p.settle()
			if got := p.m.conversations.chosen; got != c.want {
				t.Errorf("%s: %q is shown, want %q", name, got, c.want)
			}
		})
	}
}

// Enter takes the suggestion where what was typed is the start of it, and no filter yet.
func TestEnterCompletes(t *testing.T) {
	play(t, 120, 30, nil, newActor(), func(p *player) {
		p.keys("/").types("is:err").keys("enter")
		p.shows("/ is:error ")
		p.keys("ctrl+u").types("x (").keys("enter")
		p.shows("/ x (")
	})
}

// Movement: follow sticks to the newest, moving up leaves it, G goes back.
func TestFollow(t *testing.T) {
	r := newReader()
	r.many = 100
	play(t, 120, 30, r, nil, func(p *player) {
		p.keys("2")
		grow := func(n int) {
			r.mu.Lock()
			r.many = n
			r.mu.Unlock()
			r.announce()
			p.settle()
			time.Sleep(time.Second)
			p.settle()
		}
		grow(105)
		p.shows("42.105")
		p.keys("k")
		grow(110)
		if got := p.m.list().selected(); got == nil || got.key != "42.104" {
			t.Errorf("the selection moved to %v", got)
		}
		p.keys("G")
		grow(120)
		p.shows("42.120")
		p.keys("p")
		grow(130)
		p.hides("42.130")
		p.shows("paused")
		p.keys("p")
		p.shows("42.130")
	})
}

// The Reader is asked for what is on the screen, not for 100,000 rows.
func TestReaderIsAskedForVisibleRows(t *testing.T) {
	r := newReader()
	r.many = 100_000
	play(t, 120, 40, r, nil, func(p *player) {
		p.keys("2", "g", "pgdown", "G", "pgup", "g", "1", "G", "k", "k")
		for _, q := range r.asked {
			if q.Count > 200 {
				t.Errorf("asked for %d rows", q.Count)
			}
		}
		p.keys("2", "G")
		p.shows("42.100000")
	})
}

// A Reader that does not answer delays neither keys nor the end, and an old answer never
// replaces a newer one.
func TestStuckReader(t *testing.T) {
	r := newReader()
	r.stuck = make(chan struct{})
	play(t, 80, 24, r, newActor(), func(p *player) {
		p.shows("reading…")
		p.keys("?")
		p.shows("keys: type to search")
		p.keys("esc", "/").types("name:x")
		r.mu.Lock()
		stuck := r.stuck
		r.stuck = nil
		r.mu.Unlock()
		p.keys("ctrl+u").types("search_issues")
		p.shows("1 exchange")
		close(stuck)
		p.settle()
		p.shows("1 exchange", "search_issues")
		p.keys("esc", "q")
		if !p.quit {
			t.Error("q did not end the view")
		}
	})
}

// Copies go to the clipboard of the terminal, also the path and the value under the cursor.
func TestCopy(t *testing.T) {
	play(t, 120, 40, nil, newActor(), func(p *player) {
		p.keys("g", "y", "m")
		p.shows("copied 12 bytes")
		p.keys("enter", "right")
		for range 6 {
			p.keys("j")
		}
		p.keys("y")
		p.shows("/params/arguments")
		p.keys("esc", "/").types("crash").keys("enter", "y")
		p.shows("/params/arguments/q")
	})
}

// A value of a server may be pasted into a shell.
func TestCopyHasNoControlCharacters(t *testing.T) {
	play(t, 80, 24, nil, newActor(), func(p *player) {
		if got, want := fmt.Sprint((*model).copyText(p.m, "a\x1b[201~\u009bb\u202e\nc")()), "a␛[201~⟨U+009B⟩b⟨U+202E⟩\nc"; got != want {
			t.Errorf("copied %q, want %q", got, want)
		}
	})
}

// Compare, only, sort, errors of an action, a key of a removed row.
func TestRemainingKeys(t *testing.T) {
	play(t, 120, 40, nil, newActor(), func(p *player) {
		p.keys("D", "enter")
		p.shows("delete_repo was added", "schemas")
		p.keys("esc", "g", "o")
		p.shows("only 42.1", "1 exchange")
		p.keys("o")
		p.shows("7 exchanges")
		p.keys("2", "s", "d")
		p.shows("took ▼")
		p.send(actionResult{apply: func(m *model) tea.Cmd { return m.showError(errors.New("it broke")) }})
		p.shows("it broke")
		p.m.detail.key = "9.9"
		p.run(p.m.loadDetail(true))
		p.settle()
		p.shows("no longer kept")
	})
	play(t, 80, 24, nil, nil, func(p *player) {
		for _, key := range []string{"a", "i", "e", "d", "r", "E", "t", "x", "m"} {
			p.keys("g", key, "enter", "esc")
		}
	})
}

// Every key of the footer does something, and each action has a name and a key.
func TestActions(t *testing.T) {
	names := map[string]bool{}
	for _, a := range actions() {
		if names[a.name] || a.help == "" || len(a.keys) == 0 || a.run == nil {
			t.Errorf("%+v", a)
		}
		names[a.name] = true
	}
	for _, want := range strings.Fields("j k g G / n N tab esc 1 2 3 4 5 6 enter s a i I e d r E t y m f F x D p c o ? : q") {
		if !strings.Contains(fmt.Sprint(actions()), want) {
			t.Errorf("no action has the key %s", want)
		}
	}
}

// A click selects and then opens; the wheel moves.
func TestMouse(t *testing.T) {
	play(t, 120, 40, nil, nil, func(p *player) {
		p.send(tea.MouseClickMsg{X: 40, Y: 5, Button: tea.MouseLeft})
		if got := p.m.list().selected().key; got != "42.2" {
			t.Errorf("selected %s", got)
		}
		p.send(tea.MouseClickMsg{X: 40, Y: 5, Button: tea.MouseLeft})
		if p.m.detail.key != "42.2" {
			t.Errorf("opened %q", p.m.detail.key)
		}
		p.keys("esc")
		p.send(tea.MouseWheelMsg{X: 40, Y: 6, Button: tea.MouseWheelDown})
		if got := p.m.list().selected().key; got != "42.5" {
			t.Errorf("selected %s", got)
		}
		p.send(tea.MouseClickMsg{X: 12, Y: 0, Button: tea.MouseLeft})
		if p.m.view != viewTable {
			t.Errorf("view %d", p.m.view)
		}
		p.send(tea.MouseClickMsg{X: 3, Y: 4, Button: tea.MouseLeft})
		if p.m.conversations.chosen != "" {
			t.Errorf("chosen %q", p.m.conversations.chosen)
		}
	})
}

// A click in the pane of the conversations chooses the entry that is seen there, and nothing in other lines.
func TestMouseInConversations(t *testing.T) {
	for _, sel := range []int{0, 1, 3} {
		play(t, 120, 40, nil, nil, func(p *player) {
			p.m.conversations.sel = sel
			p.m.focus = paneConversations
			layout := p.m.layout()
			lines := p.m.drawConversations(layout.left, layout.body)
			for y := range layout.body {
				text := ""
				if y < len(lines) {
					text = strings.TrimSpace(lines[y].Line.String())
				}
				p.m.query.line = newInput("")
				p.m.conversations.showAll()
				p.m.conversations.sel = sel
				p.m.focus = paneConversations
				p.send(tea.MouseClickMsg{X: 3, Y: layout.head + y, Button: tea.MouseLeft})
				isFilter := slices.Contains(quickFilters, text)
				if got := p.m.query.line.Text(); got != "" != isFilter || isFilter && got != text {
					t.Errorf("entry %d selected, a click on %q: the filter is %q", sel, text, got)
				}
				chosen := p.m.conversations.find(p.m.conversations.chosen)
				isConversation := strings.Contains(text, "→")
				if (chosen != nil) != isConversation || isConversation && !strings.Contains(text, displayName(chosen.Client, "")) {
					t.Errorf("entry %d selected, a click on %q: chosen is %+v", sel, text, chosen)
				}
				isEntry := isFilter || isConversation || strings.HasPrefix(text, "all ")
				if !isEntry && p.m.conversations.sel != sel {
					t.Errorf("entry %d selected, a click on %q selects %d", sel, text, p.m.conversations.sel)
				}
			}
		})
	}
}

// Each chip is a filter that mcpc can read.
func TestChipsParseAsFilters(t *testing.T) {
	for _, chip := range quickFilters {
		if _, err := filter.Parse(chip, testNow(), nil); err != nil {
			t.Errorf("%s: %v", chip, err)
		}
	}
}

// Outcome is what the page calls the column, and the filter takes it.
func TestSortByOutcome(t *testing.T) {
	play(t, 120, 40, nil, newActor(), func(p *player) {
		p.keys("2", "s")
		p.shows("h  outcome")
		p.hides("channel")
		p.keys("h")
		p.shows("outcome ▲")
		if got := p.m.list().sort; got != "channel" {
			t.Errorf("it sorts by %q", got)
		}
		p.keys("g", "f", "h")
		p.shows("/ outcome:ok")
	})
}

// The footer names no key that a view does not have.
func TestFooterOfViews(t *testing.T) {
	play(t, 120, 40, nil, newActor(), func(p *player) {
		for _, view := range []string{"4", "5", "6"} {
			p.keys(view)
			p.hides("s sort", "G newest")
		}
	})
}

// One key sorts by the duration, and once more turns the order around.
func TestSlowestFirst(t *testing.T) {
	play(t, 120, 40, nil, newActor(), func(p *player) {
		p.keys("2", "S")
		if got := p.m.list().sort; got != "-took" {
			t.Errorf("S sorts by %q", got)
		}
		p.keys("S")
		if got := p.m.list().sort; got != "took" {
			t.Errorf("S once more sorts by %q", got)
		}
	})
}

func TestExclamationMarkShowsFailed(t *testing.T) {
	play(t, 120, 30, nil, newActor(), func(p *player) {
		p.keys("4", "!")
		p.shows("is:error")
		if p.m.view != viewTalk {
			t.Errorf("the view is %d", p.m.view)
		}
	})
}

func TestUnknownKeySaysWhereKeysAre(t *testing.T) {
	play(t, 120, 30, nil, newActor(), func(p *player) {
		p.keys("Z")
		p.shows("no key does this: Z; ? lists the keys")
	})
}

func TestEscInTheListKeepsTheKeysThere(t *testing.T) {
	play(t, 120, 30, nil, newActor(), func(p *player) {
		p.keys("esc")
		if p.m.focus != paneMain {
			t.Errorf("the pane %d has the keys", p.m.focus)
		}
	})
}

// The Time view shows the conversation of the Talk view, and names the calls beside their bars.
func TestTimeKeepsConversationAndNamesCalls(t *testing.T) {
	r := newReader()
	play(t, 120, 30, r, newActor(), func(p *player) {
		p.keys("3")
		p.shows("▒ get_file")
		if got := p.m.shownConversationID(); got != "42.1" {
			t.Errorf("the Time view shows the conversation %q", got)
		}
	})
}

func TestBracketsStepThroughConversations(t *testing.T) {
	play(t, 120, 30, nil, newActor(), func(p *player) {
		for _, step := range []struct{ key, want string }{
			{"[", "41.1"}, {"[", "40.1"}, {"[", ""}, {"[", ""}, {"]", "40.1"}, {"2", "40.1"}, {"]", "41.1"}, {"]", "42.1"},
		} {
			p.keys(step.key)
			if got := p.m.shownConversationID(); got != step.want {
				t.Errorf("%s shows the conversation %q, want %q", step.key, got, step.want)
			}
		}
		p.shows("shown: Claude Desktop → github")
		p.keys("]")
		p.shows("there is no further conversation")
	})
}
