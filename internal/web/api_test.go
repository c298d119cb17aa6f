package web

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcpc/internal/live/view"
)

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

func TestReadRequests(t *testing.T) {
	s := start(t, Options{}).enter()
	s.reader.bodies[2] = []byte("héllo")
	for _, c := range []struct{ path, want string }{
		{"status", `{"seq":0,"rows":1,"open":0,"failed":0,"title":"a \u003cfile\u003e","powers":{"resend":false,"call":false,"intercept":false,"mark":false,"export":false,"files":false}}`},
		{"rows?filter=echo", `{"rows":[],"from":0,"total":1,"seq":0}`},
		{"rows?filter=dur%3A%3E", `400 {"error":"a duration such as 500ms must follow dur:\u003e","column":1}`},
		{"rows?from=x", `400 {"error":"from is not a whole number"}`},
		{"rows?sort=xx", `400 {"error":"rows cannot be sorted by \"xx\""}`},
		{"talk?", `{"blocks":[],"page":{"rows":[],"from":0,"total":0,"seq":0}}`},
		{"conversations", `[]`},
		{"row?key=1.2", `404 {"error":"no longer kept"}`},
		{"tools", `[]`},
		{"streams", `[]`},
		{"secrets", `[]`},
		{"suggest?filter=x", `[]`},
		{"questions", `[]`},
		{"held", `[]`},
		{"lanes?from=2026-01-02T03:04:05.6Z&to=2026-01-02T03:04:07%2B01:00", `[{"talk":"","title":"2026-01-02 03:04:05.6 +0000 UTC2026-01-02 02:04:07 +0000 UTC","bars":null}]`},
		{"lanes?from=1", `400 {"error":"from is not a time"}`},
		{"lanes?to=1", `400 {"error":"to is not a time"}`},
		{"diff?a=1&b=2", `{"request":[],"response":[]}`},
		{"compare?a=1&b=2", `{"a":"1","b":"2","tools":null,"schemas":null,"calls":null,"timing":null}`},
		{"body?key=1.1&frame=2", "héllo"},
		{"body?frame=1", `404 {"error":"no longer kept"}`},
		{"body?frame=x", `400 {"error":"frame is not a whole number"}`},
	} {
		a := s.ask("GET", "/api/"+c.path, "", nil)
		got := string(a.body)
		if a.status != 200 {
			got = fmt.Sprint(a.status, " ", got)
		}
		if got != c.want && !(strings.HasPrefix(c.want, "400") && strings.Contains(c.want, "column") && strings.HasPrefix(got, "400") && strings.Contains(got, `"column":`)) {
			t.Errorf("%s: got  %s\nwant %s", c.path, got, c.want)
		}
	}
	var d struct{ Lines, Frames, Facts []any }
	if a := s.ask("GET", "/api/row?key=1.1", "", nil); json.Unmarshal(a.body, &d) != nil || d.Lines == nil || d.Frames == nil || d.Facts == nil {
		t.Errorf("got %s", a.body)
	}
	s.ask("GET", "/api/rows?filter=a&sort=-took&talk=4.1&only=1.2,1.3&only=1.4&from=-20&count=1000", "", nil)
	got := s.reader.asked[len(s.reader.asked)-1]
	if fmt.Sprint(got) != fmt.Sprint(view.Query{Filter: "a", Sort: "-took", Talk: "4.1", Only: []string{"1.2", "1.3", "1.4"}, From: -20, Count: 200, WithArguments: true}) {
		t.Errorf("asked %v", got)
	}
}

