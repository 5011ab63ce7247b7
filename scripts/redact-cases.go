//go:build ignore

// Reads the Go test tables of public secret scanners with Go's own parser and writes the cases as JSON lines, to
// measure our rules against. It holds none of their code or data: both stay in the checkout it is pointed at.
//
//	go run scripts/redact-cases.go <scanner checkout> <positives.jsonl> <negatives.jsonl>
package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand"
	"os"
	"path/filepath"
	"regexp/syntax"
	"strconv"
	"strings"
)

type testCase struct {
	Rule    string   `json:"rule"`
	Text    string   `json:"text"`
	Secrets []string `json:"secrets,omitempty"`
}

// sample is a string the scanner's own helper built around a known secret.
type sample struct{ text, secret string }

type evaluator struct {
	globals map[string]ast.Expr
	locals  map[string]any
	funcs   map[string]*ast.FuncDecl
	formats []string
	depth   int
}

func main() {
	root := os.Args[1]
	positives, negatives := []testCase{}, []testCase{}
	if _, err := os.Stat(filepath.Join(root, "pkg/detectors")); err == nil {
		files, _ := filepath.Glob(filepath.Join(root, "pkg/detectors/*/*_test.go"))
		deeper, _ := filepath.Glob(filepath.Join(root, "pkg/detectors/*/*/*_test.go"))
		for _, file := range append(files, deeper...) {
			p, n := tableCases(file)
			positives, negatives = append(positives, p...), append(negatives, n...)
		}
	} else {
		positives, negatives = ruleCases(root)
	}
	write(os.Args[2], positives)
	write(os.Args[3], negatives)
	fmt.Println(len(positives), "positives,", len(negatives), "negatives")
}

func write(path string, cases []testCase) {
	out, err := os.Create(path)
	if err != nil {
		panic(err)
	}
	defer out.Close()
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for _, c := range cases {
		_ = enc.Encode(c)
	}
}

// tableCases reads tables of {input, want}.
func tableCases(file string) (positives, negatives []testCase) {
	source, _ := os.ReadFile(file)
	if strings.Contains(string(source), "//go:build") {
		return nil, nil
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, source, 0)
	if err != nil {
		return nil, nil
	}
	ev := &evaluator{globals: map[string]ast.Expr{}, locals: map[string]any{}, funcs: map[string]*ast.FuncDecl{}}
	collectGlobals(parsed, ev)
	rule := filepath.Base(filepath.Dir(file))
	for _, decl := range parsed.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		ev.locals = map[string]any{}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			if assign, ok := n.(*ast.AssignStmt); ok && len(assign.Lhs) == 1 && len(assign.Rhs) == 1 {
				if id, ok := assign.Lhs[0].(*ast.Ident); ok {
					if v := ev.eval(assign.Rhs[0]); v != nil {
						ev.locals[id.Name] = v
					}
				}
			}
			lit, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			var input string
			var want []string
			haveInput, haveWant := false, false
			for _, el := range lit.Elts {
				kv, ok := el.(*ast.KeyValueExpr)
				if !ok {
					continue
				}
				key, ok := kv.Key.(*ast.Ident)
				if !ok {
					continue
				}
				switch key.Name {
				case "input", "data":
					if s, ok := ev.eval(kv.Value).(string); ok {
						input, haveInput = s, true
					}
				case "want", "wants", "wantRaw", "expected":
					if list, ok := ev.eval(kv.Value).([]string); ok {
						want, haveWant = list, true
					} else if id, ok := kv.Value.(*ast.Ident); ok && id.Name == "nil" {
						haveWant = true
					}
				}
			}
			if haveInput && haveWant {
				c := testCase{Rule: rule, Text: input}
				for _, w := range want {
					if w != "" && strings.Contains(input, w) {
						c.Secrets = append(c.Secrets, w)
					}
				}
				if len(want) > 0 {
					positives = append(positives, c)
				} else {
					negatives = append(negatives, c)
				}
			}
			return true
		})
	}
	return
}

