package tui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"mcpc/internal/live/view"
)

// tries plays with a view that shows what a server offers.
func tries(t *testing.T, w, h int, a *actor, test func(p *player)) {
	t.Helper()
	play(t, w, h, nil, a, func(p *player) {
		p.keys("T")
		a.mu.Lock()
		a.did = nil
		a.mu.Unlock()
		test(p)
	})
}

func TestTryShowsEachKind(t *testing.T) {
	tries(t, 120, 30, newActor(), func(p *player) {
		p.shows("Git Hub 2.1", "Tools               3", "create_issue")
		for _, name := range []string{"weather", "demo://readme", "demo://{city}", "task-1", "create_issue"} {
			p.keys("right")
			p.shows(name)
		}
		p.keys("shift+tab", "down", "enter")
		p.shows("weather")
	})
}

func TestTrySearchesNamesTitlesAndDescriptions(t *testing.T) {
	tries(t, 120, 30, newActor(), func(p *player) {
		for text, want := range map[string]string{"CREATE": "create_issue", "deletes": "delete_repo", "an issue": "create_issue"} {
			p.keys("/").types(text)
			p.shows(want)
			if n := p.m.list().total; n != 1 {
				t.Errorf("%q finds %d offers", text, n)
			}
			p.keys("esc")
		}
		p.keys("/").types("nothing").keys("enter")
		p.shows("no tools match nothing")
	})
}

// A search that no tool matches shows the first kind that has matches, and Enter opens the first of them.
func TestTrySearchFindsOtherKinds(t *testing.T) {
	a := newActor()
	tries(t, 120, 30, a, func(p *player) {
		p.keys("/").types("city")
		p.shows("Enter form")
		p.keys("enter")
		p.shows("try demo://{city} at Git Hub", "[ Read ]", "Ctrl-S read")
		p.types("Bern").keys("ctrl+s")
		p.did(a, `request  template demo://{city} {"city":"Bern"}`)
	})
}

// A view that starts a server shows what it offers, unless the user has pressed a key before.
func TestViewWithServerBeginsWithTry(t *testing.T) {
	for _, key := range []string{"", "j"} {
		r := newReader()
		r.startsServer = true
		play(t, 120, 30, r, newActor(), func(p *player) {
			p.shows("call get_file")
			if key != "" {
				p.keys(key)
			}
			r.mu.Lock()
			r.own = true
			r.mu.Unlock()
			r.announce()
			time.Sleep(time.Second) // of the bubble
			p.settle()
			if key == "" {
				p.shows("create_issue", "Tools               3")
			} else {
				p.shows("call get_file")
			}
		})
	}
}

