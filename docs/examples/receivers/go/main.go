// A receiver of webhooks: WEBHOOK_SECRET=whsec_... PORT=9000 go run .
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"sync"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const (
	maxBody = 1 << 20 // bytes
	waiting = 1000    // events that may wait for the worker
)

// Inbox stands for a table with a unique key: INSERT ... ON CONFLICT (id) DO NOTHING.
type Inbox struct {
	mu     sync.Mutex
	seen   map[string]bool
	events chan []byte
}

// Put keeps an event that is new. It returns false if there is no room.
func (inbox *Inbox) Put(id string, body []byte) bool {
	inbox.mu.Lock()
	defer inbox.mu.Unlock()
	if inbox.seen[id] {
		log.Println("seen before", id)
		return true
	}
	select {
	case inbox.events <- body:
		inbox.seen[id] = true
		return true
	default:
		return false
	}
}

// Work handles events after their requests have been answered.
func (inbox *Inbox) Work() {
	for body := range inbox.events {
		var event struct{ Type string }
		if err := json.Unmarshal(body, &event); err != nil {
			log.Println("no JSON:", err)
			continue
		}
		log.Println("handled", event.Type)
	}
}

func main() {
	webhook, err := standardwebhooks.NewWebhook(os.Getenv("WEBHOOK_SECRET"))
	if err != nil {
		log.Fatal(err)
	}
	inbox := &Inbox{seen: map[string]bool{}, events: make(chan []byte, waiting)}
	go inbox.Work()
	http.HandleFunc("POST /hooks", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		switch {
		case err != nil:
			http.Error(w, "the body is too large", http.StatusRequestEntityTooLarge)
		case webhook.Verify(body, r.Header) != nil:
			http.Error(w, "the signature is wrong", http.StatusUnauthorized)
		case !inbox.Put(r.Header.Get("webhook-id"), body):
			http.Error(w, "try again later", http.StatusServiceUnavailable)
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	})
	address := "127.0.0.1:" + os.Getenv("PORT")
	fmt.Println("Listening on", address)
	log.Fatal(http.ListenAndServe(address, nil))
}
