package tui

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"mcpc/internal/capture/filter"
	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/live/view"
	"mcpc/internal/render/term"
	"mcpc/internal/shellwords"
	"mcpc/internal/tui/cells"
)

// A tryState is the state of the Try view that is not in its list.
type tryState struct {
	target string // the server, as the user named it; "" is the server that the view started
	// afterLogin is a server that the user wanted to try and that requires a login.
	afterLogin string
	catalog    *view.Catalog  // nil until a server has answered
	kind       int            // the index of the shown list in the catalog
	texts      [][]searchText // of the offers of each list
	found      []int          // how many offers of each list match the search
	search     input
	seen       int              // the changes of lists that the catalog has
	forms      map[string]*form // the forms that were left, by formRequest.key
	// subscribed has the resources whose updates are followed, by formRequest.key.
	subscribed map[string]bool
	// running is the request that waits for its response; nil if there is none.
	running *formRequest
	sentAt  time.Time
	// resultOf is the offer whose exchange was last shown beside a form, by formRequest.key.
	resultOf string
	// typed counts the changes of the text of a form, and suggestions complete the text after the last one.
	typed       int
	suggestions []string
}

// A searchText is what the search looks for words in, in lower case.
type searchText struct{ name, description string }

// A formRequest is the request for which a form has the arguments.
type formRequest struct {
	target string
	server string // its name for the user
	offer  view.Offer
	// resent is the recorded request that is sent again with the arguments, and message its text. resent is
	// nil if an offer is requested.
	resent  *resendRequest
	message json.RawMessage
}

// kindNames are the names of the lists of a catalog.
var kindNames = map[string]string{
	view.KindTool: "Tools", view.KindPrompt: "Prompts", view.KindResource: "Resources", view.KindTemplate: "Templates",
	view.KindTask: "Tasks",
}

// showTry switches to the Try view. Without a server it gets what the view's own server offers.
func (m *model) showTry() tea.Cmd {
	if m.opt.Actor == nil || !m.act.powers.Call {
		return m.showMissingPower("call")
	}
	if m.try.catalog == nil {
		return m.tryServer("")
	}
	m.closeDetail()
	return m.switchView(viewTry)
}

// tryServer connects to a server, and shows what it offers.
func (m *model) tryServer(name string) tea.Cmd {
	actor := m.opt.Actor
	if actor == nil || !m.act.powers.Call {
		return m.showMissingPower("call")
	}
	m.showMessage(strings.TrimSpace("connecting to "+name) + "…")
	seen := m.status.Catalogs
	return m.loader.runAction(func(ctx context.Context) change {
		catalog, err := actor.Catalog(ctx, name)
		return func(m *model) tea.Cmd {
			if err != nil && name == "" && m.status.Home { // the view has no server of its own
				show := m.showHome()
				m.showMessage("select a server, and press Enter")
				return show
			}
			if err != nil {
				return tea.Batch(m.showError(err), m.reload())
			}
			if catalog.NeedsLogin != "" {
				return tea.Batch(m.offerLogin(name, catalog.NeedsLogin), m.reload())
			}
			m.try.target = name
			m.try.seen = seen
			m.try.kind = 0
			m.try.search.Set("")
			m.try.setCatalog(&catalog)
			m.lists[viewTry].reset(false)
			if m.dialog != nil || m.focus == paneFilter || m.focus == paneForm { // the user is typing
				return m.showMessage("T shows what " + catalogName(&catalog) + " offers")
			}
			m.statusLine.flash = ""
			m.closeDetail()
			return tea.Batch(m.switchView(viewTry), m.openOnlyTool())
		}
	})
}

// openOnlyTool opens the form of the tool of a server that has one tool.
func (m *model) openOnlyTool() tea.Cmd {
	m.listOffers()
	o := m.selectedOffer()
	if o == nil || o.Kind != view.KindTool || o.Refused != "" || m.list().total != 1 {
		return nil
	}
	return m.openOffer()
}

