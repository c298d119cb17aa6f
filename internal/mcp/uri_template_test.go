package mcp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/jsonraw"
)

// The values and expansions of RFC 6570, sections 1.2 and 3.2.
const rfc6570Values = `{"count":["one","two","three"],"dom":["example","com"],"dub":"me/too","hello":"Hello World!",
"half":"50%","var":"value","who":"fred","base":"http://example.com/home/","path":"/foo/bar",
"list":["red","green","blue"],"keys":{"semi":";","dot":".","comma":","},"v":"6","x":"1024","y":"768",
"empty":"","empty_keys":{},"undef":null,"number":6,"flag":true,"world":"日本語","%41":"pct"}`

var rfc6570 = [][2]string{
	// 3.2.1
	{"{count}", "one,two,three"},
	{"{count*}", "one,two,three"},
	{"{/count}", "/one,two,three"},
	{"{/count*}", "/one/two/three"},
	{"{;count}", ";count=one,two,three"},
	{"{;count*}", ";count=one;count=two;count=three"},
	{"{?count}", "?count=one,two,three"},
	{"{?count*}", "?count=one&count=two&count=three"},
	{"{&count*}", "&count=one&count=two&count=three"},
	// 3.2.2
	{"{var}", "value"},
	{"{hello}", "Hello%20World%21"},
	{"{half}", "50%25"},
	{"O{empty}X", "OX"},
	{"O{undef}X", "OX"},
	{"{x,y}", "1024,768"},
	{"{x,hello,y}", "1024,Hello%20World%21,768"},
	{"?{x,empty}", "?1024,"},
	{"?{x,undef}", "?1024"},
	{"?{undef,y}", "?768"},
	{"{var:3}", "val"},
	{"{var:30}", "value"},
	{"{list}", "red,green,blue"},
	{"{list*}", "red,green,blue"},
	{"{keys}", "semi,%3B,dot,.,comma,%2C"},
	{"{keys*}", "semi=%3B,dot=.,comma=%2C"},
	// 3.2.3
	{"{+var}", "value"},
	{"{+hello}", "Hello%20World!"},
	{"{+half}", "50%25"},
	{"{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"},
	{"{+base}index", "http://example.com/home/index"},
	{"O{+empty}X", "OX"},
	{"O{+undef}X", "OX"},
	{"{+path}/here", "/foo/bar/here"},
	{"here?ref={+path}", "here?ref=/foo/bar"},
	{"up{+path}{var}/here", "up/foo/barvalue/here"},
	{"{+x,hello,y}", "1024,Hello%20World!,768"},
	{"{+path,x}/here", "/foo/bar,1024/here"},
	{"{+path:6}/here", "/foo/b/here"},
	{"{+list}", "red,green,blue"},
	{"{+list*}", "red,green,blue"},
	{"{+keys}", "semi,;,dot,.,comma,,"},
	{"{+keys*}", "semi=;,dot=.,comma=,"},
	// 3.2.4
	{"{#var}", "#value"},
	{"{#hello}", "#Hello%20World!"},
	{"{#half}", "#50%25"},
	{"foo{#empty}", "foo#"},
	{"foo{#undef}", "foo"},
	{"{#x,hello,y}", "#1024,Hello%20World!,768"},
	{"{#path,x}/here", "#/foo/bar,1024/here"},
	{"{#path:6}/here", "#/foo/b/here"},
	{"{#list}", "#red,green,blue"},
	{"{#list*}", "#red,green,blue"},
	{"{#keys}", "#semi,;,dot,.,comma,,"},
	{"{#keys*}", "#semi=;,dot=.,comma=,"},
	// 3.2.5
	{"{.who}", ".fred"},
	{"{.who,who}", ".fred.fred"},
	{"{.half,who}", ".50%25.fred"},
	{"www{.dom*}", "www.example.com"},
	{"X{.var}", "X.value"},
	{"X{.empty}", "X."},
	{"X{.undef}", "X"},
	{"X{.var:3}", "X.val"},
	{"X{.list}", "X.red,green,blue"},
	{"X{.list*}", "X.red.green.blue"},
	{"X{.keys}", "X.semi,%3B,dot,.,comma,%2C"},
	{"X{.keys*}", "X.semi=%3B.dot=..comma=%2C"},
	{"X{.empty_keys}", "X"},
	{"X{.empty_keys*}", "X"},
	// 3.2.6
	{"{/who}", "/fred"},
	{"{/who,who}", "/fred/fred"},
	{"{/half,who}", "/50%25/fred"},
	{"{/who,dub}", "/fred/me%2Ftoo"},
	{"{/var}", "/value"},
	{"{/var,empty}", "/value/"},
	{"{/var,undef}", "/value"},
	{"{/var,x}/here", "/value/1024/here"},
	{"{/var:1,var}", "/v/value"},
	{"{/list}", "/red,green,blue"},
	{"{/list*}", "/red/green/blue"},
	{"{/list*,path:4}", "/red/green/blue/%2Ffoo"},
	{"{/keys}", "/semi,%3B,dot,.,comma,%2C"},
	{"{/keys*}", "/semi=%3B/dot=./comma=%2C"},
	// 3.2.7
	{"{;who}", ";who=fred"},
	{"{;half}", ";half=50%25"},
	{"{;empty}", ";empty"},
	{"{;v,empty,who}", ";v=6;empty;who=fred"},
	{"{;v,bar,who}", ";v=6;who=fred"},
	{"{;x,y}", ";x=1024;y=768"},
	{"{;x,y,empty}", ";x=1024;y=768;empty"},
	{"{;x,y,undef}", ";x=1024;y=768"},
	{"{;hello:5}", ";hello=Hello"},
	{"{;list}", ";list=red,green,blue"},
	{"{;list*}", ";list=red;list=green;list=blue"},
	{"{;keys}", ";keys=semi,%3B,dot,.,comma,%2C"},
	{"{;keys*}", ";semi=%3B;dot=.;comma=%2C"},
	// 3.2.8
	{"{?who}", "?who=fred"},
	{"{?half}", "?half=50%25"},
	{"{?x,y}", "?x=1024&y=768"},
	{"{?x,y,empty}", "?x=1024&y=768&empty="},
	{"{?x,y,undef}", "?x=1024&y=768"},
	{"{?var:3}", "?var=val"},
	{"{?list}", "?list=red,green,blue"},
	{"{?list*}", "?list=red&list=green&list=blue"},
	{"{?keys}", "?keys=semi,%3B,dot,.,comma,%2C"},
	{"{?keys*}", "?semi=%3B&dot=.&comma=%2C"},
	// 3.2.9
	{"{&who}", "&who=fred"},
	{"{&half}", "&half=50%25"},
	{"?fixed=yes{&x}", "?fixed=yes&x=1024"},
	{"{&x,y,empty}", "&x=1024&y=768&empty="},
	{"{&var:3}", "&var=val"},
	{"{&list}", "&list=red,green,blue"},
	{"{&list*}", "&list=red&list=green&list=blue"},
	{"{&keys}", "&keys=semi,%3B,dot,.,comma,%2C"},
	{"{&keys*}", "&semi=%3B&dot=.&comma=%2C"},
}

