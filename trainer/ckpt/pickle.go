package ckpt

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// The pickle machine reads the object trees of PyTorch files. It runs nothing:
// a name that the file wants to call is looked up in a short list of names
// whose meaning is built in here, and a file that names anything else is
// refused at that name.

// Objects that a pickle yields, besides nil, bool, int64, *big.Int, float64,
// string and []byte.
type (
	pyTuple []any
	pyList  struct{ items []any }
	pyDict  struct{ keys, vals []any }
	// pyName is a class or function that the file names.
	pyName struct{ module, name string }
	// pyObject is an instance of a TorchScript class; its attributes are inert.
	pyObject struct {
		class pyName
		state *pyDict
	}
	// pyStorage is a stretch of numbers outside the pickle.
	pyStorage struct {
		key   string
		dtype DType
		count int64
		first int64 // elements to skip, for views of the legacy format
	}
	// pyTensor is a view of a storage.
	pyTensor struct {
		storage        *pyStorage
		offset         int64
		shape, strides []int64
		dtype          DType
	}
	pyMark struct{}
)

func (n pyName) String() string { return n.module + "." + n.name }

func (d *pyDict) get(key string) any {
	for i, k := range d.keys {
		if k == key {
			return d.vals[i]
		}
	}
	return nil
}

// storageTypes are the element types of storage classes.
var storageTypes = map[string]DType{
	"torch.DoubleStorage": F64, "torch.FloatStorage": F32, "torch.HalfStorage": F16, "torch.BFloat16Storage": BF16,
	"torch.LongStorage": I64, "torch.IntStorage": I32, "torch.ShortStorage": "I16", "torch.CharStorage": "I8",
	"torch.ByteStorage": "U8", "torch.BoolStorage": "BOOL", "torch.UntypedStorage": "U8",
	"torch.storage.UntypedStorage": "U8",
}

// torchTypes are dtypes that a file may name.
var torchTypes = map[string]DType{
	"torch.float64": F64, "torch.float32": F32, "torch.float16": F16, "torch.bfloat16": BF16,
	"torch.int64": I64, "torch.int32": I32, "torch.int16": "I16", "torch.int8": "I8", "torch.uint8": "U8",
	"torch.uint16": "U16", "torch.uint32": "U32", "torch.uint64": "U64", "torch.bool": "BOOL",
	"torch.float8_e4m3fn": "F8_E4M3", "torch.float8_e5m2": "F8_E5M2",
}

// callable names what may be called, and how.
var callable = map[string]func(args pyTuple) (any, error){
	"collections.OrderedDict":                    func(a pyTuple) (any, error) { return newDict(a) },
	"builtins.dict":                              func(a pyTuple) (any, error) { return newDict(a) },
	"collections.defaultdict":                    newDefaultDict,
	"builtins.float":                             notCalled,
	"builtins.int":                               notCalled,
	"torch._utils._rebuild_tensor":               rebuildTensor,
	"torch._utils._rebuild_tensor_v2":            rebuildTensor,
	"torch._utils._rebuild_tensor_v3":            rebuildTensor3,
	"torch._utils._rebuild_parameter":            firstArg,
	"torch._utils._rebuild_parameter_with_state": firstArg,
	"torch.Size":                                 firstArg,
	"torch.device":                               firstArg,
	"torch.jit._pickle.build_intlist":            firstArg,
	"torch.jit._pickle.build_doublelist":         firstArg,
	"torch.jit._pickle.build_boollist":           firstArg,
	"torch.jit._pickle.build_tensorlist":         firstArg,
	"torch.jit._pickle.restore_type_tag":         firstArg,
	"_codecs.encode":                             encodeLatin,
}

// unpickler reads one pickle after another.
type unpickler struct {
	r      *bufio.Reader
	at     int64 // bytes consumed
	size   int64 // bytes there are
	script bool  // classes of TorchScript are known
	stack  []any
	memo   map[int64]any
}

func newUnpickler(r io.Reader, size int64, script bool) *unpickler {
	return &unpickler{r: bufio.NewReaderSize(r, 1<<16), size: size, script: script}
}

var errPickle = errors.New("damaged pickle")

// read reads the next pickle. A panic-free machine: every fault is an error
// that says at which byte.
func (u *unpickler) read() (any, error) {
	u.stack, u.memo = u.stack[:0], map[int64]any{}
	start := u.at
	for n := 0; ; n++ {
		op, err := u.byte()
		if err != nil {
			return nil, fmt.Errorf("pickle is cut at byte %d", u.at)
		}
		if op == '.' {
			if len(u.stack) != 1 {
				return nil, fmt.Errorf("%w: %d values at its end, byte %d", errPickle, len(u.stack), u.at)
			}
			return u.stack[0], nil
		}
		if n == 0 && op != 0x80 && strings.IndexByte("(clIVXU}])", op) < 0 {
			return nil, fmt.Errorf("no pickle at byte %d", start)
		}
		if err := u.step(op); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return nil, fmt.Errorf("pickle is cut at byte %d", u.at)
			}
			return nil, fmt.Errorf("%w (byte %d)", err, u.at)
		}
	}
}

