//go:build peers

package web

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"mcpc/internal/live"
	"mcpc/internal/live/view"
	"mcpc/internal/tests/chromium"
)

// A recordedEcho is a Reader whose exchanges are calls of echo at the server tea. They have no arguments if isBare is set.
type recordedEcho struct {
	*dummy
	isBare bool
}

// Detail returns the call.
func (r recordedEcho) Detail(ctx context.Context, key string) (view.Detail, error) {
	d, err := r.dummy.Detail(ctx, key)
	d.Row.Target = "tea"
	d.InputSchema = json.RawMessage(`{"type":"object","properties":{"message":{"type":"string"}}}`)
	d.Request = &view.Body{Text: `{"method":"tools/call","params":{"name":"echo","arguments":{"message":"old words"}}}`}
	if r.isBare {
		d.Request.Text = `{"method":"tools/list","params":{}}`
	}
	return d, err
}

// TestPeerEditFocus checks that the edited request names its server and that typing replaces the first argument. A request
// without a form has the focus in its text.
func TestPeerEditFocus(t *testing.T) {
	for _, isBare := range []bool{false, true} {
		p, _ := open(t, chromium.Share(t), recordedEcho{newDummy(), isBare}, &fakeActor{powers: allPowers})
		p.Type("2")
		p.Await(`document.querySelectorAll('[role=row]').length > 5`)
		p.Type("gE")
		p.Await(`document.querySelector('dialog[open] h2').textContent === 'Edit and send 1.1 again to tea'`)
		if isBare {
			p.Await(`document.activeElement.matches('dialog textarea')`)
			continue
		}
		p.Await(`document.activeElement.matches('dialog input') && getSelection().toString() === 'old words'`)
		p.Type("new")
		p.Await(`document.activeElement.value === 'new'`)
		click(t, p, "dialog", "JSON")
		p.Await(`JSON.parse(document.querySelector('dialog textarea').value).message === 'new'`)
	}
}

// TestPeerFormFocus checks that an added item has the focus, and that a removed one leaves it nearby.
func TestPeerFormFocus(t *testing.T) {
	p, _ := openTry(t, newDummy(), newTrying())
	for _, label := range []string{"stops 1", "stops 2", "stops 3"} {
		click(t, p, ".offer fieldset", "Add stops")
		p.Await(`document.activeElement.matches('.item input') && document.activeElement.closest('.item').textContent.startsWith('` + label + `')`)
	}
	click(t, p, ".offer fieldset", "Add second")
	p.Await(`document.activeElement.closest('fieldset').textContent.startsWith('second')`)
	focused := `document.activeElement.getAttribute('aria-label') || document.activeElement.textContent`
	for _, c := range []struct{ remove, want string }{
		{"Remove stops 2", "Remove stops 2"}, {"Remove stops 2", "Remove stops 1"}, {"Remove stops 1", "Add stops"},
	} {
		p.Eval(`document.querySelector('.offer [aria-label="`+c.remove+`"]').click()`, nil)
		p.Await(`(` + focused + `) === '` + c.want + `'`)
	}
	click(t, p, ".offer fieldset", "Remove second")
	p.Await(`(` + focused + `) === 'Add second'`)
}

