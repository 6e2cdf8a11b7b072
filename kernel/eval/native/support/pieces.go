package support

// piece is how far a loop counts before it looks for interrupts: a power of two that all but the smallest integers hold.
const piece = 1024

// Start is where a counter of turns begins.
const Start uint32 = 0

// integer are the types that loops are cut by.
type integer interface {
	~int | ~int16 | ~int32 | ~int64 | ~uint | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

// Piece is for a loop that counts up from i to end, which is not below i. It returns where the next piece of the loop ends, and whether
// that is before end.
func Piece[T integer](i, end T) (e T, cut bool) {
	if uint64(end-i) > piece {
		return i + piece, true
	}
	return end, false
}

// PieceTo is Piece for a loop that ends after last. If last is the largest number, e is the smallest one, which follows it.
func PieceTo[T integer](i, last T) (e T, cut bool) {
	if uint64(last-i) >= piece {
		return i + piece, true
	}
	return last + 1, false
}

// PieceDown is Piece for a loop that counts down.
func PieceDown[T integer](i, end T) (e T, cut bool) {
	if uint64(i-end) > piece {
		return i - piece, true
	}
	return end, false
}

// PieceDownTo is PieceTo for a loop that counts down.
func PieceDownTo[T integer](i, last T) (e T, cut bool) {
	if uint64(i-last) >= piece {
		return i - piece, true
	}
	return last - 1, false
}

// maxStep keeps the sums of PieceSteps small.
const (
	maxStep = 1 << 16
	maxInt  = int(^uint(0) >> 1)
)

// PieceSteps is Piece for a loop that counts by a step up to a limit. Ok is false if the loop cannot be cut, because it would not end or
// its counter would overflow.
func PieceSteps(i, limit, step int) (e int, cut, ok bool) {
	if step <= 0 || step > maxStep || limit > maxInt-step {
		return 0, false, false
	}
	if i < limit && uint64(limit-i) > uint64(step)*piece {
		return i + step*piece, true, true
	}
	return limit, false, true
}

// Range returns what a loop over an integer runs to, and where it begins.
func Range[T integer](n T) (end, from T) { return n, 0 }

// Slice returns what a loop over a slice runs over, where it begins, and where it ends.
func Slice[T any](list []T) (over []T, from, end int) { return list, 0, len(list) }

// Beyond tells an index that is out of range.
func Beyond[T integer | ~int8 | ~uint8](i T, length int) bool { return uint64(i) >= uint64(length) }

// Len is len of a slice, for cells that call something else so.
func Len[S ~[]T, T any](s S) int { return len(s) }

// LenString is len of a string.
func LenString[S ~string](s S) int { return len(s) }
