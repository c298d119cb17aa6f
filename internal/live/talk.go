package live

import (
	"cmp"
	"hash/fnv"
	"maps"
	"slices"
	"sync"

	"mcpc/internal/capture"
	"mcpc/internal/capture/rows"
	"mcpc/internal/exchange"
	"mcpc/internal/sliceutil"
	"mcpc/internal/wire"
)

// TalkOf returns the conversation of a row. All parts of a recording share their conversations. A
// proxy cannot tell which client sent a stateless request, and records each as a separate
// connection. TalkOf groups these requests by the client's name and the server, with a negative
// Conn. A probe that an older server refused belongs to the session that followed it.
func TalkOf(r *rows.Row) Talk {
	t := Talk{cmp.Or(r.Head().FirstRun, r.Run), r.Conn}
	if r.Run == 0 {
		t.Run = -1 - r.RunIndex()
	}
	stateless := r.Conn != 0 && r.Era == "modern" && r.Channel != exchange.ChannelProbe
	if !stateless || r.By != capture.ByProxy && r.By != capture.ByImport {
		return t
	}
	if client := r.Client(); client != "" {
		// The same client and server get the same number in every run of mcpc.
		h := fnv.New32a()
		h.Write([]byte(client + "\x00" + r.Target))
		t.Conn = -1 - int(h.Sum32()>>1) // fits in an int of 32 bits
	}
	return t
}

// talks holds the conversations of a Store.
type talks struct {
	// mu guards the summaries of the conversations. The lock of the Store guards everything else.
	mu  sync.Mutex
	all map[Talk]*talk
	// leftOut maps a conversation without a kept row to the run of its last row.
	leftOut map[Talk]int
}

// maxTalksLeftOut limits talks.leftOut.
const maxTalksLeftOut = 100_000

// An Absence says why a conversation has no rows.
type Absence int

const (
	// Kept means that the conversation has rows.
	Kept Absence = iota
	// LeftOut means that all its rows are older than the rows kept.
	LeftOut
	// Unread means that it may be in an older recording that was not read.
	Unread
	// Unknown means that no recording has it, or that its recording was deleted.
	Unknown
)

// AbsenceOf returns the reason why a conversation has no rows, or Kept.
func (s *Store) AbsenceOf(t Talk) Absence {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.talks.all[t] != nil {
		return Kept
	}
	if _, ok := s.talks.leftOut[t]; ok {
		return LeftOut
	}
	if s.loading || s.notes.unread > 0 {
		return Unread
	}
	return Unknown
}

// A talk is a conversation and its rows.
type talk struct {
	// entries are the rows in the order of their times.
	entries []*entry
	// doc summarizes entries if current is set.
	doc     Conversation
	current bool
	// hasRequests reports whether a request other than the handshake exists.
	hasRequests bool
}

// update adds new and changed entries to their conversations and removes entries that are no longer
// kept. It deletes a conversation without entries; if its rows were too old, leftOut remembers it.
func (t *talks) update(k *kept, changed, removed []*entry) {
	shrunk := map[*talk]int{}
	for _, e := range removed {
		if conversation := t.all[e.talk]; conversation != nil {
			shrunk[conversation]++
		}
	}
	for conversation, count := range shrunk {
		conversation.current = false
		first := slices.IndexFunc(conversation.entries, k.has)
		if first < 0 {
			first = len(conversation.entries)
		}
		conversation.entries = withoutFirst(conversation.entries, first)
		if first < count { // usually only the oldest entries are removed
			conversation.entries = slices.DeleteFunc(conversation.entries, func(e *entry) bool { return !k.has(e) })
		}
	}
	added := map[*talk][]*entry{}
	for _, e := range changed {
		if !k.has(e) {
			continue
		}
		conversation := t.all[e.talk]
		if conversation == nil {
			conversation = &talk{doc: Conversation{Talk: e.talk}}
			t.all[e.talk] = conversation
			delete(t.leftOut, e.talk)
		}
		conversation.current = false
		if _, found := slices.BinarySearchFunc(conversation.entries, e, byTime); !found {
			added[conversation] = append(added[conversation], e)
		}
	}
	for conversation, entries := range added {
		slices.SortFunc(entries, byTime)
		conversation.entries = merge(conversation.entries, slices.Compact(entries), byTime)
	}
	for conversation := range shrunk {
		if len(conversation.entries) == 0 {
			delete(t.all, conversation.doc.Talk)
		}
	}
	for _, e := range removed {
		if t.all[e.talk] == nil && k.leftOut.has(e.key) && len(t.leftOut) < maxTalksLeftOut {
			t.leftOut[e.talk] = e.key.Run
		}
	}
}

// forgetRun forgets the left-out conversations of a deleted recording.
func (t *talks) forgetRun(run int) {
	maps.DeleteFunc(t.leftOut, func(_ Talk, of int) bool { return of == run })
}

// refresh brings doc up to date. The talk has at least one entry. talks.mu is locked.
func (x *talk) refresh() {
	first := x.entries[0].row
	last := x.entries[len(x.entries)-1].row
	x.doc.Over = last.IsRunOver() // a run can end without a change of its rows
	if x.current {
		return
	}
	doc := Conversation{
		Talk: x.doc.Talk, Client: last.Client(), Server: last.Server(), Target: last.Target, By: last.By,
		Began: first.Time, Rows: len(x.entries), Over: x.doc.Over,
	}
	x.hasRequests = false
	for _, e := range x.entries {
		r := e.row
		if r.IsOpen() && !r.IsListening() {
			doc.Open++
		}
		if r.Failed() {
			doc.Failed++
		}
		if t := r.LastFrameTime(); t.After(doc.Last) {
			doc.Last = t
		}
		if r.Revision != "" {
			doc.Revision = r.Revision
		}
		if client := r.Client(); client != "" {
			doc.Client = client
		}
		if server := r.Server(); server != "" {
			doc.Server = server
		}
		if r.Dir == wire.Sent && !r.IsSeparate && !r.OpensConversation() {
			x.hasRequests = true
		}
	}
	x.doc = doc
	x.current = true
}

// Conversations returns all conversations, the oldest first. First is set on exactly one
// conversation, if there is any.
func (s *Store) Conversations() []Conversation {
	s.mu.RLock()
	defer s.mu.RUnlock()
	s.talks.mu.Lock()
	defer s.talks.mu.Unlock()
	all := make([]Conversation, 0, len(s.talks.all))
	ofOthers := map[Talk]bool{}
	for id, t := range s.talks.all {
		t.refresh()
		all = append(all, t.doc)
		ofOthers[id] = t.hasRequests && t.doc.By != capture.ByCommand
	}
	sliceutil.Sort(all, func(x, y Conversation) int {
		return cmp.Or(x.Began.Compare(y.Began), x.Talk.Run-y.Talk.Run, x.Talk.Conn-y.Talk.Conn)
	})
	first := len(all) - 1
	for i, c := range slices.Backward(all) {
		if ofOthers[c.Talk] {
			first = i
			break
		}
	}
	if first >= 0 {
		all[first].First = true
	}
	return all
}