// TestPeerCancelledConsent checks that a wait for the terminal is cancelled without a message, and that the dialog then says
// that the terminal still asks.
func TestPeerCancelledConsent(t *testing.T) {
	c := newConsenting()
	c.servers = homeServers()
	p := openAsking(t, c)
	p.Await(`document.querySelectorAll('.card').length === 5`)
	p.Eval(`document.querySelectorAll('.card .main')[4].click()`, nil)
	cancel := func(text string) {
		p.Await(`document.querySelector('dialog[open]').textContent.includes('` + text + `')`)
		click(t, p, "dialog .end", "Cancel")
		p.Await(`!document.querySelector('dialog')`)
		p.Await(settled)
		if got := p.Text(`[...document.querySelectorAll('[role=alert], .toast')].map(e => e.textContent).join()`); got != "" {
			t.Errorf("the page says %q", got)
		}
	}
	cancel("asks you now")
	click(t, p, ".offers .server", "Connect")
	cancel("still asks you")
	click(t, p, ".offers .server", "Connect")
	eventually(t, "the terminal is not asked", func() bool { return c.asks() == 3 })
	c.answer <- errors.New("refused at the terminal")
	p.Await(`document.querySelector('.offers [role=alert]').textContent === 'refused at the terminal'`)
	click(t, p, ".offers .server", "Connect")
	cancel("asks you now") // again a new question
	p.Type("i")
	p.Await(`document.activeElement.id === 'hold-filter'`)
	p.Type("tea\r\r")
	p.Await(`document.querySelectorAll('dialog[open]').length === 2`)
	p.Type(kb.Escape)
	p.Await(`document.querySelectorAll('dialog[open]').length === 1 && document.getElementById('hold-filter').value === 'tea' && !document.querySelector('[role=alert]')`)
}

// A lateQuestion is an Actor that asks for a confirmation of a call once asked is closed.
type lateQuestion struct {
	trying
	asked chan struct{}
}

// Request asks before it sends.
func (l lateQuestion) Request(_ context.Context, r view.Request) (view.Sent, error) {
	l.note("request", r)
	if r.Confirmed {
		return view.Sent{Key: "1.3", Channel: "ok"}, nil
	}
	<-l.asked
	return view.Sent{Confirm: "Really send it?"}, nil
}

// TestPeerConfirmKeepsDialog checks that a confirmation is shown above an open dialog, which keeps what was typed.
func TestPeerConfirmKeepsDialog(t *testing.T) {
	a := lateQuestion{newTrying(), make(chan struct{})}
	p, _ := openTry(t, newDummy(), a)
	p.Type("jj")
	p.Await(`location.hash.includes('offer=no-arguments')`)
	click(t, p, ".offer", "Call")
	p.Type("i")
	p.Await(`document.activeElement.matches('dialog input')`)
	p.Type("typed")
	close(a.asked)
	p.Await(`document.querySelectorAll('dialog[open]').length === 2 && document.activeElement.textContent === 'Cancel'`)
	p.Type("\r")
	p.Await(`document.querySelectorAll('dialog[open]').length === 1 && document.querySelector('dialog input').value === 'typed'`)
	p.Await(`!document.querySelector('.offer [role=status]')`)
	if did := a.deeds(); len(did) != 2 {
		t.Errorf("did %q", did)
	}
}

// A lateAsking is an Actor whose servers ask questions after the page was opened.
type lateAsking struct {
	*fakeActor
	asks *sync.Map
}

func (l lateAsking) Questions() (all []view.Question) {
	l.asks.Range(func(id, _ any) bool {
		all = append(all, view.Question{ID: id.(string), Server: "tea", Method: "elicitation/create", Message: "Which?", Schema: []byte(`{"type":"object","properties":{"tea":{"type":"string"}}}`)})
		return true
	})
	return all
}

// A lateStatus is a Reader whose status counts the questions of a lateAsking.
type lateStatus struct {
	*dummy
	actor lateAsking
}

func (l lateStatus) Status() view.Status {
	s := l.dummy.Status()
	s.Questions = len(l.actor.Questions())
	return s
}

// TestPeerQuestionWhileTyping checks that a question does not take the focus while the user types, and that a opens it.
func TestPeerQuestionWhileTyping(t *testing.T) {
	a := lateAsking{&fakeActor{powers: allPowers}, &sync.Map{}}
	r := lateStatus{newDummy(), a}
	p, _ := open(t, chromium.Share(t), r, a)
	p.Type("/na")
	p.Await(`document.getElementById('filter').value === 'na'`)
	a.asks.Store("q1", true)
	r.change()
	p.Await(`document.querySelector('.waits').textContent.includes('1 question')`)
	p.Await(settled)
	p.Type("me:x")
	p.Await(`document.activeElement.id === 'filter' && document.activeElement.value === 'name:x' && document.querySelector('.waiting').hidden`)
	p.Type(kb.Enter + "a")
	p.Await(`document.activeElement.matches('#questions input')`)
	p.Type(kb.Escape + kb.Escape)
	p.Await(`document.querySelector('.waiting').hidden`)
	a.asks.Store("q2", true)
	r.change()
	p.Await(`!document.querySelector('.waiting').hidden`) // nothing is typed
}