func TestURITemplateOfRFC6570(t *testing.T) {
	values, bad := jsonraw.Object(json.RawMessage(rfc6570Values))
	if bad != nil {
		t.Fatal(bad)
	}
	more := [][2]string{
		{"", ""},
		{"demo://plain", "demo://plain"},
		{"demo://{number}/{flag}", "demo://6/true"},
		{"{world}", "%E6%97%A5%E6%9C%AC%E8%AA%9E"},
		{"{world:2}", "%E6%97%A5%E6%9C%AC"},
		{"{+world}", "%E6%97%A5%E6%9C%AC%E8%AA%9E"},
		{"é b/%20%zz", "%C3%A9%20b/%20%25zz"},
		{"{%41}", "pct"},
		{"demo://{resource-id}x", "demo://x"},
	}
	for _, c := range append(rfc6570, more...) {
		template, err := ParseURITemplate(c[0])
		if err != nil {
			t.Errorf("%s: %v", c[0], err)
			continue
		}
		if got, err := template.Expand(values); err != nil || got != c[1] {
			t.Errorf("%s: got %q and error %v, want %q", c[0], got, err, c[1])
		}
	}
}

func TestURITemplateFaults(t *testing.T) {
	for template, want := range map[string]string{
		"{": "without a }", "x}": "without a {", "{}": "is not a variable", "{a,}": "is not a variable", "{=a}": "not a variable name",
		"{a b}": "not a variable name", "{a:0}": "not a prefix length", "{a:x}": "not a prefix length", "{a:10000}": "not a prefix length", "{a:3*}": "not a prefix length", "{a{b}": "not a variable name",
	} {
		if _, err := ParseURITemplate(template); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q in it", template, err, want)
		}
	}
	values, _ := jsonraw.Object(json.RawMessage(`{"deep":[["a"]],"list":["a"],"keys":{"a":{}}}`))
	for _, text := range []string{"{deep}", "{list:3}", "{keys*}"} {
		template, err := ParseURITemplate(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := template.Expand(values); err == nil {
			t.Errorf("%s: no error, but %q", text, got)
		}
	}
}

func TestURITemplateVariables(t *testing.T) {
	template, err := ParseURITemplate("{+a}/{b,a*}{?c:3}")
	if got := template.Variables(); err != nil || !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("got %q and error %v", got, err)
	}
}

func TestMayGive(t *testing.T) {
	for _, c := range []struct {
		template, uri string
		want          bool
	}{
		{"a:b", "a:b", true},
		{"a:b", "a:bb", false},
		{"a:b", "a:b:a:b", false},
		{"a:{x}", "a:1", true},
		{"a:{x}", "b:1", false},
		{"a:{x}", "xa:1", false},
		{"{x}", "any", true},
		{"{x}:z", "1:z", true},
		{"{x}:z", "1:zz", false},
		{"a:{x}/b/{y}", "a:1/b/2", true},
		{"a:{x}/b/{y}", "a:1/2", false},
		{"a:{x}/b", "a:1/b/b", true},
		{"", "", true},
		{"", "a", false},
	} {
		parsed, err := ParseURITemplate(c.template)
		if err != nil {
			t.Fatal(err)
		}
		if got := parsed.MayGive(c.uri); got != c.want {
			t.Errorf("%q, %q: %v", c.template, c.uri, got)
		}
	}
}