// The arguments of a recorded call are edited in the form of its tool, and the rest of the message stays as it was.
func TestEditedCallIsSentAgain(t *testing.T) {
	const message = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"_meta":{"a":1.0},"name":"get_file","arguments":{"q":"old","limit":10}}}`
	want := "resend 42.1 " + strings.Replace(message, "old", "older", 1)
	a := newActor()
	a.copied = message
	play(t, 120, 30, nil, a, func(p *player) {
		p.keys("g", "E")
		p.shows("edit and send again: ", "q *", "[ Send ]")
		p.keys("end").types("er").keys("ctrl+s")
		p.did(a, want)
		a.mu.Lock()
		a.did = nil
		a.mu.Unlock()
		p.keys("esc", "esc", "g", "E", "end").types("er").keys("tab", "tab", "right", "enter")
		p.shows(`"a": 1.0`, `"q": "older"`)
		p.keys("ctrl+s")
		var sent bytes.Buffer
		if err := json.Compact(&sent, []byte(strings.TrimPrefix(a.done(), "resend 42.1 "))); err != nil {
			t.Error(err)
		}
		if got := "resend 42.1 " + sent.String(); got != want {
			t.Errorf("as text: %s, want %s", got, want)
		}
	})
}

func TestTrySendsFormAndKeepsIt(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 30}, {180, 50}} {
		a := newActor()
		tries(t, size[0], size[1], a, func(p *player) {
			p.keys("enter")
			p.shows("try create_issue at Git Hub", "[ Last good ]")
			p.keys("ctrl+s")
			p.shows("! is required")
			p.types("bug").keys("tab", "space").types("p1").keys("ctrl+s")
			p.did(a, `request  tool create_issue {"title":"bug","labels":["p1"]}`)
			p.shows("no such file: README.rst") // the result
			if !p.m.isWide() {
				p.keys("esc") // back to the form
			}
			p.shows("[ Call ]")
			p.keys("esc", "enter")
			p.shows("bug", "p1")
		})
	}
}

func TestTryFillsInLastGoodArguments(t *testing.T) {
	a := newActor()
	tries(t, 120, 30, a, func(p *player) {
		p.keys("enter", "tab", "tab", "right", "right", "enter", "ctrl+s")
		p.did(a, `request  tool create_issue {"title":"old"}`)
	})
}

func TestTryRequestsResourcesPromptsAndTemplates(t *testing.T) {
	a := newActor()
	tries(t, 120, 30, a, func(p *player) {
		p.keys("right", "right", "enter") // a resource needs no form
		p.did(a, "request  resource demo://readme ")
		p.keys("esc", "u")
		p.shows("updates of demo://readme are recorded now: 5 shows the stream")
		p.keys("u", "right", "enter").types("Rome").keys("ctrl+s")
		p.did(a, "request  resource demo://readme \nsubscribe  demo://readme true\nsubscribe  demo://readme false\n"+
			`request  template demo://{city} {"city":"Rome"}`)
		p.keys("esc", "esc", "right", "X")
		if got := a.done(); !strings.Contains(got, "cancel  task task-1") {
			t.Errorf("did %q", got)
		}
	})
}

func TestTryCompletesArguments(t *testing.T) {
	a := newActor()
	tries(t, 120, 30, a, func(p *player) {
		p.keys("right", "enter").types("Pa")
		time.Sleep(time.Second) // of the bubble
		p.settle()
		p.shows("Ctrl-N completes: Paris  Parma")
		p.keys("ctrl+n")
		p.shows("Paris")
		p.keys("ctrl+n", "ctrl+s")
		p.did(a, "complete weather city Pa\n"+`request  prompt weather {"city":"Parma"}`)
	})
}

func TestTryCopiesAndSaves(t *testing.T) {
	a := newActor()
	tries(t, 120, 30, a, func(p *player) {
		p.keys("y")
		p.shows(`mcpc -s github call create_issue '{"title":"old"}'`)
		p.keys("s")
		p.shows("copied")
		p.keys("enter").types("x").keys("tab", "tab", "right", "right", "right", "right", "enter")
		p.shows("append it as a step to the file", "calls.mcpc.yaml")
		p.keys("enter")
		p.shows("saved: mcpc run calls.mcpc.yaml --allow-exec")
		p.did(a, `step tool create_issue {"title":"old"} `+"\n"+`step tool create_issue {"title":"x"} calls.mcpc.yaml`)
	})
}

func TestTryRefusedOfferSaysWhy(t *testing.T) {
	tries(t, 120, 30, newActor(), func(p *player) {
		p.keys("j", "j", "enter")
		p.shows("entry 2 has no ␛[2Jname")
		p.keys("X")
		p.shows("no request is running")
	})
}

// A request that waits for the user's consent does not run, and runs after it.
func TestTryRequestRunsAfterConsent(t *testing.T) {
	a := newActor()
	a.confirm = "delete_repo may delete"
	tries(t, 120, 30, a, func(p *player) {
		p.keys("enter").types("bug").keys("ctrl+s")
		p.shows("delete_repo may delete")
		if p.m.try.running != nil {
			t.Error("the request runs before the consent")
		}
		p.keys("esc", "ctrl+x")
		p.shows("no request is running")
		p.keys("ctrl+s", "down", "enter")
		p.did(a, `request  tool create_issue {"title":"bug"}`)
	})
}

// The typed values of a form stay when the user tries a different server in between.
func TestTryKeepsFormsOfEachServer(t *testing.T) {
	a := newActor()
	tries(t, 120, 30, a, func(p *player) {
		p.keys("enter").types("kept").keys("esc")
		for _, server := range []string{"other", ""} {
			p.run(p.m.tryServer(server))
			p.settle()
		}
		p.keys("enter")
		p.shows("kept")
	})
}

