package raster

import "encoding/hex"

// Motion JPEG frames leave out the Huffman tables of T.81, annex K; libjpeg
// then takes these. Each is 16 counts and the symbols.
var standardTables = [2][2]string{
	{
		"00010501010101010100000000000000" + "000102030405060708090a0b",
		"00030101010101010101010000000000" + "000102030405060708090a0b",
	},
	{
		"0002010303020403050504040000017d" +
			"01020300041105122131410613516107227114328191a1082342b1c11552d1f024336272" +
			"82090a161718191a25262728292a3435363738393a434445464748494a53545556575859" +
			"5a636465666768696a737475767778797a838485868788898a92939495969798999aa2a3" +
			"a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae1e2" +
			"e3e4e5e6e7e8e9eaf1f2f3f4f5f6f7f8f9fa",
		"00020102040403040705040400010277" +
			"0001020311040521310612415107617113223281081442" +
			"91a1b1c109233352f0156272d10a162434e125f11718191a262728292a35363738393a43" +
			"4445464748494a535455565758595a636465666768696a737475767778797a8283848586" +
			"8788898a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6" +
			"c7c8c9cad2d3d4d5d6d7d8d9dae2e3e4e5e6e7e8e9eaf2f3f4f5f6f7f8f9fa",
	},
}

// table returns a Huffman table that the file defined, else the standard one
// if the file is sequential, else nil.
func (d *jpegDecoder) table(class, id byte) *huffTable {
	if t := d.huff[class][id]; t != nil || d.progressive || id > 1 {
		return t
	}
	b, err := hex.DecodeString(standardTables[class][id])
	if err != nil {
		panic("raster: standard table")
	}
	t := new(huffTable)
	t.build(b[:16], b[16:], class == 0)
	d.huff[class][id] = t
	return t
}