// setCatalog sets the catalog, and the texts to search.
func (t *tryState) setCatalog(c *view.Catalog) {
	t.catalog = c
	t.texts = nil
	for _, list := range c.Lists {
		texts := make([]searchText, len(list.Offers))
		for i, o := range list.Offers {
			texts[i] = searchText{strings.ToLower(o.Name + " " + o.Title), strings.ToLower(o.Description)}
		}
		t.texts = append(t.texts, texts)
	}
}

// catalogName returns the name of a server for the user.
func catalogName(c *view.Catalog) string { return firstText(c.Title, c.Server, c.Target) }

// refreshCatalog gets the catalog again if the server has said that a list changed, or if isWanted is set.
func (m *model) refreshCatalog(isWanted bool) tea.Cmd {
	if m.try.catalog == nil || !isWanted && m.status.Catalogs == m.try.seen {
		return nil
	}
	m.try.seen = m.status.Catalogs
	target := m.try.target
	actor := m.opt.Actor
	return m.loader.restart(subjectCatalog, func(ctx context.Context) change {
		catalog, err := actor.Catalog(ctx, target)
		return func(m *model) tea.Cmd {
			if m.try.target != target {
				return nil // the user tries a different server
			}
			if err != nil {
				return m.showError(err)
			}
			if catalog.NeedsLogin != "" {
				return m.showMessage(catalog.NeedsLogin + ": L logs in")
			}
			kind := m.shownKind()
			m.try.setCatalog(&catalog)
			m.try.kind = max(0, slices.IndexFunc(catalog.Lists, func(l view.OfferList) bool { return l.Kind == kind }))
			m.listOffers()
			m.updateForm()
			if isWanted {
				return m.showMessage("listed again")
			}
			return nil
		}
	})
}

// updateForm gives the open form of an offer of the catalog the fields of the offer's current schema, and
// keeps the values and the focus. The form says what is gone.
func (m *model) updateForm() {
	r := m.act.request
	if r == nil || r.resent != nil || r.target != m.try.catalog.Target {
		return
	}
	o := m.try.catalog.Find(r.offer.Kind, r.offer.Name)
	if o == nil {
		m.act.addNotice("the server has no " + r.offer.Kind + " " + r.offer.Name + " any more")
		return
	}
	isSame := string(o.Schema) == string(r.offer.Schema)
	r.offer = *o
	if !isSame {
		former := m.act.form
		m.act.form = m.formAfterChange(former, o.Schema)
		if q := former.current(); q != nil {
			m.act.form.focusPointer(q.pointer())
		}
	}
	m.setButtons()
}

// formAfterChange returns a form for a schema with the values of the form of its former schema. Members that are
// no longer in the schema or have a different type are left out, and named in a notice above the form.
func (m *model) formAfterChange(former *form, schema json.RawMessage) *form {
	f := newForm(schema, former.Values())
	if dropped := f.root.dropFormer(former.root); len(dropped) > 0 {
		m.act.addNotice("no longer in the schema: " + strings.Join(dropped, ", "))
	}
	if misfits := f.root.resetMisfits(); len(misfits) > 0 {
		m.act.addNotice("not of the type that the schema has now: " + strings.Join(misfits, ", "))
	}
	return f
}

// shownKind returns the kind of the shown list, or "".
func (m *model) shownKind() string {
	if c := m.try.catalog; c != nil && m.try.kind < len(c.Lists) {
		return c.Lists[m.try.kind].Kind
	}
	return ""
}

// listOffers shows the offers of the shown kind that match the search.
func (m *model) listOffers() {
	m.try.found = nil
	var shown []item
	for i := range m.try.texts {
		matches := m.try.matches(i)
		m.try.found = append(m.try.found, len(matches))
		if i == m.try.kind {
			shown = matches
		}
	}
	m.lists[viewTry].replace(listPart{items: shown, total: len(shown)})
}

// matches returns the offers of a list that match the search: first the offers with all words in the name or
// the title.
func (t *tryState) matches(list int) []item {
	var named, described []item
	words := strings.Fields(strings.ToLower(t.search.Text()))
	offers := t.catalog.Lists[list].Offers
	for i := range offers {
		switch t.texts[list][i].find(words) {
		case inName:
			named = append(named, item{doc: &offers[i]})
		case inDescription:
			described = append(described, item{doc: &offers[i]})
		}
	}
	return append(named, described...)
}