func (u *unpickler) byte() (byte, error) {
	b, err := u.r.ReadByte()
	if err == nil {
		u.at++
	}
	return b, err
}

// bytes reads n bytes, which the file must have.
func (u *unpickler) bytes(n int64) ([]byte, error) {
	if n < 0 || n > u.size-u.at {
		return nil, io.ErrUnexpectedEOF
	}
	b := make([]byte, n)
	k, err := io.ReadFull(u.r, b)
	u.at += int64(k)
	return b, err
}

// uint reads a little-endian number of n bytes.
func (u *unpickler) uint(n int) (int64, error) {
	var b [8]byte
	s, err := u.bytes(int64(n))
	if err != nil {
		return 0, err
	}
	copy(b[:], s)
	v := binary.LittleEndian.Uint64(b[:])
	if v > math.MaxInt64 {
		return 0, fmt.Errorf("%w: length %d", errPickle, v)
	}
	return int64(v), nil
}

// line reads up to a newline.
func (u *unpickler) line() (string, error) {
	s, err := u.r.ReadString('\n')
	u.at += int64(len(s))
	if err != nil {
		return "", io.ErrUnexpectedEOF
	}
	return strings.TrimSuffix(s, "\n"), nil
}

func (u *unpickler) push(v any) { u.stack = append(u.stack, v) }

func (u *unpickler) pop() (any, error) {
	if len(u.stack) == 0 {
		return nil, fmt.Errorf("%w: nothing on the stack", errPickle)
	}
	v := u.stack[len(u.stack)-1]
	u.stack = u.stack[:len(u.stack)-1]
	if _, ok := v.(pyMark); ok {
		return nil, fmt.Errorf("%w: unexpected mark", errPickle)
	}
	return v, nil
}

func (u *unpickler) top() (any, error) {
	if len(u.stack) == 0 {
		return nil, fmt.Errorf("%w: nothing on the stack", errPickle)
	}
	return u.stack[len(u.stack)-1], nil
}

// popMark takes what lies above the last mark.
func (u *unpickler) popMark() ([]any, error) {
	for i := len(u.stack) - 1; i >= 0; i-- {
		if _, ok := u.stack[i].(pyMark); ok {
			items := append([]any(nil), u.stack[i+1:]...)
			u.stack = u.stack[:i]
			return items, nil
		}
	}
	return nil, fmt.Errorf("%w: no mark", errPickle)
}

// step carries out one instruction.
func (u *unpickler) step(op byte) error {
	switch op {
	case 0x80: // PROTO
		v, err := u.byte()
		if err != nil {
			return err
		}
		if v > 5 {
			return fmt.Errorf("pickle protocol %d is not known", v)
		}
		return nil
	case 0x95: // FRAME
		_, err := u.uint(8)
		return err
	case '(':
		u.push(pyMark{})
		return nil
	case '0': // POP
		if len(u.stack) == 0 {
			return fmt.Errorf("%w: nothing on the stack", errPickle)
		}
		u.stack = u.stack[:len(u.stack)-1]
		return nil
	case '1': // POP_MARK
		_, err := u.popMark()
		return err
	case '2': // DUP
		v, err := u.top()
		u.push(v)
		return err
	case 'N':
		u.push(nil)
		return nil
	case 0x88, 0x89:
		u.push(op == 0x88)
		return nil
	case 'I', 'L', 'F', 'J', 'K', 'M', 0x8a, 0x8b, 'G':
		return u.number(op)
	case 'S', 'V', 'T', 'U', 'X', 0x8c, 0x8d, 'B', 'C', 0x8e, 0x96:
		return u.text(op)
	case ']', 'a', 'e', 'l', ')', 't', 0x85, 0x86, 0x87, '}', 'd', 's', 'u', 0x8f, 0x90, 0x91:
		return u.container(op)
	case 'c', 0x93, 'R', 0x81, 'b', 'Q':
		return u.object(op)
	case 'g', 'h', 'j', 'p', 'q', 'r', 0x94:
		return u.remember(op)
	case 'P', 'i', 'o', 0x82, 0x83, 0x84, 0x92, 0x97, 0x98:
		return fmt.Errorf("pickle instruction %#02x, which no weight file needs", op)
	}
	return fmt.Errorf("%w: unknown instruction %#02x", errPickle, op)
}

func (u *unpickler) number(op byte) error {
	switch op {
	case 'I', 'L', 'F':
		s, err := u.line()
		if err != nil {
			return err
		}
		if op == 'F' {
			f, err := strconv.ParseFloat(s, 64)
			if err != nil {
				return fmt.Errorf("%w: number %q", errPickle, s)
			}
			u.push(f)
			return nil
		}
		if op == 'I' && (s == "00" || s == "01") {
			u.push(s == "01")
			return nil
		}
		if len(s) > 100 {
			return fmt.Errorf("%w: number of %d digits", errPickle, len(s))
		}
		v, ok := new(big.Int).SetString(strings.TrimSuffix(s, "L"), 10)
		if !ok {
			return fmt.Errorf("%w: number %q", errPickle, s)
		}
		u.push(narrowInt(v))
		return nil
	case 'J', 'K', 'M':
		n := map[byte]int{'J': 4, 'K': 1, 'M': 2}[op]
		v, err := u.uint(n)
		if op == 'J' {
			v = int64(int32(v))
		}
		u.push(v)
		return err
	case 'G':
		b, err := u.bytes(8)
		if err != nil {
			return err
		}
		u.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
		return nil
	}
	width := 1
	if op == 0x8b {
		width = 4
	}
	n, err := u.uint(width)
	if err != nil {
		return err
	}
	b, err := u.bytes(n)
	if err != nil {
		return err
	}
	u.push(narrowInt(twosComplement(b)))
	return nil
}

