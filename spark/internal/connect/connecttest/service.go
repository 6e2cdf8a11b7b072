package connecttest

import (
	"context"
	"slices"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"cancha/spark/internal/protocol"
)

// service lists the methods under the name that clients call them by.
func (s *Server) service() *grpc.ServiceDesc {
	return &grpc.ServiceDesc{
		ServiceName: "spark.connect.SparkConnectService",
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{
			method("AnalyzePlan", s.analyze),
			method("Config", s.config),
			method("Interrupt", s.interrupt),
			method("ReleaseExecute", s.releaseExecute),
			method("ReleaseSession", s.releaseSession),
			method("FetchErrorDetails", s.fetchErrorDetails),
		},
		Streams: []grpc.StreamDesc{streaming("ExecutePlan", s.execute), streaming("ReattachExecute", s.reattach)},
	}
}

func method[Q, A any](name string, answer func(*Q) (*A, error)) grpc.MethodDesc {
	return grpc.MethodDesc{MethodName: name, Handler: func(server any, ctx context.Context, read func(any) error, between grpc.UnaryServerInterceptor) (any, error) {
		request := new(Q)
		if err := read(request); err != nil {
			return nil, err
		}
		info := &grpc.UnaryServerInfo{Server: server, FullMethod: "/spark.connect.SparkConnectService/" + name}
		return between(ctx, request, info, func(_ context.Context, q any) (any, error) { return answer(q.(*Q)) })
	}}
}

func streaming[Q any](name string, answer func(*Q, grpc.ServerStream) error) grpc.StreamDesc {
	return grpc.StreamDesc{StreamName: name, ServerStreams: true, Handler: func(_ any, stream grpc.ServerStream) error {
		request := new(Q)
		if err := stream.RecvMsg(request); err != nil {
			return err
		}
		return answer(request, stream)
	}}
}

// Failure is an error as Spark tells it: class and state in brackets in the text, and again in the details. Parameters are pairs of key and value
// that the details have beside them, as errorId.
func Failure(code codes.Code, class, state, text string, parameters ...string) error {
	s := status.New(code, "["+class+"] "+text+" SQLSTATE: "+state)
	info := &errdetails.ErrorInfo{Reason: "org.apache.spark.SparkException", Domain: "org.apache.spark", Metadata: map[string]string{
		"errorClass": class, "sqlState": state, "classes": `["org.apache.spark.SparkException","java.lang.Exception"]`,
	}}
	for i := 0; i+1 < len(parameters); i += 2 {
		info.Metadata[parameters[i]] = parameters[i+1]
	}
	if with, err := s.WithDetails(info); err == nil { // unreachable: the details are of a known kind
		s = with
	}
	return s.Err()
}

func (s *Server) execute(r *protocol.ExecuteRequest, stream grpc.ServerStream) error {
	x, err := s.session(r.GetSessionId(), r.GetServerSessionId(), true)
	if err != nil {
		return err
	}
	s.mu.Lock()
	if s.refusals > 0 {
		s.refusals--
		s.mu.Unlock()
		return status.Error(codes.Unavailable, "connecttest: refused")
	}
	if before := x.operations[r.GetOperationId()]; before != nil {
		s.mu.Unlock()
		if before.sweep() { // it is no operation any more; the plan of who comes with its id is taken to be wrong
			return Failure(codes.Internal, "PARSE_SYNTAX_ERROR", "42601", "Syntax error.")
		}
		return Failure(codes.Internal, "INVALID_HANDLE.OPERATION_ALREADY_EXISTS", "HY000", "The handle "+r.GetOperationId()+" is invalid.")
	}
	op := s.begin(x, r)
	s.mu.Unlock()
	return s.serve(op, 0, stream)
}

func (s *Server) reattach(r *protocol.ReattachRequest, stream grpc.ServerStream) error {
	x, err := s.session(r.GetSessionId(), r.GetServerSessionId(), false)
	if err != nil {
		return err
	}
	s.mu.Lock()
	op := x.operations[r.GetOperationId()]
	s.mu.Unlock()
	if op == nil {
		return Failure(codes.Internal, "INVALID_HANDLE.OPERATION_NOT_FOUND", "HY000", "The handle "+r.GetOperationId()+" is invalid. Operation not found.")
	}
	op.mu.Lock()
	from := 0
	if r.LastResponseId != nil {
		from = 1 + slices.IndexFunc(op.responses, func(m *protocol.ExecuteResponse) bool { return m.GetResponseId() == r.GetLastResponseId() })
	}
	lost := from < op.forgotten
	op.mu.Unlock()
	if lost {
		return Failure(codes.Internal, "INVALID_CURSOR.POSITION_NOT_AVAILABLE", "HY109", "The cursor position is no longer available.")
	}
	return s.serve(op, from, stream)
}