// countMatches returns how many offers of a list match the search.
func (t *tryState) countMatches(list int) int {
	if list < len(t.found) {
		return t.found[list]
	}
	return len(t.catalog.Lists[list].Offers) // not listed yet
}

// listMatches shows the offers that match a changed search. If none of the shown kind does, it shows the
// first kind with one that does.
func (m *model) listMatches() {
	m.lists[viewTry].reset(false)
	m.listOffers()
	if m.try.kind < len(m.try.found) && m.try.found[m.try.kind] > 0 {
		return
	}
	if kind := slices.IndexFunc(m.try.found, func(n int) bool { return n > 0 }); kind >= 0 {
		m.try.kind = kind
		m.listOffers()
	}
}

// A place is where a text has the words of a search.
type place int

const (
	nowhere place = iota
	inName
	inDescription // at least one of the words
)

// find returns where a text has all words, which are in lower case.
func (t searchText) find(words []string) place {
	found := inName
	for _, word := range words {
		if strings.Contains(t.name, word) {
			continue
		}
		if !strings.Contains(t.description, word) {
			return nowhere
		}
		found = inDescription
	}
	return found
}

// showKind shows the list that is step lists away.
func (m *model) showKind(step int) tea.Cmd {
	n := len(m.try.catalog.Lists)
	if n == 0 {
		return nil
	}
	m.try.kind = (m.try.kind + step + n) % n
	m.lists[viewTry].reset(false)
	m.listOffers()
	return nil
}

// setSearch replaces the search of the Try view.
func (m *model) setSearch(text string) {
	m.try.search.Set(text)
	m.listMatches()
}

// searchKey handles a key in the search line of the Try view. Enter opens the selected offer, Esc empties the
// line.
func (m *model) searchKey(k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc":
		m.focus = paneMain
		m.setSearch("")
		return nil
	case "enter":
		m.focus = paneMain
		return m.openOffer()
	case "tab":
		m.focus = paneMain
		return nil
	case "down", "up":
		step := map[string]int{"down": 1, "up": -1}[k.String()]
		m.list().selectIndex(m.list().sel + step)
		return nil
	default:
		if !m.try.search.Key(k.String(), k.Text) {
			return nil
		}
	}
	m.listMatches()
	return nil
}

// selectedOffer returns the selected offer of the Try view, or nil.
func (m *model) selectedOffer() *view.Offer {
	if it := m.list().selected(); it != nil {
		if o, ok := it.doc.(*view.Offer); ok {
			return o
		}
	}
	return nil
}

// requestOf returns the request of an offer of the Try view.
func (m *model) requestOf(o *view.Offer) *formRequest {
	return &formRequest{target: m.try.catalog.Target, server: catalogName(m.try.catalog), offer: *o}
}

// key identifies the form of a request.
func (r *formRequest) key() string { return r.target + "\n" + r.offer.Kind + "\n" + r.offer.Name }

// openOffer opens the form of the selected offer. What has no arguments and changes nothing is requested
// at once.
func (m *model) openOffer() tea.Cmd {
	o := m.selectedOffer()
	if o == nil {
		return nil
	}
	if o.Refused != "" {
		return m.showMessage(o.Refused)
	}
	r := m.requestOf(o)
	kept := m.try.forms[r.key()]
	if m.try.resultOf != r.key() {
		m.closeDetail() // it is of a different offer
	}
	if kept != nil && string(kept.schema) == string(o.Schema) {
		kept.focusFirst()
		m.openForm(r, kept)
		return nil
	}
	m.act.notices = nil
	f := newForm(o.Schema, nil)
	if kept != nil { // the server has changed the schema
		f = m.formAfterChange(kept, o.Schema)
	}
	if len(f.fields()) == 0 && o.Kind != view.KindTool {
		m.closeForm()
		return m.sendRequest(r, nil)
	}
	m.openForm(r, f)
	return nil
}