// ruleCases reads `tps` and `fps` of rule generators.
func ruleCases(root string) (positives, negatives []testCase) {
	base := filepath.Join(root, "cmd/generate")
	ev := &evaluator{globals: map[string]ast.Expr{}, locals: map[string]any{}, funcs: map[string]*ast.FuncDecl{}}
	var rules []*ast.File
	_ = filepath.Walk(base, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return nil
		}
		collectGlobals(parsed, ev)
		if strings.Contains(path, "/rules/") {
			rules = append(rules, parsed)
		}
		return nil
	})
	if fn := ev.funcs["GenerateSampleSecrets"]; fn != nil {
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			if lit, ok := n.(*ast.CompositeLit); ok {
				for _, el := range lit.Elts {
					if kv, ok := el.(*ast.KeyValueExpr); ok {
						if s, ok := ev.eval(kv.Value).(string); ok && strings.Contains(s, "{s}") {
							ev.formats = append(ev.formats, s)
						}
					}
				}
			}
			return true
		})
	}
	for _, parsed := range rules {
		for _, decl := range parsed.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			ev.locals = map[string]any{}
			for _, stmt := range fn.Body.List {
				if assign, ok := stmt.(*ast.AssignStmt); ok && len(assign.Lhs) == 1 && len(assign.Rhs) == 1 {
					if id, ok := assign.Lhs[0].(*ast.Ident); ok {
						if v := ev.eval(assign.Rhs[0]); v != nil {
							ev.locals[id.Name] = v
						}
					}
				}
			}
			for _, item := range samples(ev.locals["tps"]) {
				c := testCase{Rule: fn.Name.Name, Text: item.text}
				if item.secret != "" {
					c.Secrets = []string{item.secret}
				}
				positives = append(positives, c)
			}
			for _, item := range samples(ev.locals["fps"]) {
				negatives = append(negatives, testCase{Rule: fn.Name.Name, Text: item.text})
			}
		}
	}
	return
}

func collectGlobals(file *ast.File, ev *evaluator) {
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				ev.funcs[d.Name.Name] = d
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if vs, ok := spec.(*ast.ValueSpec); ok {
					for i, name := range vs.Names {
						if i < len(vs.Values) {
							ev.globals[name.Name] = vs.Values[i]
						}
					}
				}
			}
		}
	}
}

func samples(v any) []sample {
	switch x := v.(type) {
	case string:
		return []sample{{x, ""}}
	case sample:
		return []sample{x}
	case []sample:
		return x
	case []string:
		out := []sample{}
		for _, s := range x {
			out = append(out, sample{s, ""})
		}
		return out
	}
	return nil
}

func text(v any) (string, bool) {
	switch x := v.(type) {
	case string:
		return x, true
	case sample:
		return x.text, true
	}
	return "", false
}

// eval gives a string, sample, []string, []sample, or nil for what it does not understand.
func (ev *evaluator) eval(expr ast.Expr) any {
	ev.depth++
	defer func() { ev.depth-- }()
	if ev.depth > 40 {
		return nil
	}
	switch e := expr.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			s, _ := strconv.Unquote(e.Value)
			return s
		}
		if e.Kind == token.INT {
			n, _ := strconv.Atoi(e.Value)
			return n
		}
	case *ast.ParenExpr:
		return ev.eval(e.X)
	case *ast.Ident:
		if v, ok := ev.locals[e.Name]; ok {
			return v
		}
		if g, ok := ev.globals[e.Name]; ok {
			return ev.eval(g)
		}
	case *ast.BinaryExpr:
		a, okA := text(ev.eval(e.X))
		b, okB := text(ev.eval(e.Y))
		if e.Op == token.ADD && okA && okB {
			return a + b
		}
	case *ast.CompositeLit:
		if len(e.Elts) == 0 {
			return []string{}
		}
		out, secrets, plain := []sample{}, false, []string{}
		for _, el := range e.Elts {
			if _, ok := el.(*ast.KeyValueExpr); ok {
				return nil
			}
			for _, s := range samples(ev.eval(el)) {
				out, plain = append(out, s), append(plain, s.text)
				secrets = secrets || s.secret != ""
			}
		}
		if len(out) == 0 {
			return nil
		}
		if secrets {
			return out
		}
		return plain
	case *ast.CallExpr:
		return ev.call(e)
	}
	return nil
}

