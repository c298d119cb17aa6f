package match_test

import (
	"encoding/json"
	"fmt"

	"mcpc/internal/match"
	"mcpc/internal/match/jsonvalue"
)

// A recording is replayed: the id of an order is another one now, and what is sent follows it.
func Example_replay() {
	id, err := jsonvalue.ParsePath(".structuredContent.id")
	if err != nil {
		panic(err)
	}
	rules, err := match.ParseRules([]byte("tools/call order:\n  .structuredContent.at: time\n"))
	if err != nil {
		panic(err)
	}
	binder := match.NewBinder(match.Binding{Kind: "order", Part: match.Result, Select: id.Select})
	result := match.Comparison{Rules: rules, Part: match.Result, Method: "tools/call", Name: "order"}
	params := match.Comparison{Part: match.Params, Method: "tools/call"}

	was := json.RawMessage(`{"structuredContent":{"id":"order-0001","at":"2026-01-02T03:04:05Z","state":"open"}}`)
	is := json.RawMessage(`{"structuredContent":{"id":"order-7777","at":"2026-02-03T04:05:06Z","state":"held"}}`)
	binder.Learn(result, was, is)
	was, _ = binder.ToIs(result, was)
	report := match.Compare(was, is, result)
	for _, d := range report.Differences {
		fmt.Printf("%s %s: was %s, is %s\n", d.Path, d.How, d.Was, d.Is)
	}
	fmt.Println(report.Counts)

	next, _ := binder.ToIs(params, json.RawMessage(`{"name":"ship","arguments":{"order":"order-0001"}}`))
	fmt.Printf("%s\n", next)
	// Output:
	// .structuredContent.state changed: was "open", is "held"
	// 1 value matched as a time
	// {"name":"ship","arguments":{"order":"order-7777"}}
}

// A mock server finds the recorded request that a client repeats, or reports similar requests.
func Example_mock() {
	index := match.NewIndex(match.Options{})
	for _, params := range []string{
		`{"name":"get-weather","arguments":{"city":"Paris","days":3}}`,
		`{"name":"get-weather","arguments":{"city":"Oslo","days":3}}`,
	} {
		index.Add(match.Request{Method: "tools/call", Params: json.RawMessage(params)})
	}
	live := json.RawMessage(`{"arguments":{"days":3.0,"city":"Oslo"},"name":"get-weather","_meta":{"progressToken":7}}`)
	fmt.Println(index.Find(match.Request{Method: "tools/call", Params: live}).Hits)

	live = json.RawMessage(`{"name":"get-weather","arguments":{"city":"Rome","days":3}}`)
	for _, near := range index.Find(match.Request{Method: "tools/call", Params: live}).Near {
		fmt.Printf("%d at %.2f: %s was %s, is %s\n", near.Candidate, near.Distance, near.First.Path, near.First.Was, near.First.Is)
	}
	// Output:
	// [1]
	// 0 at 0.33: .arguments.city was "Paris", is "Rome"
	// 1 at 0.33: .arguments.city was "Oslo", is "Rome"
}
