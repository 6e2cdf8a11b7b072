package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"cancha/internal/cellio"
	"cancha/kernel/cell"
)

// Evaluator is what Serve drives; *Program fills it.
type Evaluator interface {
	// Start takes a cell in, so that interrupts reach it, and returns the function that runs it. Cells may run beside each other.
	Start(cell.Request) (run func() cell.Result)
	// Handle runs beside the cell, and beside itself for different comms.
	Handle(cellio.Frame) cell.Result
	AnswerInput(seq uint64, reply cellio.InputReply)
	Interrupt()
	Complete(cell.Question) cell.Completion
	Inspect(cell.Question) cell.Inspection
	IsComplete(code string) cell.Completeness
	// Close ends what cells have started outside of the process.
	Close()
}

// ErrConnection reports that the connection to the kernel has ended although the kernel had not asked to exit.
var ErrConnection = errors.New("the connection to the kernel has ended")

// Serve answers the kernel's frames until the kernel asks to exit, which returns nil, or its connection ends. Questions are answered while
// cells run, and interrupts at once: what the kernel sends is always read. A cell that still runs when Serve returns is left to the end of
// the process.
func Serve(conn *cellio.Conn, out *cellio.Outlet, e Evaluator) error {
	s := &server{out: out, eval: e, questions: newInbox[cellio.Frame]()}
	s.comms = newCommQueues(s.handleComm)
	var workers sync.WaitGroup
	workers.Go(s.answerQuestions)
	defer e.Close()
	defer workers.Wait()
	defer s.questions.close()
	for {
		f, err := conn.Receive()
		if err != nil {
			return fmt.Errorf("%w: %w", ErrConnection, err)
		}
		if f.Kind == cellio.KindExit {
			return nil
		}
		if err := s.take(f); err != nil {
			return err
		}
	}
}

type server struct {
	out       *cellio.Outlet
	eval      Evaluator
	questions *inbox[cellio.Frame]
	comms     *commQueues
}

func (s *server) take(f cellio.Frame) error {
	switch f.Kind {
	case cellio.KindInterrupt:
		s.eval.Interrupt()
	case cellio.KindInputReply:
		var reply cellio.InputReply
		if err := json.Unmarshal(f.Body, &reply); err != nil {
			return fmt.Errorf("read answer: %w", err)
		}
		s.eval.AnswerInput(f.Seq, reply)
	case cellio.KindExecute:
		var r cell.Request
		if err := json.Unmarshal(f.Body, &r); err != nil {
			return fmt.Errorf("read cell: %w", err)
		}
		run := s.eval.Start(r)
		go s.runCell(r.Cell, run) // not waited for: it may never end
	case cellio.KindCommOpen, cellio.KindCommMsg, cellio.KindCommClose:
		s.comms.push(f)
	case cellio.KindCredit:
		var c cellio.Credit
		if err := json.Unmarshal(f.Body, &c); err != nil {
			return fmt.Errorf("read credit: %w", err)
		}
		s.out.Grant(c)
	default:
		s.questions.put(f)
	}
	return nil
}

func (s *server) runCell(serial int64, run func() cell.Result) {
	growStack(0)
	s.done(serial, run())
}

// growStack makes the goroutine's stack as large as compiling a cell needs, while there is next to nothing on it. It would grow by and by
// otherwise, and be copied each time: a sixteenth of what the engine does in a short cell.
//
//go:noinline
func growStack(i uint16) byte {
	var frame [32 << 10]byte
	return frame[i>>1]
}

func (s *server) handleComm(f cellio.Frame) { s.done(f.Cell, s.eval.Handle(f)) }

// done tells that a cell has ended. It must be told, or the cell is busy for ever: where the result is more than a frame holds, that is
// the result. A kernel that is gone is seen by Receive.
func (s *server) done(serial int64, result cell.Result) {
	if err := s.out.Emit(cellio.KindDone, serial, result); err != nil {
		_ = s.out.Emit(cellio.KindDone, serial, cell.Result{Status: cell.Failed, Err: &cell.Error{
			Name: "too large", Value: "the cell has ended, but how cannot be told: " + err.Error(),
		}})
	}
}

func (s *server) answerQuestions() {
	for {
		f, ok := s.questions.take()
		if !ok {
			return
		}
		body, err := json.Marshal(s.answer(f))
		if err != nil {
			body = []byte("null")
		}
		_ = s.out.Send(cellio.Frame{Kind: cellio.KindAnswer, Seq: f.Seq, Body: body})
	}
}

func (s *server) answer(f cellio.Frame) any {
	var q cell.Question
	if err := json.Unmarshal(f.Body, &q); err != nil {
		return nil
	}
	switch f.Kind {
	case cellio.KindComplete:
		return s.eval.Complete(q)
	case cellio.KindInspect:
		return s.eval.Inspect(q)
	case cellio.KindIsComplete:
		return s.eval.IsComplete(q.Code)
	}
	return nil
}
