package shard

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

const maxDecimalScale = 100

// leafConversion returns a leaf's type by name and how its values are read.
func leafConversion(e *format.SchemaElement) (string, func(parquet.Value) any, error) {
	logical := any(e.LogicalType.Value)
	if e.LogicalType.Value == nil && e.ConvertedType.Valid {
		logical = ofConverted(e)
	}
	bytes := func(v parquet.Value) any { return append([]byte{}, v.ByteArray()...) }
	text := func(v parquet.Value) any { return string(v.ByteArray()) }
	switch l := logical.(type) {
	case *format.StringType, *format.EnumType, *format.JsonType:
		return "string", text, nil
	case *format.UUIDType:
		return "uuid", func(v parquet.Value) any { return uuidText(v.ByteArray()) }, nil
	case *format.DateType:
		return "date", func(v parquet.Value) any { return Date(v.Int32()) }, nil
	case *format.Float16Type:
		return "float16", func(v parquet.Value) any { return float64(Float(binary.LittleEndian.Uint16(v.ByteArray()))) }, nil
	case *format.NullType:
		return "null", func(parquet.Value) any { return nil }, nil
	case *format.DecimalType:
		if l.Scale < -maxDecimalScale || l.Scale > maxDecimalScale {
			return "", nil, fmt.Errorf("%w: column %s has decimals of scale %d", ErrFormat, e.Name, l.Scale)
		}
		return fmt.Sprintf("decimal(%d, %d)", l.Precision, l.Scale), decimalConversion(e.Type.V, int(l.Scale)), nil
	case *format.TimestampType:
		unit, name := unitOf(l.Unit)
		if l.IsAdjustedToUTC {
			name += ", UTC"
		}
		return "timestamp[" + name + "]", func(v parquet.Value) any { return timestamp(v.Int64(), unit) }, nil
	case *format.TimeType:
		unit, name := unitOf(l.Unit)
		return "time[" + name + "]", func(v parquet.Value) any {
			if e.Type.V == format.Int32 {
				return TimeOfDay(time.Duration(v.Int32()) * unit)
			}
			return TimeOfDay(time.Duration(v.Int64()) * unit)
		}, nil
	case *format.IntType:
		return intConversion(l, e.Type.V)
	}
	switch e.Type.V {
	case format.Boolean:
		return "bool", func(v parquet.Value) any { return v.Boolean() }, nil
	case format.Int32:
		return "int32", func(v parquet.Value) any { return int64(v.Int32()) }, nil
	case format.Int64:
		return "int64", func(v parquet.Value) any { return v.Int64() }, nil
	case format.Int96:
		return "timestamp[ns]", func(v parquet.Value) any { return int96(v.Int96()) }, nil
	case format.Float:
		return "float32", func(v parquet.Value) any { return float64(v.Float()) }, nil
	case format.Double:
		return "float64", func(v parquet.Value) any { return v.Double() }, nil
	case format.ByteArray:
		return "binary", bytes, nil
	case format.FixedLenByteArray:
		return fmt.Sprintf("binary[%d]", e.TypeLength.V), bytes, nil
	}
	return "", nil, fmt.Errorf("%w: column %s has the unknown type %d", ErrFormat, e.Name, e.Type.V)
}

// ofConverted gives the logical type that a converted type stands for.
func ofConverted(e *format.SchemaElement) any {
	integer := func(bits int8, signed bool) any { return &format.IntType{BitWidth: bits, IsSigned: signed} }
	milli := format.TimeUnit{Value: &format.MilliSeconds{}}
	micro := format.TimeUnit{Value: &format.MicroSeconds{}}
	switch e.ConvertedType.V {
	case deprecated.UTF8, deprecated.Enum, deprecated.Json:
		return &format.StringType{}
	case deprecated.Decimal:
		return &format.DecimalType{Scale: e.Scale.V, Precision: e.Precision.V}
	case deprecated.Date:
		return &format.DateType{}
	case deprecated.TimeMillis:
		return &format.TimeType{IsAdjustedToUTC: true, Unit: milli}
	case deprecated.TimeMicros:
		return &format.TimeType{IsAdjustedToUTC: true, Unit: micro}
	case deprecated.TimestampMillis:
		return &format.TimestampType{IsAdjustedToUTC: true, Unit: milli}
	case deprecated.TimestampMicros:
		return &format.TimestampType{IsAdjustedToUTC: true, Unit: micro}
	case deprecated.Uint8:
		return integer(8, false)
	case deprecated.Uint16:
		return integer(16, false)
	case deprecated.Uint32:
		return integer(32, false)
	case deprecated.Uint64:
		return integer(64, false)
	case deprecated.Int8:
		return integer(8, true)
	case deprecated.Int16:
		return integer(16, true)
	case deprecated.Int32:
		return integer(32, true)
	case deprecated.Int64:
		return integer(64, true)
	}
	return nil
}

func intConversion(l *format.IntType, physical format.Type) (string, func(parquet.Value) any, error) {
	if l.IsSigned {
		name := fmt.Sprintf("int%d", l.BitWidth)
		if physical == format.Int32 {
			return name, func(v parquet.Value) any { return int64(v.Int32()) }, nil
		}
		return name, func(v parquet.Value) any { return v.Int64() }, nil
	}
	name := fmt.Sprintf("uint%d", l.BitWidth)
	if physical == format.Int32 {
		return name, func(v parquet.Value) any { return uint64(v.Uint32()) }, nil
	}
	return name, func(v parquet.Value) any { return v.Uint64() }, nil
}

func unitOf(u format.TimeUnit) (time.Duration, string) {
	switch u.Value.(type) {
	case *format.MilliSeconds:
		return time.Millisecond, "ms"
	case *format.MicroSeconds:
		return time.Microsecond, "us"
	}
	return time.Nanosecond, "ns"
}

// timestamp turns a count of units since 1970 into an instant without
// overflow.
func timestamp(n int64, unit time.Duration) Timestamp {
	per := int64(time.Second / unit)
	sec, rest := n/per, n%per
	if rest < 0 {
		sec, rest = sec-1, rest+per
	}
	return Timestamp(time.Unix(sec, rest*int64(unit)).UTC())
}

// int96 is the day of the Julian calendar and the nanoseconds within it.
func int96(v deprecated.Int96) Timestamp {
	nanos := int64(uint64(v[0]) | uint64(v[1])<<32)
	days := int64(v[2]) - 2440588
	return Timestamp(time.Unix(days*86400+nanos/1e9, nanos%1e9).UTC())
}

func uuidText(b []byte) string {
	if len(b) != 16 {
		return fmt.Sprintf("%x", b)
	}
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func decimalConversion(physical format.Type, scale int) func(parquet.Value) any {
	return func(v parquet.Value) any {
		n := new(big.Int)
		switch physical {
		case format.Int32:
			n.SetInt64(int64(v.Int32()))
		case format.Int64:
			n.SetInt64(v.Int64())
		default:
			b := v.ByteArray() // big-endian two's complement
			n.SetBytes(b)
			if len(b) > 0 && b[0]&0x80 != 0 {
				n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
			}
		}
		return decimal(n, scale)
	}
}

// decimal writes n / 10^scale with all its decimals.
func decimal(n *big.Int, scale int) Decimal {
	if scale <= 0 {
		return Decimal(n.String() + strings.Repeat("0", -scale))
	}
	digits := new(big.Int).Abs(n).String()
	if len(digits) <= scale {
		digits = strings.Repeat("0", scale+1-len(digits)) + digits
	}
	s := digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
	if n.Sign() < 0 {
		s = "-" + s
	}
	return Decimal(s)
}