// toolForm opens the form of a tool of the Tools view or of a recorded call, filled with arguments.
func (m *model) toolForm(t *view.Tool, arguments json.RawMessage) tea.Cmd {
	m.openForm(&formRequest{target: t.Target, server: firstText(t.Server, t.Target), offer: view.Offer{
		Kind: view.KindTool, Name: t.Name, Description: t.Description, Schema: t.InputSchema,
	}}, newForm(t.InputSchema, arguments))
	return nil
}

// openForm opens a form for a request.
func (m *model) openForm(r *formRequest, f *form) {
	m.act.form = f
	m.act.request = r
	m.act.answering = view.Question{}
	m.act.isObsolete = false
	m.try.suggestions = nil
	m.focus = paneForm
	m.setButtons()
}

// setButtons sets the texts and the buttons of the form of a request.
func (m *model) setButtons() {
	f := m.act.form
	r := m.act.request
	f.Buttons = []string{r.verb(), asJSONButton}
	if r.offer.Last != nil && r.offer.Last.Arguments != nil {
		f.Buttons = append(f.Buttons, lastGoodButton)
	}
	if r.offer.Command != nil {
		f.Buttons = append(f.Buttons, copyButton, saveButton)
	}
	f.Buttons = append(f.Buttons, closeButton)
	f.Title = "try " + r.offer.Name + " at " + r.server
	if r.resent != nil {
		f.Title = "edit and send again: " + r.resent.title + " to " + r.target
	}
	f.Text = r.offer.Description
}

// verb returns the word for sending the request.
func (r *formRequest) verb() string {
	switch {
	case r.resent != nil:
		return "Send"
	case r.offer.Kind == view.KindPrompt:
		return "Get"
	case r.offer.Kind == view.KindTemplate:
		return "Read"
	}
	return "Call"
}

// The buttons of the form of a request that follow the button that sends it.
const (
	asJSONButton   = "As JSON"
	lastGoodButton = "Last good"
	copyButton     = "Copy"
	saveButton     = "Save as step"
	closeButton    = "Close"
)

// leaveForm closes the form of a request, and keeps the form of an offer for the next time.
func (m *model) leaveForm() {
	if r := m.act.request; r.resent == nil {
		m.try.forms[r.key()] = m.act.form
	}
	m.closeForm()
}

// pressButton runs the pressed button of the form of a request. It keeps the form open if the arguments
// are not valid.
func (m *model) pressButton(button string) tea.Cmd {
	r := m.act.request
	form := m.act.form
	if button == asJSONButton && r.resent != nil {
		text := string(r.messageWith(form.Values()))
		return m.openEditor(r.resent.title, text, func(m *model, text string, _ bool) tea.Cmd {
			m.leaveForm()
			return m.sendEdited(*r.resent, text)
		})
	}
	switch button {
	case asJSONButton:
		m.dialog = &editor{
			title: "arguments of " + r.offer.Name,
			area:  newArea(indented(string(form.Values()), m.w-2)),
			check: checkJSON,
			run: func(m *model, text string) tea.Cmd {
				m.openForm(r, newForm(r.offer.Schema, json.RawMessage(text)))
				return m.sendRequest(r, json.RawMessage(text))
			},
		}
	case lastGoodButton:
		m.openForm(r, newForm(r.offer.Schema, r.offer.Last.Arguments))
	case copyButton:
		return m.offerMenu(r, form.Values())
	case saveButton:
		return m.saveStep(r, form.Values())
	case closeButton:
		m.leaveForm()
	default:
		arguments, ok := form.Content()
		if !ok {
			return m.showNotSent()
		}
		if r.resent != nil {
			m.leaveForm()
			return m.sendEdited(*r.resent, string(r.messageWith(arguments)))
		}
		return m.sendRequest(r, arguments)
	}
	return nil
}

// showNotSent says that the values of the form are not valid.
func (m *model) showNotSent() tea.Cmd {
	n := 0
	for _, q := range m.act.form.fields() {
		if q.err != "" {
			n++
		}
	}
	m.showMessage("not sent: " + countNoun(n, "field is", "fields are") + " not valid")
	m.statusLine.isError = true
	return nil
}