// An asked is an Actor of Try whose servers ask questions that are open until they are answered.
type asked struct {
	trying
	open *sync.Map
}

func (a asked) Questions() (all []view.Question) {
	for _, id := range []string{"q1", "q2"} {
		if _, isOpen := a.open.Load(id); isOpen {
			all = append(all, view.Question{
				ID: id, Server: "tea", Method: "elicitation/create", Message: id,
				Schema: []byte(`{"type":"object","required":["stars"],"properties":{"stars":{"type":"integer","minimum":0,"maximum":5}}}`),
			})
		}
	}
	return all
}

func (a asked) Answer(ctx context.Context, id string, answer view.Answer) error {
	a.open.Delete(id)
	return a.trying.Answer(ctx, id, answer)
}

// An askedStatus is a Reader whose status counts the questions of an asked.
type askedStatus struct {
	*dummy
	actor asked
}

func (a askedStatus) Status() view.Status {
	s := a.dummy.Status()
	s.Questions = len(a.actor.Questions())
	return s
}

// TestPeerQuestionKeys checks that Ctrl+Enter validates and accepts an answer, and that the focus then goes to the next
// question, and after the last one back to the field of Try that had it.
func TestPeerQuestionKeys(t *testing.T) {
	a := asked{newTrying(), &sync.Map{}}
	r := askedStatus{newDummy(), a}
	p, _ := openTry(t, r, a)
	p.Eval(`document.querySelectorAll('.try-list .row')[1].click()`, nil)
	p.Await(`document.activeElement.matches('.offer .form input')`)
	p.Type("tea")
	p.Await(`document.activeElement.value === 'tea'`)
	const ctrlEnter = `void document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', ctrlKey: true, bubbles: true, cancelable: true }))`
	p.Eval(ctrlEnter, nil)
	p.Await(`document.querySelector('.offer [role=status]')`)
	a.open.Store("q1", true)
	a.open.Store("q2", true)
	r.change()
	for i, question := range []string{"q1", "q2"} {
		p.Await(`document.activeElement.matches('#questions input') && document.activeElement.closest('.ask').textContent.includes('` + question + `')`)
		p.Await(`document.querySelector('#questions label').textContent.endsWith('integer 0 to 5')`)
		p.Type("9")
		p.Await(`document.activeElement.value === '9'`)
		p.Eval(ctrlEnter, nil)
		p.Await(`document.querySelector('#questions .wrong').textContent === 'must be at most 5, got 9'`)
		p.Type("2")
		p.Await(`document.activeElement.value === '2'`)
		p.Eval(ctrlEnter, nil)
		eventually(t, "the question is not answered", func() bool { return len(a.Questions()) == 1-i })
		r.change()
	}
	p.Await(`document.activeElement.matches('.offer .form input') && !document.querySelector('.waiting')`)
	if want := `["answer","q2",{"action":"accept","content":{"stars":2}}]`; !slices.Contains(a.deeds(), want) {
		t.Errorf("did %q, want %s", a.deeds(), want)
	}
	p.Eval(`document.activeElement.blur()`, nil)
	p.Type("X")
	p.Await(`!document.querySelector('.offer [role=status]')`)
}

// TestPeerNoticed checks that the answer begins with the first finding and the number of lines of stderr, which open their
// tabs, and that the summary begins with the finding.
func TestPeerNoticed(t *testing.T) {
	p, _ := open(t, chromium.Share(t), newDummy(), &fakeActor{powers: allPowers})
	for _, text := range []string{"4 findings: plain words plain words Got: plain words", "stderr: 4 lines"} {
		p.Eval(`void (location.hash = 'v=table&d=1&row=1.3&tab=answer')`, nil)
		click(t, p, "#panel", text)
		p.Await(`!document.querySelector('#tab-answer[aria-selected=true]')`)
	}
	p.Await(`document.querySelector('#tab-summary[aria-selected=true]') && document.querySelector('#panel').textContent.startsWith('4 findings: ')`)
}