func TestNoticeWaitsForTheEndOfTyping(t *testing.T) {
	play(t, 120, 30, nil, newActor(), func(p *player) {
		p.keys("/").types("na")
		p.m.status.Notice = "the server was restarted"
		p.m.status.Notices = 1
		p.run(p.m.showNotice())
		p.hides("restarted")
		p.keys("esc")
		p.m.status.Notice = "the server was restarted"
		p.m.status.Notices = 1
		p.run(p.m.showNotice())
		p.shows("the server was restarted")
		p.keys("j")
		p.run(p.m.showNotice())
		p.hides("restarted")
	})
}

// The output of the server follows new lines until the user scrolls up. It opens from a form too.
func TestServerOutput(t *testing.T) {
	a := newActor()
	for i := range 40 {
		a.output = append(a.output, fmt.Sprintf("line %d\x1b[31m", i))
	}
	tries(t, 120, 30, a, func(p *player) {
		p.keys("O")
		p.shows("no server of this view has written to standard error")
		p.m.status.Output = true
		p.keys("O")
		p.shows("what the server wrote to standard error", "line 39␛[31m")
		a.output = append(a.output, "line 40")
		p.shows("line 40")
		p.keys("up")
		a.output = append(a.output, "line 41")
		p.hides("line 41")
		p.keys("G")
		p.shows("line 41")
		p.keys("esc", "enter", "ctrl+o")
		p.shows("line 41")
		p.keys("esc")
		p.shows("[ Call ]")
	})
}

// The top of the screen says why the server does not run, also while a form is open, until it does.
func TestTroubleOfServerIsShownUntilItEnds(t *testing.T) {
	a := newActor()
	tries(t, 120, 30, a, func(p *player) {
		p.keys("enter")
		p.m.status.Trouble = "the server ended: SyntaxError"
		p.shows("✗ the server ended: SyntaxError", "[ Call ]")
		p.m.status.Trouble = ""
		p.hides("✗ the server")
	})
}

func TestTryListsAgainAfterChange(t *testing.T) {
	a := newActor()
	tries(t, 120, 30, a, func(p *player) {
		p.m.status.Catalogs = 1
		p.run(p.m.refreshCatalog(false))
		p.settle()
		p.keys("R")
		p.shows("listed again")
		p.did(a, "catalog \ncatalog ")
	})
}

func TestTryOfManyToolsStaysQuick(t *testing.T) {
	a := newActor()
	tries(t, 120, 30, a, func(p *player) {
		offers := make([]view.Offer, 10_000)
		for i := range offers {
			offers[i] = view.Offer{
				Kind: view.KindTool, Name: fmt.Sprintf("tool-%d", i), Description: strings.Repeat("does something ", 20),
				Schema: json.RawMessage(`{"type":"object"}`),
			}
		}
		p.m.try.setCatalog(&view.Catalog{Lists: []view.OfferList{{Kind: view.KindTool, Offers: offers}}})
		p.keys("/").types("tool-9999")
		p.shows("tool-9999")
		if n := p.m.list().total; n != 1 {
			t.Errorf("%d offers match", n)
		}
	})
}

// BenchmarkTrySearch measures the search in 10,000 tools, which has to take less than 50 ms.
func BenchmarkTrySearch(b *testing.B) {
	offers := make([]view.Offer, 10_000)
	for i := range offers {
		offers[i] = view.Offer{Kind: view.KindTool, Name: fmt.Sprintf("tool-%d", i), Description: strings.Repeat("does something ", 20)}
	}
	m := &model{view: viewTry}
	m.try.setCatalog(&view.Catalog{Lists: []view.OfferList{{Kind: view.KindTool, Offers: offers}}})
	m.try.search.Set("other thing")
	for b.Loop() {
		m.listOffers()
	}
}