// messageWith returns the text of the recorded request with other arguments.
func (r *formRequest) messageWith(arguments json.RawMessage) json.RawMessage {
	return jsonraw.With(r.message, "params", jsonraw.With(member(r.message, "params"), "arguments", arguments))
}

// requestFormKey handles a key in the form of a request.
func (m *model) requestFormKey(k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "ctrl+x":
		return m.cancelRunning()
	case "ctrl+n":
		m.takeSuggestion()
		return nil
	}
	if button := m.act.form.Key(k.String(), k.Text); button != "" {
		return m.pressButton(button)
	}
	return m.formTyped()
}

// sendRequest sends a request, and shows its exchange: while it runs, and its result. The form stays open.
func (m *model) sendRequest(r *formRequest, arguments json.RawMessage) tea.Cmd {
	question := "send " + r.offer.Kind + " " + r.offer.Name + "?"
	return m.send(question, sender{
		readOnly: r.offer.Kind != view.KindTool || r.offer.ReadOnly,
		begin: func(m *model) {
			m.act.notices = nil
			m.try.running = r
			m.try.sentAt = m.opt.Now()
		},
		do: func(ctx context.Context, a view.Actor, confirmed bool) (view.Sent, error) {
			request := r.viewRequest(arguments)
			request.Confirmed = confirmed
			return a.Request(ctx, request)
		},
		show: func(m *model, sent *view.Sent) tea.Cmd { return m.showResult(r, arguments, sent) },
	})
}

// showResult shows the exchange of a request, which runs no more. sent is nil if the request failed without
// an exchange, or if it needs the user's consent first.
func (m *model) showResult(r *formRequest, arguments json.RawMessage, sent *view.Sent) tea.Cmd {
	if m.try.running == r {
		m.try.running = nil
	}
	if sent == nil || sent.Key == "" {
		m.closeDetail() // of an earlier request
		return nil
	}
	m.try.resultOf = r.key()
	if sent.Channel == "ok" {
		m.noteGoodRequest(r, view.LastGood{Key: sent.Key, Arguments: arguments})
	}
	isTyping := m.dialog != nil || m.focus == paneFilter // the detail must not take the keys
	isOfForm := m.focus == paneForm && m.act.request == r
	if isTyping || m.focus == paneForm && !isOfForm {
		return nil
	}
	if !isOfForm || !m.isWide() { // else the result is beside the form
		m.focus = paneDetail
	}
	cmd := m.showDetail(sent.Key, tabSummary)
	m.detail.tab = tabSummary
	return cmd
}

// noteGoodRequest makes a request the last good one of its offer.
func (m *model) noteGoodRequest(r *formRequest, last view.LastGood) {
	r.offer.Last = &last
	if m.try.catalog == nil || r.target != m.try.catalog.Target {
		return
	}
	if o := m.try.catalog.Find(r.offer.Kind, r.offer.Name); o != nil {
		o.Last = &last
	}
}

// loadRunning shows the exchange of the running request once it is recorded, so that its progress and its
// log messages are seen.
func (m *model) loadRunning() tea.Cmd {
	r := m.try.running
	isOfForm := m.act.request == r || m.act.behind != nil && m.act.behind.request == r
	if r == nil || !m.isWide() || m.focus != paneForm || !isOfForm {
		return nil
	}
	methods := map[string]string{view.KindTool: "tools/call", view.KindPrompt: "prompts/get"}
	q := view.Query{
		Filter: "is:open method:" + firstText(methods[r.offer.Kind], "resources/read") + " target:" + filter.Quote(r.target),
		From:   -1, Count: 1,
	}
	reader := m.opt.Reader
	return m.loader.refresh(subjectRunning, func(ctx context.Context) change {
		page, err := reader.Rows(ctx, q)
		return func(m *model) tea.Cmd {
			if err != nil || len(page.Rows) == 0 || m.try.running != r || page.Rows[0].Time.Before(m.try.sentAt) {
				return nil
			}
			m.try.resultOf = r.key()
			return m.showDetail(page.Rows[0].Key, tabEvents)
		}
	})
}

