//go:build peers

package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"mcpc/internal/live"
	"mcpc/internal/live/view"
	"mcpc/internal/tests/chromium"
)

// nestedSchema is the schema of a tool with every kind of input.
const nestedSchema = `{"type":"object","required":["name","address","how"],"$defs":{"place":{"type":"object","required":["city"],
	"properties":{"city":{"type":"string","examples":["Bern"]},"floor":{"type":["integer","null"]}}}},"properties":{
	"name":{"type":"string","title":"Full name","description":"Who gets it."},
	"count":{"type":"integer","default":3,"maximum":5},"big":{"type":"number","default":12345678901234567890},
	"express":{"type":"boolean"},"size":{"type":"string","enum":["small","large"]},
	"tags":{"type":"array","items":{"enum":["a","b"]}},
	"address":{"$ref":"#/$defs/place"},"second":{"$ref":"#/$defs/place"},
	"stops":{"type":"array","items":{"$ref":"#/$defs/place"}},
	"note":{"anyOf":[{"type":"string"},{"type":"null"}]},
	"how":{"oneOf":[{"type":"object","title":"By mail","properties":{"kind":{"const":"mail"},"stamp":{"type":"string"}},"required":["kind"]},
		{"type":"object","title":"By hand","properties":{"kind":{"const":"hand"},"at":{"type":"string"}},"required":["kind"]}]},
	"free":{"type":"object","additionalProperties":true}}}`

// A trying is an Actor whose servers have offers of all kinds.
type trying struct {
	*fakeActor
	tools int // how many more tools
	ended chan error
	dead  *string // the error of all requests; "" for none
}

func newTrying() trying {
	dead := ""
	return trying{&fakeActor{powers: allPowers, servers: homeServers()}, 0, make(chan error, 1), &dead}
}

// Catalog returns offers of all kinds.
func (a trying) Catalog(_ context.Context, target string) (view.Catalog, error) {
	a.note("catalog", target)
	a.mu.Lock()
	defer a.mu.Unlock()
	if *a.dead != "" {
		return view.Catalog{}, errors.New(*a.dead)
	}
	text := json.RawMessage(`{"type":"object","required":["q"],"properties":{"q":{"type":"string"}}}`)
	command := []string{"mcpc call send ", " -s demo"}
	tools := []view.Offer{
		{
			Kind: "tool", Name: "send", Title: "Send a parcel", Description: "Sends it somewhere.", Schema: json.RawMessage(nestedSchema),
			Command: command, Destructive: true, Last: &view.LastGood{Key: "1.2", Arguments: json.RawMessage(`{"name":"Ann","how":{"kind":"hand","at":"door"}}`)},
		},
		{Kind: "tool", Name: "slow", Description: "Waits for its end.", Schema: text, SchemaError: "no <schema>"},
		{Kind: "tool", Name: "no-arguments", Schema: json.RawMessage(`{"type":"object"}`), ReadOnly: true},
	}
	for i := range a.tools {
		tools = append(tools, view.Offer{Kind: "tool", Name: fmt.Sprint("tool-", i), Description: fmt.Sprint("number ", i), Schema: text})
	}
	return view.Catalog{
		Target: target, Server: "parcels", Title: "Parcels", Version: "1.0", Revision: "2026-07-28", Instructions: "Send wisely.",
		Lists: []view.OfferList{
			{Kind: "tool", Offers: tools},
			{Kind: "prompt", Offers: []view.Offer{{Kind: "prompt", Name: "greet", Schema: text}}},
			{Kind: "resource", Offers: []view.Offer{{Kind: "resource", Name: "file:///a.txt", Title: "A", MIMEType: "text/plain"}}},
			{Kind: "template", Offers: []view.Offer{{Kind: "template", Name: "file:///{q}", Schema: text}}, Error: "the rest could not be read"},
			{Kind: "task", Offers: []view.Offer{{Kind: "task", Name: "task-1", Status: "working"}}},
		},
	}, nil
}

