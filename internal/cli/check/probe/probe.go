package probe

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"mcpc/internal/lint"
	"mcpc/internal/lint/conv"
	"mcpc/internal/wire"
)

// A probe judges one or several rules. Its when says why it does not apply, "" where it does;
// it may be nil. A probe that could not find out skips the rule.
type probe struct {
	rules []string
	// once is set for a probe that judges what was sent before: repeating it shows nothing new.
	sendsNothing bool
	exempt       func(b *bench) string
	run          func(ctx context.Context, b *bench) []miss
}

// A miss is a rule, by its id, that a probe found broken, or where skip is set could not judge.
type miss struct {
	id, subject, pointer, got, want string
	stderr                          string
	// severity is "" for that of the rule.
	severity conv.Severity
	at       conv.Spot
	skip     bool
	// silent is set if there was no answer.
	silent bool
}

// missed is the miss of a rule by an answer.
func newMiss(rule, subject string, a answer, want string) miss {
	return miss{
		id: rule, subject: subject, got: a.String(), want: want, stderr: a.stderr(), at: a.at, skip: a.isInconclusive(),
		silent: a.Kind == wire.Timeout,
	}
}

// skipped is the miss of a rule that a probe could not judge.
func skipRule(rule, why string) []miss { return []miss{{id: rule, skip: true, got: why}} }

// probes returns all of them, in the order in which they are made: those of most value first.
func probes() (all []probe) {
	for _, s := range singleProbes {
		all = append(all, s.toProbe())
	}
	return slices.Concat([]probe{answers}, all, safeProbes, negativeProbes, callProbes)
}

// gate says why a rule does not hold for the server in this revision, "" where it does.
func (b *bench) whyInapplicable(r lint.Rule) string {
	transport := map[string]bool{
		"any":        true,
		"stdio":      !b.isHTTP(),
		"http":       b.isHTTP(),
		"streamable": b.isStreamable(),
		"sse":        b.isHTTP() && !b.isStreamable(),
	}
	if b.rev < r.From || b.rev > r.To {
		return "holds for " + r.Range + ", not for " + b.clean.Revision()
	}
	if !transport[r.Transport] {
		return "holds for " + r.Transport
	}
	if r.Capability != "any" && !b.declares(r.Capability) && !b.declares("extensions", conv.MetaPrefix+r.Capability) {
		return "the server does not declare " + r.Capability
	}
	return ""
}

// probe makes all probes whose rules are judged and hold.
func (b *bench) runProbes(ctx context.Context) {
	judged := map[string]bool{}
	if b.isStateless() {
		discoverOnce(ctx, b)
		b.acceptsHandshake = detectHandshake(ctx, b)
	}
	if b.o.Send.Auth {
		withoutToken(ctx, b)
	}
	if b.isHTTP() && b.pacer.facts().Unauthorized {
		b.judgeAuth(ctx, b.clean, b.rev)
	}
	callTools(ctx, b)
	for _, p := range probes() {
		if b.whyStopped(ctx) != "" && !p.sendsNothing {
			break
		}
		if rules := applicableRules(b, p.rules, judged); len(rules) > 0 {
			b.runProbe(ctx, p, rules)
		}
	}
	for _, r := range lint.Rules() {
		if r.Mode == lint.Passive || !b.o.Send.Runs(r.Mode) || judged[r.ID] {
			continue
		}
		why := b.whyInapplicable(r)
		if slices.Contains(authRules, r.ID) && why == "" && !b.pacer.facts().Unauthorized {
			why = "the server did not ask for authorization"
		}
		if why != "" {
			b.linter.Exempt(r.ID, why)
		} else if !slices.Contains(b.o.Off, r.ID) {
			b.linter.Skip(r.ID, cmp.Or(b.whyStopped(ctx), unmade[r.ID], "check has no probe for it"))
		}
	}
}

// toJudge are those of a probe's rules that are judged and hold.
func applicableRules(b *bench, ids []string, made map[string]bool) (rules []string) {
	for _, id := range ids {
		r, ok := lint.Find(id)
		if !ok || slices.Contains(b.o.Off, id) || !b.o.Send.Runs(r.Mode) || b.whyInapplicable(r) != "" {
			continue
		}
		made[id] = true
		rules = append(rules, id)
	}
	return rules
}