func TestActionsNeedTheirPermission(t *testing.T) {
	for _, c := range []struct {
		deed, posted string
		powers       view.Powers
		done, want   string
	}{
		{"answer", `{"id":"q","action":"accept","content":{"a":1}}`, view.Powers{Call: true}, `["answer","q",{"action":"accept","content":{"a":1}}]`, `{"ok":true}`},
		{"answer", `{"id":"q","action":"cancel"}`, view.Powers{Intercept: true}, `["answer","q",{"action":"cancel"}]`, `{"ok":true}`},
		{"intercept", `{"on":true,"filter":"echo"}`, view.Powers{Intercept: true}, `["intercept",true,"is:request (echo)"]`, `{"ok":true}`},
		{"intercept", `{"on":true,"responses":true,"filter":"echo"}`, view.Powers{Intercept: true}, `["intercept",true,"echo"]`, `{"ok":true}`},
		{
			"fault", `{"fault":{"kind":"cut","method":"tools/call","name":"x","target":"t","key":"1.2"}}`,
			view.Powers{Intercept: true},
			`["fault",{"kind":"cut","method":"tools/call","name":"x","target":"t","key":"1.2"}]`,
			`{"text":"the next call fails"}`,
		},
		{"intercept", `{"on":true,"filter":"dur:>"}`, view.Powers{Intercept: true}, `["intercept",true,"dur:\u003e"]`, `400 column`},
		{"release", `{"id":"h","text":"{}"}`, view.Powers{Intercept: true}, `["release","h","{}"]`, `{"ok":true}`},
		{"drop", `{"id":"h"}`, view.Powers{Intercept: true}, `["drop","h"]`, `422 {"error":"it went already"}`},
		{"reveal", `{"id":"h"}`, view.Powers{Intercept: true}, `["reveal","h"]`, `{"text":"hunter2"}`},
		{"resend", `{"key":"1.1"}`, view.Powers{Resend: true}, `["resend","1.1",null,false]`, `{"key":"1.2"}`},
		{"resend", `{"key":"1.1","message":null,"confirmed":true}`, view.Powers{Resend: true}, `["resend","1.1",null,true]`, `{"key":"1.2"}`},
		{"resend", `{"key":"1.1","message":{"a": 1.0}}`, view.Powers{Resend: true}, `["resend","1.1",{"a":1.0},false]`, `{"key":"1.2"}`},
		{"catalog", `{"target":"demo"}`, view.Powers{Call: true}, `["catalog","demo"]`, `{"target":"demo","server":"","revision":"","lists":[]}`},
		{
			"request", `{"target":"t","kind":"prompt","name":"x","arguments":{"a":"b"},"confirmed":true}`,
			view.Powers{Call: true},
			`["request",{"target":"t","kind":"prompt","name":"x","arguments":{"a":"b"},"confirmed":true}]`, `{"confirm":"sure?"}`,
		},
		{
			"complete", `{"target":"t","kind":"prompt","name":"x","argument":"a","value":"b","arguments":{"c":"d"}}`,
			view.Powers{Call: true},
			`["complete",{"Target":"t","Kind":"prompt","Name":"x","Argument":"a","Value":"b","Arguments":{"c":"d"}}]`, `{"values":["a"]}`,
		},
		{"subscribe", `{"target":"t","name":"x:y","on":true}`, view.Powers{Call: true}, `["subscribe","t","x:y",true]`, `{"ok":true}`},
		{"cancel", `{"target":"t","kind":"task","name":"1"}`, view.Powers{Call: true}, `["cancel",{"Target":"t","Kind":"task","Name":"1"}]`, `{"ok":true}`},
		{
			"step", `{"target":"t","kind":"tool","name":"x","arguments":{},"file":"a.mcpc.yaml"}`,
			view.Powers{Call: true},
			`["step",{"target":"t","kind":"tool","name":"x","arguments":{}},"a.mcpc.yaml"]`, `{"text":"server: demo\nsteps:\n  - call: echo\n","run":"mcpc run calls.mcpc.yaml"}`,
		},
		{"mark", `{"key":"1.1","mark":true,"note":"n"}`, view.Powers{Mark: true}, `["mark","1.1",true,"n"]`, `{"ok":true}`},
		{"preview", `{"form":"har","filter":"a"}`, view.Powers{Export: true}, `["preview",{"filter":"a","from":0,"count":0,"form":"har"}]`, `{"rows":1,"hidden":2}`},
		{"export", `{"form":"har"}`, view.Powers{Export: true}, `["export",{"from":0,"count":0,"form":"har"}]`, `{}`},
		{"export", `{"form":"markdown"}`, view.Powers{Export: true}, `["export",{"from":0,"count":0,"form":"markdown"}]`, `{"rows":1,"hidden":0,"file":"a\"\r\nb.har"}`},
		{"copy", `{"key":"1.1","form":"curl"}`, view.Powers{}, `["copy","1.1","curl"]`, `{"text":"curl"}`},
	} {
		all := view.Powers{Resend: true, Call: true, Intercept: true, Mark: true, Export: true}
		for name, powers := range map[string]view.Powers{"with the power": c.powers, "with all": all, "with none": {}} {
			actor := &fakeActor{powers: powers}
			s := start(t, Options{Actor: actor}).enter()
			a := s.ask("POST", "/api/do/"+c.deed, c.posted, nil)
			if powers == (view.Powers{}) && c.deed != "copy" {
				hasReason := strings.HasPrefix(string(a.body), `{"error":"not allowed: start`) || strings.HasPrefix(string(a.body), `{"error":"this page`)
				if a.status != 403 || len(actor.done) > 0 || !hasReason {
					t.Errorf("%s %s: %d %s, did %q", c.deed, name, a.status, a.body, actor.done)
				}
				continue
			}
			if len(actor.done) != 1 || actor.done[0] != c.done {
				t.Errorf("%s %s: did %q", c.deed, name, actor.done)
			}
			got := string(a.body)
			if a.status != 200 {
				got = fmt.Sprint(a.status, " ", got)
			}
			if got != c.want && !(c.want == "400 column" && a.status == 400 && strings.Contains(got, `"column":`)) {
				t.Errorf("%s %s: got %s", c.deed, name, got)
			}
			if c.want == "{}" && (a.head.Get("Content-Disposition") != `attachment; filename="a___b.har"` || a.head.Get("Content-Type") != "application/octet-stream") {
				t.Errorf("%s: %v", c.deed, a.head)
			}
			if a := s.ask("POST", "/api/do/"+c.deed, "[]", nil); a.status != 400 {
				t.Errorf("%s of a list: %d %s", c.deed, a.status, a.body)
			}
			if a := s.ask("GET", "/api/do/"+c.deed, "", nil); a.status != 404 {
				t.Errorf("GET %s: %d %s", c.deed, a.status, a.body)
			}
		}
		s := start(t, Options{}).enter() // no Actor
		if a := s.ask("POST", "/api/do/"+c.deed, c.posted, nil); a.status != 403 {
			t.Errorf("%s without an Actor: %d %s", c.deed, a.status, a.body)
		}
	}
}

