//go:build unix

package httpconn

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// Unread bytes are not an end, and isClosed does not read them.
func TestIsClosed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	here, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer here.Close()
	there, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	socket, err := here.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if isClosed(socket) {
		t.Error("an open connection counts as closed")
	}
	if _, err := there.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	there.Close()
	if isClosed(socket) {
		t.Error("a connection with something to read counts as closed")
	}
	if n, err := here.Read(make([]byte, 2)); n != 1 || err != nil {
		t.Fatalf("read %d, %v", n, err)
	}
	for until := time.Now().Add(patience); !isClosed(socket); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("the end is not seen")
		}
	}
}

// A connection that was opened for the request is written to even if the server has closed it by
// then: data that the server sent first, such as a TLS alert, is the answer to the request.
func TestOnlyReusedConnectionsAreChecked(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		there, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = there.Write([]byte("x"))
		there.Close()
	}()
	std := &http.Transport{}
	Prepare(std)
	conn, err := std.DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if n, err := conn.Read(make([]byte, 2)); n != 1 || err != nil {
		t.Fatalf("read %d, %v", n, err)
	}
	for until := time.Now().Add(patience); !isClosed(conn.(*checkedConn).socket); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("the end is not seen")
		}
	}
	if _, err := conn.Write([]byte("a")); err != nil {
		t.Errorf("the first request: %v", err)
	}
	checkedConnOf(tls.Client(conn, &tls.Config{ServerName: "server.example"})).reused.Store(true)
	if _, err := conn.Write([]byte("a")); !errors.Is(err, errClosedIdle) {
		t.Errorf("a request on the connection that is used again: %v", err)
	}
}
