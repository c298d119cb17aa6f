package state

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The test binary is also the other processes: with this variable set it runs a function of
// children on the directory in its first argument.
const childVar = "MCPC_STATE_TEST_CHILD"

var children = map[string]func(s *Store, args []string) error{
	"hammer":  childHammer,
	"rewrite": childRewrite,
	"hold":    childHold,
}

func TestMain(m *testing.M) {
	name := os.Getenv(childVar)
	if name == "" {
		os.Exit(m.Run())
	}
	s, err := Open(os.Args[1])
	if err == nil {
		err = children[name](s, os.Args[2:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func child(t testing.TB, mode, dir string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, append([]string{dir}, args...)...)
	cmd.Env = append(os.Environ(), childVar+"="+mode)
	cmd.Stderr = os.Stderr
	return cmd
}

const blows = 20

// childHammer adds a word to its own session and reserves ids of the shared
// one, over and over, and prints the ids that it got.
func childHammer(s *Store, args []string) error {
	s.dir.wait = time.Minute // a slow disk is no part of this test
	for i := range blows {
		var sess Session
		err := s.Update(context.Background(), func(st *State) error {
			sess, _ = st.Session("shared")
			mine, _ := st.Session(args[0])
			mine.Name, mine.Command = args[0], append(mine.Command, strconv.Itoa(i))
			st.Put(mine)
			return nil
		})
		if err != nil {
			return err
		}
		n := 1 + i%3
		first, err := s.Reserve(context.Background(), sess, n)
		if err != nil {
			return err
		}
		for id := first; id < first+int64(n); id++ {
			fmt.Println(id)
		}
	}
	return nil
}

func TestManyProcessesLoseNothing(t *testing.T) {
	hammers := 50
	if testing.Short() {
		hammers /= 5
	}
	s := newStore(t)
	update(t, s, func(st *State) error { st.Put(sample("shared")); return nil })
	outs := make([]strings.Builder, hammers)
	cmds := make([]*exec.Cmd, hammers)
	for i := range cmds {
		cmds[i] = child(t, "hammer", s.Dir(), strconv.Itoa(i))
		cmds[i].Stdout = &outs[i]
		if err := cmds[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for i, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Fatalf("process %d: %v", i, err)
		}
		for _, id := range strings.Fields(outs[i].String()) {
			if seen[id] {
				t.Errorf("id %s was handed out twice", id)
			}
			seen[id] = true
		}
	}
	st := load(t, s)
	for i := range cmds {
		mine, _ := st.Session(strconv.Itoa(i))
		if len(mine.Command) != blows {
			t.Errorf("process %d: %d updates are left: %q", i, len(mine.Command), mine.Command)
		}
	}
	if got, want := st.Generation, int64(hammers*blows+1); got != want {
		t.Errorf("generation %d, want %d", got, want)
	}
	ids := 0
	for i := range blows {
		ids += 1 + i%3
	}
	if got, want := len(seen), ids*hammers; got != want {
		t.Errorf("%d ids, want %d", got, want)
	}
}

// childRewrite writes everything that can be written, over and over, each time
// with a content that shows whether it is whole.
func childRewrite(s *Store, _ []string) error {
	fmt.Println("ready")
	for {
		digit := strconv.Itoa(rand.IntN(10))
		err := s.Update(context.Background(), func(st *State) error {
			sess, _ := st.Session("shared")
			sess.Instructions = strings.Repeat(digit, 40_000)
			st.Put(sess)
			// A session that comes and goes, so that counters do too.
			if !st.Remove("other") {
				st.Put(Session{Name: "other"})
			}
			return nil
		})
		if err != nil {
			return err
		}
		st, err := s.Load()
		if err != nil {
			return err
		}
		sess, _ := st.Session("shared")
		id, err := s.Reserve(context.Background(), sess, 1+rand.IntN(maxReserved))
		if err != nil {
			return err
		}
		fmt.Println(id)
		list := ToolList{Tools: []Tool{{Name: "t", Raw: []byte(strings.Repeat(digit, 300_000))}}}
		if err := s.SaveTools(context.Background(), sess.Key, list); err != nil {
			return err
		}
	}
}

// killSeed chooses the moments of the kills; 0 chooses the seed.
var killSeed = flag.Uint64("killseed", 0, "when TestKilledWriterLeavesOldOrNew kills: the seed that it printed")

const kills = 200

func TestKilledWriterLeavesOldOrNew(t *testing.T) {
	seed := *killSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("again with: go test -run %s ./internal/state -killseed %d", t.Name(), seed)
	moments := rand.New(rand.NewPCG(seed, 0))
	s := newStore(t)
	update(t, s, func(st *State) error { st.Put(sample("shared")); return nil })
	generation := load(t, s).Generation
	ids := map[string]bool{}
	kills := kills
	if testing.Short() {
		kills /= 5
	}
	for range kills {
		rounds, d := moments.IntN(4), time.Duration(moments.IntN(10_000))*time.Microsecond
		for _, id := range runAndKill(t, s, rounds, d) {
			if ids[id] {
				t.Errorf("id %s was handed out twice", id)
			}
			ids[id] = true
		}
		st := load(t, s)
		if st.Generation < generation {
			t.Errorf("generation went from %d to %d", generation, st.Generation)
		}
		generation = st.Generation
		sess, _ := st.Session("shared")
		if got := sess.Instructions; got != sample("").Instructions && !uniform(got, 40_000) {
			t.Errorf("state is torn: %d bytes of instructions", len(got))
		}
		tool, _, err := s.Tool(sess.Key, "t")
		if err != nil || tool != nil && !uniform(string(tool.Raw), 300_000) {
			t.Errorf("tool list is torn: %v", err)
		}
	}
	// On average each makes one and a half rounds before it is killed.
	if len(ids) < kills/2 || generation < int64(kills/2) {
		t.Errorf("the writers wrote next to nothing: generation %d, %d ids", generation, len(ids))
	}
	// Files of killed processes do not block others.
	update(t, s, func(st *State) error { st.Put(sample("after")); return nil })
}

func uniform(s string, n int) bool {
	return len(s) == n && strings.Trim(s, s[:1]) == ""
}

// runAndKill kills a writer some time after the given number of rounds, and returns the ids that it
// printed.
func runAndKill(t *testing.T, s *Store, rounds int, d time.Duration) (ids []string) {
	t.Helper()
	cmd := child(t, "rewrite", s.Dir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(out)
	for range 1 + rounds {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, strings.TrimSpace(line))
	}
	time.Sleep(d)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(r)
	_ = cmd.Wait()
	return append(ids[1:], strings.Fields(string(rest))...) // ids[0] reports that it is ready
}

// childHold takes the lock and keeps it until its input ends.
func childHold(s *Store, _ []string) error {
	return s.Update(context.Background(), func(*State) error {
		fmt.Println("held")
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	})
}

func TestLockSaysWhoHoldsIt(t *testing.T) {
	s := newStore(t)
	s.dir.wait = 50 * time.Millisecond
	update(t, s, func(st *State) error { st.Put(sample("s")); return nil })
	cmd := child(t, "hold", s.Dir())
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}

	err := s.Update(t.Context(), func(*State) error { t.Error("ran without the lock"); return nil })
	var e *Error
	if !errors.As(err, &e) || e.Reason != Locked || e.PID != cmd.Process.Pid {
		t.Fatalf("got %#v, want Locked by %d", err, cmd.Process.Pid)
	}
	want := fmt.Sprintf("state %s is held by process %d", s.dir.file(lockName), cmd.Process.Pid)
	if e.Error() != want {
		t.Errorf("got %q, want %q", e.Error(), want)
	}
	if len(load(t, s).Names()) != 1 {
		t.Error("a reader waits for nobody, and sees the last whole state")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Update(ctx, func(*State) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted wait: got %v", err)
	}

	// A dead holder holds nothing.
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.dir.wait = lockWait
	update(t, s, func(st *State) error { st.Put(sample("t")); return nil })
}

func accesses(s *Store) []Reason {
	st, loadErr := s.Load()
	sess, _ := st.Session("s")
	_, reserveErr := s.Reserve(context.Background(), sess, 1)
	updateErr := s.Update(context.Background(), func(st *State) error { st.Put(Session{Name: "x"}); return nil })
	toolsErr := s.SaveTools(context.Background(), "k", ToolList{})
	var reasons []Reason
	for _, err := range []error{loadErr, reserveErr, updateErr, toolsErr} {
		var e *Error
		switch {
		case err == nil:
			reasons = append(reasons, "ok")
		case errors.As(err, &e):
			reasons = append(reasons, e.Reason)
		default:
			reasons = append(reasons, Reason("untyped: "+err.Error()))
		}
	}
	return reasons
}
