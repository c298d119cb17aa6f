package web

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

func TestModulesBecomeOneScript(t *testing.T) {
	files := map[string]string{
		"main.js": "import { a, b as c } from './a.js';\nimport d from './v/d.mjs';\nimport * as all from './a.js';\nimport {\n  x,\n  y as z\n} from \"./v/e.mjs\";\n\n" +
			"const [one] = await Promise.all([a()]);\nconsole.log(one, c, d(2), all.A.name, x, z, await all.later(), all.up(0));\n",
		"a.js":    "import { more } from './b.js';\nimport d from './v/d.mjs';\nconst hidden = 'export const no = 1';\nexport function a() { return hidden.length; }\nexport const b = d(1);\nexport class A {}\nexport async function later() { return 7; }\nexport const up = x => x < 3 ? more(x + 1) : x;\n",
		"b.js":    "import { up as rise } from './a.js';\nexport function more(x) { return rise(x); }\n",
		"v/d.mjs": "var n=1,t=2;export default function(s){return s+n+t}\n//# sourceMappingURL=d.mjs.map\n",
		"v/e.mjs": "import f from\"./d.mjs\";var n=f(0);export{n as x,\nf as y};\n//# sourceMappingURL=e.mjs.map\n",
	}
	disk, tree := t.TempDir(), fstest.MapFS{}
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
		at := filepath.Join(disk, strings.ReplaceAll(name, "main.js", "main.mjs"))
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script, err := joinModules(tree, "main.js")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(script, "t=2"); n != 1 || strings.Contains(script, "\nimport") || strings.Contains(script, "sourceMapping") {
		t.Errorf("%d times d.mjs in\n%s", n, script)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("the scripts are not run: there is no node")
	}
	at := filepath.Join(disk, "joined.cjs")
	if err := os.WriteFile(at, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := exec.Command(node, at).CombinedOutput()
	if want := "19 4 5 A 3 [Function: $default] 7 3\n"; err != nil || string(got) != want {
		t.Errorf("got %s, %v, not %s of\n%s", got, err, want, script)
	}
}

func TestModulesThatCannotBecomeOneScript(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"import { b } from './c.js';", "", "c.js"},
		{"const a = '</SCRIPT>';", "", "ends a script"},
		{"const a = '<!--';", "", "ends a script"},
	} {
		_, err := joinModules(fstest.MapFS{"a.js": {Data: []byte(c.a)}, "b.js": {Data: []byte(c.b)}}, "a.js")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", c.a, err)
		}
	}
}