func TestQuestionOfTheSentRequestOpensByItself(t *testing.T) {
	for _, isWaiting := range []bool{true, false} {
		a := newActor()
		tries(t, 120, 30, a, func(p *player) {
			p.keys("enter")
			if isWaiting {
				p.m.try.running = p.m.act.request
				p.m.showMessage(sendingText)
			}
			a.mu.Lock()
			a.questions = []view.Question{asks()}
			a.mu.Unlock()
			p.run(p.m.loadWaiting())
			p.settle()
			if isOpen := p.m.act.answering.ID != ""; isOpen != isWaiting {
				t.Errorf("waiting %t: the form of the question is open: %t", isWaiting, isOpen)
			}
			p.hides(sendingText)
		})
	}
}

// After the answer to its question, the form of the request is there again.
func TestAnswerReturnsToTheFormOfTheRequest(t *testing.T) {
	a := newActor()
	tries(t, 120, 30, a, func(p *player) {
		p.keys("enter").types("bug")
		p.m.try.running = p.m.act.request
		a.mu.Lock()
		a.questions = []view.Question{asks()}
		a.mu.Unlock()
		p.run(p.m.loadWaiting())
		p.settle()
		p.shows("github asks: elicitation/create")
		p.types("mcpc")
		a.mu.Lock()
		a.questions = nil
		a.mu.Unlock()
		p.keys("ctrl+s")
		p.shows("try create_issue at Git Hub", "bug")
	})
}

// The open form gets the fields of a changed schema, keeps the typed values and the focus.
func TestOpenFormFollowsChangedSchema(t *testing.T) {
	a := newActor()
	tries(t, 120, 30, a, func(p *player) {
		p.keys("enter").types("bug")
		o := p.m.selectedOffer()
		changed := strings.Replace(string(o.Schema), `"properties":{`, `"properties":{"area":{"type":"string"},`, 1)
		a.changeCatalog = func(c *view.Catalog) { c.Find(o.Kind, o.Name).Schema = json.RawMessage(changed) }
		p.m.status.Catalogs++
		p.run(p.m.refreshCatalog(false))
		p.settle()
		p.types("s")
		p.shows("area", "bugs", "[ Call ]")
	})
}

// Members that a changed schema does not have any more are left out of an open form, which says so.
func TestOpenFormDropsMembersThatAreGone(t *testing.T) {
	a := newActor()
	tries(t, 120, 30, a, func(p *player) {
		p.keys("enter").types("bug").keys("tab").types("p1")
		gone := `{"type":"object","required":["title"],"properties":{"title":{"type":"string"}}}`
		a.changeCatalog = func(c *view.Catalog) { c.Find(view.KindTool, "create_issue").Schema = json.RawMessage(gone) }
		p.m.status.Catalogs++
		p.run(p.m.refreshCatalog(false))
		p.settle()
		p.shows("no longer in the schema: labels")
		p.hides("p1")
		p.keys("ctrl+s")
		if got := a.done(); !strings.Contains(got, `request  tool create_issue {"title":"bug"}`) {
			t.Errorf("did %s", got)
		}
		p.hides("no longer in the schema")
		a.changeCatalog = func(c *view.Catalog) { c.Lists[0].Offers = c.Lists[0].Offers[1:] }
		p.m.status.Catalogs++
		p.run(p.m.refreshCatalog(false))
		p.settle()
		p.shows("the server has no tool create_issue any more")
	})
}

// A notice about the server is shown above the form that is open, and typing does not hide it.
func TestNoticeIsShownAboveOpenForm(t *testing.T) {
	tries(t, 120, 30, newActor(), func(p *player) {
		p.keys("enter")
		p.m.status.Notice = "the server was restarted"
		p.m.status.Notices = 1
		p.run(p.m.showNotice())
		p.types("bug")
		p.shows("the server was restarted", "bug")
		p.keys("esc")
		p.hides("the server was restarted")
	})
}

// While a request runs, the exchange of an earlier one says that it is not the running one's.
func TestEarlierResultIsMarkedWhileRequestRuns(t *testing.T) {
	tries(t, 120, 30, newActor(), func(p *player) {
		p.keys("enter").types("bug").keys("ctrl+s")
		p.hides("before: ")
		p.m.try.running = p.m.act.request
		p.m.try.sentAt = p.m.detail.doc.Row.Time.Add(time.Second)
		p.shows("before: ! tool error")
	})
}

