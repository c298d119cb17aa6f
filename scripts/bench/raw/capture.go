package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
)

// listCapture prints the number of client requests in a capture. It parses each line and each
// message with encoding/json on all processors. It keeps nothing and does not assign responses to
// requests.
func listCapture(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	pieces, failed := make(chan []byte, runtime.NumCPU()), make(chan error, runtime.NumCPU())
	var requests atomic.Int64
	var readers sync.WaitGroup
	for range runtime.NumCPU() {
		readers.Go(func() {
			for piece := range pieces {
				count, err := countRequests(piece)
				if requests.Add(int64(count)); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	err = readPieces(file, func(piece []byte) error {
		select {
		case pieces <- piece:
			return nil
		case err := <-failed:
			return err
		}
	})
	close(pieces)
	readers.Wait()
	if err == nil && len(failed) > 0 {
		err = <-failed
	}
	if err != nil {
		return err
	}
	_, err = fmt.Println(requests.Load(), "requests")
	return err
}

// readPieces calls take with each piece of a file. A piece has whole lines.
func readPieces(file io.Reader, take func(piece []byte) error) error {
	r := bufio.NewReader(file)
	for {
		piece := make([]byte, 256<<10)
		n, err := io.ReadFull(r, piece)
		if piece = piece[:n]; err == nil {
			var rest []byte
			rest, err = r.ReadBytes('\n')
			piece = append(piece, rest...)
		}
		if err := take(piece); err != nil {
			return err
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// countRequests counts the requests in some lines.
func countRequests(lines []byte) (count int, err error) {
	for line := range bytes.Lines(lines) {
		var l struct {
			Dir, Kind string
			Stream    int
			Raw       string
		}
		if err := json.Unmarshal(line, &l); err != nil {
			return count, err
		}
		if l.Kind != "body" {
			continue
		}
		var m message
		if err := json.Unmarshal([]byte(l.Raw), &m); err != nil {
			return count, err
		}
		if l.Dir == "sent" && m.ID != nil && m.Method != "" {
			count++
		}
	}
	return count, nil
}