// cancelRunning cancels the running requests to the server of the Try view.
func (m *model) cancelRunning() tea.Cmd {
	r := m.try.running
	if r == nil {
		return m.showMessage("no request is running")
	}
	return m.runAction("cancelled", func(ctx context.Context, a view.Actor) error {
		return a.Cancel(ctx, view.Cancellation{Target: r.target})
	})
}

// cancelOffer cancels the running request, or else the selected task.
func (m *model) cancelOffer() tea.Cmd {
	o := m.selectedOffer()
	if m.try.running != nil || o == nil || o.Kind != view.KindTask {
		return m.cancelRunning()
	}
	c := view.Cancellation{Target: m.try.catalog.Target, Kind: view.KindTask, Name: o.Name}
	actor := m.opt.Actor
	return m.loader.runAction(func(ctx context.Context) change {
		err := actor.Cancel(ctx, c)
		return func(m *model) tea.Cmd {
			if err != nil {
				return m.showError(err)
			}
			const isWanted = true
			return m.refreshCatalog(isWanted)
		}
	})
}

// toggleSubscription follows the updates of the selected resource, or stops that.
func (m *model) toggleSubscription() tea.Cmd {
	o := m.selectedOffer()
	if o == nil || o.Kind != view.KindResource {
		return m.showMessage("select a resource of Try (T) first")
	}
	uri := o.Name
	r := m.requestOf(o)
	on := !m.try.subscribed[r.key()]
	done := "updates of " + uri + " are recorded now: 5 shows the stream"
	if !on {
		done = "its updates are not followed any more"
	}
	actor := m.opt.Actor
	return m.loader.runAction(func(ctx context.Context) change {
		err := actor.Subscribe(ctx, r.target, uri, on)
		return func(m *model) tea.Cmd {
			if err != nil {
				return m.showError(err)
			}
			m.try.subscribed[r.key()] = on
			return m.showMessage(done)
		}
	})
}

// offerMenu opens the menu for copying a request.
func (m *model) offerMenu(r *formRequest, arguments json.RawMessage) tea.Cmd {
	line := r.commandLine(arguments)
	actor := m.opt.Actor
	m.dialog = &menu{title: "copy for " + r.offer.Name, choices: []choice{
		newChoice("m", "mcpc", line, func(m *model) tea.Cmd { return m.copyText(line) }),
		newChoice("s", "step", "for a file of mcpc run", func(m *model) tea.Cmd {
			return m.loader.runAction(func(ctx context.Context) change {
				step, err := actor.Step(ctx, r.viewRequest(arguments), "")
				return func(m *model) tea.Cmd {
					if err != nil {
						return m.showError(err)
					}
					return m.copyText(step.Text)
				}
			})
		}),
		newChoice("j", "json", "the arguments", func(m *model) tea.Cmd { return m.copyText(string(arguments)) }),
		newChoice("n", "name", r.offer.Name, func(m *model) tea.Cmd { return m.copyText(r.offer.Name) }),
	}}
	return nil
}

// commandLine returns the shell command of a request.
func (r *formRequest) commandLine(arguments json.RawMessage) string {
	if len(r.offer.Command) < 2 {
		return ""
	}
	quoted := ""
	if takesArguments := strings.HasSuffix(r.offer.Command[0], " "); takesArguments && len(arguments) > 0 {
		quoted = shellwords.Quote(string(arguments))
	}
	return r.offer.Command[0] + quoted + r.offer.Command[1]
}

// viewRequest returns the request with arguments.
func (r *formRequest) viewRequest(arguments json.RawMessage) view.Request {
	return view.Request{Target: r.target, Kind: r.offer.Kind, Name: r.offer.Name, Arguments: arguments}
}