func TestImagesAreReencoded(t *testing.T) {
	s := start(t, Options{}).enter()
	img := image.NewPaletted(image.Rect(0, 0, 3, 2), color.Palette{color.Black, color.White})
	var raw, large bytes.Buffer
	if err := gif.Encode(&raw, img, nil); err != nil {
		t.Fatal(err)
	}
	if err := png.Encode(&large, image.NewGray(image.Rect(0, 0, 4096, 10))); err != nil {
		t.Fatal(err)
	}
	huge := bytes.Clone(raw.Bytes())
	copy(huge[6:], []byte{255, 255, 255, 255}) // 65,535 by 65,535 pixels
	body, err := json.Marshal(map[string]any{"result": map[string]any{"a/b~": "x", "content": []any{
		map[string]any{"data": raw.Bytes()},
		map[string]any{"data": "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(raw.Bytes())},
		map[string]any{"data": large.Bytes()},
		map[string]any{"data": huge},
		map[string]any{"data": "<svg onload=alert(1)>"},
		map[string]any{"data": []byte("<svg onload=alert(1)>")},
		map[string]any{"data": raw.Bytes()[:12]},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	s.reader.bodies[1] = body
	for path, want := range map[string]string{
		"/result/content/0/data": "3x2", "/result/content/1/data": "3x2", "/result/content/2/data": "2048x5", "/result/content/3/data": "pixels", "/result/content/4/data": "base64",
		"/result/content/5/data": "not a PNG", "/result/content/6/data": "damaged", "/result/content/7/data": "not there", "/result/content/x/data": "not there", "/result/content/-1/data": "not there", "": "not there", "/result": "not there",
		"/result/a~1b~0": "base64", "/x/y/z": "not there",
	} {
		a := s.ask("GET", "/api/image?key=1.1&frame=1&path="+url.QueryEscape(path), "", nil)
		if a.status != 200 {
			if a.status != 422 || !strings.Contains(string(a.body), want) {
				t.Errorf("%s: %d %s", path, a.status, a.body)
			}
			continue
		}
		c, err := png.DecodeConfig(bytes.NewReader(a.body))
		if got := fmt.Sprint(c.Width, "x", c.Height); err != nil || got != want || a.head.Get("Content-Type") != "image/png" {
			t.Errorf("%s: %s, %v", path, got, err)
		}
	}
}

// stream opens a stream of events.
func (s *site) stream(ctx context.Context) *http.Response {
	s.t.Helper()
	resp, err := (&http.Client{Transport: &http.Transport{}}).Do(s.request("GET", "/api/events", "", nil).WithContext(ctx))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func TestEvents(t *testing.T) {
	s := start(t, Options{Beat: 20 * time.Millisecond}).enter()
	resp := s.stream(t.Context())
	lines := bufio.NewScanner(resp.Body)
	next := func() string {
		for lines.Scan() {
			if lines.Text() != "" {
				return lines.Text()
			}
		}
		t.Fatal(lines.Err())
		return ""
	}
	if got := next(); !strings.HasPrefix(got, `data: {"seq":0,`) || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("got %q", got)
	}
	if got := next(); got != ":" {
		t.Errorf("on a quiet stream: %q", got)
	}
	began := time.Now()
	const changes = 300
	go func() {
		for range changes {
			s.reader.change()
		}
	}()
	seen, got := 0, ""
	for got = next(); !strings.HasPrefix(got, fmt.Sprintf(`data: {"seq":%d,`, changes)); got = next() {
		seen++
	}
	if most := int(time.Since(began)/view.Status{}.Gap()) + 2; seen > most {
		t.Errorf("%d events, not at most %d", seen, most)
	}
	// A copy of the tab has the same key, and reads on its own.
	second := s.stream(t.Context())
	copied := bufio.NewScanner(second.Body)
	if !copied.Scan() || !strings.HasPrefix(copied.Text(), fmt.Sprintf(`data: {"seq":%d,`, changes)) {
		t.Errorf("a second stream begins with %q", copied.Text())
	}
	if n := s.door.streams(); n != 2 {
		t.Errorf("%d streams", n)
	}
	for range maxPages - 2 {
		s.stream(t.Context())
	}
	if a := s.ask("GET", "/api/events", "", nil); a.status != 429 {
		t.Errorf("one stream more than are allowed: %d", a.status)
	}
	resp.Body.Close()
	eventually(t, "the stream of a page that went is kept", func() bool { return s.door.streams() == maxPages-1 })
	second.Body.Close()
	eventually(t, "the stream of a page that went is kept", func() bool { return s.door.streams() == maxPages-2 })
}

func TestOpenPageKeepsTheServer(t *testing.T) {
	var hours atomic.Int64
	began := time.Now()
	s := start(t, Options{Now: func() time.Time { return began.Add(time.Duration(hours.Load()) * time.Hour) }}).enter()
	resp := s.stream(t.Context())
	if hours.Add(2); s.idleTime() != 0 {
		t.Errorf("with a page open it is quiet for %v", s.idleTime())
	}
	resp.Body.Close()
	eventually(t, "the stream of a page that went is kept", func() bool { return s.door.streams() == 0 })
	eventually(t, "a page that was open until now counts from its start", func() bool { return s.idleTime() == 0 })
	if hours.Add(2); s.idleTime() != 2*time.Hour {
		t.Errorf("without a page it is quiet for %v", s.idleTime())
	}
	if s.ask("GET", "/api/status", "", nil); s.idleTime() != 0 {
		t.Errorf("after a request it is quiet for %v", s.idleTime())
	}
}

func TestOldestPageIsDroppedAtTheLimit(t *testing.T) {
	s := start(t, Options{})
	var keys []string
	var streams []*http.Response
	for range maxPages {
		s.enter()
		keys, streams = append(keys, s.key), append(streams, s.stream(t.Context()))
	}
	u, _ := url.Parse(s.URL())
	posted := `{"token":"` + strings.TrimPrefix(u.Fragment, "t=") + `"}`
	if a := s.ask("POST", "/enter", posted, nil); a.status != 429 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	streams[3].Body.Close()
	eventually(t, "no stream ended", func() bool { return s.door.streams() == maxPages-1 })
	if a := s.ask("POST", "/enter", posted, nil); a.status != 200 { // the token was not used up
		t.Fatalf("%d %s", a.status, a.body)
	}
	for i, key := range keys {
		want := 200
		if i == 3 {
			want = 401
		}
		if a := s.ask("GET", "/api/status", "", map[string]string{"X-Mcpc": key}); a.status != want {
			t.Errorf("page %d: %d", i, a.status)
		}
	}
}

// A page that does not read is dropped, and gives back what it took.
func TestStuckPageIsDropped(t *testing.T) {
	s := start(t, Options{Stuck: time.Second}).enter()
	s.reader.bodies[0] = bytes.Repeat([]byte("x"), 64<<20)
	before := s.stream(t.Context())
	lines := bufio.NewScanner(before.Body)
	lines.Scan()
	for range maxBodies {
		resp, err := (&http.Client{Transport: &http.Transport{}}).Do(s.request("GET", "/api/body?frame=0", "", nil))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
	}
	eventually(t, "the bodies of stuck pages are kept", func() bool { // on a slow machine this page may seem stuck
		resp, err := http.DefaultClient.Do(s.request("GET", "/api/body?frame=0", "", nil))
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return err == nil && len(body) == 64<<20
	})
}

// A request that holds the bodies of an exchange in memory counts towards the limit of bodies.
func TestExchangesAreReadFewAtATime(t *testing.T) {
	for _, path := range []string{"/api/row?key=1.1", "/api/diff?a=1.1&b=1.1"} {
		s := start(t, Options{}).enter()
		var taken atomic.Int32
		s.reader.during = func() { taken.Store(int32(len(s.bodies))) }
		if a := s.ask("GET", path, "", nil); a.status != 200 || taken.Load() != 1 {
			t.Errorf("%s: %d, with %d places taken", path, a.status, taken.Load())
		}
	}
}

// A stream of events whose page does not read ends too.
func TestStuckStreamIsDropped(t *testing.T) {
	reader := &wordy{&fakeReader{more: make(chan struct{})}}
	s := start(t, Options{Reader: reader, Stuck: 200 * time.Millisecond}).enter()
	s.stream(t.Context())
	eventually(t, "the stream of a stuck page is kept", func() bool {
		reader.change()
		return s.door.streams() == 0
	})
}

// wordy is a Reader whose status fills the buffers of a connection.
type wordy struct{ *fakeReader }

func (w *wordy) Status() view.Status {
	status := w.fakeReader.Status()
	status.Title = strings.Repeat("x", 1<<20)
	return status
}

// A read ends with its request, and no more than some are under way.
func TestReadsEndWithTheirRequests(t *testing.T) {
	s := start(t, Options{}).enter()
	s.reader.slow = make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	client := &http.Client{Transport: &http.Transport{}}
	for range maxReads + 8 {
		go func() {
			if resp, err := client.Do(s.request("GET", "/api/rows", "", nil).WithContext(ctx)); err == nil {
				resp.Body.Close()
			}
		}()
	}
	eventually(t, "no reads", func() bool { return len(s.reads) == maxReads })
	stop()
	eventually(t, "reads go on", func() bool { return len(s.reads) == 0 })
}

// TestValidate checks that problems are put to the part of the value that they are about.
func TestValidate(t *testing.T) {
	s := start(t, Options{Actor: &fakeActor{}}).enter()
	body := `{"schema":{"type":"object","required":["a"],"properties":{"a":{"type":"string"},"mail":{"type":"string","format":"email"},
		"in":{"type":"object","required":["b/c"],"properties":{"b/c":{"type":"number"},"n":{"type":"integer","maximum":5}}}}},
		"arguments":{"mail":"x","in":{"n":7}}}`
	want := `[{"pointer":"/mail","text":"must be an email address, such as ada@example.com"},{"pointer":"/a","text":"is required"},` +
		`{"pointer":"/in/b~1c","text":"is required"},{"pointer":"/in/n","text":"must be at most 5, got 7"}]`
	if got := s.ask("POST", "/api/do/validate", body, nil); got.status != 200 || string(got.body) != want {
		t.Errorf("%d %s, want %s", got.status, got.body, want)
	}
}