// TestPeerShowEverything checks that C removes the filter, the chosen exchange and the conversation.
func TestPeerShowEverything(t *testing.T) {
	p, _ := open(t, chromium.Share(t), newDummy(), &fakeActor{powers: allPowers})
	p.Eval(`void (location.hash = 'v=time&f=name:x&only=1.2&c=t1')`, nil)
	p.Await(`document.querySelector('.lanes')`)
	p.Type("/more" + kb.Escape)
	p.Await(`document.getElementById('filter').value === 'name:x more'`)
	p.Type("C")
	p.Await(`document.getElementById('filter').value === '' && location.hash === '#v=time'`)
}

// A progressing is a Reader of a running call that has a progress.
type progressing struct{ runningCall }

// Detail returns the running call.
func (r progressing) Detail(context.Context, string) (view.Detail, error) {
	return view.Detail{
		Row: view.Row{Key: "1.77", Method: "tools/call", State: "open", Time: time.Now()}, Facts: [][2]string{}, Frames: []view.Frame{},
		Lines: []view.Line{{Kind: "progress", Text: "2/5 Step 2"}},
	}, nil
}

// TestPeerTryProgress checks that a running call shows its newest progress.
func TestPeerTryProgress(t *testing.T) {
	r := progressing{runningCall{newDummy(), &sync.Mutex{}, new(bool)}}
	p, _ := openTry(t, r, newTrying())
	p.Type("j")
	p.Await(`location.hash.includes('offer=slow')`)
	enterValue(p, "q", "x")
	click(t, p, ".offer", "Call")
	r.begin()
	p.Await(`document.querySelector('#tab-summary[aria-selected=true]')`)
	r.change()
	p.Await(`document.querySelector('.offer [role=status]').textContent === 'Running… 2/5 Step 2'`)
	p.Eval(`document.activeElement.blur()`, nil)
	p.Type("X")
	p.Await(`document.querySelector('.offer [role=alert]').textContent === 'Cancelled.'`)
}

// An ownServer is a Reader of a view that starts a server after the page was opened.
type ownServer struct {
	*dummy
	isStarted *sync.Map
}

func (o ownServer) Status() view.Status {
	_, isStarted := o.isStarted.Load("")
	s := o.dummy.Status()
	return view.Status{Status: live.Status{Seq: s.Seq, Rows: 1}, Own: isStarted}
}

// TestPeerOwnServer checks an address that opens Try at the view's server, which starts later: the page connects, keeps the
// filter, and Back returns to Try.
func TestPeerOwnServer(t *testing.T) {
	r, a := ownServer{newDummy(), &sync.Map{}}, newTrying()
	s := start(t, Options{Reader: r, Actor: a, Assets: assets()})
	p := chromium.Share(t).Tab(t)
	p.Load(s.URL() + "&v=try&f=is%3Aerror")
	p.Await(`document.querySelector('.try') && !location.hash.includes('t=')`)
	p.Await(settled)
	if slices.ContainsFunc(a.deeds(), func(did string) bool { return strings.Contains(did, "catalog") }) {
		t.Errorf("did %q before the server is started", a.deeds())
	}
	r.isStarted.Store("", true)
	r.change()
	p.Await(`document.querySelectorAll('.try-list .row').length === 3`)
	p.Await(`document.querySelector('[aria-label=Server]').selectedOptions[0].textContent === 'the server of this view'`)
	p.Type("1")
	p.Await(`document.querySelector('.list.talk') && document.getElementById('filter').value === 'is:error'`)
	p.Eval(`history.back()`, nil)
	p.Await(`document.querySelectorAll('.try-list .row').length === 3`)
}
