package filter

import (
	"path/filepath"
	"slices"
	"testing"

	"mcpc/internal/capture/rows"
)

func TestGoldenQueries(t *testing.T) {
	c, err := rows.Open(filepath.Join("..", "rows", "testdata", "golden.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	all := c.Rows()
	if len(all) != 58 {
		t.Fatalf("the golden capture has %d rows", len(all))
	}
	for _, c := range []struct {
		text string
		want []int
	}{
		{"method:tools/call", []int{4, 6, 9, 13, 17, 19, 22, 28, 31, 34, 37, 46, 52, 57}},
		{"name:get-*", []int{4, 22}},
		{"name:get-sum channel:ok", []int{4}},
		{"method:tools/* -method:tools/list -name:echo", []int{4, 6, 9, 13, 17, 19, 22, 52, 57}},
		{"channel:tool_error", []int{6}},
		{"is:probe", []int{25, 39}},
		{"dir:received", []int{38, 42, 45, 58}},
		{"client:mcpc* server:*everything* channel:ok method:tools/*", []int{44, 46}},
		{"client:mcpc server:mcp-servers/everything channel:ok method:tools/*", []int{44, 46}},
		{"client:mcp or server:everything", nil},
		{"conn:1", nil},
		{"ttfb:>1s", []int{39, 43}},
		{"is:cancelled", []int{31}},
		{"session:* method:tools/list", []int{54, 55, 56}},
		{"channel:*_error target:*3901*", []int{6, 17}},
		{"channel:transport,timeout,bad_response", []int{24, 28, 31, 47}},
		{"is:error -method:server/discover", []int{6, 17, 19, 22, 24, 28, 31}},
		{"exit:5", []int{6}},
		{"exit:>=9", []int{19, 31}},
		{"http:4xx", []int{17, 24}},
		{"http:5xx", nil},
		{"has:retry", []int{27}},
		{"-http:>0 -target:server-everything*", []int{22, 31, 38, 47, 58}},
		{"dur:>=1s method:tools/call", []int{13, 31}},
		{"size:>7kb", []int{44}},
		{"size:7kb..8kb", []int{44}},
		{"has:finding", []int{19, 22, 24, 28}},
		{"has:resume", []int{34}},
		{"has:question", []int{37, 52, 57}},
		{"has:round", []int{52}},
		{"has:notification", []int{13, 42, 45}},
		{"has:guess", nil},
		{"method:notifications/tools/list_changed", []int{42, 45}},
		{"method:ping or method:elicitation/create", []int{38, 58}},
		{"is:orphan", []int{37}},
		{"era:legacy protocol:2025-06-18", []int{23, 24}},
		{"target:server-everything* protocol:2025-*", []int{40, 41, 42, 43, 44, 45, 46}},
		{"kind:stderr", []int{39, 43}},
		{"id:4", []int{4, 13, 17, 51, 56}},
		{"Größe", []int{6}},
		{"größe", []int{6}},
		{`"\"quoted\""`, []int{6}},
		{`"The sum of 1"`, []int{4}},
		{"body:pong or body:behind", []int{34, 37}},
		{`body~/"code":-32\d{3}/`, []int{17, 25, 39}},
		{"name~/^(fail|hang-up)$/", []int{6, 9}},
		{`"connection refused"`, []int{47}},
		{"resources/read or (name:echo -http:200)", []int{31, 41, 46}},
		{"not (target:http* or method:initialize)", []int{39, 41, 42, 44, 45, 46}},
		{"time:2020-01-01..2020-12-31", nil},
		{"run:>0", nil}, // it is no run of a ring
	} {
		f := parse(t, c.text)
		var got []int
		for i, r := range all {
			wanted, err := f.Match(r)
			if err != nil {
				t.Fatal(err)
			}
			if wanted {
				got = append(got, i+1)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s\ngot  %v\nwant %v", c.text, got, c.want)
		}
	}
}
