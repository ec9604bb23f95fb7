// The worker of quota-blind in Go: a goroutine for each request, and for the parts of a job
// as many as may run at once.
//
// Reads "r ID ROUNDS", a request, and "b ID PARTS ROUNDS", a job of so many parts; answers "ID"
// when it is done.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// Where results go, so that the compiler keeps the work.
var sink atomic.Uint64

func work(rounds int) {
	value := uint64(1)
	for i := 0; i < rounds; i++ {
		value = value*6364136223846793005 + uint64(i)
	}
	sink.Add(value)
}

// Shares the parts of a job among as many goroutines as may run at once.
func job(parts, rounds int) {
	var taken atomic.Int64
	var workers sync.WaitGroup
	for i := 0; i < runtime.GOMAXPROCS(0); i++ {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for taken.Add(1) <= int64(parts) {
				work(rounds)
				// A request is not to wait for the whole job.
				runtime.Gosched()
			}
		}()
	}
	workers.Wait()
}

func main() {
	var out sync.Mutex
	answer := func(id string) {
		out.Lock()
		defer out.Unlock()
		os.Stdout.WriteString(id + "\n")
	}
	answer(fmt.Sprintf("ready %d %s", runtime.GOMAXPROCS(0), runtime.Version()))
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		numbers := make([]int, len(words))
		for i := 2; i < len(words); i++ {
			numbers[i], _ = strconv.Atoi(words[i])
		}
		switch {
		case len(words) == 3 && words[0] == "r":
			go func() {
				work(numbers[2])
				answer(words[1])
			}()
		case len(words) == 4 && words[0] == "b":
			go func() {
				job(numbers[2], numbers[3])
				answer(words[1])
			}()
		}
	}
}