// The exchange beside the form is of the form's own offer.
func TestFormHidesResultOfOtherOffer(t *testing.T) {
	a := newActor()
	tries(t, 120, 30, a, func(p *player) {
		p.keys("enter").types("bug").keys("ctrl+s")
		p.shows("no such file: README.rst") // the result
		p.keys("esc", "esc", "enter")
		p.keys("ctrl+s")
		p.shows("no such file: README.rst")
		p.keys("esc", "j", "enter")
		p.hides("no such file: README.rst")
	})
}

// The form of the only tool of a server opens by itself.
func TestOnlyToolOpensItsForm(t *testing.T) {
	a := newActor()
	a.changeCatalog = func(c *view.Catalog) { c.Lists[0].Offers = c.Lists[0].Offers[:1] }
	play(t, 120, 30, nil, a, func(p *player) {
		p.keys("T")
		p.shows("try create_issue at Git Hub", "Ctrl-S call")
	})
}

// A button takes no letters: they are the keys of the view.
func TestLettersAtButtonAreKeysOfTheView(t *testing.T) {
	tries(t, 120, 30, newActor(), func(p *player) {
		p.keys("enter").types("1").keys("tab", "tab")
		p.shows("[ Call ]", "1 talk")
		p.keys("1")
		p.shows("call get_file")
	})
}

// A click on a field of the form gives it the keys, and a click on a button presses it.
func TestMouseInTryForm(t *testing.T) {
	a := newActor()
	tries(t, 120, 30, a, func(p *player) {
		p.keys("enter", "esc", "enter", "tab")
		click := func(text string) {
			t.Helper()
			for y, line := range strings.Split(p.screen(), "\n") {
				if before, _, found := strings.Cut(line, text); found {
					p.send(tea.MouseClickMsg{X: len([]rune(before)) + 1, Y: y, Button: tea.MouseLeft})
					return
				}
			}
			t.Fatalf("the screen does not show %q", text)
		}
		click("title *")
		p.types("bug")
		click("[ Call ]")
		p.did(a, `request  tool create_issue {"title":"bug"}`)
		click("[ Close ]")
		p.hides("try create_issue")
	})
}

// The request of the result beside the list of Try is edited and sent again from the list.
func TestResultOfTryIsResentFromTheList(t *testing.T) {
	a := newActor()
	tries(t, 120, 30, a, func(p *player) {
		p.keys("enter").types("bug").keys("ctrl+s", "esc")
		p.shows("E edit, resend")
		p.keys("E")
		p.shows("edit and send again: ")
	})
}

// Values that are not valid are not sent, and the footer says so.
func TestInvalidFormSaysThatNothingIsSent(t *testing.T) {
	tries(t, 120, 30, newActor(), func(p *player) {
		p.keys("enter", "ctrl+s")
		p.shows("not sent: 1 field is not valid", "! is required")
	})
}

func TestCtrlAAddsAnotherItemFromInside(t *testing.T) {
	a := newActor()
	tries(t, 180, 40, a, func(p *player) {
		p.keys("enter").types("bug").keys("tab", "space").types("p1")
		p.shows("Ctrl-A another item")
		p.keys("ctrl+a").types("p2").keys("ctrl+a", "ctrl+d", "ctrl+s")
		p.did(a, `request  tool create_issue {"title":"bug","labels":["p1","p2"]}`)
	})
}

// Beside a form all tabs of the result are seen.
func TestTabsOfResultFitBesideForm(t *testing.T) {
	a := newActor()
	tries(t, 120, 30, a, func(p *player) {
		p.keys("enter").types("bug").keys("ctrl+s")
		p.shows("Summary Req Ans Ev Wire Time Find Comp")
	})
}

// The instructions of a server are drawn without the marks of Markdown, and break at words.
func TestInstructionsAreDrawn(t *testing.T) {
	tries(t, 120, 30, newActor(), func(p *player) {
		p.m.try.catalog.Instructions = "# Use\n\nCall **get** with `get-structured-content` first."
		p.shows("Call get with", "get-structured-", "content", "first.")
		p.hides("**get**")
	})
}