// saveStep asks for a file, and appends a request to it as a step.
func (m *model) saveStep(r *formRequest, arguments json.RawMessage) tea.Cmd {
	actor := m.opt.Actor
	return m.promptLine("append it as a step to the file", view.StepFile, func(m *model, file string) tea.Cmd {
		return m.loader.runAction(func(ctx context.Context) change {
			step, err := actor.Step(ctx, r.viewRequest(arguments), file)
			return func(m *model) tea.Cmd {
				if err != nil {
					return m.showError(err)
				}
				return m.showMessage("saved: " + step.Run)
			}
		})
	})
}

// copyOffer opens the menu for copying the selected offer, with the arguments of its form.
func (m *model) copyOffer(o *view.Offer) tea.Cmd {
	r := m.requestOf(o)
	var arguments json.RawMessage
	if kept := m.try.forms[r.key()]; kept != nil {
		arguments = kept.Values()
	} else if o.Last != nil {
		arguments = o.Last.Arguments
	}
	return m.offerMenu(r, arguments)
}

// completionGap is how long a text must stay unchanged before it is completed.
const completionGap = time.Second / 5

// completionDue says that the text of a form has not changed for completionGap, if it has the number of
// the last change.
type completionDue int

// formTyped notes that the text of a form may have changed, and completes it soon.
func (m *model) formTyped() tea.Cmd {
	m.try.suggestions = nil
	m.try.typed++
	r := m.act.request
	if r == nil || r.offer.Kind != view.KindPrompt && r.offer.Kind != view.KindTemplate {
		return nil
	}
	typed := m.try.typed
	return tea.Tick(completionGap, func(time.Time) tea.Msg { return completionDue(typed) })
}

// completeField gets the values that the server suggests for the focused field.
func (m *model) completeField(due completionDue) tea.Cmd {
	if int(due) != m.try.typed || m.focus != paneForm || m.act.request == nil {
		return nil
	}
	q := m.act.form.current()
	if q == nil {
		return nil
	}
	r := m.act.request
	actor := m.opt.Actor
	ask := view.Completion{
		Target: r.target, Kind: r.offer.Kind, Name: r.offer.Name,
		Argument: q.Name, Value: q.input.Text(), Arguments: m.act.form.givenValues(),
	}
	return m.loader.restart(subjectSuggestions, func(ctx context.Context) change {
		completed, err := actor.Complete(ctx, ask)
		return func(m *model) tea.Cmd {
			if err == nil && int(due) == m.try.typed {
				m.try.suggestions = completed.Values
			}
			return nil
		}
	})
}

// takeSuggestion puts the next suggestion into the focused field.
func (m *model) takeSuggestion() {
	q := m.act.form.current()
	if q == nil || len(m.try.suggestions) == 0 {
		return
	}
	next := (slices.Index(m.try.suggestions, q.input.Text()) + 1) % len(m.try.suggestions)
	q.input.Set(m.try.suggestions[next])
}

// drawSuggestedValues draws the values that complete the focused field, in one line.
func (m *model) drawSuggestedValues(w int) []drawn {
	if m.act.request == nil || len(m.try.suggestions) == 0 || m.focus != paneForm {
		return nil
	}
	text := "Ctrl-N completes: " + strings.Join(m.try.suggestions[:min(len(m.try.suggestions), 20)], "  ")
	return []drawn{{Line: cells.Line{cells.Blank(1), cells.Fit(cells.Accent, text, w-2)}}}
}

// drawKinds draws the server and its lists with their counts.
func (m *model) drawKinds(w int) []drawn {
	c := m.try.catalog
	if c == nil {
		return nil
	}
	lines := []drawn{
		{Line: cells.TextLine(cells.Strong, strings.TrimSpace(catalogName(c)+" "+c.Version))},
		{Line: cells.TextLine(cells.Faint, c.Revision)},
		{},
	}
	for i, list := range c.Lists {
		count := cells.TextLine(cells.Faint, english.Thousands(len(list.Offers)))
		if list.Error != "" {
			count = cells.TextLine(cells.Bad, "!"+english.Thousands(len(list.Offers)))
		}
		name := cells.TextLine(strongIf(i == m.try.kind), "  "+kindNames[list.Kind])
		lines = append(lines, drawn{
			Line: cells.Justify(name, count, w-1), Selected: i == m.try.kind && m.focus == paneConversations, Item: i + 1,
		})
	}
	if c.Instructions != "" {
		lines = append(lines, drawn{})
		text := term.Markdown(term.Style{Terminal: true, Width: w - 2}, c.Instructions)
		for _, l := range cells.Wrap(cells.Faint, text, w-2) {
			lines = append(lines, drawn{Line: append(cells.Line{cells.Blank(1)}, l...)})
		}
	}
	return lines
}

