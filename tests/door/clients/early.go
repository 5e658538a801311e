// Post a body several times over HTTP/2 and print the status of each: early URL TIMES SIZE KEY TYPE
package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
)

func main() {
	times, _ := strconv.Atoi(os.Args[2])
	size, _ := strconv.Atoi(os.Args[3])
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	client := &http.Client{Transport: &http.Transport{Protocols: protocols}}
	for range times {
		body := bytes.NewReader(bytes.Repeat([]byte("x"), size))
		request, _ := http.NewRequest("POST", os.Args[1]+"/events", body)
		request.Header.Set("Content-Type", os.Args[5])
		if os.Args[4] != "" {
			request.Header.Set("Authorization", "Bearer "+os.Args[4])
		}
		answer, err := client.Do(request)
		if err != nil {
			fmt.Println(err)
			continue
		}
		_, err = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		fmt.Println(answer.StatusCode, err)
	}
}