func (ev *evaluator) call(e *ast.CallExpr) any {
	name := ""
	switch f := e.Fun.(type) {
	case *ast.Ident:
		name = f.Name
	case *ast.SelectorExpr:
		name = f.Sel.Name
		if _, ok := f.X.(*ast.SelectorExpr); ok && name == "EncodeToString" {
			name = "base64"
		}
	}
	args := make([]any, len(e.Args))
	for i, a := range e.Args {
		args[i] = ev.eval(a)
	}
	str := func(i int) (string, bool) {
		if i >= len(args) {
			return "", false
		}
		return text(args[i])
	}
	switch name {
	case "append":
		out := samples(args[0])
		for _, a := range args[1:] {
			out = append(out, samples(a)...)
		}
		return out
	case "Sprintf":
		format, ok := str(0)
		if !ok {
			return nil
		}
		values := []any{}
		for i := range args[1:] {
			if n, ok := args[i+1].(int); ok {
				values = append(values, n)
				continue
			}
			s, ok := str(i + 1)
			if !ok {
				return nil
			}
			values = append(values, s)
		}
		return fmt.Sprintf(format, values...)
	case "NewSecret", "NewSecretWithEntropy":
		if pattern, ok := str(0); ok {
			return generate(pattern)
		}
	case "GenerateSampleSecret":
		id, _ := str(0)
		if secret, ok := str(1); ok {
			return sample{fmt.Sprintf("%s_api_token = \"%s\"", id, secret), secret}
		}
	case "GenerateSampleSecrets":
		id, _ := str(0)
		secret, ok := str(1)
		if !ok {
			return nil
		}
		out := []sample{}
		for _, format := range ev.formats {
			r := strings.NewReplacer("{i}", id, "{I}", strings.ToUpper(id), "{s}", secret)
			out = append(out, sample{r.Replace(format), secret})
		}
		return out
	case "ToUpper":
		if s, ok := str(0); ok {
			return strings.ToUpper(s)
		}
	case "ToLower":
		if s, ok := str(0); ok {
			return strings.ToLower(s)
		}
	case "TrimSpace":
		if s, ok := str(0); ok {
			return strings.TrimSpace(s)
		}
	case "Repeat":
		if s, ok := str(0); ok && len(args) == 2 {
			if n, ok := args[1].(int); ok {
				return strings.Repeat(s, n)
			}
		}
	case "base64":
		if s, ok := str(0); ok {
			return base64.StdEncoding.EncodeToString([]byte(s))
		}
	case "byte", "string":
		if len(args) == 1 {
			return args[0]
		}
	}
	if _, ok := e.Fun.(*ast.ArrayType); ok && len(args) == 1 {
		return args[0]
	}
	return ev.user(name, args)
}

// user runs a helper of the checkout that is a single return statement.
func (ev *evaluator) user(name string, args []any) any {
	fn := ev.funcs[name]
	if fn == nil || fn.Body == nil || len(fn.Body.List) != 1 {
		return nil
	}
	ret, ok := fn.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(ret.Results) != 1 {
		return nil
	}
	saved := ev.locals
	ev.locals = map[string]any{}
	i := 0
	for _, field := range fn.Type.Params.List {
		for _, id := range field.Names {
			if i < len(args) {
				ev.locals[id.Name] = args[i]
			}
			i++
		}
	}
	out := ev.eval(ret.Results[0])
	ev.locals = saved
	return out
}

func generate(pattern string) string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return ""
	}
	var b strings.Builder
	emit(re, &b)
	return b.String()
}

func emit(re *syntax.Regexp, b *strings.Builder) {
	repeat := func(min, max int) {
		if max < 0 {
			max = min + 8
		}
		for n := min + rand.Intn(max-min+1); n > 0; n-- {
			emit(re.Sub[0], b)
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			b.WriteRune(r)
		}
	case syntax.OpCharClass:
		total := 0
		for i := 0; i < len(re.Rune); i += 2 {
			total += int(re.Rune[i+1]-re.Rune[i]) + 1
		}
		n := rand.Intn(total)
		for i := 0; i < len(re.Rune); i += 2 {
			size := int(re.Rune[i+1]-re.Rune[i]) + 1
			if n < size {
				b.WriteRune(re.Rune[i] + rune(n))
				return
			}
			n -= size
		}
	case syntax.OpCapture, syntax.OpConcat:
		for _, s := range re.Sub {
			emit(s, b)
		}
	case syntax.OpAlternate:
		emit(re.Sub[rand.Intn(len(re.Sub))], b)
	case syntax.OpStar:
		repeat(0, -1)
	case syntax.OpPlus:
		repeat(1, -1)
	case syntax.OpQuest:
		repeat(0, 1)
	case syntax.OpRepeat:
		repeat(re.Min, re.Max)
	}
}
