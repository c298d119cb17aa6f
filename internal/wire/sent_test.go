package wire

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"mcpc/internal/recent"
)

// The exchange of the last request with an id is known whether it was asked for before or not; the
// conversations, possibly many, are searched once.
func TestSentFindsRequestByID(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 1))
	for range 50 {
		var once, often Correlator
		often.FindSent([]byte("0"))
		last, ids := map[string]int{}, map[string]bool{"99": true}
		add := func(raw string, dir Direction) {
			m := ParseMessage([]byte(raw))
			traits, f := m.Traits(), &Frame{Kind: Body, Dir: dir, Conn: r.IntN(4), Raw: m.Raw}
			once.Add(1, f, &traits)
			for _, p := range often.Add(1, f, &traits) {
				if dir == Sent && p.Role <= RoleContinuation {
					item := m
					if p.Item >= 0 {
						item = m.Items[p.Item]
					}
					last[idKey(item.ID)] = p.Exchange
				}
			}
		}
		for i := range 60 {
			id := fmt.Sprint(r.IntN(12))
			if r.IntN(4) == 0 {
				id = `"` + id + `"`
			}
			ids[id] = true
			request := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"m%d"}`, id, i)
			switch r.IntN(5) {
			case 0:
				add(request, Received)
			case 1:
				add(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, id), Received)
			case 2:
				add(fmt.Sprintf(`[%s,{"jsonrpc":"2.0","id":7.0,"method":"n%d"}]`, request, i), Sent)
			default:
				add(request, Sent)
			}
		}
		for range 2 {
			for id := range ids {
				want, there := last[idKey([]byte(id))]
				for i, f := range []*Correlator{&once, &often} {
					if got, ok := f.FindSent([]byte(id)); ok != there || got != want && there {
						t.Fatalf("%d: %s is %d, %t; want %d, %t", i, id, got, ok, want, there)
					}
				}
			}
			once.conns, often.conns = recent.Map[int, *connState]{}, recent.Map[int, *connState]{}
		}
	}
}