// twosComplement reads a little-endian signed number of any length.
func twosComplement(b []byte) *big.Int {
	be := make([]byte, len(b))
	for i, v := range b {
		be[len(b)-1-i] = v
	}
	v := new(big.Int).SetBytes(be)
	if len(b) > 0 && b[len(b)-1]&0x80 != 0 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return v
}

func narrowInt(v *big.Int) any {
	if v.IsInt64() {
		return v.Int64()
	}
	return v
}

func (u *unpickler) text(op byte) error {
	switch op {
	case 'S', 'V':
		s, err := u.line()
		if err != nil {
			return err
		}
		if op == 'S' {
			if len(s) < 2 || s[0] != s[len(s)-1] || s[0] != '\'' && s[0] != '"' || strings.Contains(s, "\\") {
				return fmt.Errorf("%w: text %.40q", errPickle, s)
			}
			s = s[1 : len(s)-1]
		}
		u.push(s)
		return nil
	}
	width := map[byte]int{'T': 4, 'U': 1, 'X': 4, 0x8c: 1, 0x8d: 8, 'B': 4, 'C': 1, 0x8e: 8, 0x96: 8}[op]
	n, err := u.uint(width)
	if err != nil {
		return err
	}
	b, err := u.bytes(n)
	if err != nil {
		return err
	}
	switch op {
	case 'B', 'C', 0x8e, 0x96:
		u.push(b)
	default:
		u.push(string(b))
	}
	return nil
}

func (u *unpickler) container(op byte) error {
	switch op {
	case ']', 0x8f:
		u.push(&pyList{})
		return nil
	case '}':
		u.push(&pyDict{})
		return nil
	case ')':
		u.push(pyTuple{})
		return nil
	case 'l', 't', 'd', 0x91:
		items, err := u.popMark()
		if err != nil {
			return err
		}
		switch op {
		case 't':
			u.push(pyTuple(items))
		case 'd':
			d := &pyDict{}
			u.push(d)
			return fill(d, items)
		default:
			u.push(&pyList{items})
		}
		return nil
	case 0x85, 0x86, 0x87:
		n := int(op) - 0x84
		if len(u.stack) < n {
			return fmt.Errorf("%w: tuple of %d", errPickle, n)
		}
		t := append(pyTuple(nil), u.stack[len(u.stack)-n:]...)
		u.stack = u.stack[:len(u.stack)-n]
		u.push(t)
		return nil
	case 'a', 's':
		v, err := u.pop()
		if err != nil {
			return err
		}
		items := []any{v}
		if op == 's' {
			k, err := u.pop()
			if err != nil {
				return err
			}
			items = []any{k, v}
		}
		return u.extend(items)
	}
	items, err := u.popMark() // e, u, ADDITEMS
	if err != nil {
		return err
	}
	return u.extend(items)
}

// extend adds items to the list or dict on top of the stack.
func (u *unpickler) extend(items []any) error {
	v, err := u.top()
	if err != nil {
		return err
	}
	switch c := v.(type) {
	case *pyList:
		c.items = append(c.items, items...)
		return nil
	case *pyDict:
		return fill(c, items)
	}
	return fmt.Errorf("%w: items for a %T", errPickle, v)
}

func fill(d *pyDict, items []any) error {
	if len(items)%2 != 0 {
		return fmt.Errorf("%w: %d keys and values", errPickle, len(items))
	}
	for i := 0; i < len(items); i += 2 {
		d.keys, d.vals = append(d.keys, items[i]), append(d.vals, items[i+1])
	}
	return nil
}

// remember reads from and writes to the memo.
func (u *unpickler) remember(op byte) error {
	var i int64
	var err error
	switch op {
	case 'g', 'p':
		var s string
		if s, err = u.line(); err == nil {
			i, err = strconv.ParseInt(s, 10, 64)
		}
	case 'h', 'q':
		i, err = u.uint(1)
	case 'j', 'r':
		i, err = u.uint(4)
	default:
		i = int64(len(u.memo))
	}
	if err != nil {
		return err
	}
	if op == 'g' || op == 'h' || op == 'j' {
		v, ok := u.memo[i]
		if !ok {
			return fmt.Errorf("%w: memo %d is empty", errPickle, i)
		}
		u.push(v)
		return nil
	}
	v, err := u.top()
	if err != nil {
		return err
	}
	u.memo[i] = v
	return nil
}