// serve sends responses from one on, until the operation ends, the stream is to fail, or another takes it over.
func (s *Server) serve(op *operation, from int, stream grpc.ServerStream) error {
	fault, number, sent := s.fault(), op.take(), 0
	for {
		if fault != nil && sent == fault.after {
			return fault.err
		}
		op.mu.Lock()
		changed, preempted, ended, err := op.changed, op.reader != number, op.ended, op.err
		var next *protocol.ExecuteResponse
		if from < len(op.responses) {
			next = op.responses[from]
		}
		op.mu.Unlock()
		switch {
		case preempted:
			return Failure(codes.Internal, "INVALID_CURSOR.DISCONNECTED", "HY109", "The cursor has been disconnected.")
		case next != nil:
			if err := stream.SendMsg(next); err != nil {
				return err
			}
			from, sent = from+1, sent+1
		case ended:
			return err
		default:
			select {
			case <-changed:
			case <-stream.Context().Done():
				return stream.Context().Err()
			case <-s.ctx.Done():
				return status.Error(codes.Unavailable, "connecttest: stopped")
			}
		}
	}
}

func (s *Server) releaseExecute(r *protocol.ReleaseExecuteRequest) (*protocol.ReleaseExecuteResponse, error) {
	x, err := s.session(r.GetSessionId(), r.GetServerSessionId(), false)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	op, server := x.operations[r.GetOperationId()], s.serverID(r.GetSessionId())
	s.mu.Unlock()
	answer := &protocol.ReleaseExecuteResponse{SessionId: r.GetSessionId(), ServerSessionId: server}
	if op == nil {
		return answer, nil
	}
	answer.OperationId = &op.id
	if r.GetAll() != nil {
		op.change(func() { op.released = true })
		op.cancel()
		return answer, nil
	}
	op.change(func() {
		until := slices.IndexFunc(op.responses, func(m *protocol.ExecuteResponse) bool { return m.GetResponseId() == r.GetUntil().GetResponseId() })
		op.forgotten = max(op.forgotten, until+1)
	})
	return answer, nil
}

func (s *Server) interrupt(r *protocol.InterruptRequest) (*protocol.InterruptResponse, error) {
	x, err := s.session(r.GetSessionId(), r.GetServerSessionId(), true)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := &protocol.InterruptResponse{SessionId: r.GetSessionId(), ServerSessionId: s.serverID(r.GetSessionId())}
	for id, op := range x.operations {
		wanted := r.GetKind() == protocol.InterruptRequest_ALL || r.GetKind() == protocol.InterruptRequest_TAG && slices.Contains(op.tags, r.GetTag()) ||
			r.GetKind() == protocol.InterruptRequest_OPERATION && id == r.GetOperationId()
		op.mu.Lock()
		running := !op.ended
		op.mu.Unlock()
		if wanted && running {
			op.interrupt()
			answer.Ids = append(answer.Ids, id)
		}
	}
	return answer, nil
}

func (s *Server) releaseSession(r *protocol.ReleaseSessionRequest) (*protocol.ReleaseSessionResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.sessions[r.GetSessionId()]; x != nil {
		x.closed = true
		x.end()
	}
	return &protocol.ReleaseSessionResponse{SessionId: r.GetSessionId(), ServerSessionId: s.serverID(r.GetSessionId())}, nil
}

func (s *Server) fetchErrorDetails(r *protocol.ErrorRequest) (*protocol.ErrorResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if answer := s.errors[r.GetErrorId()]; answer != nil {
		return answer, nil
	}
	return &protocol.ErrorResponse{SessionId: r.GetSessionId()}, nil
}

func (s *Server) analyze(r *protocol.AnalyzeRequest) (*protocol.AnalyzeResponse, error) {
	if _, err := s.session(r.GetSessionId(), r.GetServerSessionId(), true); err != nil {
		return nil, err
	}
	answer, err := s.analyzed(r)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	answer.SessionId, answer.ServerSessionId = r.GetSessionId(), s.serverID(r.GetSessionId())
	return answer, nil
}

func (s *Server) analyzed(r *protocol.AnalyzeRequest) (*protocol.AnalyzeResponse, error) {
	if r.GetVersion() != nil {
		version := s.c.Version
		if version == "" {
			version = "4.0.0"
		}
		return &protocol.AnalyzeResponse{Of: &protocol.AnalyzeResponse_Version_{Version: &protocol.AnalyzeResponse_Version{Version: version}}}, nil
	}
	if s.c.Analyze == nil {
		return nil, status.Error(codes.Unimplemented, "connecttest: Config.Analyze is not set")
	}
	return s.c.Analyze(r)
}

func (s *Server) config(r *protocol.ConfigRequest) (*protocol.ConfigResponse, error) {
	x, err := s.session(r.GetSessionId(), r.GetServerSessionId(), true)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := &protocol.ConfigResponse{SessionId: r.GetSessionId(), ServerSessionId: s.serverID(r.GetSessionId())}
	answer.Pairs = x.configure(r.GetOperation())
	return answer, nil
}
