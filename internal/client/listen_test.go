package client

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"mcpc/internal/jsonraw"
)

// listen listens for a time to the notifications that a filter, in its JSON form, names.
func (tr *transcript) listen(s *Session, who, rest string) {
	span, filter, _ := strings.Cut(rest, " ")
	d, err := time.ParseDuration(span)
	if err != nil {
		tr.t.Fatal(err)
	}
	var f SubscriptionFilter
	if err := json.Unmarshal([]byte(filter), &f); err != nil {
		tr.t.Fatal(err)
	}
	level, _ := jsonraw.Object([]byte(filter))
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	o := s.Listen(ctx, ListenRequest{
		SubscriptionFilter: f, LogLevel: level.Text("level"),
		Began: func(given SubscriptionFilter) {
			raw, _ := json.Marshal(given)
			tr.say("%sbegan: %s", who, raw)
		},
		Lost: func(why string) { tr.say("%slost: %s", who, why) },
	})
	tr.say("%slisten: %s", who, tr.told(o))
}

// listens does it twice in one session, the second when the first is under way.
func (tr *transcript) listens(s *Session, rest string) {
	span, filters, _ := strings.Cut(rest, " ")
	first, second, _ := strings.Cut(filters, " | ")
	var wg sync.WaitGroup
	wg.Go(func() { tr.listen(s, "first ", span+" "+first) })
	synctest.Wait()
	wg.Go(func() { tr.listen(s, "second ", span+" "+second) })
	wg.Wait()
}