// Request waits for the end of the request if the tool is slow, and asks before the tool send.
func (a trying) Request(ctx context.Context, r view.Request) (view.Sent, error) {
	a.note("request", r)
	if r.Name == "slow" {
		<-ctx.Done()
		a.ended <- ctx.Err()
		return view.Sent{}, ctx.Err()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if *a.dead != "" {
		return view.Sent{Key: "1.3", Text: *a.dead}, nil
	}
	if r.Name == "send" && !r.Confirmed {
		return view.Sent{Confirm: "Really send it?"}, nil
	}
	return view.Sent{Key: "1.3", Channel: "ok"}, nil
}

// Complete suggests two values that begin with the typed one.
func (a trying) Complete(_ context.Context, c view.Completion) (view.Completed, error) {
	a.note("complete", c)
	return view.Completed{Values: []string{c.Value + "lpha", c.Value + "venue"}}, nil
}

// openTry opens the Try view of the demo server from its card.
func openTry(t *testing.T, r view.Reader, a view.Actor) (*chromium.Page, *site) {
	t.Helper()
	p, s := open(t, chromium.Share(t), r, a)
	p.Await(`document.querySelector('nav.views').textContent.includes('Home')`)
	p.Type("H")
	p.Await(`document.querySelector('.card [aria-label="Try demo"]')`)
	p.Eval(`document.querySelector('.card [aria-label="Try demo"]').click()`, nil)
	p.Await(`document.querySelectorAll('.try-list .row').length >= 3 && document.querySelector('.offer .main')`)
	return p, s
}

// click clicks the button in where whose text begins with name.
func click(t *testing.T, p *chromium.Page, where, name string) {
	t.Helper()
	find := `[...document.querySelectorAll('` + where + ` button')].find(b => b.textContent.trim().startsWith('` + name + `'))`
	p.Await(find)
	p.Eval(find+`.click()`, nil)
}

// enterValue sets the input with a label.
func enterValue(p *chromium.Page, label, value string) {
	find := `[...document.querySelectorAll('.offer label')].find(l => l.textContent.startsWith('` + label + `'))`
	p.Await(find)
	p.Eval(`(e => { e.value = `+string(quoted(value))+`; e.dispatchEvent(new Event(e.matches('select') ? 'change' : 'input', { bubbles: true })); })(document.getElementById(`+find+`.htmlFor))`, nil)
	p.Await(settled)
}

// TestPeerTryForm fills the form of a nested schema, confirms the call, and sees the result beside it.
func TestPeerTryForm(t *testing.T) {
	a := newTrying()
	p, s := openTry(t, newDummy(), a)
	p.Await(`location.hash.includes('v=try') && location.hash.includes('server=demo')`)
	enterValue(p, "Full name", "Ann O'Neil")
	enterValue(p, "city", "Bern")
	enterValue(p, "size", "1")
	click(t, p, ".offer fieldset", "Add second")
	p.Await(`[...document.querySelectorAll('.offer button')].some(b => b.textContent === 'Remove second')`)
	click(t, p, ".offer fieldset", "Add stops")
	p.Await(`document.querySelectorAll('.offer .item').length === 1`)
	click(t, p, ".offer fieldset", "Add stops")
	p.Await(`document.querySelectorAll('.offer .item').length === 2`)
	p.Eval(`document.querySelector('.offer .item > button').click()`, nil)
	p.Await(`document.querySelectorAll('.offer .item').length === 1`)
	p.Eval(`(e => { e.value = 1; e.dispatchEvent(new Event('change', { bubbles: true })); })(document.querySelector('.offer [aria-label="Kind of how"]'))`, nil)
	p.Await(settled)
	enterValue(p, "at", "the door")
	p.Eval(`document.querySelectorAll('.offer input[placeholder="for example Bern"]').forEach(e => { e.value = 'Bern'; e.dispatchEvent(new Event('input', { bubbles: true })); })`, nil)
	p.Await(settled)
	want := `{"count":3,"big":12345678901234567890,"address":{"city":"Bern"},"name":"Ann O'Neil","size":"large","second":{"city":"Bern"},"stops":[{"city":"Bern"}],"how":{"kind":"hand","at":"the door"}}`
	p.Await(`document.querySelector('.offer .command code').textContent === ` + string(quoted("mcpc call send '"+strings.ReplaceAll(want, "'", `'\''`)+"' -s demo")))
	click(t, p, ".offer", "Call")
	p.Await(`document.querySelector('dialog[open] p').textContent === 'Really send it?'`)
	click(t, p, "dialog", "Send")
	p.Await(`document.querySelector('#tab-answer[aria-selected=true]') && location.hash.includes('row=1.3')`)
	sent := `["request",{"target":"demo","kind":"tool","name":"send","arguments":` + want + `,"confirmed":true}]`
	if did := a.deeds(); did[len(did)-1] != sent {
		t.Errorf("sent %s, want %s", did[len(did)-1], sent)
	}
	enterValue(p, "Full name", "Eve")
	p.Await(`document.querySelector('.offer .command code').textContent.includes('"name":"Eve"')`)
	click(t, p, ".offer", "Last good call")
	p.Await(`document.querySelector('.offer .command code').textContent.includes(` + string(quoted(strings.ReplaceAll(want, "'", `'\''`))) + `)`)
	p.Await(`document.querySelector('.offer [aria-label="Kind of how"]').value === '1'`)
	click(t, p, ".offer .form", "JSON")
	p.Await(`document.querySelector('.offer textarea.json').value.includes('"the door"')`)
	click(t, p, ".offer", "Save as step")
	p.Await(`document.querySelector('dialog[open] pre').textContent.includes('- call: echo')`)
	p.AssertClean(strings.TrimPrefix(s.base, "http://"))
}

// TestPeerTryFocus checks that a click on an offer and Enter move the focus into its form, and that the arrow keys do not.
func TestPeerTryFocus(t *testing.T) {
	p, _ := openTry(t, newDummy(), newTrying())
	pick := func(row int) {
		p.Eval(fmt.Sprintf(`document.querySelectorAll('.try-list .row')[%d].click()`, row), nil)
	}
	pick(1)
	p.Await(`document.activeElement.matches('.offer .form input')`)
	p.Await(`document.querySelector('.offer .wrong').textContent === 'Input schema: no <schema>'`)
	p.Await(`[...document.querySelectorAll('.try-list .wrong')].map(e => e.closest('.row').textContent).join() === 'slow !'`)
	p.Type("pb1")
	p.Await(`document.querySelector('.offer .form input').value === 'pb1'`)
	p.Eval(`document.querySelector('.try-list').focus()`, nil)
	p.Type(kb.ArrowDown)
	p.Await(`location.hash.includes('offer=no-arguments') && document.activeElement.matches('.try-list')`)
	p.Type("\r")
	p.Await(`document.activeElement.matches('.offer .form textarea')`)
	click(t, p, ".offers .chips", "Resources")
	p.Await(`document.querySelector('.offer h2').textContent === 'A'`)
	pick(0)
	p.Await(`document.activeElement.matches('.offer .main')`)
}

// TestPeerTryInvalid checks that a form marks its invalid fields, and sends nothing before they are valid.
func TestPeerTryInvalid(t *testing.T) {
	a := newTrying()
	p, s := openTry(t, newDummy(), a)
	enterValue(p, "count", "7")
	enterValue(p, "big", "abc")
	click(t, p, ".offer", "Call")
	shown := `[...document.querySelectorAll('.offer .field')].filter(f => f.querySelector('[aria-invalid=true]'))` +
		`.map(f => f.querySelector('label').textContent.split(' ')[0] + ' ' + f.querySelector('.wrong').textContent).join('; ')`
	want := "Full is required; count must be at most 5, got 7; big must be a number, such as 42 or 0.5; city is required"
	p.Await(`(` + shown + `) === ` + string(quoted(want)))
	p.Await(`document.querySelector('.offer .invalid select').getAttribute('aria-label') === 'Kind of how'`)
	p.Await(`document.activeElement.closest('.field').textContent.startsWith('Full name')`)
	enterValue(p, "Full name", "Ann")
	enterValue(p, "count", "5")
	enterValue(p, "big", "1")
	click(t, p, ".offer", "Call")
	p.Await(`document.activeElement.closest('.field').textContent.startsWith('city') && (` + shown + `) === 'city is required'`)
	if did := strings.Join(a.deeds(), ""); strings.Contains(did, "request") {
		t.Errorf("the page did %s", did)
	}
	enterValue(p, "city", "Bern")
	p.Eval(`(e => { e.value = 0; e.dispatchEvent(new Event('change', { bubbles: true })); })(document.querySelector('.offer [aria-label="Kind of how"]'))`, nil)
	p.Await(`!document.querySelector('.offer .invalid')`)
	click(t, p, ".offer", "Call")
	p.Await(`document.querySelector('dialog[open] p').textContent === 'Really send it?'`)
	p.AssertClean(strings.TrimPrefix(s.base, "http://"))
}

// TestPeerTryHostileSchema holds: a short schema that describes billions of values does not stop the page.
func TestPeerTryHostileSchema(t *testing.T) {
	p, _ := openTry(t, newDummy(), newTrying())
	var size int
	p.Eval(`(async () => {
		const { defaultValues } = await import('/form.js'), names = [...'abcdefghijklmnop'], $defs = { end: {} };
		const refs = to => names.map(() => ({ $ref: '#/$defs/' + to }));
		names.forEach((name, i) => {
			const properties = Object.fromEntries(refs(names[i + 1] || 'end').map((s, k) => [names[k], s]));
			$defs[name] = { type: 'object', required: names, properties };
			$defs['all-' + name] = { allOf: refs(names[i + 1] ? 'all-' + names[i + 1] : 'end') };
		});
		const valueOf = $ref => JSON.stringify(defaultValues({ $ref: '#/$defs/' + $ref, $defs })).length;
		return valueOf('a') + valueOf('all-a');
	})()`, &size)
	if size > 100_000 {
		t.Errorf("the form begins with %d characters", size)
	}
}

// TestPeerTryCancel cancels a running call, and follows its progress in the detail.
func TestPeerTryCancel(t *testing.T) {
	a := newTrying()
	r := runningCall{newDummy(), &sync.Mutex{}, new(bool)}
	p, _ := openTry(t, r, a)
	p.Type("j")
	p.Await(`location.hash.includes('offer=slow')`)
	enterValue(p, "q", "it's")
	click(t, p, ".offer", "Call")
	p.Await(`document.querySelector('.offer [role=status]').textContent === 'Running…'`)
	r.begin()
	p.Await(`location.hash.includes('row=1.77') && document.querySelector('#tab-summary[aria-selected=true]')`)
	p.Eval(`document.activeElement.blur()`, nil)
	p.Type("X")
	p.Await(`document.querySelector('.offer [role=alert]').textContent === 'Cancelled.'`)
	select {
	case err := <-a.ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the call ended with %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("the call was not cancelled")
	}
	if got := p.Text(`document.querySelector('.offer input').value`); got != "it's" {
		t.Errorf("the form has %q", got)
	}
}

// runningCall is a Reader whose newest row is an open call once it began.
type runningCall struct {
	*dummy
	lock  *sync.Mutex
	began *bool
}

func (r runningCall) begin() {
	r.lock.Lock()
	*r.began = true
	r.lock.Unlock()
	r.change()
}

func (r runningCall) Rows(ctx context.Context, q view.Query) (view.Page, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if q.Filter == "method:tools/call" && *r.began {
		return view.Page{Total: 1, Rows: []view.Row{{Key: "1.77", Method: "tools/call", State: "open", Time: time.Now()}}}, nil
	}
	return r.dummy.Rows(ctx, q)
}

// TestPeerTryDeadServer holds: if the server dies, the page says so and keeps what was typed.
func TestPeerTryDeadServer(t *testing.T) {
	a := newTrying()
	p, _ := openTry(t, newDummy(), a)
	p.Type("jj")
	p.Await(`location.hash.includes('offer=no-arguments')`)
	p.Type("k")
	enterValue(p, "q", "kept")
	a.mu.Lock()
	*a.dead = "the server ended: exit status 1"
	a.mu.Unlock()
	p.Type(kb.Escape)
	p.Eval(`document.activeElement.blur()`, nil)
	p.Type("R")
	p.Await(`document.querySelector('.offers [role=alert]').textContent === 'the server ended: exit status 1'`)
	p.Type("1")
	p.Await(`document.querySelector('.list.talk')`)
	p.Type("T")
	p.Await(`(document.querySelector('.offer input') || {}).value === 'kept'`)
}

// troubled is a Reader whose status says that the view's own server does not run while trouble is not empty.
type troubled struct {
	*dummy
	trouble atomic.Value // a string
}

func (r *troubled) Status() view.Status {
	s := r.dummy.Status()
	s.Trouble, _ = r.trouble.Load().(string)
	s.Output = true
	return s
}

// TestPeerTryTrouble holds: while the server does not run, the page says why. When it runs again, neither that nor the
// failure of a request that was sent meanwhile is shown.
func TestPeerTryTrouble(t *testing.T) {
	a := newTrying()
	r := &troubled{dummy: newDummy()}
	p, _ := openTry(t, r, a)
	p.Type("jj")
	p.Await(`location.hash.includes('offer=no-arguments')`)
	a.mu.Lock()
	*a.dead = "the server ended"
	a.mu.Unlock()
	r.trouble.Store("SyntaxError <b>")
	r.change()
	p.Await(`[...document.querySelectorAll('.bar[role=alert]')].some(e => e.textContent.includes('SyntaxError <b>'))`)
	p.Eval(`document.querySelector('.offer .main').click()`, nil)
	p.Await(`document.querySelector('.offer .failed') && document.querySelector('.detail .title').textContent.includes('1.3')`)
	p.Eval(`document.querySelector('.bar[role=alert] button').click()`, nil)
	p.Await(`document.querySelector('dialog pre').textContent === 'listening <b>\nready'`)
	p.Type(kb.Escape)
	r.trouble.Store("")
	r.change()
	p.Await(`!document.querySelector('.bar[role=alert]') && !document.querySelector('.offer .failed') && !document.querySelector('.detail')`)
}

// changingSchema is trying with another schema of the tool slow.
type changingSchema struct {
	trying
	schema *atomic.Value // a string
}

func (a changingSchema) Catalog(ctx context.Context, target string) (view.Catalog, error) {
	c, err := a.trying.Catalog(ctx, target)
	c.Lists[0].Offers[1].Schema = json.RawMessage(a.schema.Load().(string))
	return c, err
}

// TestPeerTrySchemaChanges checks that a new schema drops the arguments that lost their field, says so, keeps the others, and
// leaves the focus in the form.
func TestPeerTrySchemaChanges(t *testing.T) {
	a := changingSchema{newTrying(), &atomic.Value{}}
	a.schema.Store(`{"properties":{"a":{"type":"string"},"b":{"type":"string"},"in":{"type":"object","required":["d","e"],` +
		`"properties":{"d":{"type":"boolean"},"e":{"type":"boolean"}}}},"required":["in"]}`)
	r := changingLists{newDummy()}
	p, _ := openTry(t, r, a)
	p.Eval(`document.querySelectorAll('.try-list .row')[1].click()`, nil)
	p.Await(`document.querySelector('.offer h2').textContent === 'slow' && document.querySelectorAll('.offer .field').length === 4`)
	click(t, p, ".offer .form", "JSON")
	p.Await(`document.querySelector('.offer textarea')`)
	p.Eval(`(e => { e.value = '{"a":"1","b":"2","in":{"d":true,"e":true},"other":3}'; e.dispatchEvent(new Event('input', { bubbles: true })); })(document.querySelector('.offer textarea'))`, nil)
	p.Await(settled)
	click(t, p, ".offer .form", "Fields")
	p.Await(`document.querySelectorAll('.offer .field').length === 4`)
	const field = `document.activeElement.closest('.offer .field')?.textContent.split(' ')[0]`
	p.Eval(`[...document.querySelectorAll('.offer .field')].find(f => f.textContent.startsWith('b')).querySelector('input').focus()`, nil)
	p.Await(field + ` === 'b'`)
	change := func(schema string) {
		a.schema.Store(schema)
		r.change()
	}
	change(`{"properties":{"a":{"type":"string"},"b":{"type":"array"},"in":{"type":"object","properties":{"d":{"type":"boolean"}}}}}`)
	p.Await(`document.activeElement.matches('textarea') && ` + field + ` === 'b'`)
	p.Await(`document.querySelector('.toast').textContent.includes('e is no argument of slow any more.')`)
	click(t, p, ".offer", "Save as step")
	p.Await(`document.querySelector('dialog[open] pre').textContent.includes('- call: echo')`)
	want := `["step",{"target":"demo","kind":"tool","name":"slow","arguments":{"a":"1","b":"2","in":{"d":true},"other":3}},""]`
	if did := a.deeds(); !slices.Contains(did, want) {
		t.Errorf("did %q, want %s", did, want)
	}
	p.Type(kb.Escape)
	p.Await(`!document.querySelector('dialog')`)
	p.Eval(`document.querySelector('.offer textarea').focus()`, nil)
	change(`{"properties":{"a":{"type":"string"}}}`)
	p.Await(`document.querySelector('.toast').textContent.includes('b, in are no arguments of slow any more.')`)
	p.Await(field + ` === 'a'`)
}

// TestPeerTryDetail checks that the detail beside the form is of its request: while one runs, it shows no other exchange, and
// another offer closes it.
func TestPeerTryDetail(t *testing.T) {
	a := lateQuestion{newTrying(), make(chan struct{})}
	p, _ := openTry(t, newDummy(), a)
	p.Eval(`void (location.hash = 'v=try&server=demo&kind=tool&offer=no-arguments&d=1&row=1.2&tab=answer')`, nil)
	p.Await(`document.querySelector('.offer h2').textContent === 'no-arguments' && document.querySelector('.detail .title').textContent.includes('1.2')`)
	click(t, p, ".offer", "Call")
	p.Await(`document.querySelector('.detail').textContent === 'Running…'`)
	close(a.asked)
	click(t, p, "dialog", "Send")
	p.Await(`document.querySelector('.detail .title').textContent.includes('1.3')`)
	p.Eval(`document.querySelectorAll('.try-list .row')[2].click()`, nil)
	p.Await(settled)
	p.Await(`document.querySelector('.detail')`) // the same offer
	p.Eval(`document.querySelectorAll('.try-list .row')[1].click()`, nil)
	p.Await(`document.querySelector('.offer h2').textContent === 'slow' && !document.querySelector('.detail')`)
}

// TestPeerTryKinds searches, gets a prompt with completion, reads a resource and subscribes to it, by keys.
func TestPeerTryKinds(t *testing.T) {
	a := newTrying()
	p, s := openTry(t, newDummy(), a)
	p.Type("/gree")
	p.Await(`document.querySelector('.offer h2').textContent === 'greet'`)
	p.Type("\r")
	p.Await(`document.activeElement.matches('.offer input')`)
	p.Type("a")
	p.Await(`[...document.querySelectorAll('.offer datalist option')].map(o => o.value).join() === 'alpha,avenue'`)
	p.Eval(`(e => {
		e.value = 'alpha';
		e.dispatchEvent(new Event('input', { bubbles: true }));
		e.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', ctrlKey: true, bubbles: true })); // before it is drawn
	})(document.activeElement)`, nil)
	p.Await(`location.hash.includes('row=1.3')`)
	last := func() string { did := a.deeds(); return did[len(did)-1] }
	if want := `["request",{"target":"demo","kind":"prompt","name":"greet","arguments":{"q":"alpha"}}]`; last() != want {
		t.Errorf("sent %s, want %s", last(), want)
	}
	p.Eval(`document.activeElement.blur()`, nil)
	p.Type(kb.Escape + "/")
	p.Await(`document.activeElement.id === 'filter'`)
	p.Type("plain-no-match")
	p.Await(`document.querySelector('.offers .empty').textContent === 'Nothing fits.'`)
	p.Eval(`(e => { e.value = ''; e.dispatchEvent(new Event('input', { bubbles: true })); })(document.querySelector('#filter'))`, nil)
	p.Eval(`document.activeElement.blur()`, nil)
	p.Type(kb.ArrowRight)
	p.Await(`document.querySelector('.offers [aria-pressed=true]').textContent.startsWith('Prompts')`)
	p.Type(kb.ArrowRight)
	p.Await(`document.querySelector('.offer h2').textContent === 'A'`)
	p.Type("u")
	p.Await(`document.querySelector('.offer [aria-pressed=true]').textContent === 'Subscribe'`)
	if want := `["subscribe","demo","file:///a.txt",true]`; last() != want {
		t.Errorf("did %s, want %s", last(), want)
	}
	click(t, p, ".offers .chips", "Templates")
	p.Await(`document.querySelector('.offers [role=alert]').textContent === 'the rest could not be read'`)
	click(t, p, ".offers .chips", "Tasks")
	p.Await(`document.querySelector('.offer .dim').textContent === 'working'`)
	p.AssertClean(strings.TrimPrefix(s.base, "http://"))
}

// TestPeerTryAsksOnlyIfChosen holds: an address of the page that names a server sends nothing to it.
func TestPeerTryAsksOnlyIfChosen(t *testing.T) {
	a := newTrying()
	p, _ := open(t, chromium.Share(t), newDummy(), a)
	p.Eval(`void (location.hash = 'v=try&server=http%3A%2F%2F127.0.0.1%3A1%2Fmcp')`, nil)
	p.Await(`(document.querySelector('.offer .empty') || {}).textContent === 'Connect asks http://127.0.0.1:1/mcp what it offers.'`)
	if did := strings.Join(a.deeds(), ""); strings.Contains(did, "catalog") {
		t.Errorf("the page did %s", did)
	}
	click(t, p, ".offers .server", "Connect")
	p.Await(`document.querySelectorAll('.try-list .row').length === 3`)
}

// TestPeerTryMany holds: a server with 10,000 tools is searched in under 50 ms, and few rows are drawn.
func TestPeerTryMany(t *testing.T) {
	a := newTrying()
	a.tools = 10_000
	p, _ := openTry(t, newDummy(), a)
	var took float64
	p.Eval(`(async () => {
		const e = document.querySelector('#filter'), began = performance.now();
		e.value = 'number 9999';
		e.dispatchEvent(new Event('input', { bubbles: true }));
		while (document.querySelectorAll('.try-list .row').length !== 1) await new Promise(requestAnimationFrame);
		return performance.now() - began;
	})()`, &took)
	t.Logf("the search took %v ms", took)
	if took > 500 { // on a busy machine
		t.Errorf("the search took %v ms", took)
	}
	if n := p.Text(`document.querySelectorAll('[role=row]').length < 130`); n != "true" {
		t.Error("too many rows are drawn")
	}
}

// TestPeerTryListsChange gets the catalog again if the server says that a list changed.
func TestPeerTryListsChange(t *testing.T) {
	a := newTrying()
	r := changingLists{newDummy()}
	openTry(t, r, a)
	before := len(a.deeds())
	r.change()
	eventually(t, "the catalog is not read again", func() bool { return slices.Contains(a.deeds()[before:], `["catalog","demo"]`) })
}

// changingLists is a Reader of a view in which each change is a change of a list.
type changingLists struct{ *dummy }

func (r changingLists) Status() view.Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return view.Status{Status: live.Status{Seq: r.seq}, Home: true, Catalogs: int(r.seq) - 1}
}