// judgeBy makes one probe. One that fails is repeated twice on new connections: what does not
// come out the same is reported as unstable.
func (b *bench) runProbe(ctx context.Context, p probe, rules []string) {
	each := func(do func(id string)) {
		for _, id := range rules {
			do(id)
		}
	}
	if p.exempt != nil {
		if why := p.exempt(b); why != "" {
			each(func(id string) { b.linter.Exempt(id, why) })
			return
		}
	}
	if why := b.whyNoMore(); why != "" && !p.sendsNothing {
		each(func(id string) { b.linter.Skip(id, why) })
		return
	}
	misses := p.run(ctx, b)
	if !p.sendsNothing {
		misses = confirmMisses(ctx, b, p, misses)
	}
	why := b.whyNoMore()
	if ctx.Err() != nil {
		each(func(id string) { b.linter.Skip(id, b.whyStopped(ctx)) })
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	each(func(id string) {
		var findings []lint.Finding
		skipped := false
		for _, m := range misses {
			if m.id != id {
				continue
			}
			if m.skip {
				skipped = true
				if m.at.Seq != 0 { // of an answer
					m.got = "no answer that judges it: " + m.got
				}
				b.linter.Skip(id, cmp.Or(why, m.got))
				continue
			}
			findings = append(findings, newFinding(m, b.rev))
		}
		if !skipped || len(findings) > 0 {
			b.linter.Add(id, findings...)
		}
	})
}

// over says why the judgement ended early, "" while it goes on.
func (b *bench) whyStopped(ctx context.Context) string {
	if ctx.Err() != nil {
		return context.Cause(ctx).Error()
	}
	return b.serverEnd.Text
}

// budget says why no more may be sent, "" where more may.
func (b *bench) whyNoMore() string {
	if !b.serverEnd.Good() {
		return b.serverEnd.Text
	}
	if most := b.o.Send.MaxRequests; most > 0 && b.requests() >= most {
		return fmt.Sprintf("--max-requests %d was reached", most)
	}
	return b.pacer.whyStopped()
}

// stable repeats a probe that failed. Its misses become warnings where it does not fail in
// the same way each time; no answer in one of them judges nothing.
func confirmMisses(ctx context.Context, b *bench, p probe, misses []miss) []miss {
	if !slices.ContainsFunc(misses, func(m miss) bool { return !m.skip }) {
		return misses
	}
	var others [][]miss
	for i := range 2 {
		if b.whyNoMore() != "" {
			return misses
		}
		other, out := b.repeatBench(ctx, i)
		if !out.Good() {
			return misses
		}
		others = append(others, p.run(ctx, other))
	}
	for i := range misses {
		got := []string{misses[i].got}
		differ := false
		for _, other := range others {
			at := slices.IndexFunc(other, func(o miss) bool {
				m := misses[i]
				return o.id == m.id && o.subject == m.subject && o.pointer == m.pointer && o.skip == m.skip
			})
			differ = differ || at < 0
			if at >= 0 {
				got = append(got, other[at].got)
			} else {
				got = append(got, "as it should be")
			}
		}
		switch {
		case misses[i].skip || !differ:
		case misses[i].silent: // a late answer breaks no rule
			misses[i].skip = true
			misses[i].got += ", and an answer in another attempt"
		default:
			misses[i].severity = conv.Warn
			misses[i].got = "unstable, three attempts: " + strings.Join(got, "; ")
		}
	}
	return misses
}

// mostQuoted is how many bytes of an answer are quoted.
const maxQuoted = 200

func newFinding(m miss, rev conv.Rev) lint.Finding {
	r, _ := lint.Find(m.id)
	got := m.got
	if len(got) > maxQuoted {
		got = got[:maxQuoted]
	}
	return lint.Finding{
		Rule:        r.ID,
		Severity:    cmp.Or(m.severity, r.Severity),
		Title:       r.Title,
		Source:      r.Page(rev),
		Fix:         r.Fix,
		Subject:     m.subject,
		Times:       1,
		Fingerprint: strings.TrimSpace(r.ID + " " + m.subject + " " + m.pointer),
		Evidence: []lint.Evidence{{Conn: m.at.Conn, Seq: m.at.Seq, Pointer: m.pointer, Got: strings.ToValidUTF8(got, ""),
			Want: m.want, Stderr: m.stderr}},
	}
}

// A single is a probe of one request: the id of a rule, what it asks, and what has to come.
type single struct {
	id, subject string
	exempt      func(b *bench) string
	request     func(b *bench) probeRequest
	want        want
}

// A want is what has to come: one of the codes, or a result, and over HTTP one of the statuses.
type want struct {
	codes    []int64
	result   bool
	statuses []int
	// other is the severity where an error with another code came, and with toolError where
	// a tool reported one; "" is that of the rule.
	otherSeverity conv.Severity
	toolError     bool
	text          string
}

// met reports an answer as it is wanted. A missing code or status is not looked at.
func (w want) accepts(a answer) bool {
	if len(w.statuses) > 0 && a.status() != 0 && !slices.Contains(w.statuses, a.status()) {
		return false
	}
	return w.result && a.hasResult() || slices.Contains(w.codes, a.code()) && a.code() != 0 ||
		!w.result && len(w.codes) == 0 && a.HTTP != nil
}

func (s single) toProbe() probe {
	return probe{rules: []string{s.id}, exempt: s.exempt, run: func(ctx context.Context, b *bench) []miss {
		a := b.sendRough(ctx, s.request(b))
		if s.want.accepts(a) {
			return nil
		}
		m := newMiss(s.id, s.subject, a, s.want.text)
		if a.code() != 0 || s.want.toolError && a.Kind == wire.ToolError {
			m.severity = s.want.otherSeverity
		}
		return []miss{m}
	}}
}