// drawSearch draws the search line of the Try view.
func (m *model) drawSearch(w int) cells.Line {
	right := cells.Line{}
	if c := m.try.catalog; c != nil {
		for i, list := range c.Lists {
			role := cells.Faint
			if i == m.try.kind {
				role = cells.Strong
			}
			text := kindNames[list.Kind] + " " + english.Thousands(m.try.countMatches(i)) + " "
			right = append(right, cells.Text(role, text), cells.Blank(1))
		}
	}
	if kind := m.shownKind(); right.Width() > w/2 && kind != "" {
		count := english.Thousands(m.try.countMatches(m.try.kind))
		right = cells.TextLine(cells.Strong, "← "+kindNames[kind]+" "+count+" → ")
	}
	room := w - right.Width() - 4
	line := cells.Line{cells.Text(cells.Faint, " / ")}
	if m.try.search.Text() == "" && m.focus != paneFilter {
		line = append(line, cells.Fit(cells.Faint, "type / to search names and descriptions", room))
	} else {
		line = append(line, m.try.search.Line(room, m.focus == paneFilter, noError)...)
	}
	return cells.Justify(line, right, w)
}

// drawNoOffers draws why the list of the Try view is empty.
func (m *model) drawNoOffers(w int) []drawn {
	head := "no server is tried yet"
	hint := "H shows the servers: Enter tries one"
	if c := m.try.catalog; c != nil && len(c.Lists) == 0 {
		head = catalogName(c) + " offers nothing"
		hint = "it declares no tools, prompts and resources"
	} else if c != nil {
		list := c.Lists[m.try.kind]
		head = "no " + strings.ToLower(kindNames[list.Kind])
		hint = list.Error
		if m.try.search.Text() != "" {
			head += " match " + m.try.search.Text()
		}
	}
	lines := []drawn{{}, {Line: cells.Line{cells.Blank(2), cells.Text(cells.Strong, head)}}, {}}
	for _, line := range cells.Wrap(cells.Faint, hint, min(w-4, 76)) {
		lines = append(lines, drawn{Line: append(cells.Line{cells.Blank(2)}, line...)})
	}
	return lines
}

// offerCell returns the text of the column of an offer with this head.
func offerCell(o *view.Offer, head string) cells.Span {
	switch head {
	case "":
		if o.Refused != "" || o.SchemaError != "" {
			return cells.Text(cells.Bad, "!")
		}
		if o.Destructive {
			return cells.Text(cells.Warn, "⚠")
		}
		if o.Last != nil {
			return cells.Text(cells.Good, "✓")
		}
		return cells.Text(cells.Plain, " ")
	case "name":
		return cells.Text(cells.Strong, o.Name)
	case "title":
		return cells.Text(cells.Plain, o.Title)
	case "type":
		return cells.Text(cells.Faint, o.MIMEType+o.Status)
	}
	return cells.Text(cells.Faint, strings.Join(strings.Fields(o.Description), " ")) // the column "description"
}

// offerText describes an offer.
func offerText(o *view.Offer, add func(r cells.Role, text string)) {
	add(cells.Bad, o.Refused)
	add(cells.Bad, o.SchemaError)
	if o.Destructive {
		add(cells.Warn, "it may change or delete something: the view asks before it calls it")
	}
	add(cells.Plain, o.Title)
	add(cells.Faint, o.Description)
	if o.App != "" {
		add(cells.Faint, "app: "+o.App)
	}
	if o.Last != nil {
		add(cells.Faint, "last good: "+o.Last.Key)
	}
}