// half is a Reader that counts the filters that it refuses.
type half struct {
	*dummy
	refused *[]string
}

func (h half) Talk(ctx context.Context, q view.Query) ([]view.Block, view.Page, error) {
	if _, err := h.fakeReader.Rows(ctx, q); err != nil {
		h.mu.Lock()
		*h.refused = append(*h.refused, q.Filter)
		h.mu.Unlock()
		return nil, view.Page{}, err
	}
	return h.dummy.Talk(ctx, q)
}

// TestPeerHalfTypedFilter holds: while a filter is typed, the page does not ask for its beginnings, and never
// again for a filter that was refused.
func TestPeerHalfTypedFilter(t *testing.T) {
	h := half{newDummy(), &[]string{}}
	p, _ := open(t, chromium.Share(t), h, nil)
	p.Await(`document.querySelectorAll('.list.talk .row').length > 5`)
	p.Eval(`(async e => {
		for (const c of 'dur:>1s name:"a b" (') {
			e.value += c;
			e.dispatchEvent(new Event('input', { bubbles: true }));
			for (let frames = 0; frames < 3; frames++) await new Promise(requestAnimationFrame);
		}
	})(document.querySelector('#filter')).then(() => true)`, new(bool))
	p.Await(`document.querySelector('#filter-error').textContent.includes('column')`)
	for range 5 {
		h.change()
		p.Await(settled)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	// On a busy machine typing may seem to pause, so a beginning or two may be asked for.
	whole := `dur:>1s name:"a b" (`
	if n := len(*h.refused); n > 3 || slices.Index(*h.refused, whole) != n-1 {
		t.Errorf("refused %q, want only %q", *h.refused, whole)
	}
}

// TestPeerTryPictures writes pictures of the Try view to the directory MCPC_SHOTS, if it is set.
func TestPeerTryPictures(t *testing.T) {
	dir := os.Getenv("MCPC_SHOTS")
	if dir == "" {
		t.Skip("MCPC_SHOTS is not set")
	}
	a := newTrying()
	p, _ := openTry(t, newDummy(), a)
	for _, c := range []struct {
		scheme        string
		width, height int64
		zoom          float64
	}{{"light", 1280, 800, 1}, {"dark", 1280, 800, 1}, {"light", 1600, 1000, 1}, {"light", 390, 844, 1}, {"light", 1280, 800, 2}} {
		p.SetColorScheme(c.scheme)
		p.SetSize(c.width, c.height, c.zoom)
		for _, detail := range []string{"", "&d=1&row=1.3&tab=answer"} {
			p.Eval(`void (location.hash = 'v=try&server=demo&kind=tool&offer=send`+detail+`')`, nil)
			p.Await(settled)
			name := fmt.Sprintf("try-%s-%d-%v-%d.png", c.scheme, c.width, c.zoom, len(detail))
			if err := os.WriteFile(filepath.Join(dir, name), p.Screenshot(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}
