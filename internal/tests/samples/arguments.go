package samples

// An ArgumentRow is a command line after `mcpc call TOOL`. The real servers of package peers have
// the same tools.
type ArgumentRow struct {
	Tool  string
	Words []string
	// Want is the JSON that is sent. If nothing is sent, it is the exit code, "2" or "3", and a part
	// of the error.
	Want string
}

// ArgumentFiles are files in the working directory of the rows.
var ArgumentFiles = map[string]string{
	"args.json": `{"value": 7}` + "\n", "bom.json": "\xEF\xBB\xBF" + `{"message":"marked"}`, "note.txt": "two\nlines\n",
	"list.json": `[1, 2.50]`, "broken.json": `[1,`, "latin1.txt": "\xe9",
}

// ArgumentSchemas are the input schemas of the tools.
var ArgumentSchemas = map[string]string{
	"echo":                   `{"type":"object","properties":{"message":{"type":"string"}},"required":["message"],"additionalProperties":false}`,
	"get-sum":                `{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}`,
	"get-structured-content": `{"type":"object","properties":{"location":{"type":"string","enum":["New York","Chicago","Los Angeles"]}},"required":["location"]}`,
	"region-query":           `{"type":"object","properties":{"region":{"type":"string"},"query":{"type":"string"}},"required":["region"]}`,
	"repeat-integer":         `{"type":"object","properties":{"value":{"type":"integer"}},"required":["value"]}`,
}

// ArgumentRows are the rows for all tools.
var ArgumentRows = []ArgumentRow{
	// Any word is valid for a string.
	{"echo", words("message=hi"), `{"message":"hi"}`},
	{"echo", words("message=01234"), `{"message":"01234"}`},
	{"echo", words("message=1e3"), `{"message":"1e3"}`},
	{"echo", words("message=true"), `{"message":"true"}`},
	{"echo", words("message=null"), `{"message":"null"}`},
	{"echo", words(`message="x"`), `{"message":"\"x\""}`},
	{"echo", words("message="), `{"message":""}`},
	{"echo", words("message==="), `{"message":"=="}`},
	{"echo", words(`message={"a":1}`), `{"message":"{\"a\":1}"}`},
	{"echo", words("message= a b "), `{"message":" a b "}`},
	{"echo", words("message=a\r\nb"), `{"message":"a\r\nb"}`},
	{"echo", words("message=世界 👩‍👩‍👧"), `{"message":"世界 👩‍👩‍👧"}`},
	{"echo", words(`message=C:\new.txt`), `{"message":"C:\\new.txt"}`},
	{"echo", words("message=a:=b"), `{"message":"a:=b"}`},
	{"echo", words("message=@note.txt"), `{"message":"two\nlines\n"}`},
	{"echo", words(`message:="@note.txt"`), `{"message":"@note.txt"}`},
	{"echo", words("@bom.json"), `{"message":"marked"}`},
	{"echo", words("message=@latin1.txt"), "2 latin1.txt is not UTF-8"},
	{"echo", words("message=@nothing"), "2 no such file"},
	{"echo", words("message:=7"), "3 must be string, got number"},
	{"echo", words("mesage=hi"), `3 unknown member "mesage", did you mean "message"?`},
	{"echo", words("message"), "2 not NAME=VALUE"},
	{"echo", words("=hi"), "2 a name is missing"},
	{"echo", words("message=a", "message=b"), "2 give the same argument twice"},
	// Numbers keep their digits.
	{"repeat-integer", words("value=42"), `{"value":42}`},
	{"repeat-integer", words("value=-0"), `{"value":-0}`},
	{"repeat-integer", words("value=9007199254740993"), `{"value":9007199254740993}`},
	{"repeat-integer", words("value=123456789012345678901234567890"), `{"value":123456789012345678901234567890}`},
	{"repeat-integer", words("value=012"), "3 /value must be a number without leading zeros: value=12, got value=012"},
	{"repeat-integer", words("value=abc"), "3 must be a whole number"},
	{"repeat-integer", words("value="), "3 must be a whole number"},
	{"repeat-integer", words("value=null"), "3 must be a whole number"},
	{"repeat-integer", words(`value="7"`), "3 must be a whole number"},
	{"repeat-integer", words("value=1.5"), "3 /value must be a whole number, such as value=42, got value=1.5"},
	{"repeat-integer", words("@args.json"), `{"value": 7}`},
	{"repeat-integer", words("@args.json", "value=8"), `{"value": 8}`},
	{"get-sum", words("b=1.10", "a=1e3"), `{"b":1.10,"a":1e3}`},
	{"get-sum", words(`{"a": 1, "b": 2}`, "b=3"), `{"a": 1, "b": 3}`},
	{"get-sum", words("a=0x10", "b=NaN"), "3 /b must be a number"},
	{"get-sum", words("a=true", "b=1"), "3 must be a number"},
	{"get-sum", words("a=1", `{"b":2}`), "2 the JSON object goes first"},
	// Words for an enumeration.
	{"get-structured-content", words("location=New York"), `{"location":"New York"}`},
	{"get-structured-content", words("location=new york"), "3 must be New York, Chicago or Los Angeles (did you mean New York?)"},
	// Without a schema a value is a string. := gives a different type.
	{"region-query", words("region=eu", "n=1"), `{"region":"eu","n":"1"}`},
	{"region-query", words("region=eu", "n:=1", "t:=true", "z:=null"), `{"region":"eu","n":1,"t":true,"z":null}`},
	{"region-query", words("region=eu", "to.zip=1", "to.x.y:=2", "to.zap=3"), `{"region":"eu","to":{"zip":"1","x":{"y":2},"zap":"3"}}`},
	{"region-query", words("region=eu", "tags[]=a", "tags[]=b", "n[0]:=1", "n[1]:=2"), `{"region":"eu","tags":["a","b"],"n":[1,2]}`},
	{"region-query", words("region=eu", "all[].x=1", "all[].y=2", "m[0][0]=z"), `{"region":"eu","all":[{"x":"1"},{"y":"2"}],"m":[["z"]]}`},
	{"region-query", words("region=eu", `a\.b=1`, `c\[d\]=2`, `e\=f=3`, `g\:=4`, `\-h=5`), `{"region":"eu","a.b":"1","c[d]":"2","e=f":"3","g:":"4","-h":"5"}`},
	{"region-query", words("region=eu", "list:=@list.json", "to.text=@note.txt"), `{"region":"eu","list":[1, 2.50],"to":{"text":"two\nlines\n"}}`},
	{"region-query", words(`{"region":"eu","a":{"x":[1]}}`, "a.x[]:=2", "a.y=3"), `{"region":"eu","a":{"x":[1,2],"y":"3"}}`},
	{"region-query", words("region=eu", "n:=@broken.json"), "2 broken.json is not JSON"},
	{"region-query", words("region=eu", "a[1]=x"), "3 would leave a gap"},
	{"region-query", words("region=eu", "a[]=x", "a[0]=y"), "2 not both"},
	{"region-query", words("region=eu", "region.x=1"), "3 is not an object"},
	{"region-query", words(`{"region":[]}`, "region.x=1"), "3 is not an object"},
	{"region-query", words("region=eu", "a..b=1"), "2 a name is missing"},
	{"region-query", words("region=eu", "a[x]=1"), "2 [ ] takes a number"},
	{"region-query", words("region=eu", "a:=1", "a.b=2"), "3 is not an object"},
	{"region-query", words("region=eu", "a.b=2", "a:=1"), "2 give the same argument twice"},
}

func words(all ...string) []string { return all }
